/**
 * The port of a database that keeps the ledger's rows. A store knows no rule of the ledger: it
 * locks rows, reads them, runs a step on them and saves the changes.
 *
 * - `change` is one transaction, on disk before its promise resolves. Rejected with
 *   `LedgerUnavailable`, it happened as a whole or not at all, and nobody knows which.
 * - The rows that a step gets are locked until its changes are saved, against every process on the
 *   database. Selected rows are locked in one order, so that two transactions do not wait for each
 *   other.
 * - A step may run more than once, and only the changes of its last run are saved: it must be pure.
 * - A new grant that meets another grant of its collection (`meets`) fails the change with
 *   `CounterWentBack`, and nothing happened.
 */
import type { DeviceStore } from '../../../src/device/device-store.js'
import type { CounterAnswers, CounterAsk } from './counter-port.js'
import type { Secrets } from './grant-token.js'
import type {
  ClaimRequest,
  CollectionKey,
  Connections,
  IdentityClaim,
  IdentityKey,
  IdParts,
  LedgerLimits,
  Pruning,
  SeriesPlace,
} from './ledger.js'
import type { NewGrant } from './overlap.js'
import type {
  CollectionRow,
  CountsRow,
  DatabaseRow,
  GrantRow,
  IdentityClaimRow,
  IdentityRow,
  ReturnRow,
  SerialKey,
  SerialRow,
  SeriesRow,
  Tombstone,
} from './rows.js'

export interface RowStore {
  /** The secrets that sign the grant tokens. */
  secrets: Secrets
  /** Its public name. */
  name: string
  change<T>(transaction: Transaction<T>): Promise<T>
  /** Those of them that are there. */
  readCollections(keys: readonly CollectionKey[]): Promise<CollectionRow[]>
  /** Collections that were not dropped, by database and name. */
  readStatus(): Promise<CountsRow[]>
  /**
   * The newest ten grants that cover a number or did before it came back, the oldest of them first.
   */
  readCovering(key: CollectionKey, number: number): Promise<GrantRow[]>
  /** Of a database, by collection and letter: the first behind a place, at most so many. */
  readSeries(database: string, after: SeriesPlace, limit: number): Promise<SeriesRow[]>
  /** Of a collection: those that were handed over. */
  readHandedOver(key: CollectionKey): Promise<SeriesRow[]>
  findSeries(key: SeriesNameKey): Promise<SeriesRow | undefined>
  /** Of a database. */
  countSeries(database: string): Promise<number>
  /** Of a database: those that are not closed, and that this token of access has claimed. */
  countOpenSeries(database: string, by: string): Promise<number>
  /** Databases that have settings, by name. */
  readDatabases(): Promise<ReadonlyMap<string, DatabaseRow>>
  /** Of all collections and identities, also of those that were dropped. */
  readNames(): Promise<Names>
  /** Numbers of all collections that are free. */
  countFree(): Promise<number>
  /** Those that were not dropped. */
  readIdentities(database: string): Promise<IdentityKey[]>
  /** Deletes the rows of dropped collections and identities, in small transactions. */
  removeDropped(): Promise<void>
  /** Some of the grants that may be pruned. None: there is none. */
  readOld(pruning: Pruning): Promise<Pick<GrantRow, 'id' | 'database' | 'collection'>[]>
  /** Deletes stored answers to requests from before a time, in small transactions. */
  pruneAnswers(before: number): Promise<void>
  /** The ranges that a region holds of its root, in the same database. */
  devices: DeviceStore
  connections?(): Connections
  /** As for the ledger. */
  useIdParts(parts: IdParts): void
  ping(): Promise<void>
  close(): Promise<void>
}

interface Names {
  collections: CollectionKey[]
  identities: IdentityKey[]
}

export interface Transaction<T> {
  select: Selection
  /** The demands on the ORMs' counters before the step runs. */
  ask?(rows: Rows): readonly CounterAsk[]
  /** @returns `select`: nothing is saved, and the transaction begins again with these rows, too */
  step(rows: Rows, answers: CounterAnswers): StepResult<T> | { select: Selection }
}

export interface StepResult<T> {
  answer: T
  changes: RowChanges
}

/** Which rows a step works on. Keys are lower-cased, and none is there twice. */
export interface Selection {
  collections?: readonly CollectionKey[]
  /** More collections, none of which is added where it is missing. They may be there twice. */
  known?: readonly CollectionKey[]
  identities?: readonly IdentityKey[]
  /** The settings of these databases. They are read when the rows above are locked. */
  databases?: readonly string[]
  /**
   * Missing collections and identities are added within it, if the step changes them. Undefined:
   * none is added.
   */
  quota?: Quota
  /** Grants of these claims, where they were granted before. */
  claims?: readonly ClaimRequest[]
  /** Numbers of identities that these claims were answered with before. */
  identityClaims?: readonly IdentityClaim[]
  /** Ids of grants. */
  grants?: readonly string[]
  /** Places in the order of a collection's grants. */
  serials?: readonly SerialKey[]
  /** Ids of the grants of series. */
  series?: readonly string[]
  /** Also those of this device that are not closed. */
  seriesOpen?: CollectionKey & Pick<SeriesRow, 'device'>
  /** Also finds the series of this name. */
  seriesNamed?: SeriesNameKey | undefined
  /** A return without a token: the grant that it may be of, and whether it was honoured before. */
  returned?: Omit<ReturnRow, 'returnedAt'>
  /** If a row is locked, the step fails soon, with `RowLocked`. */
  hasShortLockTimeout?: boolean
  /** Also reads how far the grants of each collection have come. */
  withHeld?: boolean
}

/** The name of a series, as `seriesKey` has it: `b`, or a name. */
export interface SeriesNameKey extends CollectionKey {
  nameKey: string
}

export type Quota = Pick<LedgerLimits, 'collections' | 'databases'>

export interface Rows {
  /** The selection of the request. */
  selected: Selection
  /** By name. Missing: it has no settings. */
  databases: ReadonlyMap<string, DatabaseRow>
  /** By `keyText`. Missing: it is not there, or the quota is used up. */
  collections: ReadonlyMap<string, LoadedCollection>
  /** By `keyText`, then by the id of the claim. */
  claimed: ReadonlyMap<string, ReadonlyMap<string, GrantRow>>
  /** By id. */
  grants: ReadonlyMap<string, GrantRow>
  /** By id: the tombstones of grants that were asked for and are not there. */
  tombstones: ReadonlyMap<string, Tombstone>
  /** By `serialText`. Missing: the collection is not there. */
  serials: ReadonlyMap<string, SerialRow>
  /** By the id of their grant. */
  series: ReadonlyMap<string, SeriesRow>
  /** The one whose name was asked for. */
  seriesNamed: SeriesRow | undefined
  /** The grant that holds the end of the returned range, or begins nearest below it. */
  returnedOf: GrantRow | undefined
  isReturned: boolean
  /** By `keyText`: how far its grants have come. Missing: nobody asked. */
  held: ReadonlyMap<string, Held>
  /** By `identityText`. */
  identities: ReadonlyMap<string, LoadedIdentity>
  /** By `identityText`, then by the id of the claim. */
  answered: ReadonlyMap<string, ReadonlyMap<string, IdentityClaimRow>>
}

/** A collection, and its binding as the ledger remembers it. */
export type LoadedCollection = CollectionRow & { binding: string | undefined }

/** An identity, and the highest number among the answers to its claims, if there is one. */
export type LoadedIdentity = IdentityRow & { answered?: number }

/** 0: there is none. */
export interface Held {
  /** The highest number that a grant holds. */
  high: number
  /** Of the newest grant. */
  serial: number
}

export interface RowChanges {
  collections?: readonly CollectionRow[]
  newGrants?: readonly NewGrant[]
  grants?: readonly GrantRow[]
  /** Ids of grants that go. */
  prunedGrants?: readonly string[]
  /** New ones, and those that have changed. */
  tombstones?: readonly Tombstone[]
  returns?: readonly ReturnRow[]
  identities?: readonly IdentityRow[]
  identityClaims?: readonly IdentityClaimRow[]
  /** New ones, and those that have changed. */
  series?: readonly SeriesRow[]
  databases?: readonly DatabaseChange[]
  /** A new secret of the grant tokens. */
  secret?: string
}

/** The changes of a database's row. Settings that are stored together change together. */
export type DatabaseChange = Pick<DatabaseRow, 'database'> & Partial<DatabaseRow>

export interface Usage {
  /** Collections, or identities, of each database that was asked about and has any. */
  perDatabase: ReadonlyMap<string, number>
  /** Databases that have any. */
  databases: number
}

/** No limit: for rows that an operator adds. */
export const UNLIMITED: Quota = {
  collections: Number.POSITIVE_INFINITY,
  databases: Number.POSITIVE_INFINITY,
}

/** Those of new `keys` that may be added, in their order. */
export function withinQuota<K extends { database: string }>(
  keys: readonly K[],
  { perDatabase, databases }: Usage,
  quota: Quota,
): K[] {
  const counts = new Map(perDatabase)
  let used = databases
  return keys.filter(({ database }) => {
    const count = counts.get(database) ?? 0
    if (count > 0 ? count >= quota.collections : used >= quota.databases) return false
    if (count === 0) used++
    counts.set(database, count + 1)
    return true
  })
}
