/** The warnings for a developer's console; loaded with the first one. */
import { shown } from '../core/brief.js'
import type { HiloError } from '../core/errors.js'

/**
 * A page has two open instances for one device.
 * @param url empty on a server that renders pages
 */
export function secondInstance(name: string, url: string): void {
  const where = url && ` at ${url}`
  console.warn(
    `offline-hilo: there are two open instances for '${name}'${where} here. Each has a worker ` +
      'and leases of its own. Call createHilo once, in a module of its own, or close() the first.',
  )
}

/** In development only. A name with a digit, such as a month's, is like others on purpose. */
export function notListed(name: string, near: string): void {
  if (/^\D{4,}$/.test(name) && isDevelopment())
    console.warn(
      `offline-hilo: '${name}' is not in the \`collections\` of createHilo. Did you mean ` +
        `'${near}'? If not, list it, too.`,
    )
}

/** In development only. */
export function noEvent(type: string, events: readonly string[]): void {
  if (isDevelopment())
    console.warn(
      `offline-hilo: no event '${type}' ever comes. The events are ${events.join(', ')}.`,
    )
}

/** By page: the warnings that were given. */
const given = new WeakMap<object, Set<string>>()

/**
 * Once per page and reason; in development only, but for files of two versions.
 * @param cause why there is no worker
 * @param spawn asks for one
 */
export async function degraded(
  reason: string,
  cause: unknown,
  spawn: (() => Worker) | undefined,
): Promise<void> {
  const page = globalThis.document ?? globalThis
  const known = given.get(page) ?? new Set()
  given.set(page, known)
  const isMixed = (cause as Partial<HiloError> | undefined)?.code === 'outdated'
  if (known.has(reason) || !(isMixed || isDevelopment())) return
  known.add(reason)
  console.warn(`offline-hilo: ${reason === 'memory' ? inMemory() : await noWorker(cause, spawn)}`)
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

async function noWorker(cause: unknown, spawn: (() => Worker) | undefined): Promise<string> {
  const why =
    cause instanceof Error
      ? (madeOf(spawn) ?? thrown(cause))
      : await whyLost(spawn!).catch(() => 'its file did not load, or it does not answer.')
  return `no worker runs, so this page makes ids itself: ${why} See docs/bundlers.md.`
}

/** Vite before 8 moves this package's files, but not the worker's. */
const adviceAt = (address: string): string =>
  address.includes('/.vite/')
    ? " Give Vite `optimizeDeps: { exclude: ['offline-hilo'] }` in its settings."
    : ''

/** What the app's own function makes, if that is no worker. */
function madeOf(spawn: (() => Worker) | undefined): string | undefined {
  try {
    const made = spawn!()
    if (typeof made?.terminate === 'function') made.terminate()
    else return `\`worker\` made ${shown(made)} in place of a Worker.`
  } catch {}
  return undefined
}

function thrown({ name, message }: Error): string {
  // Some engines throw where the policy forbids a worker, and do not say so.
  const isPolicy = name === 'SecurityError'
  const policy = isPolicy ? ' Does the content security policy allow it (worker-src)?' : ''
  return message.replace(/\.?$/, '.') + policy
}

/** A worker tells nobody why it was lost: one more is started, and its file is asked for. */
async function whyLost(spawn: () => Worker): Promise<string> {
  const { Worker: Real, document } = globalThis
  let address = ''
  let hear = (_: SecurityPolicyViolationEvent) => {}
  const isForbidden = new Promise<boolean>((resolve) => {
    hear = ({ effectiveDirective }) => effectiveDirective !== 'connect-src' && resolve(true)
    // Some engines say it long after the file was asked for.
    setTimeout(resolve, 3_000, false)
  })
  document.addEventListener('securitypolicyviolation', hear)
  globalThis.Worker = class extends Real {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options)
      address = String(url)
    }
  }
  let worker: Worker | undefined
  try {
    worker = spawn()
    globalThis.Worker = Real
    const answer = await fetch(address)
    const type = answer.headers.get('content-type')?.split(';')[0]
    if (!answer.ok) return `its file answers ${answer.status}: ${answer.url}.${adviceAt(address)}`
    if (!/javascript/.test(`${type}`)) return `${type} comes instead of its file: ${answer.url}.`
    return (await isForbidden)
      ? 'the content security policy forbids its file (worker-src).'
      : `its file loads, and it does not answer: ${answer.url}.`
  } finally {
    globalThis.Worker = Real
    document.removeEventListener('securitypolicyviolation', hear)
    worker?.terminate()
  }
}
