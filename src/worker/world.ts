/**
 * Everything the owner touches outside itself, and the browser's version of it: the only place in
 * the owner's code that uses globals.
 */
import type { HiloError } from '../core/errors.js'
import { uuid } from '../core/uuid.js'
import type { OwnerConfig, StorageKind } from '../device/contract.js'
import type { GetHeaders } from '../source/http.js'
import { ravenSource } from '../source/raven-source.js'
import type { Source } from '../source/source.js'
import { isForbidden } from '../store/database.js'
import { IndexedDbStore } from '../store/indexeddb.js'
import { LateStore } from '../store/late.js'
import { MemoryStore } from '../store/memory.js'
import type { DeviceStore } from '../store/store.js'
import { openTabs } from './tabs.js'

export interface World {
  /**
   * If the storage does not open, ranges are kept in memory until it does.
   * @param onOpen it has opened late
   * @throws HiloError `outdated`
   */
  openStore(name: string, onOpen: () => void): Promise<DeviceStore>
  /**
   * Where ids are in memory only because the storage did not open: tries that now.
   * @throws HiloError `storage-failed`
   */
  untilOpen(): Promise<void>
  /** A storage that has not opened yet is not opened any more. */
  stayInMemory?(): void
  storageKind(): Promise<StorageKind>
  /** Is the open storage in this package's bucket? */
  isInBucket?(): boolean
  /** Why nothing answers at this address, as far as this realm knows. */
  whyUnreachable?: (url: string) => Promise<string | undefined>
  createSource(config: OwnerConfig, headers: GetHeaders): Source
  /** Milliseconds; only ever for pacing (H19). */
  now(): number
  /** The device's clock; only ever for pacing across sessions (H19). */
  date(): number
  after(ms: number, run: () => void): () => void
  /** 0 ≤ x < 1 */
  random(): number
  /** Unguessable, and different from every other one. */
  newId(): string
  /**
   * Runs `run` under a lock that all tabs of this device share. If the lock does not come soon,
   * runs it without, which is safe (H18).
   */
  lock<T>(name: string, run: () => Promise<T>): Promise<T>
  /** This site's other tabs that use the same storage; undefined where tabs cannot talk. */
  openTabs?: typeof openTabs | undefined
}

/** Another tab's frozen page may hold a lock for ever. Without it, two tabs may both claim. */
const LOCK_DEADLINE_MS = 2_000

/** @param own a store of the app's own; processes that share it cannot send each other messages */
export function browserWorld(own?: DeviceStore): World {
  let late: LateStore | undefined
  let db: IndexedDbStore | undefined
  return {
    async openStore(name, onOpen) {
      if (own) return own
      if (typeof indexedDB === 'undefined') return new MemoryStore()
      db = new IndexedDbStore(name)
      try {
        await db.open()
        return db
      } catch (error) {
        const { code, cause } = error as HiloError
        if (code === 'outdated') throw error
        if (isForbidden(cause)) return new MemoryStore()
        late = new LateStore(db, { after: this.after, date: this.date, onOpen })
        return late
      }
    },
    untilOpen: async () => late?.open(),
    stayInMemory() {
      if (!late?.isDurable) late?.close()
    },
    storageKind: async () => {
      const home = db?.bucket ?? globalThis.navigator?.storage
      return own || (await home?.persisted?.()) ? 'persistent' : 'best-effort'
    },
    isInBucket: () => Boolean(db?.bucket),
    whyUnreachable: watchPolicy(),
    createSource: ravenSource,
    now: () => performance.now(),
    date: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      // In Node nothing here keeps a process from ending. In a browser, timers are numbers.
      timer.unref?.()
      return () => clearTimeout(timer)
    },
    random: Math.random,
    newId: () => uuid(crypto.getRandomValues(new Uint8Array(16)), Date.now()),
    lock: lockSoon,
    // Ranges in memory are this realm's alone. In Deno, a channel keeps the process alive.
    openTabs: own || !('indexedDB' in globalThis) ? undefined : openTabs,
  }
}

async function lockSoon<T>(name: string, run: () => Promise<T>): Promise<T> {
  let work: Promise<T> | undefined
  const start = () => {
    work ??= run()
    return work
  }
  // guard: H18 no lock is no reason to stop
  try {
    // guard: H18 a lock is not waited for without a deadline
    await navigator.locks.request(name, { signal: AbortSignal.timeout(LOCK_DEADLINE_MS) }, start)
  } catch {} // There is no lock, or it came too late; or the work failed, and `start` rejects too.
  return start()
}

/**
 * @returns tells why nothing answers at an address, as far as a page or worker can tell: its
 * policy, or that it is a test. Undefined: nobody knows
 */
function watchPolicy(): (url: string) => Promise<string | undefined> {
  const forbidden = new Set<string>()
  const hear = ({ blockedURI }: SecurityPolicyViolationEvent) => forbidden.add(blockedURI)
  globalThis.addEventListener?.('securitypolicyviolation', hear)
  return async (url) => {
    const { addEventListener, document, indexedDB } = globalThis as Partial<typeof globalThis>
    // A request fails before the event comes that tells of it.
    if (addEventListener) await new Promise((resolve) => setTimeout(resolve))
    if ([...forbidden].some((each) => each.startsWith(url))) return POLICY
    return document && !indexedDB ? IN_TEST : undefined
  }
}

const POLICY =
  'The content security policy of the page forbids this address: add it to `connect-src`.'
const IN_TEST =
  'There is no IndexedDB here. In a test, use `createTestHilo` of offline-hilo/testing.'
