/**
 * The port to durable series of consecutive numbers, and the records in it. A {@link DeviceStore}
 * offers it as `series`. Contract, which `offline-hilo/store/testing` checks:
 *
 * - A transaction that writes is ONE atomic step: no other one of these series runs beside it, in
 *   any tab or process.
 * - When its promise resolves, its writes have reached the disk as surely as the platform can
 *   promise.
 * - When it rejects, nothing was written; only after `storage-failed` for a passed deadline is the
 *   outcome unknown.
 * - A number, a link or an entry that is added where one is, a second number or link of a key, and
 *   a second number with an id fail the whole transaction.
 * - The chain without a name is of the device: all collections of a server's database share its
 *   links, also in their transactions.
 */

/** One record of a chain. */
export interface ChainRecord<Content = unknown> {
  /** 1, 2, 3 …: its place in the chain. */
  at: number
  /** The app's name for this kind of record. Default: `number`. */
  kind: string
  /** The device's clock when it was made, with its offset: `2027-01-01T09:00:00+01:00`. */
  time: string
  /** The app's content, as JSON has it. */
  content: Content
  /** Which collection made it. Absent: the chain is the series'. */
  collection?: string
  /** Absent: the record has no number, and the chain is the device's. */
  series?: string
  /** `B-000124`. Absent: the record has no number. */
  id?: string
  number?: number
  period?: string
  /** Of the range that an authority gave. */
  data?: unknown
}

/**
 * Why a record did not fit when it was made.
 *
 * - `broken`: the record before it was changed, or has gone.
 * - `clock`: the device's clock says that the record before it is younger.
 */
export type ChainFlag = 'broken' | 'clock'

/** A record as it is stored. */
export interface Link extends ChainRecord {
  /** The series, or empty: the chain is the device's. */
  chain: string
  /** The key of a record without a number. */
  key?: string
  /** The hashed text. */
  text: string
  /** The hash of the record before, or the initial value. */
  previous: string
  hash: string
  /** Which rule made the text. */
  rule?: string
  flags?: ChainFlag[]
}

export interface LinkMark {
  /** As of the record. */
  chain: string
  at: number
  hash: string
}

/** Numbers that an authority gave: `{ from: 1001, to: 2000, validUntil: '2027-12-31' }`. */
export interface NumberRange {
  /** Its first number. */
  from: number
  /** Its last number. */
  to: number
  /**
   * The authority's prefix, `SETP`. Numbers of two prefixes are different numbers. Up to 20
   * letters, digits, `-`, `.`, `_` and `/`. Default: nothing.
   */
  prefix?: string
  /** The last day on which its numbers are made, in the series' time zone. Default: none. */
  validUntil?: string
  /** Comes with each number, as JSON has it: the authority's name for the range. */
  data?: unknown
}

/** The record of a closed period. */
export interface Closing {
  /** How many numbers. */
  count: number
  /** The ids of its first and its last number. Absent: there are none, or `open` is. */
  first?: string
  last?: string
  /**
   * How many of them nobody has settled yet. Absent: another device has closed the period, and
   * handed the series over. Its register has the record.
   */
  open?: number
  /** The app's sums of the day. */
  sums?: unknown
  by?: string
}

export interface Reopened {
  reason: string
  by?: string
}

/** A number that was made. */
export interface NumberRow {
  letter: string
  /** 1, 2, 3 …: in the order of making, over all periods of the series. */
  place: number
  /** Empty: it has none. `1001-2000`: its range. */
  period: string
  /** Which an authority gave. */
  range?: NumberRange
  /** Follows the number before it in its period. */
  number: number
  /** As it was written when it was made: `B-000124`. */
  id: string
  /**
   * - `open`: taken, and nothing else yet.
   * - `confirmed`: on a stored receipt.
   * - `cancelled`: on no receipt; `reason` says why.
   * - `voided`: on a stored receipt that a later record has voided; `reason` says why.
   * - `refused`: the authority has refused the receipt; `reason` says why.
   */
  state: 'open' | 'confirmed' | 'cancelled' | 'voided' | 'refused'
  /** The key of its document. Absent: it was never handed out, and its key got another number. */
  key?: string
  /** Why it was cancelled, voided or refused. */
  reason?: string
  /** The date of the document, if the app gave one: ISO 8601, in UTC. Absent: it is `takenAt`. */
  date?: string
  /** The person that took it. Absent: the app did not say. */
  takenBy?: string
  /** It is the last one of a period that is closed. */
  closing?: Closing
  /** It was the last one of a period that was closed, and was opened again. */
  reopened?: Reopened
  /** When it was taken, by the device's clock: ISO 8601, in UTC. */
  takenAt: string
  /** When it got its state. Absent: it is open. */
  settledAt?: string
  /** The person that gave it its state. Absent: the app did not say. */
  by?: string
  /** The other document, as the app said: for example the one that voids this one. */
  ref?: string
  /** Set while its state is `open`; an index finds it by this. */
  open?: 1
  /** The page that took it, while it is open: see `living.ts`. */
  page?: string
  /** It was handed out before the server had heard of it. Absent: it was not. */
  heard?: false
  /** Its date is more than a minute before that of the number before: the clock went back. */
  isBack?: 1
  /** SHA-256 of the app's content as JSON, its keys in order. Absent: the app gave none. */
  content?: string
  /** Of its record in the chain. */
  kind?: string
  /** Which rule made its record in the chain. */
  rule?: string
  /** Of its record in the chain. Absent: it has none. */
  link?: LinkMark
  /** Why it did not fit into the chain when it was made. */
  flags?: ChainFlag[]
}

/** What a number can become. */
export type SettledState = Exclude<NumberRow['state'], 'open'>

/**
 * One thing that happened to the series of a collection. The register of these only grows.
 *
 * - `begun`: the server gave a series. `ended`: no number is made in it any more.
 * - `ranges`: the server gave other ranges to it.
 * - `taken`: a number was made. `late`: it was handed out before the server had heard of it.
 * - `settled`: a number got a state.
 * - `record`: a record without a number was added to a chain.
 * - `closed`: the period of a number, the last one of it, gets no number any more, unless somebody
 *   has `reopened` it. Without `made`: the period has no number.
 */
export interface Entry
  extends Partial<Omit<NumberRow, 'letter' | 'place' | 'takenAt' | 'settledAt' | 'open' | 'page'>> {
  /** 1, 2, 3 …: its place in the register. */
  place: number
  what:
    | 'begun'
    | 'ended'
    | 'ranges'
    | 'taken'
    | 'late'
    | 'settled'
    | 'record'
    | 'closed'
    | 'reopened'
  /** By the device's clock: ISO 8601, in UTC. */
  at: string
  series?: string
  /** The place of a number among those of its series. */
  made?: number
  /** The hash of all that is stored of the record that `link` names. */
  sealed?: string
  end?: object
  after?: object
  ranges?: readonly NumberRange[]
  ledger?: string
  /** The hash of the entry before. Empty: it is the first. */
  previous: string
  /** Of the entry as JSON without this field, its keys in the order of the alphabet: SHA-256. */
  hash: string
}

/** The reads and writes of one transaction. It ends with the work that got it. */
export interface SeriesTransaction {
  /** The state that was saved last; undefined: none. */
  state(): Promise<unknown>
  numberOf(key: string): Promise<NumberRow | undefined>
  numberWith(id: string): Promise<NumberRow | undefined>
  /** The last one that was made in a series, or in one of its periods. */
  lastNumber(letter: string, period?: string): Promise<NumberRow | undefined>
  /** Those of a series after a place, in their order. */
  numbersAfter(letter: string, place: number): Promise<NumberRow[]>
  /** Those that are open. */
  openNumbers(): Promise<NumberRow[]>
  /** Of a record without a number, in the chain of the device or in those of series. */
  linkOf(key: string, chain: string | undefined): Promise<Link | undefined>
  lastLink(chain: string): Promise<Link | undefined>
  /** All, by series or chain, in their order; also those of the device's chain. */
  numbers(): Promise<NumberRow[]>
  links(): Promise<Link[]>
  /** At most so many entries of the register after a place, in their order. */
  entries(after: number, most: number): Promise<Entry[]>
  saveState(state: object): void
  addNumber(row: NumberRow): void
  /** In the place of the one that is there. */
  saveNumber(row: NumberRow): void
  addLink(link: Link): void
  addEntry(entry: Entry): void
}

/** The series of one collection. */
export interface SeriesStore {
  /**
   * Resolves with the result of `work`, once the transaction is complete. If `work` throws, nothing
   * is written, and this rejects with that error. `work` waits for nothing but the transaction.
   */
  transact<T>(
    mode: 'readonly' | 'readwrite',
    work: (tx: SeriesTransaction) => Promise<T>,
  ): Promise<T>
  close(): void
}
