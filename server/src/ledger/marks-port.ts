/**
 * The part of the ledger that says how far collections have gone, and raises them after a restore.
 */
import type { CollectionKey, IdentityKey } from './keys.js'

export interface Floor extends CollectionKey {
  floor: number
}

/** All floors of a database. */
export interface Floors {
  database: string
  /** More than any one collection or identity went up since the backup, also by a raised floor. */
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
   * Collections and identities that are not there yet begin above this. 0: in a region, whose root
   * says where they begin.
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
   * @param options `dropped`: those, too, that somebody has dropped since
   */
  restored(options?: { dropped?: boolean }): Promise<string[]>

  /**
   * Calls `listener` when this process hears that a database grants nothing, once until its floors
   * are raised.
   */
  onRestored(listener: (database: string) => void): void

  /**
   * Calls `listener` with a sentence for the operator: about the counter of a back end that a
   * collection is bound to. The ledger goes on granting.
   */
  onCaution?(listener: (caution: string) => void): void

  /** Those with collections that other counters count. Absent: there are none. */
  boundDatabases?(): string[]

  /** All collections, and those that are bound to another counter. */
  names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }>
}
