/** The part of the ledger for series of consecutive numbers, each of one device. */
import type {
  DoneHandOver,
  SeriesCheckInRequest,
  SeriesLink,
  SeriesMark,
  SeriesPeriod,
  SeriesRange,
  StatedHandOver,
  StatedPeriod,
  ToldPeriod,
} from '../../../src/core/series-marks.js'
import type { ClaimRefusal } from './claims-port.js'
import type { CollectionKey } from './keys.js'

export type { SeriesLink, SeriesMark, SeriesPeriod, SeriesRange, StatedPeriod, ToldPeriod }

/** A device asks for a series of consecutive numbers of its own. */
export interface SeriesClaim extends CollectionKey {
  /** A claim that is repeated with the same id gets the same series. */
  id: string
  /** As in a `ClaimRequest`. */
  by?: string | undefined
  /** So many series that nobody has closed may this token of access have. Default: any number. */
  most?: number | undefined
  /** The device's name, for people. Empty: it has none. */
  device: string
  /** A name for the series that none has or had. Absent: it is called by its letter. */
  name?: string | undefined
  /**
   * The series that the device has ended, because it turned out to be a copy. Its numbers from …
   * to … may exist twice.
   */
  ended?: { letter: string; token: string; from: number; to: number } | undefined
  /** The name of the ledger that gave the device its series. Undefined: it had none. */
  ledger?: string | undefined
  /** With it: the tag of the node that answers. */
  serverTag?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
}

/**
 * `letter` counts from 1, which is A. Refusals as for a claim. `taken`: another series has or had
 * the name. `many`: the token of access has claimed as many that nobody has closed. `unlisted`:
 * since a restore, no person has said which series exist. `after`: the series was handed over, and
 * goes on after these numbers.
 */
export type SeriesOutcome =
  | {
      /** Of its letter: 1 is A. */
      ordinal: number
      name: string
      token: string
      /** The name of this ledger. */
      ledger: string
      isRepeat: boolean
      after?: SeriesMark
      mark?: string
      ranges?: SeriesRange[]
    }
  | ClaimRefusal
  | { refused: 'taken' }
  | { refused: 'many' }
  | { refused: 'unlisted' }

export interface SeriesCheckIn extends SeriesCheckInRequest {
  database: string
  /** With the name of a ledger: the tag of the node that answers. */
  serverTag?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
}

/**
 * The outcome for a series: its new token, and the person that closed it; or that it ended for this
 * device.
 *
 * - `superseded`: another copy of the device showed this token before. `last`: its highest number.
 *   `handedOver`: no copy, but a person has handed the series over to another device.
 * - `unknown`: this ledger never wrote the token, or was restored from a backup before.
 */
export type SeriesResult =
  | {
      token: string
      closed?: Signed
      /** This check-in has closed it, and no person. */
      ended?: SeriesKey
      ranges?: SeriesRange[]
      mark?: string
      /** The ledger knew something else of the periods than it answered last. */
      again?: true
    }
  | { superseded: true; last: number; handedOver?: HandOver; ended?: SeriesKey }
  | 'unknown'

/** A series of a collection. */
export interface SeriesKey extends CollectionKey {
  /** Its name, or its letter: `T3`, `B`. */
  letter: string
}

/** What a person did, and why. */
export interface Signed {
  by: string
  reason: string
  /** Milliseconds since the epoch. */
  at: number
}

/** A person lets another device go on with the series of one that is lost. */
export interface SeriesHandOver extends SeriesKey, StatedHandOver, Signed {}

/**
 * One that was done. Further numbers of the lost device are doubtful: those of that period above
 * `last`, and of other periods those that were not heard of.
 */
export interface HandOver extends DoneHandOver, Signed {}

/** One as the list has it. */
export interface PastHandOver extends HandOver {
  /** The other device has got the series. */
  isTaken: boolean
  /** Numbers that `from` made, as far as was heard or stated. */
  numbers: readonly SeriesPeriod[]
  /** The last record of the chain of `from` that the ledger heard of. */
  link?: (SeriesLink & { last: number }) | undefined
  /** The last entry of its register that the ledger heard of. */
  register?: SeriesLink | undefined
  /** The series was closed before, and went on. */
  closed?: Signed | undefined
}

/**
 * Why a series was not handed over.
 *
 * - `missing`: there is no series of that letter.
 * - `restored`: floors have yet to be raised.
 * - `heard`: the server has heard of more. `least`: the lowest number that can be stated of
 *   `period`.
 * - `periods`: the stated period is none of those that are `known`, or nobody said one. Nothing is
 *   known: the ledger has heard of no number.
 * - `untold`: the database was restored, and the device has not told of all its periods since. A
 *   person has to say the last number of each; those of `missing` were not said.
 * - `outside`: the period is a range, and the stated number is none of it.
 * - `crowded`: it has had more periods than the ledger keeps.
 * - `holder`: the device has a series that is not closed; perhaps it has got this one.
 */
export type HandOverRefusal =
  | { refused: 'missing' | 'crowded' | 'restored' }
  | { refused: 'periods'; known: string[] }
  | { refused: 'untold'; missing: string[] }
  | ({ refused: 'outside'; from: number; to: number } & StatedPeriod)
  | { refused: 'heard'; period: string; least: number }
  | { refused: 'holder'; letter: string }

/** A person gives a range to a series. */
export interface SeriesGift extends SeriesKey {
  range: SeriesRange
  /** It was given before a restore, and is listed as it was. */
  again?: boolean | undefined
  /** Changes nothing, and answers how the series would be. */
  dryRun?: boolean | undefined
}

/** A series that exists, although the ledger has forgotten it. */
export interface SeriesNote extends SeriesKey {
  /** Milliseconds since the epoch. */
  at: number
}

/**
 * Why a range was not given. `overlap`: that series has a range with some of its numbers. `heard`:
 * that series has made some of them, as the ledger was told. `crowded`: the series has as many
 * ranges as the ledger keeps. `below`: it has made a higher number, and would make none of these.
 * `restored`, `unlisted`: since a restore, nobody has raised the floors,
 * or said which series and ranges exist.
 */
export type RangeRefusal =
  | { refused: 'missing' | 'closed' | 'crowded' | 'restored' | 'unlisted' }
  | { refused: 'below'; last: number }
  | { refused: 'overlap' | 'heard'; letter: string; from: number; to: number }

export interface SeriesClosing extends SeriesKey, Signed {}

export interface SeriesRenaming extends SeriesKey {
  /** The new name of its device. */
  device: string
}

/** A series as the ledger knows it. */
export interface Series extends SeriesKey {
  device: string
  /** How many of its numbers the ledger has heard of. */
  last: number
  /** The last thousand periods. */
  periods: readonly SeriesPeriod[]
  /** Milliseconds since the epoch. */
  registeredAt: number
  /** When the device told of itself last. */
  seenAt: number
  closed: Signed | undefined
  /** Numbers that two copies of the device may have made. */
  doubtful: { from: number; to: number } | undefined
  /** The last record of its chain that the ledger has heard of, which is that of number `last`. */
  link: (SeriesLink & { last: number }) | undefined
  /** The last entry of its device's register that the ledger has heard of. */
  register: SeriesLink | undefined
  /** The last time that it was. `isTaken`: the other device has it. */
  handedOver: (HandOver & { isTaken: boolean }) | undefined
  /** Each time that it was, the newest last. */
  handOvers: readonly PastHandOver[]
  /** Of an authority, in the order in which they are used: of each prefix the lowest first. */
  ranges: readonly SeriesRange[]
}

/** A place in the list of a database's series. */
export interface SeriesPlace {
  collection: string
  /** Of the series in its collection: 1 is A. */
  place: number
}

export interface SeriesPageQuestion {
  database: string
  /** The page begins behind it. Default: with the first series. */
  after?: SeriesPlace | undefined
  /** At most so many, 1 to 100. A page of long series has fewer. Default 100. */
  limit?: number | undefined
}

export interface SeriesPage {
  series: Series[]
  /** Behind this place there are more. Absent: there are none. */
  next?: SeriesPlace | undefined
}

/** Series of consecutive numbers, each of one device. */
export interface SeriesRegister {
  /**
   * Gives a series to a device: the next letter of the collection. A device that had one of another
   * ledger is refused.
   */
  claimSeries(claim: SeriesClaim): Promise<SeriesOutcome>

  /**
   * Replaces the token of a series, and keeps how far it has come.
   * @throws HeldOfAnother when the device has a series of another ledger. Nothing was changed
   */
  checkInSeries(checkIn: SeriesCheckIn): Promise<SeriesResult>

  /** Resolves with the series as it is now; undefined: there is none of that letter. */
  closeSeries(closing: SeriesClosing): Promise<Series | undefined>

  /**
   * Another name for the device of a series, also in earlier hand-overs.
   * @returns undefined: there is no series of that letter
   */
  renameDevice(renaming: SeriesRenaming): Promise<Series | undefined>

  /**
   * Lets the named device go on with a series, above every number that the ledger has heard of. The
   * token of the device that had it is void from then on. If the same was done before, it changes
   * nothing.
   */
  handOverSeries(handOver: SeriesHandOver): Promise<Series | HandOverRefusal>

  /**
   * Gives a range to a series, whose device hears of it with its next check-in. No number of it may
   * have been given or heard of, in any series of the collection.
   */
  giveRange(gift: SeriesGift): Promise<Series | RangeRefusal>

  /**
   * After a restore: this name was given, although the ledger has forgotten it. Nobody gets it, and
   * a person may hand it over. Of a series that is known it changes nothing.
   */
  noteSeries(note: SeriesNote): Promise<Series | ClaimRefusal>

  /**
   * After a restore: all names and ranges that exist are listed. From now on new ones are given.
   * @returns whether that is so: not before the floors were raised
   */
  reopenSeries(asked: { database: string }): Promise<boolean>

  /** Databases that were restored, and of which no person has said since which series exist. */
  unlisted(): Promise<string[]>

  /** All series of a database, in the order of their collections and letters. */
  series(database: string): Promise<Series[]>

  /** The same in pages: as much as one request may read. */
  seriesPage(question: SeriesPageQuestion): Promise<SeriesPage>
}
