/**
 * The ledger's tables, each described once: which columns it has, of which type, and which of them
 * change. All statements are made of these descriptions.
 */
import type {
  CollectionRow,
  GrantRow,
  IdentityClaimRow,
  IdentityRow,
  ReturnRow,
  SeriesRow,
  Tombstone,
} from '../ledger/rows.js'
import type { Table } from './statements.js'

export const COLLECTIONS: Table<CollectionRow> = {
  name: 'hilo_counters',
  columns: {
    database: ['database', 'text', 'key'],
    collection: ['tag', 'text', 'key'],
    max: ['max', 'count', 'changes'],
    highWater: ['high_water', 'count', 'changes'],
    floor: ['floor', 'count', 'changes'],
    // Before the lists, which may be so long that SQLite keeps them, and what follows, elsewhere.
    freeCount: ['free_count', 'count', 'changes'],
    free: ['free', 'spans', 'changes'],
    fresh: ['fresh', 'spans', 'changes'],
    version: ['version', 'number', 'changes'],
    serial: ['serial', 'count', 'changes'],
    forgotten: ['forgotten', 'count', 'changes'],
    grants: ['grants', 'count', 'changes'],
    outstanding: ['outstanding', 'count', 'changes'],
    lastClaim: ['last_claim', 'number?', 'changes'],
    droppedAt: ['dropped_at', 'number?', 'changes'],
  },
  indexes: { hilo_counters_free: '(free_count) WHERE free_count > 0' },
}

/** How many collections and identities a database has that were not dropped. */
export interface NamesRow {
  database: string
  collections: number
  identities: number
}

export const NAMES: Table<NamesRow> = {
  name: 'hilo_names',
  columns: {
    database: ['database', 'text', 'key'],
    collections: ['collections', 'number', 'changes'],
    identities: ['identities', 'number', 'changes'],
  },
}

export const GRANTS: Table<GrantRow> = {
  name: 'hilo_grants',
  columns: {
    id: ['id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['tag', 'text', 'fixed'],
    claim: ['claim', 'text?', 'fixed'],
    claimedBy: ['claimed_by', 'text?', 'fixed'],
    device: ['device', 'text', 'fixed'],
    low: ['low', 'count', 'fixed'],
    high: ['high', 'count', 'changes'],
    firstHigh: ['first_high', 'count', 'fixed'],
    issued: ['issued', 'count', 'changes'],
    count: ['count', 'count', 'fixed'],
    serverTag: ['server_tag', 'text', 'fixed'],
    grantedAt: ['granted_at', 'number', 'fixed'],
    tokenVersion: ['token_version', 'number', 'changes'],
    serial: ['serial', 'count', 'fixed'],
    checkIn: ['check_in', 'text?', 'changes'],
    heardAt: ['heard_at', 'number', 'changes'],
  },
  unique: [
    ['claim', 'database', 'collection'],
    ['database', 'collection', 'serial'],
  ],
  indexes: {
    hilo_grants_held: '(database, tag, low) WHERE high >= low',
    hilo_grants_done: '(heard_at) WHERE issued >= high',
    hilo_grants_open: '(heard_at) WHERE issued < high',
  },
}

/** What is left of a grant of which nothing was heard for so long that it counts as issued. */
export const TOMBSTONES: Table<Tombstone> = {
  name: 'hilo_tombstones',
  columns: {
    id: ['id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['tag', 'text', 'fixed'],
    high: ['high', 'count', 'fixed'],
    serial: ['serial', 'count', 'fixed'],
    tokenVersion: ['token_version', 'number', 'changes'],
    checkIn: ['check_in', 'text?', 'changes'],
  },
}

/** Returns without a token, each honoured once. */
export const RETURNS: Table<ReturnRow> = {
  name: 'hilo_returns',
  columns: {
    database: ['database', 'text', 'key'],
    collection: ['tag', 'text', 'key'],
    end: ['range_end', 'count', 'key'],
    last: ['range_last', 'count', 'key'],
    returnedAt: ['returned_at', 'number', 'fixed'],
  },
  indexes: { hilo_returns_returned_at: '(returned_at)' },
}

export const IDENTITIES: Table<IdentityRow> = {
  name: 'hilo_identities',
  columns: {
    database: ['database', 'text', 'key'],
    name: ['name', 'text', 'key'],
    value: ['value', 'count', 'changes'],
    highWater: ['high_water', 'count', 'changes'],
    droppedAt: ['dropped_at', 'number?', 'changes'],
  },
}

export const IDENTITY_CLAIMS: Table<IdentityClaimRow> = {
  name: 'hilo_identity_claims',
  columns: {
    database: ['database', 'text', 'key'],
    name: ['name', 'text', 'key'],
    claim: ['claim', 'text', 'key'],
    value: ['value', 'count', 'fixed'],
    claimedAt: ['claimed_at', 'number', 'fixed'],
  },
  indexes: { hilo_identity_claims_claimed_at: '(claimed_at)' },
}

export const SERIES: Table<SeriesRow> = {
  name: 'hilo_series',
  columns: {
    grant: ['grant_id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['tag', 'text', 'fixed'],
    letter: ['letter', 'count', 'fixed'],
    name: ['name', 'text', 'fixed'],
    device: ['device', 'text', 'changes'],
    last: ['last', 'count', 'changes'],
    periods: ['periods', 'text', 'changes'],
    registeredAt: ['registered_at', 'number', 'fixed'],
    seenAt: ['seen_at', 'number', 'changes'],
    closedAt: ['closed_at', 'number?', 'changes'],
    closedBy: ['closed_by', 'text?', 'changes'],
    reason: ['reason', 'text?', 'changes'],
    doubtfulFrom: ['doubtful_from', 'number?', 'changes'],
    doubtfulTo: ['doubtful_to', 'number?', 'changes'],
    link: ['link', 'text?', 'changes'],
    handOvers: ['hand_overs', 'text', 'changes'],
    ranges: ['ranges', 'text', 'changes'],
  },
  unique: [
    ['database', 'collection', 'letter'],
    ['database', 'collection', 'name'],
  ],
}

/** Of a region: what it holds of its root. `setAside` is a record that could not be read. */
export interface DeviceRow {
  key: string
  state: string
  setAside: string | null
}

export const DEVICES: Table<DeviceRow> = {
  name: 'hilo_devices',
  columns: {
    key: ['key', 'text', 'key'],
    state: ['state', 'text', 'changes'],
    setAside: ['set_aside', 'text?', 'changes'],
  },
}

/** In the order in which they are made. */
export const TABLES: readonly Table<never>[] = [
  COLLECTIONS,
  NAMES,
  GRANTS,
  TOMBSTONES,
  RETURNS,
  IDENTITIES,
  IDENTITY_CLAIMS,
  SERIES,
  DEVICES,
]
