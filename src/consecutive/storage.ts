/**
 * Series in IndexedDB, each collection's in a database of its own. Guarantees that a number and its
 * key are stored in one strict transaction, one after another in all tabs: a crash at any moment
 * leaves the number bound to its key, or not taken.
 */
import { HiloError } from '../core/errors.js'
import type { SeriesKey } from '../core/page-exit.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'
import { type CurrentSeries, readState, type SeriesState } from './state.js'

/** A number that was made. */
export interface NumberRow {
  letter: string
  number: number
  /** As it was written when it was made: `B-000124`. */
  id: string
  state: 'open' | 'confirmed' | 'cancelled'
  /** What it is for. Absent: it was confirmed, and its key forgotten. */
  key?: string
  /** Why it was cancelled. */
  reason?: string
  /** Set while the number is neither confirmed nor cancelled; an index finds it by this. */
  open?: 1
  /** When it was confirmed, while its key is remembered: milliseconds since the epoch. */
  confirmedAt?: number
}

/** Makes the id of a number. */
export type FormatNumber = (number: number, letter: string) => string

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

export class SeriesStorage {
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

  /** The number of a key: the one that it has, or the next. Undefined: there is no series. */
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

  /**
   * Changes what is stored of the number of a key.
   * @param change returns what is stored instead; the same object: nothing is
   */
  async settle(
    key: string,
    change: (row: NumberRow) => NumberRow,
    forgetBefore = Number.NEGATIVE_INFINITY,
  ): Promise<void> {
    const tx = await this.#db.begin('readwrite')
    await this.#db.finish(tx, async () => {
      const numbers = tx.objectStore('numbers')
      const old = IDBKeyRange.upperBound(forgetBefore)
      const [known, forgotten] = await Promise.all([
        numbers.index('key').get(key),
        numbers.index('confirmed').getAll(old, FORGET_AT_ONCE),
      ])
      if (!known) throw noNumber(key)
      const changed = change(known)
      const writes = forgotten
        .filter(({ number, letter }) => number !== known.number || letter !== known.letter)
        .map(({ key: _, confirmedAt, ...row }) => numbers.put(row))
      if (changed !== known) writes.push(numbers.put(changed))
      tx.commit()
      await Promise.all(writes)
    })
  }

  /** One step of what the device knows of its series, whose last number is `last`. */
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

  /** Undefined: there is no series to make a number in. */
  async current(): Promise<{ series: string; last: number; told: number } | undefined> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, async () => {
      const { current } = await stateIn(tx)
      const last = await lastIn(tx, current)
      tx.commit()
      return current && { series: current.letter, last, told: current.told }
    })
  }

  /** Numbers that are neither confirmed nor cancelled. */
  async open(): Promise<NumberRow[]> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, () => {
      const rows = tx.objectStore('numbers').index('open').getAll()
      tx.commit()
      return rows
    })
  }

  /** Everything that is stored, in one read. */
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
  { letter, begun }: CurrentSeries,
  number: number,
  key: string,
  format: FormatNumber,
): Promise<Taken> {
  const id = format(number, letter)
  const row: NumberRow = { letter, number, id, key, state: 'open', open: 1 }
  const numbers = tx.objectStore('numbers')
  // guard: H28 nobody's number is written over
  const write = numbers.add(row)
  tx.commit()
  await write
  return { row, begun }
}

const stateIn = async (tx: Transaction<Schema>): Promise<SeriesState> =>
  readState(await tx.objectStore('series').get(STATE))

/** The highest number of a series that was made. */
async function lastIn(tx: Transaction<Schema>, of: CurrentSeries | undefined): Promise<number> {
  if (!of) return 0
  const numbers = IDBKeyRange.bound([of.letter], [of.letter, []])
  return (await tx.objectStore('numbers').openKeyCursor(numbers, 'prev'))?.key[1] ?? 0
}

const noNumber = (key: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made for the key ${JSON.stringify(key)}, or it was confirmed so long ago that ` +
      'the key is forgotten. Nothing was changed. Take a number with next({ key }) first.',
  )
