/** The rows that the ledger keeps, and how a step makes and changes them. */
import type {
  CollectionCounts,
  CollectionKey,
  HandOver,
  IdentityKey,
  Mark,
  Series,
  SeriesPeriod,
} from './ledger.js'
import { EMPTY_LINE, type NumberLine, raise, type Span, sizeOf } from './number-line.js'

export interface CollectionRow extends CollectionKey, NumberLine {
  /** Changes whenever `max` does. */
  version: number
  /** Of the newest grant. */
  serial: number
  /** The highest number of a grant that was pruned or copied: `max` never goes below. */
  forgotten: number
  /** How many grants are kept. */
  grants: number
  /** How many numbers these hold. */
  outstanding: number
  /** How many numbers are not granted: as many as `free` and `fresh` hold. */
  freeCount: number
  /** Milliseconds since the epoch. Null: nothing was ever granted. */
  lastClaim: number | null
  /**
   * Not null: the collection was dropped. The row only keeps the numbers that must never be granted
   * again.
   */
  droppedAt: number | null
  /** Of the newest grant when the collection was dropped last. 0: it never was. */
  droppedSerial: number
}

/** A grant holds `low` to `high`. `high = low - 1`: all of it came back. */
export interface GrantRow extends CollectionKey {
  id: string
  /** The id that it was claimed with. */
  claim: string | null
  /** The device that claimed it. Null: unknown. */
  claimedBy: string | null
  /** Its name, for people. Empty: it has none. */
  device: string
  low: number
  high: number
  /** Where it ended when it was granted. */
  firstHigh: number
  /** The highest number that is known to be issued; `low - 1`: none. */
  issued: number
  /** How many were asked for. */
  count: number
  serverTag: string
  grantedAt: number
  /** Raised by each check-in. */
  tokenVersion: number
  /** 1, 2, 3 … in its collection. */
  serial: number
  /** The id of the check-in that raised `tokenVersion` last. */
  checkIn: string | null
  /** When the server last heard of the grant from its device. */
  heardAt: number
}

/**
 * A grant of which nothing was heard for so long that its numbers count as issued. Its device may
 * still come back with its token, and keeps them: nobody else can ever get them.
 */
export type Tombstone = Pick<
  GrantRow,
  'id' | 'database' | 'collection' | 'high' | 'serial' | 'tokenVersion' | 'checkIn'
>

/** A place in the order in which a collection's grants were made. */
export interface SerialKey extends CollectionKey {
  serial: number
}

/** The ledger's record of such a place. */
export interface SerialRow extends SerialKey {
  /** Of the collection's newest grant. */
  newest: number
  /** The grant in this place. Null: none, or it was pruned. */
  grant: string | null
  /** Of the collection. */
  floor: number
  /** Of the collection: grants up to this place were dropped with it. */
  dropped: number
}

/** A return without a token, which is honoured once. */
export interface ReturnRow extends CollectionKey {
  end: number
  last: number
  returnedAt: number
}

export interface IdentityRow extends IdentityKey {
  value: number
  /** The highest number handed out, however low the identity was seeded since. */
  highWater: number
  /** As of a collection. */
  droppedAt: number | null
}

export interface IdentityClaimRow extends IdentityKey {
  claim: string
  value: number
  claimedAt: number
}

/** A series, filed under the grant of its letter. */
export interface SeriesRow extends CollectionKey {
  grant: string
  /** Its place among the series of its collection; 1 is A. */
  ordinal: number
  /** The name that the app has chosen, or else the letter: `B`. No other series has it. */
  name: string
  /** As `seriesKey` has it. */
  nameKey: string
  device: string
  last: number
  /** JSON: how far each period has come, the newest last. */
  periods: string
  /** JSON: `SeriesPeriod[]` that a copy of the device, or one that had the series, has told. */
  toldByOthers: string
  /**
   * `restores` of the database, when the device had told the ledger of all its periods last, or a
   * person had. -1: nobody has.
   */
  toldAfter: number
  /** JSON: `FirstShown[]`, of each restore that the ledger knows of, oldest first. */
  firstShown: string
  registeredAt: number
  seenAt: number
  closedAt: number | null
  closedBy: string | null
  reason: string | null
  doubtfulFrom: number | null
  doubtfulTo: number | null
  /** JSON: the last record of its chain that was heard of. Null: none. */
  link: string | null
  /** JSON: `SeriesLink`, the last entry of its device's register that was heard of. Null: none. */
  register: string | null
  /** JSON: `StoredHandOver[]`, oldest first. */
  handOvers: string
  /** JSON: `SeriesRange[]`, in the order in which they are used. */
  ranges: string
}

/** The first token of a series that a device showed after a restore. */
export interface FirstShown {
  /** Of the database, then. */
  restores: number
  tokenVersion: number
  /** The token that replaced it: no lower one was written since the restore. */
  next: number
  /** How many numbers of the device the ledger had confirmed to have heard of, before. */
  heard: number
}

/** A hand-over of a series as it is stored. */
export interface StoredHandOver extends HandOver {
  /** How many numbers were made until then, over all periods, if the person is right. */
  made: number
  /** Of the grant, from then on: tokens with a lower one ended with it. */
  tokenVersion: number
  /**
   * The token of the device that had the series: shown again, it is as before the hand-over, so
   * that a copy of that device is found. Absent: what was handed over is forgotten.
   */
  holder?: Pick<GrantRow, 'tokenVersion' | 'checkIn'>
  /** Of the database, then. After another restore, it is given to nobody. */
  restores: number
  /** Numbers that the device made until then, which had the series. */
  numbers: readonly SeriesPeriod[]
  /** Numbers that a copy, or a device before that one, has told. */
  others: readonly SeriesPeriod[]
  /** The last record of its chain that was heard of. */
  link?: Series['link']
  register?: Series['register']
  /** The series was closed, and goes on. */
  closed?: Series['closed']
  /** The claim by which the other device got the series, and its device. Absent: none did yet. */
  claim?: { id: string; by: string | null }
}

/** The settings of a whole database. Missing: it never was restored. */
export interface DatabaseRow {
  database: string
  /** It is an older copy of itself, and grants nothing (H20). */
  isRestored: boolean
  /** It was dropped while it granted nothing. It still does, but nobody has to be told. */
  isDropped: boolean
  /** Where collections and identities begin that are not there yet. */
  floor: number
  /** The floors were raised after the grants up to here: their tokens prove nothing any more. */
  serial: number
  /** How often it was restored: its floors were raised, or those of letters. */
  restores: number
  /** Since then, no person has said which series exist: no name and no range is given. */
  isUnlisted: boolean
  /** Names of ledgers that this one follows here, and the highest number that each granted. */
  follows: Readonly<Record<string, number>>
}

export const newCollection = ({ database, collection }: CollectionKey): CollectionRow => ({
  database,
  collection,
  ...EMPTY_LINE,
  version: 0,
  serial: 0,
  forgotten: 0,
  grants: 0,
  outstanding: 0,
  freeCount: 0,
  lastClaim: null,
  droppedAt: null,
  droppedSerial: 0,
})

export const newIdentity = ({ database, name }: IdentityKey): IdentityRow => ({
  database,
  name,
  value: 0,
  highWater: 0,
  droppedAt: null,
})

export const newDatabase = (database: string): DatabaseRow => ({
  database,
  isRestored: false,
  isDropped: false,
  floor: 0,
  serial: 0,
  restores: 0,
  isUnlisted: false,
  follows: {},
})

/** The row with its line after a step. */
export const withLine = (row: CollectionRow, line: NumberLine): CollectionRow => ({
  ...row,
  ...line,
  version: row.version + (line.max === row.max ? 0 : 1),
  freeCount: sizeOf(line.free) + sizeOf(line.fresh),
})

/** More than any restored ledger has lost of a collection. */
const VERSIONS_SKIPPED = 1e9

/**
 * The row with its floor raised. This ledger may have been restored from a backup, and a client may
 * expect a version that was lost: it has to read the document again.
 */
export const withFloor = (row: CollectionRow, floor: number): CollectionRow => ({
  ...withLine(row, raise(row, floor)),
  // guard: H20 no version from before a floor was raised is expected again
  version: row.version + VERSIONS_SKIPPED,
})

/**
 * The collection after `grants` grants were made or pruned, and numbers were granted or came back.
 */
export const withTotals = (
  row: CollectionRow,
  { grants, numbers }: { grants: number; numbers: number },
): CollectionRow => ({
  ...row,
  // A grant from before a drop may still be there, which the collection counts no more.
  grants: Math.max(0, row.grants + grants),
  outstanding: Math.max(0, row.outstanding + numbers),
})

/** The grant when it is known, at a time, that its numbers below `next` were issued. */
export const withIssued = (grant: GrantRow, next: number, at: number): GrantRow => ({
  ...grant,
  issued: Math.min(Math.max(grant.issued, next - 1), grant.high),
  heardAt: Math.max(grant.heardAt, at),
})

/** How many numbers a grant holds. */
export const sizeOfGrant = ({ low, high }: GrantRow): number => high - low + 1

/** Is it known that the device can issue no more number of this grant? */
export const isSettled = ({ issued, high }: GrantRow): boolean => issued >= high

/** Numbers that nobody holds: those that came back, and those that were not granted yet. */
export const freeOf = ({ free, fresh }: CollectionRow): readonly Span[] => [...free, ...fresh]

/** The columns of a collection's status: without its lists, which may be long. */
export type CountsRow = Omit<CollectionRow, 'free' | 'fresh'>

export function toStatus(row: CountsRow): CollectionCounts {
  const { database, collection, max, freeCount: free, outstanding, grants, lastClaim } = row
  return { database, collection, max, free, outstanding, grants, lastClaim: lastClaim ?? undefined }
}

export const toMark = (row: CollectionRow | undefined): Mark => ({
  max: row?.max ?? 0,
  version: row?.version ?? 0,
})

export function withGranted(row: CollectionRow, granted: readonly GrantRow[]): CollectionRow {
  if (granted.length === 0) return row
  const numbers = granted.reduce((sum, grant) => sum + sizeOfGrant(grant), 0)
  const lastClaim = Math.max(row.lastClaim ?? 0, ...granted.map(({ grantedAt }) => grantedAt))
  const serial = row.serial + granted.length
  return { ...withTotals(row, { grants: granted.length, numbers }), serial, lastClaim }
}
