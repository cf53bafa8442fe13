/**
 * Series in IndexedDB, each collection's in a database of its own. Guarantees that a number and its
 * key are stored in one strict transaction, one after another in all tabs: a crash at any moment
 * leaves the number bound to its key, or not taken.
 */

import type { SeriesKey } from '../core/page-exit.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'
import { draftOf, follows, type Link, markOf, type Sealed } from './links.js'
import {
  type Drafted,
  type HeldSeries,
  heldSeries,
  type SeriesStore,
  type Step,
  type StoredSeries,
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
  links: { key: [chain: string, at: number]; value: Link; indexes: { key: string } }
}

type WriteTransaction = Transaction<Schema, 'readwrite'>

interface Seen {
  begun: string
  row: NumberRow
  /** The last record of its chain. */
  link?: Link | undefined
}

/** The only key of the store `series`. */
const STATE = 'state'

export class SeriesStorage implements SeriesStore {
  readonly #db: Database<Schema>
  /** The last number that this page has seen of a series, where the next look begins. */
  #seen: Seen | undefined
  /** One record of a chain is made after another. */
  #turn: Promise<unknown> = Promise.resolve()

  /** @param name of the `Hilo`'s own database */
  constructor(name: string, of: SeriesKey) {
    this.#db = new Database<Schema>({
      name: `${name}-series${JSON.stringify(of)}`,
      version: 1,
      stores: ['series', 'numbers', 'links'],
      create(db) {
        db.createObjectStore('series')
        const numbers = db.createObjectStore('numbers', { keyPath: ['letter', 'place'] })
        numbers.createIndex('key', 'key', { unique: true })
        numbers.createIndex('open', 'open')
        numbers.createIndex('period', ['letter', 'period', 'number'], { unique: true })
        const links = db.createObjectStore('links', { keyPath: ['chain', 'at'] })
        links.createIndex('key', 'key', { unique: true })
      },
      meaning:
        'Consecutive numbers are stored in IndexedDB only. Ask again with the same key: it ' +
        'gets the number that was taken, if one was.',
    })
  }

  take(make: Make): Promise<Taken | undefined> {
    const { sealed } = make
    if (sealed) return this.#inTurn(() => this.#takeSealed(make, sealed))
    return this.#take(make, undefined) as Promise<Taken | undefined>
  }

  /** What makes a link answers later than a transaction lives, so it runs between two. */
  async #takeSealed(make: Make, sealed: Sealed): Promise<Taken | undefined> {
    const { linkOf } = sealed.sealing
    // Where it fails, the key may have its number already: a look tells.
    let link = await this.#linkAtOnce(make, sealed).catch(() => undefined)
    for (;;) {
      const taken = await this.#take(make, link)
      if (!taken || !('draft' in taken)) return taken
      this.#seen = undefined
      link = await linkOf(taken.draft)
    }
  }

  async #take(make: Make, link: Link | undefined): Promise<Taken | Drafted | undefined> {
    const taken = (await this.#takeAtOnce(make, link)) ?? (await this.#takeAfterLook(make, link))
    if (taken && 'row' in taken && taken.begun && taken.row.link?.hash === link?.hash)
      this.#seen = { begun: taken.begun, row: taken.row, link }
    return taken
  }

  /** Of the number after the one that this page has seen last. */
  async #linkAtOnce(make: Make, sealed: Sealed): Promise<Link | undefined> {
    const { row, link } = this.#seen ?? {}
    if (!row || row.period !== make.period) return undefined
    const next = newNumber({ letter: row.letter, isFirst: false, last: row, ofPeriod: row }, make)
    return sealed.sealing.linkOf(draftOf(next, sealed, link, row))
  }

  record(key: string, sealed: Sealed): Promise<Link | undefined> {
    return this.#inTurn(async () => {
      for (let link: Link | undefined; ; ) {
        const found = await this.#db.transact('readwrite', (tx) => addRecord(tx, key, sealed, link))
        if (!found || !('draft' in found)) return found
        link = await sealed.sealing.linkOf(found.draft)
      }
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  /**
   * One read and one write: the number after the one that this page has seen last. The storage
   * refuses it if another tab has made that number, or a number for this key.
   */
  async #takeAtOnce(make: Make, link: Link | undefined): Promise<Taken | Drafted | undefined> {
    const seen = this.#seen
    if (!seen || seen.row.period !== make.period || (make.sealed && !link)) return undefined
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
        const before = { last: row, ofPeriod: row, before: seen.link }
        return add(tx, state, current, before, make, link)
      })
    } catch {
      // Another tab was faster, the key has its number, or the storage failed: a look tells which.
      return undefined
    }
  }

  /** Reads what it needs to know: the number of the key, or else the last number of the series. */
  async #takeAfterLook(make: Make, link: Link | undefined): Promise<Taken | Drafted | undefined> {
    // guard: H28 one transaction takes a number and binds it to its key
    return this.#db.transact('readwrite', async (tx) => {
      const { state, known, ...found } = await look(tx, make)
      const { current } = state
      const before = known && takenBefore(known, state)
      // guard: H28 a key has one number
      if (before?.isOut || !current || current.refused) {
        tx.commit()
        if (before?.isOut) return before
        return current?.refused && { refused: current.refused }
      }
      if (!before) return add(tx, state, current, found, make, link)
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

  async all(): Promise<StoredSeries> {
    return this.#db.transact('readonly', async (tx) => {
      const rows = [tx.objectStore('numbers').getAll(), tx.objectStore('links').getAll()] as const
      const found = [stateIn(tx), ...rows] as const
      tx.commit()
      const [state, numbers, links] = await Promise.all(found)
      return { state, numbers, links }
    })
  }

  close(): void {
    this.#db.close()
  }
}

/** What is known where a number is made. */
interface Found extends Pick<Before, 'last' | 'ofPeriod'> {
  last: NumberRow | undefined
  /** The last record of the chain. */
  before: Link | undefined
}

async function look(
  tx: WriteTransaction,
  { key, period, sealed }: Make,
): Promise<Found & { state: SeriesState; known: NumberRow | undefined }> {
  const numbers = tx.objectStore('numbers')
  const [state, known] = await Promise.all([stateIn(tx), numbers.index('key').get(key)])
  const { current } = state
  const last = await lastIn(tx, current)
  const before = sealed && (await lastLink(tx, sealed.sealing.chainOf(current?.letter)))
  if (!current || last?.period === period) return { state, known, last, ofPeriod: last, before }
  const of = IDBKeyRange.bound([current.letter, period], [current.letter, period, []])
  const newest = await numbers.index('period').openCursor(of, 'prev')
  return { state, known, last, ofPeriod: newest?.value, before }
}

async function add(
  tx: WriteTransaction,
  state: SeriesState,
  current: CurrentSeries,
  { before, ...found }: Found,
  make: Make,
  link: Link | undefined,
): Promise<Taken | Drafted> {
  const { letter, begun } = current
  const { checkIn, sealed } = make
  const made = newNumber({ ...found, letter, isFirst: state.ended.length === 0 }, make)
  const draft = sealed && draftOf(made, sealed, before, found.last)
  // guard: H28 a link is taken only while the record before it is the last one
  if (draft && !follows(link, draft)) {
    tx.commit()
    return { draft }
  }
  const row = link ? { ...made, ...markOf(link) } : made
  // guard: H28 nobody's number is written over
  const writes: Promise<unknown>[] = [tx.objectStore('numbers').add(row)]
  if (link) writes.push(tx.objectStore('links').add(link))
  // guard: H28 a number and the check-in that names it are stored together
  const named = checkIn === undefined ? state : withNamed(state, row, checkIn)
  if (named !== state) writes.push(tx.objectStore('series').put(named, STATE))
  tx.commit()
  await Promise.all(writes)
  return { row, begun, isOut: checkIn === undefined, heard: false }
}

async function addRecord(
  tx: WriteTransaction,
  key: string,
  { sealing, kind, content }: Sealed,
  link: Link | undefined,
): Promise<Link | Drafted | undefined> {
  const links = tx.objectStore('links')
  const [{ current }, known] = await Promise.all([stateIn(tx), links.index('key').get(key)])
  const chain = sealing.chainOf(current?.letter)
  if (known || chain === undefined) {
    tx.commit()
    return known
  }
  const last = await lastIn(tx, current)
  const before = await lastLink(tx, chain)
  const expected = last?.link?.chain === chain ? last.link : undefined
  const draft = { chain, record: { kind, content }, key, before, expected }
  const next = follows(link, draft) ? link : undefined
  const write = next && links.add(next)
  tx.commit()
  await write
  return next ?? { draft }
}

/** The last record of a chain. */
async function lastLink(
  tx: WriteTransaction,
  chain: string | undefined,
): Promise<Link | undefined> {
  if (chain === undefined) return undefined
  const ofChain = IDBKeyRange.bound([chain], [chain, []])
  return (await tx.objectStore('links').openCursor(ofChain, 'prev'))?.value
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
