/**
 * Device state in IndexedDB that did not open in time (H35). It lives in memory until IndexedDB
 * opens, and moves there then, once: a page keeps its numbers. Guarantees that nothing is in both,
 * and that no token is shown before. If that transaction fails, its numbers are a gap.
 */
import { HiloError } from '../core/errors.js'
import { type DeviceState, emptyState } from '../device/state.js'
import { readState } from '../device/stored.js'
import { unite } from '../device/unite.js'
import type { IndexedDbStore } from './indexeddb.js'
import { MemoryStore } from './memory.js'
import type { Change, DeviceStore, StoreKey } from './store.js'

/** Until it opens, ids are lost with the page; an open that fails costs next to nothing. */
const PAUSES = { first: 1_000, longest: 8_000 }

interface Surroundings {
  after(ms: number, run: () => void): () => void
  /** The device's clock. */
  date(): number
  /** It has opened: from now on, the stored state is used. */
  onOpen(): void
}

export class LateStore implements DeviceStore {
  readonly #db: IndexedDbStore
  readonly #around: Surroundings
  readonly #memory = new MemoryStore()
  #isOpen = false
  /** A newer version of the package has the storage. */
  #outdated: HiloError | undefined
  #opening: Promise<void> | undefined
  #pause = PAUSES.first
  #cancel = () => {}

  constructor(db: IndexedDbStore, around: Surroundings) {
    this.#db = db
    this.#around = around
    this.#plan()
  }

  get isDurable(): boolean {
    return this.#isOpen
  }

  /**
   * Tries it now.
   * @throws HiloError `storage-failed`; `retryAfter` where it did not answer
   */
  async open(): Promise<void> {
    if (this.#isOpen) return
    this.#cancel()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    await this.#opening
  }

  async update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: never[]) => Change<T>,
  ): Promise<T> {
    if (this.#outdated) throw this.#outdated
    if (!this.#isOpen)
      return this.#memory.update(key, (stored, notes) => change(stored ?? APART, notes))
    const apart = this.#memory.take(key) as DeviceState | undefined
    if (!apart) return this.#db.update(key, change as never)
    let isMade = false
    const changed = this.#db.update<T>(key, (stored, notes) => {
      isMade = false
      const made = change(this.#united(stored, apart), notes as never[])
      isMade = true
      return made
    })
    return changed.catch((error) => {
      // guard: H35 what may have moved is not in memory any more
      if (!isMade) this.#memory.put(key, apart)
      throw error
    })
  }

  async read(key: StoreKey): ReturnType<DeviceStore['read']> {
    const inMemory = await this.#memory.read(key)
    if (!this.#isOpen) return inMemory
    const { stored, notes } = await this.#db.read(key)
    const apart = inMemory.stored as DeviceState | undefined
    return { stored: apart ? this.#united(stored, apart) : stored, notes }
  }

  /** @throws HiloError `storage-failed` while nobody knows the stored state */
  async keys(): Promise<StoreKey[]> {
    if (!this.#isOpen) throw new HiloError('storage-failed', 'The storage has not opened yet.')
    return [...(await this.#memory.keys()), ...(await this.#db.keys())]
  }

  close(): void {
    this.#cancel()
    this.#db.close()
  }

  async #open(): Promise<void> {
    try {
      await this.#db.open()
    } catch (error) {
      const { code } = error as HiloError
      if (code === 'outdated') this.#outdated = error as HiloError
      else if (code !== 'closed') this.#plan()
      throw error
    }
    this.#isOpen = true
    this.#around.onOpen()
  }

  #plan(): void {
    this.#cancel = this.#around.after(this.#pause, () => {
      this.open().catch(() => {})
    })
    this.#pause = Math.min(2 * this.#pause, PAUSES.longest)
  }

  /** A record that cannot be used is set aside, as ever. */
  #united(stored: unknown, apart: DeviceState): unknown {
    const read = readState(stored)
    return 'state' in read ? unite(read.state, apart, this.#around.date()) : stored
  }
}

const APART: DeviceState = { ...emptyState(), isApart: true }
