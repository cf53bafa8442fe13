/**
 * Series in IndexedDB, each collection's in a database of its own. Guarantees that a number and its
 * key are stored in one strict transaction, one after another in all tabs: a crash at any moment
 * leaves the number bound to its key, or not taken.
 */
import type { SeriesKey } from '../core/page-exit.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'
import {
  type FormatNumber,
  forgotten,
  type HeldSeries,
  type NumberRow,
  newNumber,
  noNumber,
  type SeriesStore,
} from './numbers.js'
import { type CurrentSeries, readState, type SeriesState } from './state.js'

interface Schema extends DBSchema {
  series: { key: typeof STATE; value: SeriesState }
  numbers: {
    key: [letter: string, number: number]
    value: NumberRow
    indexes: { key: string; open: number; confirmed: number }
  }
}

type WriteTransaction = Transaction<Schema, 'readwrite'>

/** The only key of the store `series`. */
const STATE = 'state'

/** How many old keys are forgotten each time a number is confirmed. */
const FORGET_AT_ONCE = 16

export class SeriesStorage implements SeriesStore {
  readonly #db: Database<Schema>
  /** The last number that this page has seen of a series, where the next look begins. */
  #seen: { begun: string; number: number } | undefined

  /** @param name of the `Hilo`'s own database */
  constructor(name: string, of: SeriesKey) {
    this.#db = new Database<Schema>({
      name: `${name}-series${JSON.stringify(of)}`,
      version: 1,
      stores: ['series', 'numbers'],
      create(db) {
        db.createObjectStore('series')
        const numbers = db.createObjectStore('numbers', { keyPath: ['letter', 'number'] })
        numbers.createIndex('key', 'key', { unique: true })
        numbers.createIndex('open', 'open')
        numbers.createIndex('confirmed', 'confirmedAt')
      },
      meaning:
        'Consecutive numbers are stored in IndexedDB only. Ask again with the same key: it ' +
        'gets the number that was taken, if one was.',
    })
  }

  async take(key: string, format: FormatNumber): Promise<NumberRow | undefined> {
    const taken = (await this.#takeAtOnce(key, format)) ?? (await this.#takeAfterLook(key, format))
    if (taken?.begun) this.#seen = { begun: taken.begun, number: taken.row.number }
    return taken?.row
  }

  /**
   * One read and one write: the number after the one that this page has seen last. The storage
   * refuses it if another tab has made that number, or a number for this key.
   */
  async #takeAtOnce(key: string, format: FormatNumber): Promise<Taken | undefined> {
    const seen = this.#seen
    if (!seen) return undefined
    try {
      const tx = await this.#db.begin('readwrite')
      return await this.#db.finish(tx, async () => {
        const { current } = await stateIn(tx)
        // guard: H28 a number follows one of its own series
        if (current?.begun !== seen.begun) {
          tx.commit()
          return undefined
        }
        return add(tx, current, seen.number + 1, key, format)
      })
    } catch {
      // Another tab was faster, the key has its number, or the storage failed: a look tells which.
      return undefined
    }
  }

  /** Reads what it needs to know: the number of the key, or else the last number of the series. */
  async #takeAfterLook(key: string, format: FormatNumber): Promise<Taken | undefined> {
    // guard: H28 one transaction takes a number and binds it to its key
    const tx = await this.#db.begin('readwrite')
    return this.#db.finish(tx, async () => {
      const { current, last, known } = await look(tx, key)
      // guard: H28 a key has one number
      if (known || !current) {
        tx.commit()
        return known && { row: known }
      }
      return add(tx, current, last + 1, key, format)
    })
  }

  async settle(
    key: string,
    change: (row: NumberRow) => NumberRow,
    forgetBefore = Number.NEGATIVE_INFINITY,
  ): Promise<void> {
    const tx = await this.#db.begin('readwrite')
    await this.#db.finish(tx, async () => {
      const numbers = tx.objectStore('numbers')
      const before = IDBKeyRange.upperBound(forgetBefore)
      const [known, old] = await Promise.all([
        numbers.index('key').get(key),
        numbers.index('confirmed').getAll(before, FORGET_AT_ONCE),
      ])
      if (!known) throw noNumber(key)
      const changed = change(known)
      const writes = old
        .filter(({ number, letter }) => number !== known.number || letter !== known.letter)
        .map((row) => numbers.put(forgotten(row)))
      if (changed !== known) writes.push(numbers.put(changed))
      tx.commit()
      await Promise.all(writes)
    })
  }

  async change<T>(
    step: (state: SeriesState, last: number) => { state: SeriesState; result: T },
  ): Promise<T> {
    const tx = await this.#db.begin('readwrite')
    return this.#db.finish(tx, async () => {
      const before = await stateIn(tx)
      const { state, result } = step(before, await lastIn(tx, before.current))
      const write = state === before ? undefined : tx.objectStore('series').put(state, STATE)
      tx.commit()
      await write
      return result
    })
  }

  async current(): Promise<HeldSeries | undefined> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, async () => {
      const { current } = await stateIn(tx)
      const last = await lastIn(tx, current)
      tx.commit()
      return current && { series: current.letter, last, told: current.told }
    })
  }

  async open(): Promise<NumberRow[]> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, () => {
      const rows = tx.objectStore('numbers').index('open').getAll()
      tx.commit()
      return rows
    })
  }

  async all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, async () => {
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

interface Taken {
  row: NumberRow
  /** Of the series that the number is the last of. Absent: the key had its number before. */
  begun?: string
}

async function look(tx: WriteTransaction, key: string) {
  const [{ current }, known] = await Promise.all([
    stateIn(tx),
    tx.objectStore('numbers').index('key').get(key),
  ])
  return { current, known, last: await lastIn(tx, current) }
}

async function add(
  tx: WriteTransaction,
  current: CurrentSeries,
  number: number,
  key: string,
  format: FormatNumber,
): Promise<Taken> {
  const row = newNumber(current, number, key, format)
  const numbers = tx.objectStore('numbers')
  // guard: H28 nobody's number is written over
  const write = numbers.add(row)
  tx.commit()
  await write
  return { row, begun: current.begun }
}

const stateIn = async (tx: Transaction<Schema>): Promise<SeriesState> =>
  readState(await tx.objectStore('series').get(STATE))

/** The highest number of a series that was made. */
async function lastIn(tx: Transaction<Schema>, of: CurrentSeries | undefined): Promise<number> {
  if (!of) return 0
  const numbers = IDBKeyRange.bound([of.letter], [of.letter, []])
  return (await tx.objectStore('numbers').openKeyCursor(numbers, 'prev'))?.key[1] ?? 0
}
