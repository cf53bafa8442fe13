/**
 * A device's series on its simulated disk. Each step is one strict transaction over one record, so
 * that kills, power cuts, copies and evictions do to it what they do to IndexedDB.
 */
import type { Link, Sealed } from '../../src/consecutive/links.js'
import {
  heldSeries,
  type SeriesStore,
  type Step,
  type StoredSeries,
  type Taken,
} from '../../src/consecutive/numbers.js'
import type { Make, NumberRow } from '../../src/consecutive/rows.js'
import type { SeriesState } from '../../src/consecutive/state.js'
import {
  changeUntoldIn,
  NOTHING_STORED,
  recordIn,
  settleIn,
  takeIn,
  type WholeStep,
} from '../../src/consecutive/whole.js'
import { HiloError } from '../../src/core/errors.js'
import type { Disk } from './disk.js'
import type { DatabaseHost } from './idb-host.js'
import { SimTransaction } from './idb-transaction.js'
import type { Actor } from './scheduler.js'

const STORE = 'receipts'
const KEY = 'all'

/** What a device has stored of its series. */
export const storedSeries = (disk: Disk): StoredSeries =>
  (disk.stores.get(STORE)?.get(JSON.stringify(KEY))?.value as StoredSeries | undefined) ??
  NOTHING_STORED

export class DiskSeries implements SeriesStore {
  readonly #host: DatabaseHost
  readonly #actor: Actor

  constructor(host: DatabaseHost, actor: Actor) {
    this.#host = host
    this.#actor = actor
  }

  async take(make: Make): Promise<Taken | undefined> {
    for (let link: Link | undefined; ; ) {
      const taken = await this.#step((stored) => takeIn(stored, make, link))
      if (!taken || !('draft' in taken)) return taken
      link = await make.sealed!.sealing.linkOf(taken.draft)
    }
  }

  async record(key: string, sealed: Sealed): Promise<Link | undefined> {
    for (let link: Link | undefined; ; ) {
      const made = await this.#step((stored) => recordIn(stored, key, sealed, link))
      if (!made || !('draft' in made)) return made
      link = await sealed.sealing.linkOf(made.draft)
    }
  }

  settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    return this.#step((stored) => settleIn(stored, key, change))
  }

  change<T>(step: (state: SeriesState) => Step<T>): Promise<T> {
    return this.#step((stored) => {
      const { state, result } = step(stored.state)
      return { stored: { ...stored, state }, result }
    })
  }

  changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T> {
    return this.#step((stored) => changeUntoldIn(stored, step))
  }

  current() {
    return this.#step((stored) => {
      const { state, numbers } = stored
      const last = numbers.findLast(({ letter }) => letter === state.current?.letter)
      return { stored, result: heldSeries(state, last) }
    })
  }

  open(): Promise<NumberRow[]> {
    return this.#step((stored) => ({
      stored,
      result: stored.numbers.filter(({ open }) => open),
    }))
  }

  all(): Promise<StoredSeries> {
    return this.#step((stored) => ({ stored, result: stored }))
  }

  close(): void {}

  #step<T>(work: (stored: StoredSeries) => WholeStep<T>): Promise<T> {
    const { disk } = this.#host
    if (!disk.stores.has(STORE)) disk.stores.set(STORE, new Map())
    return new Promise((resolve, reject) => {
      const tx = new SimTransaction(this.#host, this.#actor, [STORE], 'readwrite', true)
      const failed = () => reject(new HiloError('storage-failed', 'The simulated storage failed.'))
      tx.addEventListener('abort', failed)
      const store = tx.objectStore(STORE)
      const read = store.get(KEY)
      read.addEventListener('error', failed)
      read.addEventListener('success', () => {
        try {
          const before = (read.result as StoredSeries | undefined) ?? NOTHING_STORED
          const { stored, result } = work(before)
          store.put(stored, KEY)
          tx.addEventListener('complete', () => resolve(result))
          tx.commit()
        } catch (error) {
          reject(error)
          tx.abort()
        }
      })
    })
  }
}
