/**
 * A web site with the test page, and a HiLo server behind it on the same origin. While that server
 * is down the site stays up, but requests to it fail as without a network.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { HiloOptions } from '../../src/index.js'
import { bundleSite } from './bundle.js'
import { forward } from './forward.js'
import { type HiloServer, openHiloServer } from './hilo-server.js'
import { MASTER, obey } from './told-page.js'

/** What is unusual about the place where a page runs. Its functions see globals only. */
interface Surroundings {
  /** Runs in the page before anything else does. */
  beforePage?: () => void
  /** Runs in the worker before the library's code does. */
  beforeWorker?: () => void
  /** Path of a file to run as the worker instead of the library's. */
  worker?: string
  /** The page takes its ranges from the document at this address. */
  document?: string
  /** Content-Security-Policy of the page. */
  csp?: string
}

export interface Site {
  /** Address of the test page, where `hilo` is made with these options. */
  url(options?: HiloOptions, surroundings?: Surroundings): string
  server: HiloServer
  /** Every line that pages have posted to `/log`. */
  log: string[]
  /** When the log has this many lines, it takes no more and answers 409. */
  stopLogAt(count: number): void
  /**
   * The pages' requests to the HiLo server, oldest first, each with its HTTP status, or 0 if no
   * answer came.
   */
  requests: { method: string; path: string; status: number }[]
  /** Paths of the site's own files that were asked for. */
  files: Set<string>
}

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

/** To be called inside a test; gone when the test ends. */
export async function openSite(): Promise<Site> {
  const content = await bundleSite()
  const files: Site['files'] = new Set()
  const server = await openHiloServer()
  const requests: Site['requests'] = []
  const log: string[] = []
  let logLimit = Number.POSITIVE_INFINITY
  const addToLog = (lines: string): number => {
    if (log.length < logLimit) log.push(...lines.split('\n'))
    return log.length < logLimit ? 204 : 409
  }
  const entry = [...content.keys()].find((path) => /\/entry-.*\.js$/.test(path))
  const listener = createServer((asked, answer) => {
    const { pathname, searchParams } = new URL(asked.url!, 'http://site')
    const path = pathname.replace(/\/$/, '/index.html')
    const file = content.get(path)
    files.add(path)
    const sendScript = (code: string) => answer.setHeader('content-type', TYPES['.js']!).end(code)
    if (path === '/index.html') sendPage(String(file), searchParams, answer)
    else if (path === '/silent.js') sendScript('')
    else if (path === '/run.js') sendScript(`(${searchParams.get('code')})()`)
    else if (path === '/worker.js')
      sendScript(`import '/run.js${new URL(asked.url!, 'http://site').search}'\nimport '${entry}'`)
    else if (path === '/log')
      text(asked).then(
        (lines) => answer.writeHead(addToLog(lines)).end(),
        // Cut off when the browser was killed.
        () => {},
      )
    else if (file !== undefined)
      answer.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream').end(file)
    else if (/^\/(databases|topology)/.test(path)) ask(asked, answer)
    else answer.writeHead(404).end()
  })
  const ask = (asked: IncomingMessage, answer: ServerResponse) => {
    const request = { method: asked.method!, path: asked.url!, status: 0 }
    requests.push(request)
    forward(asked, answer, server.url, (status) => {
      request.status = status
    })
  }
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    listener.close()
    listener.closeAllConnections()
  })
  const { port } = listener.address() as AddressInfo
  return {
    url(
      options = {},
      {
        beforePage,
        beforeWorker,
        worker = beforeWorker && `/worker.js?code=${encodeURIComponent(`${beforeWorker}`)}`,
        document,
        csp,
      } = {},
    ) {
      const query = new URLSearchParams({
        options: JSON.stringify(options),
        ...(beforePage && { before: `${beforePage}` }),
        ...(worker && { worker }),
        ...(document && { document }),
        ...(csp && { csp }),
      })
      return `http://127.0.0.1:${port}/?${query}`
    },
    server,
    log,
    stopLogAt(count) {
      logLimit = count
    },
    requests,
    files,
  }
}

function sendPage(html: string, query: URLSearchParams, answer: ServerResponse): void {
  const csp = query.get('csp')
  const before = query.get('before')
  const master = query.get(MASTER)
  const first =
    (master ? `;(${obey})(${JSON.stringify(master)})` : '') + (before ? `;(${before})()` : '')
  if (csp) answer.setHeader('content-security-policy', csp)
  answer.setHeader('content-type', TYPES['.html']!)
  answer.end(html.replace('<head>', () => `<head><script>${first}</script>`))
}
