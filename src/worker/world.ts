/**
 * Everything the owner touches outside itself, and the browser's version of it: the only place in the owner's code that uses globals.
 */
import type { OwnerConfig, Seen, StorageKind } from '../core/contract.js'
import { HiloError } from '../core/errors.js'
import { uuid } from '../core/uuid.js'
import { type GetHeaders, ravenSource } from '../source/raven.js'
import type { Source } from '../source/source.js'
import { IndexedDbStore } from '../store/indexeddb.js'
import { MemoryStore } from '../store/memory.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import { callRoll, type RollCall } from './roll-call.js'

export interface World {
  /** @throws HiloError `outdated`; any other trouble with the storage ends in memory. */
  openStore(name: string): Promise<DeviceStore>
  storageKind(): Promise<StorageKind>
  createSource(config: OwnerConfig, headers: GetHeaders): Source
  /** Milliseconds; only ever for pacing (H19). */
  now(): number
  /** The device's clock; only ever for pacing across sessions (H19). */
  date(): number
  after(ms: number, run: () => void): () => void
  /** 0 ≤ x < 1 */
  random(): number
  newId(): string
  /** Runs alone among this device's tabs if that can be had soon; otherwise runs all the same, which is safe (H18). */
  lock<T>(name: string, run: () => Promise<T>): Promise<T>
  /** This site's other tabs that use the same storage; what they say is for display only. */
  openTabs(name: string, hear: (key: StoreKey, seen: Seen) => void): Tabs
  /** Absent where tabs cannot hear each other. */
  callRoll?(name: string, page: string): RollCall
}

export interface Tabs {
  announce(key: StoreKey, seen: Seen): void
  close(): void
}

/** A lock may sit in another tab's frozen page for ever; going on without it costs a claim too many at worst. */
const LOCK_DEADLINE_MS = 2_000

export function browserWorld(): World {
  return {
    async openStore(name) {
      if (typeof indexedDB === 'undefined') return new MemoryStore()
      const store = new IndexedDbStore(name)
      try {
        await store.open()
        return store
      } catch (error) {
        if (error instanceof HiloError && error.code === 'outdated') throw error
        return new MemoryStore()
      }
    },
    storageKind: async () => ((await globalThis.navigator?.storage?.persisted?.()) ? 'persistent' : 'best-effort'),
    createSource: ravenSource,
    now: () => performance.now(),
    date: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    random: Math.random,
    newId: () => uuid(crypto.getRandomValues(new Uint8Array(16))),
    lock: (name, run) => lockSoon(globalThis.navigator?.locks, name, run),
    ...(typeof BroadcastChannel !== 'undefined' && { callRoll }),
    openTabs(name, hear) {
      if (typeof BroadcastChannel === 'undefined') return { announce() {}, close() {} }
      const channel = new BroadcastChannel(name)
      channel.onmessage = ({ data: [key, seen] }: MessageEvent<[StoreKey, Seen]>) => hear(key, seen)
      return { announce: (key, seen) => channel.postMessage([key, seen]), close: () => channel.close() }
    },
  }
}

async function lockSoon<T>(locks: LockManager | undefined, name: string, run: () => Promise<T>): Promise<T> {
  if (!locks) return run()
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), LOCK_DEADLINE_MS)
  let isHeld = false
  try {
    return await locks.request(name, { signal: deadline.signal }, () => {
      isHeld = true
      clearTimeout(timer)
      return run()
    })
  } catch (error) {
    if (isHeld) throw error
    return run()
  } finally {
    clearTimeout(timer)
  }
}
