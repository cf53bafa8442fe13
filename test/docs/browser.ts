/**
 * What a page's code finds in a browser, for code blocks that run in Node: storage, an address, and
 * a network with one server in it.
 */
import 'fake-indexeddb/auto'

const server = process.env.HILO_SERVER!
const realFetch = globalThis.fetch

/** Every name leads to the test's server; a path like `/ids` is where its proxy would be. */
globalThis.fetch = async (input, init) => {
  const request = new Request(input instanceof Request ? input : new URL(input, server), init)
  const { pathname, search, hostname } = new URL(request.url)
  if (hostname === '127.0.0.1' && !pathname.startsWith('/ids')) return realFetch(request)
  const { method, headers, signal } = request
  // As text: Node refuses a stream that is to outlive its page (`keepalive`).
  const body = request.body && (await request.text())
  const address = new URL(pathname.replace(/^\/ids/, '') + search, server)
  return realFetch(address, { method, headers, signal, body })
}
Object.assign(globalThis, { location: new URL(server) })

const stored = new Map<string, string>()
Object.assign(globalThis, {
  localStorage: {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  },
})
