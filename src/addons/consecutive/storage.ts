/**
 * The storage of a device's series of one collection. Guarantees that a number and its key are
 * stored in one transaction, one after another in all tabs: a crash at any moment leaves the number
 * bound to its key, or not taken.
 */
import type {
  Link,
  NumberRange,
  NumberRow,
  SeriesStore,
  SeriesTransaction,
} from '../../device/series-store.js'
import { must } from './checks.js'
import type { Draft, Drafted, Sealed } from './links.js'
import { type HeldSeries, heldSeries, isNamed, type Taken, takenBefore } from './numbers.js'
import { recorded } from './register.js'
import {
  type Before,
  handedOut,
  isEnough,
  type Make,
  type Making,
  mustBeOfDate,
  mustBeSame,
  newNumber,
  noNumber,
  sameText,
  takenBy,
} from './rows.js'
import { canonical, sha256 } from './sha256.js'
import {
  type CurrentSeries,
  damaged,
  readState,
  type SeriesState,
  withMade,
  withNamed,
} from './state.js'

interface Seen {
  begun: string
  row: NumberRow
  /** The last record of its chain. */
  link?: Link | undefined
}

/** Each method is one atomic, durable step. */
export class SeriesStorage {
  readonly #store: SeriesStore
  /** The last number that this page has seen of a series, where the next look begins. */
  #seen: Seen | undefined
  /** One record of a chain is made after another. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(store: SeriesStore) {
    this.#store = store
  }

  /** The number of a key: the one that it has, or the next. Undefined: there is no series. */
  take(make: Make): Promise<Taken | undefined> {
    const { sealed } = make
    if (sealed) return this.#inTurn(() => this.#takeSealed(make, sealed))
    return this.#take(make, undefined) as Promise<Taken | undefined>
  }

  /**
   * The app's function that makes a link answers later than a transaction lives, so it runs between
   * two.
   */
  async #takeSealed(make: Make, sealed: Sealed): Promise<Taken | undefined> {
    const { linkOf } = sealed.links
    // Where it fails, the key may have its number already: a look tells.
    let link = await this.#linkAtOnce(make, sealed).catch(() => undefined)
    for (;;) {
      const taken = await this.#take(make, link?.link, link?.now)
      if (!taken || !('draft' in taken)) return taken
      this.#seen = undefined
      // One that does not follow any more is of an instant before the record that came between.
      link = link ? undefined : await linkAt(taken.draft, linkOf)
    }
  }

  async #take(
    make: Make,
    link: Link | undefined,
    now?: Date,
  ): Promise<Taken | Drafted | undefined> {
    let taken = await this.#takeAtOnce(make, link, now)
    taken ??= await this.#takeAfterLook(make, link, now)
    if (taken && 'row' in taken && taken.begun && taken.row.link?.hash === link?.hash)
      this.#seen = { begun: taken.begun, row: taken.row, link }
    return taken
  }

  /** Of the number after the one that this page has seen last. */
  async #linkAtOnce(given: Make, sealed: Sealed): Promise<Linked | undefined> {
    const { row, link } = this.#seen ?? {}
    const make = { ...given, ...given.moment() }
    if (!row || !isEnough(row, make) || make.ranges === 'server') return undefined
    const next = newNumber({ letter: row.letter, last: row, ofPeriod: row }, make)
    const found = sealed.links.numberWith(undefined, next, sealed, link, row)
    if (!('draft' in found)) return undefined
    return linkAt({ ...found.draft, isSeen: true }, sealed.links.linkOf)
  }

  /**
   * The record of a key without a number: the one that it has, or the next of the chain. Undefined:
   * its chain is the series', and there is none.
   */
  record(key: string, sealed: Sealed): Promise<Link | undefined> {
    return this.#inTurn(async () => {
      for (let link: Link | undefined; ; ) {
        const found = await this.write(async (tx) => {
          const { current } = readState(await tx.state())
          const last = await lastIn(tx, current)
          return sealed.links.addRecord(link, tx, key, sealed, current?.letter, last)
        })
        if (!found) return undefined
        if (!('draft' in found)) {
          const { collection = sealed.collection } = found
          // guard: H40 a record of the device's chain is of one collection
          must(collection === sealed.collection, `the key has a record of ${collection}`, key)
          mustBeOfKind(found.kind, sealed.kind)
          mustBeSame(`record ${found.at}`, key, contentOf(found.content), contentOf(sealed.content))
          return found
        }
        link = await sealed.links.linkOf(found.draft)
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
  async #takeAtOnce(
    given: Make,
    link: Link | undefined,
    now: Date | undefined,
  ): Promise<Taken | Drafted | undefined> {
    const seen = this.#seen
    if (!seen || (given.sealed && !link)) return undefined
    const { row } = seen
    try {
      return await this.write(async (tx) => {
        const make = { ...given, ...given.moment(now) }
        if (!isEnough(row, make)) return undefined
        const state = readState(await tx.state())
        const { current } = state
        // guard: H28 a number follows one of its own series
        if (!current || current.begun !== seen.begun || current.refused) return undefined
        // Its period may have been closed since.
        if ((current.closedAt ?? 0) >= row.place) return undefined
        if (!isNamed(current.letter, make.series)) return undefined
        const before = { last: row, ofPeriod: row, before: seen.link }
        return add(tx, state, current, before, make, link)
      })
    } catch {
      // Another tab was faster, the key has its number, or the storage failed: a look tells which.
      return undefined
    }
  }

  /** Reads first: the number of the key, or else the last number of the series. */
  async #takeAfterLook(
    given: Make,
    link: Link | undefined,
    now: Date | undefined,
  ): Promise<Taken | Drafted | undefined> {
    // guard: H28 one transaction takes a number and binds it to its key
    return this.write(async (tx) => {
      const make = { ...given, ...given.moment(now) }
      const { state, known, ...found } = await look(tx, make)
      const { current } = state
      // guard: H28 a key has one number
      const before = known && takenBefore(known, state)
      if (known) {
        mustBeSame(known.id, make.key, known.content, make.content)
        mustBeOfDate(known, make)
      }
      // guard: H40 a key has one kind
      mustBeOfKind(known?.kind, make.kind)
      if (before?.isOut) {
        const row = takenBy(before.row, make.page)
        if (row !== before.row) tx.saveNumber(row)
        return { ...before, row }
      }
      // guard: H28 a number is of the series that the app names
      if (!current || !isNamed(current.letter, make.series)) return undefined
      if (current.refused) return { refused: current.refused }
      if (!before) return add(tx, state, current, found, make, link, true)
      if (make.checkIn !== undefined) return before
      const row = takenBy(handedOut(before.row), make.page)
      tx.saveNumber(row)
      return { ...before, row, isOut: true }
    })
  }

  /**
   * Changes the stored number of a key. @param change returns the new row; the same object: nothing
   * is written
   */
  settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    return this.write(async (tx) => {
      const known = await tx.numberOf(key)
      if (!known) throw noNumber(key)
      const changed = change(known)
      if (changed !== known) tx.saveNumber(changed)
    })
  }

  /**
   * The series in which numbers are made, and the ranges that the server gave to it. Without `held`
   * there is no series.
   */
  current(): Promise<{
    state: SeriesState
    last: NumberRow | undefined
    held: HeldSeries | undefined
    given: readonly NumberRange[]
  }> {
    return this.read(async (tx) => {
      const state = readState(await tx.state())
      const last = await lastIn(tx, state.current)
      return { state, last, held: heldSeries(state, last), given: state.current?.ranges ?? [] }
    })
  }

  close(): void {
    this.#store.close()
  }

  read<T>(work: (tx: SeriesTransaction) => Promise<T>): Promise<T> {
    return this.#store.transact('readonly', work)
  }

  /** One atomic step, also of a server's answer. */
  write<T>(work: (tx: SeriesTransaction) => Promise<T>): Promise<T> {
    return this.#store.transact('readwrite', (tx) => recorded(tx, work))
  }
}

/** @throws HiloError `invalid-argument` */
const mustBeOfKind = (was: string | undefined, is: string | undefined) =>
  must(!was || !is || was === is, `the key has a record of kind ${was}`, is)

/** A link, and the instant that it was made for. */
interface Linked {
  link: Link
  now: Date
}

const linkAt = async (draft: Draft, linkOf: (draft: Draft) => Promise<Link>): Promise<Linked> => ({
  link: await linkOf(draft),
  now: draft.now,
})

/** @returns its hash. Undefined: there is none */
export const contentOf = (content: unknown): string | undefined =>
  content === undefined ? undefined : sha256(canonical(content))

/** The stored state where a number is made. */
interface Found extends Pick<Before, 'last' | 'ofPeriod'> {
  last: NumberRow | undefined
  /** The last record of the chain. */
  before: Link | undefined
}

async function look(
  tx: SeriesTransaction,
  make: Making,
): Promise<Found & { state: SeriesState; known: NumberRow | undefined }> {
  const { key, period, sealed } = make
  const [stored, known] = await Promise.all([tx.state(), tx.numberOf(key)])
  const state = readState(stored)
  const { current } = state
  const last = await lastIn(tx, current)
  const before = sealed && current && (await tx.lastLink(sealed.links.chainOf(current.letter)!))
  const ofPeriod =
    !current || isEnough(last, make) ? last : await tx.lastNumber(current.letter, period)
  return { state, known, last, ofPeriod, before }
}

async function add(
  tx: SeriesTransaction,
  state: SeriesState,
  current: CurrentSeries,
  { before, ...found }: Found,
  make: Making,
  link: Link | undefined,
  isLooked = false,
): Promise<Taken | Drafted> {
  const { begun, ranges: given, heard, made: highest = 0 } = current
  const { checkIn, sealed } = make
  const made = newNumber({ ...current, ...found, given }, make)
  // guard: H28 no number is made again that was made, or that the server has heard of
  if (made.place <= Math.max(heard, highest)) throw damaged('have lost numbers')
  const linked = sealed?.links.numberWith(link, made, sealed, before, found.last)
  if (linked && 'draft' in linked) return linked
  const { row } = linked ?? { row: made }
  // guard: H28 two numbers have two texts
  if (isLooked && (await tx.numberWith(row.id))) throw sameText(row)
  // guard: H28 nobody's number is written over
  tx.addNumber(row)
  if (link) {
    // guard: H38 a number with another id at each call is not tried for ever
    must(link.id === row.id, 'formatId makes one id of a number', row.id)
    tx.addLink(link)
  }
  const moved = { ...state, current: withMade(current, row, found.last) }
  // guard: H28 a number and the check-in that names it are stored together
  tx.saveState(checkIn === undefined ? moved : withNamed(moved, row, found.last, checkIn))
  return { row, begun, isOut: checkIn === undefined, heard: false }
}

/** The last number of a series that was made. */
const lastIn = async (tx: SeriesTransaction, of: CurrentSeries | undefined) =>
  of && tx.lastNumber(of.letter)
