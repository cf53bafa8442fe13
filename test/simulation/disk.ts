/**
 * The storage of one device: IndexedDB's records and `localStorage`, and what a crash loses.
 * Guarantees that a strict commit, and all that was committed before it, survives everything; a
 * relaxed one survives all but a power cut; a `localStorage` write survives a dying tab, but in its
 * first few seconds not a dying browser.
 */
import { LocalStorage } from './local-storage.js'
import type { Random } from './random.js'

/**
 * Object stores, each a map from a key's JSON to its record. Records are never changed in place.
 */
export type Stores = Map<string, Map<string, { key: unknown; value: unknown }>>

/** Where a database can be: in the default storage, or in this package's storage bucket. */
export const HOMES = ['default', 'bucket'] as const
export type Home = (typeof HOMES)[number]

/** The name on the disk of a store of the database in this home. */
export const storeIn = (home: Home, name: string): string =>
  home === 'default' ? name : `${IN_BUCKET}${name}`
const IN_BUCKET = 'bucket '

/** `value` undefined: the record is deleted. */
export interface Write {
  store: string
  key: unknown
  value: unknown
}

const NO_DATABASE = { default: 0, bucket: 0 }
/** How long a browser may wait before it writes `localStorage` to disk. */
const LOCAL_STORAGE_DELAY_MS = 5_000

export class Disk {
  /** Of the database in each home. 0: it does not exist there. */
  versions: Readonly<Record<Home, number>> = NO_DATABASE
  /** Was the bucket made? */
  hasBucket = false
  stores: Stores = new Map()
  readonly localStorage: LocalStorage
  /** Of the tab that wrote last: it comes back if the browser restores its session. */
  session: LocalStorage
  readonly #now: () => number
  #durable = { versions: this.versions, stores: this.stores }
  #hasRelaxed = false

  constructor(now: () => number) {
    this.#now = now
    this.localStorage = new LocalStorage(now)
    this.session = new LocalStorage(now)
  }

  commit(writes: readonly Write[], isStrict: boolean): void {
    for (const { store, key, value } of writes) {
      const records = this.stores.get(store)
      if (value === undefined) records?.delete(JSON.stringify(key))
      else records?.set(JSON.stringify(key), { key, value })
    }
    if (isStrict) this.flush()
    else this.#hasRelaxed ||= writes.length > 0
  }

  /** Everything written so far reaches the disk. */
  flush(): void {
    this.#durable = { versions: this.versions, stores: copy(this.stores) }
    this.#hasRelaxed = false
  }

  /** @returns whether a committed write was lost */
  cutPower(random: Random): boolean {
    const isLost = this.#hasRelaxed
    this.killBrowser(random)
    this.versions = this.#durable.versions
    this.stores = copy(this.#durable.stores)
    this.#hasRelaxed = false
    return isLost
  }

  /**
   * All processes of the browser die at once. @returns how many writes to `localStorage` were lost
   */
  killBrowser(random: Random): number {
    return this.localStorage.lose(random.chance(0.8) ? LOCAL_STORAGE_DELAY_MS : 0)
  }

  /** The browser throws this site's databases away. */
  evict(): void {
    this.versions = NO_DATABASE
    this.hasBucket = false
    this.stores = new Map()
    this.flush()
  }

  /** It throws the bucket away, and not the default storage. */
  evictBucket(): void {
    this.versions = { ...this.versions, bucket: 0 }
    this.hasBucket = false
    for (const name of this.stores.keys()) if (name.startsWith(IN_BUCKET)) this.stores.delete(name)
    this.flush()
  }

  /** In which homes is there something in this store? */
  homes(store: string): Home[] {
    return HOMES.filter((home) => (this.stores.get(storeIn(home, store))?.size ?? 0) > 0)
  }

  copyOf(other: Disk): void {
    this.versions = other.versions
    this.hasBucket = other.hasBucket
    this.stores = copy(other.stores)
    this.localStorage.copyOf(other.localStorage)
    this.session = new LocalStorage(this.#now)
    this.session.copyOf(other.session)
    this.flush()
  }
}

const copy = (stores: Stores): Stores =>
  new Map([...stores].map(([name, records]) => [name, new Map(records)]))
