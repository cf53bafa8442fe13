/**
 * The globals of pages, workers and servers. While a simulation runs, `globalThis` answers each
 * with those of the actor whose event is being run. Other code gets the real globals. So does an
 * actor for a name that is not listed here.
 */
import { createBuckets } from './buckets.js'
import { SimulatedHeaders, SimulatedRequest, SimulatedResponse } from './http.js'
import type { DatabaseHost } from './idb-host.js'
import { SimKeyRange } from './idb-keys.js'
import { SimObjectStore, SimRequest, SimTransaction } from './idb-transaction.js'
import { createIndexedDb, SimDatabase } from './indexed-db.js'
import type { LocalStorage } from './local-storage.js'
import type { Network } from './network.js'
import { createChannel } from './ports.js'
import type { Random } from './random.js'
import type { Actor, Scheduler } from './scheduler.js'
import type { BroadcastHost, LockHost } from './tabs.js'
import { SimAbortController, SimAbortSignal, SimTarget } from './targets.js'

/** The time at which simulations begin, on every clock that is right. */
export const EPOCH = Date.parse('2026-03-01T08:00:00Z')

export interface Realm {
  /** By name; a name that is missing here is the real global. */
  globals: Record<string, unknown>
  date(): number
  /** What `crypto.getRandomValues` answers first, 16 bytes each. */
  randomBytes: Uint8Array[]
}

/** What a page or worker needs of its device. */
export interface Surroundings {
  name: string
  databases: DatabaseHost
  locks: LockHost
  broadcasts: BroadcastHost
  network: Network
  hasLocks: boolean
  hasBroadcasts: boolean
  forbidsBroadcasts?: boolean
  hasIndexedDb: boolean
  hasBuckets(): boolean
  engine: 'chromium' | 'firefox' | 'webkit'
  isOnline(): boolean
  /** A request that was made while it had no network. */
  offline(request: { url: URL; sender: string }): void
  /** A request got no sound answer soon. */
  disturbed(): void
  /** The server's node that its requests reach. */
  node(): string
  /** How many milliseconds its clock is ahead. */
  clockError(): number
}

/** Every name that some actor replaces. */
const NAMES = [
  'setTimeout',
  'clearTimeout',
  'performance',
  'crypto',
  'document',
  'window',
  'addEventListener',
  'localStorage',
  'sessionStorage',
  'indexedDB',
  'IDBKeyRange',
  'AbortController',
  'AbortSignal',
  'fetch',
  'navigator',
  'location',
  'BroadcastChannel',
  'MessageChannel',
  'Request',
  'Response',
  'Headers',
  'setImmediate',
] as const

/** The classes by which `idb` knows objects. It reads them once, so all realms share them. */
const IDB_CLASSES = {
  IDBRequest: SimRequest,
  IDBTransaction: SimTransaction,
  IDBObjectStore: SimObjectStore,
  IDBDatabase: SimDatabase,
  IDBIndex: class {},
  IDBCursor: class {},
}

/** As in Firefox where cookies are blocked. */
class ForbiddenChannel {
  constructor() {
    throw new DOMException('The operation is insecure.', 'SecurityError')
  }
}

/** A worker's realm: no document, no `localStorage`. */
export function workerRealm(
  scheduler: Scheduler,
  actor: Actor,
  around: Surroundings,
  href = 'https://app.test/',
): Realm {
  const { random } = scheduler
  const born = scheduler.now
  const buckets = createBuckets(around.databases, actor)
  const timers = new Map<number, () => void>()
  let lastTimer = 0
  const randomBytes: Uint8Array[] = []
  const date = () => EPOCH + scheduler.now + around.clockError()
  return {
    date,
    randomBytes,
    globals: {
      setTimeout(run: () => void, ms = 0) {
        const timer = ++lastTimer
        const fire = () => {
          timers.delete(timer)
          run()
        }
        // As in a browser, a delay that does not fit in 31 bits fires at once.
        timers.set(timer, scheduler.post(actor, ms > 2 ** 31 - 1 ? 0 : ms, 'timer', fire))
        return timer
      },
      clearTimeout(timer: number | undefined) {
        timers.get(timer!)?.()
        timers.delete(timer!)
      },
      performance: { now: () => scheduler.now - born },
      crypto: {
        getRandomValues(view: Uint8Array | Uint32Array) {
          new Uint8Array(view.buffer).set(randomBytes.shift() ?? sixteenBytes(random))
          return view
        },
      },
      document: undefined,
      window: undefined,
      addEventListener: undefined,
      localStorage: undefined,
      sessionStorage: undefined,
      indexedDB: around.hasIndexedDb ? createIndexedDb(around.databases, actor) : undefined,
      IDBKeyRange: SimKeyRange,
      AbortController: SimAbortController,
      AbortSignal: SimAbortSignal,
      fetch: around.network.fetchFor(actor, around),
      navigator: {
        get onLine() {
          return around.isOnline()
        },
        get storageBuckets() {
          return around.hasBuckets() ? buckets : undefined
        },
        ...(around.hasLocks && { locks: around.locks.forActor(actor) }),
      },
      location: { href },
      BroadcastChannel: around.hasBroadcasts
        ? around.broadcasts.forActor(actor)
        : around.forbidsBroadcasts
          ? ForbiddenChannel
          : undefined,
      MessageChannel: class {
        constructor() {
          // biome-ignore lint/correctness/noConstructorReturn: it gives two ports of another class
          return createChannel(scheduler, actor)
        }
      },
    },
  }
}

/** How the page came, as browsers say it. A session that is restored says `back_forward`. */
export interface Load {
  type: 'navigate' | 'reload' | 'back_forward'
  /** Of its tab. */
  sessionStorage: LocalStorage
}

/** By what an engine is told from the others. */
const ENGINES = {
  chromium: { webkitRequestFileSystem() {} },
  firefox: { mozInnerScreenX: 0 },
  webkit: {},
}

/** A page's document and window, as far as the package listens to them. */
export class PageWindow {
  /** Which copies of the exit note are lost while the page closes. */
  isLosing: 'indexedDB' | 'localStorage' | undefined
  readonly window = new SimTarget()
  readonly document = Object.assign(new SimTarget(), {
    visibilityState: 'visible' as 'visible' | 'hidden',
    prerendering: false,
  })

  setVisibility(state: 'visible' | 'hidden'): void {
    this.document.visibilityState = state
    this.document.emit('visibilitychange')
  }

  emit(type: string, detail: object = {}): void {
    this.window.emit(type, detail)
  }
}

export function pageRealm(
  scheduler: Scheduler,
  actor: Actor,
  around: Surroundings,
  page: PageWindow,
  href: string,
  { type, sessionStorage }: Load,
): Realm {
  const { globals, ...realm } = workerRealm(scheduler, actor, around, href)
  const { window, document } = page
  Object.assign(window, { top: window }, ENGINES[around.engine])
  return {
    ...realm,
    globals: {
      ...globals,
      document,
      window,
      performance: { ...(globals.performance as object), getEntriesByType: () => [{ type }] },
      sessionStorage: sessionStorage.api,
      addEventListener: window.addEventListener.bind(window),
      get localStorage() {
        return page.isLosing === 'localStorage'
          ? DEAF_STORAGE
          : around.databases.disk.localStorage.api
      },
    },
  }
}

const DEAF_STORAGE = Object.create({ getItem: () => null, setItem() {}, removeItem() {} })

/** A server's realm: its clock is its own, and its requests and answers have no streams. */
export const serverRealm = (scheduler: Scheduler, clockError: () => number): Realm => ({
  globals: {
    Request: SimulatedRequest,
    Response: SimulatedResponse,
    Headers: SimulatedHeaders,
    // A server has one request at a time, so nothing could come in between.
    setImmediate: queueMicrotask,
  },
  randomBytes: [],
  date: () => Math.floor(EPOCH + scheduler.now + clockError()),
})

/**
 * Replaces the globals for as long as a simulation runs.
 * @param stackFrames how many lines of its stack an error has. Errors are many, and only in a
 * schedule that is told in full does somebody read their stacks
 * @returns a function that puts the globals back
 */
export function installGlobals(
  scheduler: Pick<Scheduler, 'current' | 'random'>,
  stackFrames = 0,
): () => void {
  const realm = () => scheduler.current?.realm as Realm | undefined
  const undo: (() => void)[] = []
  function replace(target: object, name: string, descriptor: PropertyDescriptor): void {
    const before = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { ...descriptor, configurable: true })
    undo.push(() =>
      before ? Object.defineProperty(target, name, before) : Reflect.deleteProperty(target, name),
    )
  }

  for (const name of NAMES) {
    const real = Object.getOwnPropertyDescriptor(globalThis, name)
    const answer = () => {
      const globals = realm()?.globals
      return globals && name in globals
        ? globals[name]
        : real?.get
          ? real.get.call(globalThis)
          : real?.value
    }
    // While a test runner talks to its parent, it sets its own timers here. Afterwards it sets back
    // what it had found here.
    let override: { value: unknown } | undefined
    const get = () => (override ? override.value : answer())
    const set = (value: unknown) => {
      override = value === answer() ? undefined : { value }
    }
    replace(globalThis, name, { get, set })
  }
  for (const [name, value] of Object.entries(IDB_CLASSES))
    replace(globalThis, name, { value, writable: true })

  const { stackTraceLimit } = Error
  Error.stackTraceLimit = stackFrames
  undo.push(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
  const { now } = Date
  replace(Date, 'now', { value: () => realm()?.date() ?? now(), writable: true })
  const random = Math.random
  replace(Math, 'random', {
    value: () => (realm() ? scheduler.random.next() : random()),
    writable: true,
  })
  return () => {
    for (const restore of undo.reverse()) restore()
  }
}

function sixteenBytes(random: Random): Uint8Array {
  const bytes = new Uint8Array(16)
  for (let i = 0; i < 16; i++) bytes[i] = random.between(0, 255)
  return bytes
}

/** The id that a page of this realm will make next. */
export function nextPageId(actor: Actor, random: Random): string {
  const bytes = sixteenBytes(random)
  ;(actor.realm as Realm).randomBytes.push(bytes)
  return new Uint32Array(bytes.buffer).join('-')
}
