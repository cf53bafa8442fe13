/**
 * A device's series on its simulated disk. Each step is one strict transaction over one record, so
 * that kills, power cuts, copies and evictions do to it what they do to IndexedDB.
 */
import type { FormatNumber, NumberRow, SeriesStore } from '../../src/consecutive/numbers.js'
import { forgotten, newNumber, noNumber } from '../../src/consecutive/numbers.js'
import { readState, type SeriesState } from '../../src/consecutive/state.js'
import { HiloError } from '../../src/core/errors.js'
import type { Disk } from './disk.js'
import type { DatabaseHost } from './idb-host.js'
import { SimTransaction } from './idb-transaction.js'
import type { Actor } from './scheduler.js'

export interface StoredSeries {
  state: SeriesState
  numbers: readonly NumberRow[]
}

const STORE = 'receipts'
const KEY = 'all'

/** What a device has stored of its series. */
export const storedSeries = (disk: Disk): StoredSeries =>
  (disk.stores.get(STORE)?.get(JSON.stringify(KEY))?.value as StoredSeries | undefined) ?? {
    state: readState(undefined),
    numbers: [],
  }

export class DiskSeries implements SeriesStore {
  readonly #host: DatabaseHost
  readonly #actor: Actor

  constructor(host: DatabaseHost, actor: Actor) {
    this.#host = host
    this.#actor = actor
  }

  take(key: string, format: FormatNumber): Promise<NumberRow | undefined> {
    return this.#step((stored) => {
      const known = stored.numbers.find((row) => row.key === key)
      const { current } = stored.state
      if (known || !current) return { stored, result: known }
      const row = newNumber(current, lastOf(stored) + 1, key, format)
      return { stored: { ...stored, numbers: [...stored.numbers, row] }, result: row }
    })
  }

  settle(
    key: string,
    change: (row: NumberRow) => NumberRow,
    forgetBefore = Number.NEGATIVE_INFINITY,
  ): Promise<void> {
    return this.#step((stored) => {
      const known = stored.numbers.find((row) => row.key === key)
      if (!known) throw noNumber(key)
      const changed = change(known)
      const isOld = ({ confirmedAt }: NumberRow) =>
        confirmedAt !== undefined && confirmedAt <= forgetBefore
      const numbers = stored.numbers.map((row) => {
        if (row === known) return changed
        return isOld(row) ? forgotten(row) : row
      })
      return { stored: { ...stored, numbers }, result: undefined }
    })
  }

  change<T>(
    step: (state: SeriesState, last: number) => { state: SeriesState; result: T },
  ): Promise<T> {
    return this.#step((stored) => {
      const { state, result } = step(stored.state, lastOf(stored))
      return { stored: { ...stored, state }, result }
    })
  }

  current() {
    return this.#step((stored) => {
      const { current } = stored.state
      const held = current && {
        series: current.letter,
        last: lastOf(stored),
        told: current.told,
      }
      return { stored, result: held }
    })
  }

  open(): Promise<NumberRow[]> {
    return this.#step((stored) => ({
      stored,
      result: stored.numbers.filter(({ open }) => open),
    }))
  }

  all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    return this.#step((stored) => ({
      stored,
      result: { state: stored.state, numbers: [...stored.numbers] },
    }))
  }

  close(): void {}

  #step<T>(work: (stored: StoredSeries) => { stored: StoredSeries; result: T }): Promise<T> {
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
          const before =
            (read.result as StoredSeries | undefined) ?? storedSeries({ stores: new Map() } as Disk)
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

function lastOf({ state, numbers }: StoredSeries): number {
  const { current } = state
  return numbers.findLast(({ letter }) => letter === current?.letter)?.number ?? 0
}
