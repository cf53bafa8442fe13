/**
 * A device's series on its simulated disk. Each step is one strict transaction over one record, so
 * that kills, power cuts, copies and evictions do to it what they do to IndexedDB.
 */
import {
  heldSeries,
  type SeriesStore,
  type Step,
  type Taken,
  takenBefore,
} from '../../src/consecutive/numbers.js'
import {
  handedOut,
  type Make,
  type NumberRow,
  newNumber,
  noNumber,
} from '../../src/consecutive/rows.js'
import { readState, type SeriesState, withNamed } from '../../src/consecutive/state.js'
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

  take(make: Make): Promise<Taken | undefined> {
    const { key, checkIn, period } = make
    return this.#step((stored): { stored: StoredSeries; result: Taken | undefined } => {
      const { state, numbers } = stored
      const { current } = state
      const known = numbers.find((row) => row.key === key)
      const taken = known && takenBefore(known, state)
      if (taken?.isOut || !current) return { stored, result: taken?.isOut ? taken : undefined }
      if (current.refused) return { stored, result: { refused: current.refused } }
      if (taken) {
        if (checkIn !== undefined) return { stored, result: taken }
        const row = handedOut(taken.row)
        return { stored: withRows(stored, [row]), result: { ...taken, row, isOut: true } }
      }
      const { letter } = current
      const ofSeries = numbers.filter((each) => each.letter === letter)
      const ofPeriod = ofSeries.findLast((each) => each.period === period)
      const before = { letter, isFirst: state.ended.length === 0, last: ofSeries.at(-1), ofPeriod }
      const row = newNumber(before, make)
      const named = checkIn === undefined ? state : withNamed(state, row, checkIn)
      return {
        stored: { state: named, numbers: [...numbers, row] },
        result: { row, begun: current.begun, isOut: checkIn === undefined, heard: false },
      }
    })
  }

  settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    return this.#step((stored) => {
      const known = stored.numbers.find((row) => row.key === key)
      if (!known) throw noNumber(key)
      return { stored: withRows(stored, [change(known)]), result: undefined }
    })
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
    return this.#step((stored) => {
      const { letter, told } = stored.state.current ?? { letter: '', told: 0 }
      const untold = stored.numbers.filter((row) => row.letter === letter && row.place > told)
      const { state, rows, result } = step(stored.state, untold)
      return { stored: withRows({ ...stored, state }, rows), result }
    })
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

/** In the place of what was stored of these numbers. */
function withRows(stored: StoredSeries, rows: readonly NumberRow[]): StoredSeries {
  const isSame = (a: NumberRow, b: NumberRow) => a.letter === b.letter && a.place === b.place
  const numbers = stored.numbers.map((old) => rows.find((row) => isSame(row, old)) ?? old)
  return { ...stored, numbers }
}
