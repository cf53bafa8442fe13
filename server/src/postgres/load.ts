/**
 * Reads the rows that a step works on, locked until the transaction ends. All statements are sent
 * at once, and the database runs them one after another. So the reads after the locks see what is
 * there once the locks are held.
 */
import { BINDING_PREFIX } from '../ledger/bound-collections.js'
import {
  COLLECTION_COLUMNS,
  GRANT_COLUMNS,
  IDENTITY_CLAIM_COLUMNS,
  IDENTITY_COLUMNS,
  readLists,
  SERIES_COLUMNS,
  type StoredCollection,
  UNHEARD_COLUMNS,
} from '../ledger/columns.js'
import type { Query } from '../ledger/counter-port.js'
import { type Setting, settingKeysOf, toDatabases } from '../ledger/database-rows.js'
import { byClaim, identityText, keyText, serialText } from '../ledger/keys.js'
import type { CollectionKey } from '../ledger/ledger.js'
import type { LoadedCollection, Rows, Selection } from '../ledger/row-store.js'
import type {
  GrantRow,
  IdentityClaimRow,
  IdentityRow,
  SerialRow,
  SeriesRow,
  UnheardRow,
} from '../ledger/rows.js'
import { fields, serialsOf } from '../ledger/sql.js'

const COLLECTIONS = `
  SELECT ${fields(COLLECTION_COLUMNS, 'c.')}, m.value AS "binding"
  FROM hilo_counters c LEFT JOIN hilo_meta m
    ON m.key = '${BINDING_PREFIX}' || c.database || '/' || c.tag
  WHERE (c.database, c.tag) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
const LOCK_COLLECTIONS = `${COLLECTIONS} AND c.dropped_at IS NULL
  ORDER BY c.database, c.tag FOR UPDATE OF c`
const LOCK_IDENTITIES = `
  SELECT ${fields(IDENTITY_COLUMNS)} FROM hilo_identities
  WHERE (database, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))
    AND dropped_at IS NULL
  ORDER BY database, name FOR UPDATE`
/**
 * Finds grants by the primary key alone. If the query also named the collection, a planner with old
 * statistics could think the collection tiny, and read all of it.
 */
const LOCK_GRANTS = `
  SELECT ${fields(GRANT_COLUMNS)} FROM hilo_grants WHERE id = ANY($1) ORDER BY id FOR UPDATE`
const LOCK_SERIES = `
  SELECT ${fields(SERIES_COLUMNS)} FROM hilo_series WHERE grant_id = ANY($1)
  ORDER BY grant_id FOR UPDATE`
const LOCK_UNHEARD = `
  SELECT ${fields(UNHEARD_COLUMNS)} FROM hilo_unheard WHERE id = ANY($1) ORDER BY id FOR UPDATE`
const LOCK_RETURNED_OF = `
  SELECT ${fields(GRANT_COLUMNS)} FROM hilo_grants
  WHERE database = $1 AND tag = $2 AND low <= $3 AND high >= low
  ORDER BY low DESC LIMIT 1 FOR UPDATE`
const CLAIMED = `
  SELECT ${fields(GRANT_COLUMNS)} FROM hilo_grants
  WHERE (database, tag, claim) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`
const ANSWERED = `
  SELECT ${fields(IDENTITY_CLAIM_COLUMNS)} FROM hilo_identity_claims
  WHERE (database, name, claim) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`
const SERIALS = serialsOf('unnest($1::text[], $2::text[], $3::bigint[]) k (database, tag, serial)')
const RETURNS = `
  SELECT 1 FROM hilo_returns
  WHERE database = $1 AND tag = $2 AND range_end = $3 AND range_last = $4`
const HELD = `
  SELECT k.database AS "database", k.tag AS "collection", g.high AS "high"
  FROM unnest($1::text[], $2::text[]) k (database, tag), LATERAL (
    SELECT high FROM hilo_grants WHERE database = k.database AND tag = k.tag AND high >= low
    ORDER BY low DESC LIMIT 1) g`

/** Read after the locks: a claim that waited for a lock sees what was proved meanwhile. */
const SETTINGS = 'SELECT key AS "key", value AS "value" FROM hilo_meta WHERE key = ANY($1)'

type StoredWithBinding = StoredCollection & { binding: string | null }

export async function load(query: Query, selected: Selection): Promise<Rows> {
  const { collections = [], identities = [], grants = [], returned, withHeld } = selected
  const { claims = [], identityClaims = [], serials = [], series = [], databases = [] } = selected
  const keys = byColumn(collections, 'database', 'collection')
  const returnedEnd = returned && [returned.database, returned.collection, returned.end]
  const [
    loaded,
    named,
    locked,
    returnedOf,
    claimed,
    answered,
    returns,
    held,
    places,
    known,
    settings,
  ] = await Promise.all([
    collections.length > 0 ? query<StoredWithBinding>(LOCK_COLLECTIONS, keys) : [],
    identities.length > 0
      ? query<IdentityRow>(LOCK_IDENTITIES, byColumn(identities, 'database', 'name'))
      : [],
    grants.length > 0 ? query<GrantRow>(LOCK_GRANTS, [grants]) : [],
    returnedEnd ? query<GrantRow>(LOCK_RETURNED_OF, returnedEnd) : [],
    claims.length > 0
      ? query<GrantRow>(CLAIMED, byColumn(claims, 'database', 'collection', 'id'))
      : [],
    identityClaims.length > 0
      ? query<IdentityClaimRow>(ANSWERED, byColumn(identityClaims, 'database', 'name', 'id'))
      : [],
    returnedEnd ? query(RETURNS, [...returnedEnd, returned.last]) : [],
    withHeld ? query<CollectionKey & { high: number }>(HELD, keys) : [],
    serials.length > 0
      ? query<SerialRow>(SERIALS, byColumn(serials, 'database', 'collection', 'serial'))
      : [],
    series.length > 0 ? query<SeriesRow>(LOCK_SERIES, [series]) : [],
    databases.length > 0 ? query<Setting>(SETTINGS, [settingKeysOf(databases)]) : [],
  ])
  const found = new Map(locked.map((row) => [row.id, row]))
  const gone = grants.filter((id) => !found.has(id))
  const unheard = gone.length > 0 ? await query<UnheardRow>(LOCK_UNHEARD, [gone]) : []
  return {
    selected,
    databases: toDatabases(settings),
    collections: new Map(loaded.map((row) => [keyText(row), toLoaded(row)])),
    identities: new Map(named.map((row) => [identityText(row), row])),
    grants: found,
    unheard: new Map(unheard.map((row) => [row.id, row])),
    serials: new Map(places.map((row) => [serialText(row), row])),
    series: new Map(known.map((row) => [row.grant, row])),
    returnedOf: returnedOf[0],
    claimed: byClaim(claimed, keyText),
    answered: byClaim(answered, identityText),
    isReturned: returns.length > 0,
    held: new Map(held.map((row) => [keyText(row), row.high])),
  }
}

/** Without a lock. */
export async function readCollection(
  query: Query,
  { database, collection }: CollectionKey,
): Promise<LoadedCollection | undefined> {
  const [row] = await query<StoredWithBinding>(COLLECTIONS, [[database], [collection]])
  return row && toLoaded(row)
}

const toLoaded = (row: StoredWithBinding): LoadedCollection => ({
  ...row,
  ...readLists(row),
  binding: row.binding ?? undefined,
})

/** Many rows are one parameter per column. */
const byColumn = <Row>(rows: readonly Row[], ...columns: (keyof Row)[]): unknown[][] =>
  columns.map((column) => rows.map((row) => row[column]))
