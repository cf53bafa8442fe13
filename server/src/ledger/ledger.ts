/**
 * The ledger: it knows each grant and its device. The comments here are its contract.
 *
 * - Each method is one atomic step, and it is on disk before its promise resolves. When the promise
 *   is rejected with `LedgerUnavailable`, the step happened as a whole or not at all, and nobody
 *   knows which: the caller may repeat it.
 * - Methods may run at the same time, also from several processes on one database. Steps on one
 *   collection happen one after another.
 * - Two grants never hold the same number at the same time. A grant only shrinks.
 * - Time decides nothing: it is passed in, and only stored.
 */
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

export type { SeriesLink, SeriesMark, SeriesPeriod, SeriesRange, StatedPeriod, ToldPeriod }

/** Public names of ledgers, by the server tag of their grants. */
export type LedgerNames = Readonly<Record<string, string>>

/** A collection of a database. Both names are compared lower-cased. */
export interface CollectionKey {
  database: string
  collection: string
}

export interface ClaimRequest extends CollectionKey {
  /**
   * A claim that is repeated with the same id gets the same grant. A claim without an id may not be
   * repeated.
   */
  id?: string | undefined
  /** The claimant. A repetition by another one is refused. Undefined: nobody knows. */
  by?: string | undefined
  /** The device's name, for people. Absent: it has none. */
  device?: string | undefined
  /** How many numbers it asks for. */
  count: number
  /** The highest number that the client has seen (H20). */
  lastMax: number
  /** The tag of the node that grants. It is stored with the grant. */
  serverTag: string
  /** Milliseconds since the epoch. */
  at: number
  /**
   * Tokens that the device shows: checked in, in the step that grants, under the id of the claim. A
   * claim that is refused replaces no token.
   */
  shown?: readonly ShownGrant[] | undefined
  /** Names of the ledgers that the device holds numbers of, by server tag. */
  ledgers?: LedgerNames | undefined
}

/** Numbers `low` to `high`, which a device may hand out. */
export interface Grant {
  low: number
  /**
   * A claim with an id may get fewer numbers than it asked for: a smaller range that came back.
   */
  high: number
  /** How many were asked for. */
  count: number
  serverTag: string
  at: number
  /** Opaque and unguessable. A request that shows it may give numbers of the grant back. */
  token: string
  /** The name of the ledger, or of where its numbers come from. Undefined: that has none. */
  ledger?: string | undefined
}

/**
 * Why nothing was granted.
 *
 * - `jump`: `lastMax` is absurdly far above `max`.
 * - `overflow`: the numbers would pass 2^53−1, or the end of the id column.
 * - `spent`: somebody has given numbers of this claim's grant back, or has checked it in, so a
 *   repetition of the claim comes from a copy of that device. Or somebody else made the claim.
 * - `full`: the database has as many collections as are allowed.
 * - `short`: the ranges come from an upstream, which has to be asked for some first.
 * - `restored`: this database is an older copy of itself, and grants nothing before `raiseFloors`.
 * - `other-ledger`: the device holds numbers of another ledger.
 */
export type ClaimRefusal =
  | { refused: 'jump' | 'overflow' | 'spent' | 'full' | 'short' | 'restored'; max: number }
  | { refused: 'other-ledger'; max: number; other: OtherLedger }

/** The device holds numbers of another ledger than this one. Nothing was granted. */
export interface OtherLedger {
  /** Which the device holds numbers of. */
  held: string
  /** Of this one. */
  name: string
  /** Under which both grant. */
  serverTag: string
  /**
   * An operator has said that this one follows that one, which granted nothing above this number.
   */
  above?: number | undefined
}

/** `results`: one for each token that the claim has shown, in their order. */
export type ClaimOutcome =
  | { grant: Grant; isRepeat: boolean; results: readonly CheckInResult[] }
  | ClaimRefusal

export interface GiveBack extends CollectionKey {
  /** The last number of the range. */
  end: number
  /** The last number in use: `last + 1` to `end` come back. */
  last: number
  /** The grant's token. Undefined: RavenDB's return, which has none. */
  token?: string | undefined
  at: number
}

export interface CheckIn {
  database: string
  /** A check-in that is repeated with the same id is answered the same way. */
  id: string
  /** Milliseconds since the epoch. */
  at: number
  /** Grants that the device still has numbers of. */
  grants: readonly ShownGrant[]
  /** Tokens of grants of which every number was issued. They are void from then on. */
  spent?: readonly string[] | undefined
  /** As of a claim. */
  ledgers?: LedgerNames | undefined
  /** With them: the tag of the node that answers. */
  serverTag?: string | undefined
}

export interface ShownGrant {
  token: string
  /** Every number below it may be issued, and never comes back. */
  next: number
}

/**
 * The outcome for a grant: its new token, and the highest number that it still holds.
 *
 * - `superseded`: another copy of the device showed this token before, or the grant is gone.
 * - `dropped`: the collection was dropped since, and its grants with it.
 * - `unknown`: this ledger never wrote the token. Another ledger may have.
 */
export type CheckInResult = { token: string; high: number } | 'superseded' | 'dropped' | 'unknown'

export interface Floor extends CollectionKey {
  floor: number
}

/** All floors of a database. */
export interface Floors {
  database: string
  /** More than any one collection or identity was granted since the backup. */
  by: number
}

/** This ledger goes on in the place of another one, which was lost. */
export interface Following {
  database: string
  /** The name of the other one. */
  name: string
  /** It granted no number above. */
  above: number
}

/** The outcome of `raiseFloors`. */
export interface RaisedFloors {
  collections: number
  identities: number
  /**
   * Collections and identities that are not there yet begin above this. 0: where the root of this
   * region says.
   */
  floor: number
  /**
   * Names of collections and identities that had no more than `by` numbers left below 2^53−1. They
   * grant nothing any more.
   */
  usedUp: string[]
}

/** How far a collection's numbers have gone. */
export interface Mark {
  max: number
  /** Changes whenever `max` does. 0: nothing is known of the collection. */
  version: number
}

export interface MarkWrite extends CollectionKey {
  max: number
  /** The version that the collection must have. Undefined: any. */
  version?: number | undefined
}

/** Nothing was written: which write was refused, why, and the document that is there. */
export type MarkRefusal = {
  /** `bound`: another authority counts the collection. The others as for a claim. */
  refused: 'conflict' | 'jump' | 'overflow' | 'full' | 'bound' | 'restored'
  write: MarkWrite
  mark: Mark
}

/** A range that the upstream of a collection granted to this ledger. */
export interface UpstreamRange extends CollectionKey {
  low: number
  high: number
  /**
   * The node that granted it: numbers of different nodes are different numbers. Undefined: the
   * upstream has no nodes.
   */
  node?: string | undefined
}

/** The end of such a range, to be given back to its node. */
export interface UpstreamPiece extends CollectionKey {
  end: number
  node: string
}

/** An identity: a counter of RavenDB's without ranges. Both names are compared lower-cased. */
export interface IdentityKey {
  database: string
  /** `orders|` */
  name: string
}

export interface IdentityClaim extends IdentityKey {
  /** A claim that is repeated with the same id gets the same number, until it is pruned. */
  id?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
}

export interface IdentitySeed extends IdentityKey {
  /** The next number will be the one after. */
  value: number
  /** Also down, but never below a number that was handed out. */
  isForced: boolean
}

/** Where the identity is; or why it did not move, with reasons as for a claim. */
export type IdentityOutcome =
  | { value: number }
  | { refused: 'overflow' | 'jump' | 'full' | 'restored'; value: number }

/** A device asks for a series of consecutive numbers of its own. */
export interface SeriesClaim extends CollectionKey {
  /** A claim that is repeated with the same id gets the same series. */
  id: string
  /** As of a claim. */
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
      ranges?: SeriesRange[]
      mark?: string
      /** The ledger knew something else of the periods than it answered last. */
      again?: true
    }
  | { superseded: true; last: number; handedOver?: HandOver }
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
 * - `heard`: the server has heard of more. `least`: the lowest number that can be stated of
 *   `period`.
 * - `periods`: the stated period is none of those that are `known`, or nobody said one. Nothing is
 *   known: the ledger has heard of no number.
 * - `untold`: the database was restored, and the device has not told of all its periods since. A
 *   person has to say the last number of each; those of `missing` were not said.
 * - `outside`: the period is a range, and the stated number is none of it.
 * - `crowded`: it has had more periods than the ledger keeps.
 * - `holder`: the device has a series that is not closed.
 */
export type HandOverRefusal =
  | { refused: 'missing' | 'crowded' }
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
  /** As a number of an id. Absent: there are no ranges of the collection, or nobody asked. */
  id?: {
    /**
     * - `used`: the device that got it has said that it was used there, or lost in a crash.
     * - `held`: the device that got it holds it, or has used it since it was heard of.
     * - `free`: it came back, and will be granted.
     * - `returned`: it came back, and is granted to nobody any more.
     * - `above`: it was never granted, and lies above all granted numbers.
     * - `forgotten`: no grant on record covers it. Grants are forgotten after the horizon, and
     *   some numbers are skipped.
     */
    state: 'used' | 'held' | 'free' | 'returned' | 'above' | 'forgotten'
    /** How far the collection has gone. */
    max: number
    /** Nothing at or below is granted any more. Absent: the number is above. */
    floor?: number
  }
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

/** Claims, give-backs and check-ins. */
export interface Claims {
  /**
   * Grants claims, all of them in one commit. Resolves with an outcome per claim, in their order.
   *
   * The numbers of a bound collection come from another authority: from the counter of a back end's
   * ORM, which this step moves, or from an upstream. Then a claim may get fewer than it asks for.
   * Numbers that come back are granted again, but never go back into that counter.
   * @param received new ranges from upstreams, for these claims. They are kept also if a claim is
   * refused
   * @throws CounterUnusable, CounterWentBack
   */
  claim(
    claims: readonly ClaimRequest[],
    received?: readonly UpstreamRange[],
  ): Promise<ClaimOutcome[]>

  isBound(key: CollectionKey): boolean

  /** Is a number from `low` to `high` held by a grant, or free to be granted? */
  holds(key: CollectionKey, low: number, high: number): Promise<boolean>

  /**
   * Takes free numbers out of the ledger for good, so that they can be given back upstream: the
   * range of one node that ends at `end`. Resolves with its first number. Undefined: no free range
   * ends there, and nothing was changed.
   */
  withdraw(piece: UpstreamPiece): Promise<number | undefined>

  /**
   * Resolves with how many numbers came back. It is 0, and nothing was changed, unless an
   * outstanding grant ends at `end`, and `last` is in it or just before it (H22). A number that a
   * check-in called issued does not come back.
   *
   * With a token: only of that grant, and only the latest token of it counts. Numbers that do not
   * end at `max` go to the free list. Without a token: only of a grant that was claimed without an
   * id and not shortened yet, and only when it ends at `max`. An identical return is honoured once
   * (H8).
   */
  giveBack(giveBack: GiveBack): Promise<number>

  /**
   * Replaces the token of each grant: the old one has no effect from then on (H12, H13). Resolves
   * with a result per grant, in their order.
   * @throws HeldOfAnother when the device holds numbers of another ledger. Nothing was changed
   */
  checkIn(checkIn: CheckIn): Promise<CheckInResult[]>
}

/** How far collections have gone, and the steps after a restore. */
export interface Marks {
  read(key: CollectionKey): Promise<Mark>

  /** The same of several, in their order, by one look at the database. */
  readAll(keys: readonly CollectionKey[]): Promise<Mark[]>

  /**
   * Sets `max` of collections, of all or of none. Up: for numbers that a client hands out without a
   * grant, as RavenDB's client-side HiLo does. Down: but never below a number that a grant holds.
   */
  write(writes: readonly MarkWrite[]): Promise<Mark[] | MarkRefusal>

  /**
   * From then on nothing at or below `floor` is granted. Resolves with the `max` that holds now,
   * which is never lower than before: a counter that went back goes above every grant on record.
   */
  raiseFloor(floor: Floor): Promise<number>

  /**
   * For a database that was restored from a backup: every collection and identity goes on `by`
   * numbers above the highest that it knows of, and those that are not there yet begin above `by`.
   * Nothing below is granted any more. From then on the database grants again.
   * @throws RangeError when `by` is a mistake, or new ones would begin above 2^53−1
   * @throws CounterUnusable when a bound collection has no id left above
   */
  raiseFloors(floors: Floors): Promise<RaisedFloors>

  /**
   * Raises all floors of a database above the grants of another ledger there, and remembers so. A
   * device that holds numbers of the other one then drops them, and goes on with this one (H34).
   * Throws as `raiseFloors`.
   */
  follow(following: Following): Promise<RaisedFloors>

  /**
   * Databases that grant nothing, because somebody proved that they are older copies of themselves:
   * a device showed a token that they wrote and do not know (H20).
   */
  restored(): Promise<string[]>

  /** Calls `listener` when this process hears that a database grants nothing, once for each. */
  onRestored(listener: (database: string) => void): void

  /**
   * Calls `listener` with a sentence for the operator: about the counter of a back end that a
   * collection is bound to. The ledger goes on granting.
   */
  onCaution?(listener: (caution: string) => void): void

  /** All collections, and those that are bound to another counter. */
  names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }>
}

/** Counters of RavenDB's without ranges. */
export interface Identities {
  /**
   * Takes the next number of an identity per claim, without gaps, all of them in one commit.
   * Resolves with an outcome per claim, in their order.
   */
  nextIdentities(claims: readonly IdentityClaim[]): Promise<IdentityOutcome[]>

  seedIdentity(seed: IdentitySeed): Promise<IdentityOutcome>

  /** Is there such an identity? */
  hasIdentity(identity: IdentityKey): Promise<boolean>
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
   * token of the device that had it is void from then on. If the same was done just before, it
   * changes nothing.
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

  /** Resolves when something was written to the database. */
  ping(): Promise<void>

  /** Waits for the steps that are under way. */
  close(): Promise<void>
}

export interface Ledger extends Claims, Marks, Identities, SeriesRegister, Operation {}

export interface LedgerLimits {
  /** A `lastMax` further above `max` is refused. */
  maxJump: number
  /** No collection that the ledger itself counts passes it. */
  maxId: number
  /** Collections, and as many identities and series, per database. */
  collections: number
  /** Databases with collections, and databases with identities: their names come from requests. */
  databases: number
}
