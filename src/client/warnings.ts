/** The warnings for a developer's console; loaded with the first one. */
import type { Degraded } from './status.js'

/** A page has two open instances for one device. */
export function secondInstance(name: string, url: string): void {
  console.warn(
    `offline-hilo: this page has two open instances for '${name}' at ${url}. Each has a worker ` +
      'and leases of its own. Call createHilo once, in a module of its own, or close() the first.',
  )
}

/** The worker's file is of another build. */
export function otherVersion(own: string, version: unknown): void {
  console.warn(
    `offline-hilo: this page has version ${own}, and its worker file has version ${version}. The ` +
      'page makes ids without the worker. Deploy both files of one build.',
  )
}

/** By page: the warnings that were given. */
const given = new WeakMap<object, Set<Degraded>>()

/**
 * In development only, once per page and reason.
 * @param cause why there is no worker
 */
export function degraded(reason: Degraded, cause: unknown): void {
  const page = globalThis.document ?? globalThis
  const known = given.get(page) ?? new Set()
  given.set(page, known)
  if (known.has(reason) || !isDevelopment()) return
  known.add(reason)
  console.warn(`offline-hilo: ${reason === 'memory' ? inMemory() : noWorker(cause)}`)
}

/** Is this a developer's machine? A server says so by its environment. */
function isDevelopment(): boolean {
  const { location, process } = globalThis as {
    location?: Location
    process?: { env: Record<string, string | undefined> }
  }
  return location
    ? /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname)
    : process?.env.NODE_ENV !== 'production'
}

function inMemory(): string {
  const { document, location, indexedDB } = globalThis as Partial<typeof globalThis>
  const why = !(document || location)
    ? 'there is no page here, so this seems to be a server. Call `createHilo` in the browser ' +
      'only, or give it a `store`'
    : indexedDB
      ? 'IndexedDB did not open: storing is forbidden here (a private window), the disk is full, ' +
        'another tab holds it up, or the app has a database of that `name`'
      : 'there is no IndexedDB here. In a test, use `createTestHilo` of offline-hilo/testing'
  return `ids are in memory, and gone with it, because ${why}. See docs/guide.md#storage.`
}

function noWorker(cause: unknown): string {
  const isThrown = cause instanceof Error
  const why = isThrown
    ? cause.message.replace(/\.?$/, '.')
    : 'its file did not load, or it does not answer. Is the file there, as JavaScript and not as ' +
      'HTML?'
  // Some engines throw where the policy forbids a worker, and do not say so.
  const isPolicy = !isThrown || cause.name === 'SecurityError'
  const policy = isPolicy ? ' Does the content security policy allow it (worker-src)?' : ''
  return `no worker runs, so this page makes ids itself: ${why}${policy} See docs/bundlers.md.`
}
