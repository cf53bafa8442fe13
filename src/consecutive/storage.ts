/**
 * Series in IndexedDB, each collection's in a database of its own. Guarantees that a number and its
 * key are stored in one strict transaction, one after another in all tabs: a crash at any moment
 * leaves the number bound to its key, or not taken.
 */

import type { SeriesKey } from '../core/page-exit.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'
import {
  type HeldSeries,
  heldSeries,
  type SeriesStore,
  type Step,
  type Taken,
  takenBefore,
} from './numbers.js'
import { type Before, handedOut, type Make, type NumberRow, newNumber, noNumber } from './rows.js'
import { type CurrentSeries, readState, type SeriesState, withNamed } from './state.js'

interface Schema extends DBSchema {
  series: { key: typeof STATE; value: SeriesState }
  numbers: {
    key: [letter: string, place: number]
    value: NumberRow
    indexes: { key: string; open: number; period: [letter: string, period: string, number: number] }
  }
}

type WriteTransaction = Transaction<Schema, 'readwrite'>

/** The only key of the store `series`. */
const STATE = 'state'

export class SeriesStorage implements SeriesStore {
  readonly #db: Database<Schema>
  /** The last number that this page has seen of a series, where the next look begins. */
  #seen: { begun: string; row: NumberRow } | undefined

  /** @param name of the `Hilo`'s own database */
  constructor(name: string, of: SeriesKey) {
    this.#db = new Database<Schema>({
      name: `${name}-series${JSON.stringify(of)}`,
      version: 1,
      stores: ['series', 'numbers'],
      create(db) {
        db.createObjectStore('series')
        const numbers = db.createObjectStore('numbers', { keyPath: ['letter', 'place'] })
        numbers.createIndex('key', 'key', { unique: true })
        numbers.createIndex('open', 'open')
        numbers.createIndex('period', ['letter', 'period', 'number'], { unique: true })
      },
      meaning:
        'Consecutive numbers are stored in IndexedDB only. Ask again with the same key: it ' +
        'gets the number that was taken, if one was.',
    })
  }

  async take(make: Make): Promise<Taken | undefined> {
    const taken = (await this.#takeAtOnce(make)) ?? (await this.#takeAfterLook(make))
    if (taken && 'row' in taken && taken.begun) this.#seen = { begun: taken.begun, row: taken.row }
    return taken
  }

  /**
   * One read and one write: the number after the one that this page has seen last. The storage
   * refuses it if another tab has made that number, or a number for this key.
   */
  async #takeAtOnce(make: Make): Promise<Taken | undefined> {
    const seen = this.#seen
    if (!seen || seen.row.period !== make.period) return undefined
    const { row } = seen
    try {
      return await this.#db.transact('readwrite', async (tx) => {
        const state = await stateIn(tx)
        const { current } = state
        // guard: H28 a number follows one of its own series
        if (!current || current.begun !== seen.begun || current.refused) {
          tx.commit()
          return undefined
        }
        return add(tx, state, current, { last: row, ofPeriod: row }, make)
      })
    } catch {
      // Another tab was faster, the key has its number, or the storage failed: a look tells which.
      return undefined
    }
  }

  /** Reads what it needs to know: the number of the key, or else the last number of the series. */
  async #takeAfterLook(make: Make): Promise<Taken | undefined> {
    // guard: H28 one transaction takes a number and binds it to its key
    return this.#db.transact('readwrite', async (tx) => {
      const { state, last, ofPeriod, known } = await look(tx, make)
      const { current } = state
      const before = known && takenBefore(known, state)
      // guard: H28 a key has one number
      if (before?.isOut || !current || current.refused) {
        tx.commit()
        if (before?.isOut) return before
        return current?.refused && { refused: current.refused }
      }
      if (!before) return add(tx, state, current, { last, ofPeriod }, make)
      if (make.checkIn !== undefined) {
        tx.commit()
        return before
      }
      const row = handedOut(before.row)
      const write = tx.objectStore('numbers').put(row)
      tx.commit()
      await write
      return { ...before, row, isOut: true }
    })
  }

  async settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    await this.#db.transact('readwrite', async (tx) => {
      const numbers = tx.objectStore('numbers')
      const known = await numbers.index('key').get(key)
      if (!known) throw noNumber(key)
      const changed = change(known)
      const write = changed === known ? undefined : numbers.put(changed)
      tx.commit()
      await write
    })
  }

  async change<T>(step: (state: SeriesState) => Step<T>): Promise<T> {
    return this.#db.transact('readwrite', async (tx) => {
      const before = await stateIn(tx)
      const { state, result } = step(before)
      const write = state === before ? undefined : tx.objectStore('series').put(state, STATE)
      tx.commit()
      await write
      return result
    })
  }

  async changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T> {
    return this.#db.transact('readwrite', async (tx) => {
      const before = await stateIn(tx)
      const numbers = tx.objectStore('numbers')
      const { letter, told } = before.current ?? { letter: '', told: 0 }
      const untold = await numbers.getAll(IDBKeyRange.bound([letter, told + 1], [letter, []]))
      const { state, rows, result } = step(before, untold)
      const writes = rows.map((row) => numbers.put(row) as Promise<unknown>)
      if (state !== before) writes.push(tx.objectStore('series').put(state, STATE))
      tx.commit()
      await Promise.all(writes)
      return result
    })
  }

  async current(): Promise<HeldSeries | undefined> {
    return this.#db.transact('readonly', async (tx) => {
      const state = await stateIn(tx)
      const last = await lastIn(tx, state.current)
      tx.commit()
      return heldSeries(state, last)
    })
  }

  async open(): Promise<NumberRow[]> {
    return this.#db.transact('readwrite', async (tx) => {
      const numbers = tx.objectStore('numbers')
      const found = [stateIn(tx), numbers.index('open').getAll()] as const
      const [state, open] = await Promise.all(found)
      // Who is told of a number may write it onto a receipt.
      const rows = open.map((row) => (takenBefore(row, state).isOut ? row : handedOut(row)))
      const writes = rows.filter((row, i) => row !== open[i]).map((row) => numbers.put(row))
      tx.commit()
      await Promise.all(writes)
      return rows
    })
  }

  async all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    return this.#db.transact('readonly', async (tx) => {
      const found = [stateIn(tx), tx.objectStore('numbers').getAll()] as const
      tx.commit()
      const [state, numbers] = await Promise.all(found)
      return { state, numbers }
    })
  }

  close(): void {
    this.#db.close()
  }
}

async function look(tx: WriteTransaction, { key, period }: Make) {
  const numbers = tx.objectStore('numbers')
  const [state, known] = await Promise.all([stateIn(tx), numbers.index('key').get(key)])
  const { current } = state
  const last = await lastIn(tx, current)
  if (!current || last?.period === period) return { state, known, last, ofPeriod: last }
  const of = IDBKeyRange.bound([current.letter, period], [current.letter, period, []])
  const newest = await numbers.index('period').openCursor(of, 'prev')
  return { state, known, last, ofPeriod: newest?.value }
}

async function add(
  tx: WriteTransaction,
  state: SeriesState,
  current: CurrentSeries,
  before: Pick<Before, 'last' | 'ofPeriod'>,
  make: Make,
): Promise<Taken> {
  const { letter, begun } = current
  const { checkIn } = make
  const row = newNumber({ ...before, letter, isFirst: state.ended.length === 0 }, make)
  // guard: H28 nobody's number is written over
  const writes: Promise<unknown>[] = [tx.objectStore('numbers').add(row)]
  // guard: H28 a number and the check-in that names it are stored together
  const named = checkIn === undefined ? state : withNamed(state, row, checkIn)
  if (named !== state) writes.push(tx.objectStore('series').put(named, STATE))
  tx.commit()
  await Promise.all(writes)
  return { row, begun, isOut: checkIn === undefined, heard: false }
}

const stateIn = async (tx: Transaction<Schema>): Promise<SeriesState> =>
  readState(await tx.objectStore('series').get(STATE))

/** The last number of a series that was made. */
async function lastIn(
  tx: Transaction<Schema>,
  of: CurrentSeries | undefined,
): Promise<NumberRow | undefined> {
  if (!of) return undefined
  const numbers = IDBKeyRange.bound([of.letter], [of.letter, []])
  return (await tx.objectStore('numbers').openCursor(numbers, 'prev'))?.value
}
