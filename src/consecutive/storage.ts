/**
 * Series in IndexedDB, in a database of their own. Guarantees that a number and its key are stored
 * in one strict transaction, one after another in all tabs: a crash at any moment leaves the number
 * bound to its key, or not taken.
 */
import { HiloError } from '../core/errors.js'
import type { SeriesKey } from '../core/page-exit.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'
import { readState, type SeriesState, withNext } from './state.js'

/** A number that was made. */
export interface NumberRow {
  of: SeriesKey
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

interface Schema extends DBSchema {
  series: { key: SeriesKey; value: SeriesState }
  numbers: {
    key: [SeriesKey, string, number]
    value: NumberRow
    indexes: {
      key: [SeriesKey, string]
      open: [SeriesKey, number]
      confirmed: [SeriesKey, number]
    }
  }
}

/** How many old keys are forgotten each time a number is confirmed. */
const FORGET_AT_ONCE = 16

export class SeriesStorage {
  readonly #db: Database<Schema>
  readonly #of: SeriesKey

  /** @param name of the `Hilo`'s own database */
  constructor(name: string, of: SeriesKey) {
    this.#of = of
    this.#db = new Database<Schema>({
      name: `${name}-series`,
      version: 1,
      stores: ['series', 'numbers'],
      create(db) {
        db.createObjectStore('series')
        const numbers = db.createObjectStore('numbers', { keyPath: ['of', 'letter', 'number'] })
        numbers.createIndex('key', ['of', 'key'], { unique: true })
        numbers.createIndex('open', ['of', 'open'])
        numbers.createIndex('confirmed', ['of', 'confirmedAt'])
      },
      meaning:
        'Consecutive numbers are stored in IndexedDB only. Ask again with the same key: it ' +
        'gets the number that was taken, if one was.',
    })
  }

  /** The number of a key: the one that it has, or the next. Undefined: there is no series. */
  async take(
    key: string,
    format: (number: number, letter: string) => string,
  ): Promise<NumberRow | undefined> {
    // guard: H28 one transaction takes a number and binds it to its key
    const tx = await this.#db.begin('readwrite')
    return this.#db.finish(tx, async () => {
      const { stored, known } = await look(tx, this.#of, key)
      // guard: H28 a key has one number
      if (known) {
        tx.commit()
        return known
      }
      const next = withNext(readState(stored))
      if (!next) {
        tx.commit()
        return undefined
      }
      const { state, letter, number } = next
      const id = format(number, letter)
      const row: NumberRow = { of: this.#of, letter, number, id, key, state: 'open', open: 1 }
      const writes = [
        tx.objectStore('series').put(state, this.#of),
        tx.objectStore('numbers').add(row),
      ]
      tx.commit()
      await Promise.all(writes)
      return row
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
      const old = IDBKeyRange.bound([this.#of, Number.NEGATIVE_INFINITY], [this.#of, forgetBefore])
      const [known, forgotten] = await Promise.all([
        numbers.index('key').get([this.#of, key]),
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

  /** One step of what the device knows of its series. */
  async change<T>(step: (state: SeriesState) => { state: SeriesState; result: T }): Promise<T> {
    const tx = await this.#db.begin('readwrite')
    return this.#db.finish(tx, async () => {
      const before = readState(await tx.objectStore('series').get(this.#of))
      const { state, result } = step(before)
      const write = state === before ? undefined : tx.objectStore('series').put(state, this.#of)
      tx.commit()
      await write
      return result
    })
  }

  /** Undefined: there is no series to make a number in. */
  async current(): Promise<{ series: string; last: number; told: number } | undefined> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, async () => {
      const found = tx.objectStore('series').get(this.#of)
      tx.commit()
      const { current } = readState(await found)
      return current && { series: current.letter, last: current.last, told: current.told }
    })
  }

  /** Numbers that are neither confirmed nor cancelled. */
  async open(): Promise<NumberRow[]> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, () => {
      const rows = tx
        .objectStore('numbers')
        .index('open')
        .getAll(IDBKeyRange.only([this.#of, 1]))
      tx.commit()
      return rows
    })
  }

  /** Everything that is stored, in one read. */
  async all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, async () => {
      const found = [
        tx.objectStore('series').get(this.#of),
        tx.objectStore('numbers').getAll(IDBKeyRange.bound([this.#of], [this.#of, []])),
      ] as const
      tx.commit()
      const [stored, numbers] = await Promise.all(found)
      return { state: readState(stored), numbers }
    })
  }

  close(): void {
    this.#db.close()
  }
}

async function look(
  tx: Transaction<Schema, 'readwrite'>,
  of: SeriesKey,
  key: string,
): Promise<{ stored: unknown; known: NumberRow | undefined }> {
  const [stored, known] = await Promise.all([
    tx.objectStore('series').get(of),
    tx.objectStore('numbers').index('key').get([of, key]),
  ])
  return { stored, known }
}

const noNumber = (key: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made for the key ${JSON.stringify(key)}, or it was confirmed so long ago that ` +
      'the key is forgotten. Nothing was changed. Take a number with next({ key }) first.',
  )
