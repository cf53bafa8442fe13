/** The part of the ledger that an operator uses: what is in it, and his steps. */

import type { SeriesPeriod } from '../../../src/core/series-marks.js'
import type { ExplainAnswer } from '../../../src/core/wire.js'
import type { CollectionKey } from './keys.js'
import type { Series, SeriesKey } from './series-port.js'

/** Where is this number? */
export interface NumberQuestion extends CollectionKey {
  number: number
  /** Only in this series. Undefined: in the ranges of ids, and in each series. */
  series?: string | undefined
  /** Only in this period. */
  period?: string | undefined
}

/** The ledger's knowledge of one number. */
export interface Explanation extends CollectionKey {
  number: number
  /**
   * As the number of an id. Absent: the collection has no ranges, or only a series was asked for.
   */
  id?: ExplainAnswer['id']
  /** Grants that cover it, or did before it came back; oldest first. At most ten, the newest. */
  grants: readonly ExplainedGrant[]
  /** Series of the collection. */
  series: readonly ExplainedSeries[]
  /** There are more series of the collection, which were not looked at: ask for one by its name. */
  more?: true
}

export interface ExplainedGrant {
  low: number
  /** When it was granted. Its end may have come back since. */
  high: number
  /** Milliseconds since the epoch. */
  grantedAt: number
  heardAt: number
  serverTag: string
  /** Its name. Empty: it has none. */
  device: string
  /** Whose token of access claimed it: the same for each of its requests, and no secret. */
  by: string | undefined
  /** The number has come back from it. */
  isReturned: boolean
  /** Its device has said that numbers up to here were used there. Undefined: none. */
  usedTo: number | undefined
}

export interface ExplainedSeries
  extends Omit<Series, keyof SeriesKey | 'periods' | 'register' | 'ranges'> {
  series: string
  /**
   * The periods in which the ledger has heard of the number, and which device made it there. Empty:
   * nobody knows which of those that had the series. None: it has not heard of the number.
   */
  heard: readonly (SeriesPeriod & { device: string | undefined })[]
  /** Each number of its periods was taken. */
  isWhole: boolean
}

/** A database, or a collection of it. */
export interface Drop {
  database: string
  collection?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
}

/** Older rows may be forgotten. Times are milliseconds since the epoch. */
export interface Pruning {
  /**
   * Grants of which all was issued or came back before this time, and answers to requests that are
   * as old.
   */
  settledBefore: number
  /**
   * Grants of which nothing was heard since this time: they count as issued. A device that shows
   * the token of one later keeps its numbers.
   */
  heardBefore: number
}

/** One collection of the ledger. */
export interface CollectionCounts extends CollectionKey {
  max: number
  /** Numbers that came back, and will be granted again first. */
  free: number
  /** Numbers that these grants hold, issued ones included. */
  outstanding: number
  /** Grants that the ledger keeps: those that were settled long ago are forgotten. */
  grants: number
  /** Milliseconds since the epoch. Undefined: nothing was ever granted. */
  lastClaim: number | undefined
}

export interface Connections {
  open: number
  idle: number
  /** Steps that wait for a connection. */
  waiting: number
}

/** By these, the ids of two ledgers differ, though both grant the same numbers. */
export interface IdParts {
  /** `A`, as in `orders/1-A`. */
  nodeTag: string
  /** In front of the numbers that clients of RavenDB 2 and 3 take from documents. */
  serverPrefix: string | undefined
}

/** An operator's view of a ledger, and his steps. */
export interface Operation {
  status(): Promise<CollectionCounts[]>

  /** The public name of the ledger. Of a region it is that of its root, once that has answered. */
  readName(): Promise<string | undefined>

  /** Where one number is: the grant that covers it, and its known fate. Changes nothing. */
  explain(asked: NumberQuestion): Promise<Explanation>

  /** Numbers of all collections that came back, and will be granted again first. */
  countFree(): Promise<number>

  /**
   * Forgets old grants and answers, in small steps, so that claims need not wait. A number of a
   * grant that is forgotten is never granted again.
   */
  prune(pruning: Pruning): Promise<void>

  /**
   * Forgets a database, or a collection of it, and the devices' grants of it: their tokens are
   * void. If somebody claims under the name again, numbers go on above all that were ever granted.
   * A database that granted nothing, because it is an older copy of itself, still grants nothing,
   * but is in `restored` no more.
   */
  drop(drop: Drop): Promise<void>

  /**
   * For a copy of a ledger that serves other devices than the original, like a test copy. From its
   * next start on it signs grant tokens with a new secret, and knows none of before: they prove
   * nothing there, and its own tokens prove nothing to the original.
   */
  renewSecret(): Promise<void>

  /** The connections to the database. Undefined where it has none: SQLite. */
  connections(): Connections | undefined

  /**
   * Its ids are made of these. The ledger keeps them at its next change. Where it has others,
   * changes and `ping` are rejected with `OtherIds` from now on. Absent: its ids are made of
   * another ledger's, as a region's are.
   * @throws OtherIds where this object has been given others
   */
  useIdParts?: ((parts: IdParts) => void) | undefined

  /**
   * Looks at a request for the regions that it came through. Absent: its numbers come from no
   * server, so it is in no circle of regions.
   * @throws CounterUnusable where this one is among them
   */
  askedThrough?: ((headers: Headers) => void) | undefined

  /** Resolves when something was written to the database. */
  ping(): Promise<void>

  /** Waits for the steps that are under way. */
  close(): Promise<void>
}
