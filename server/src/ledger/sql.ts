/** SQL that SQLite and PostgreSQL both understand, and how a statement names columns. */
import { type Columns, SERIES_COLUMNS } from './columns.js'

export const columnNames = <Row>(columns: Columns<Row>): string =>
  entriesOf(columns)
    .map(([, [column]]) => column)
    .join(', ')

/**
 * The columns as fields of a row: `g.tag AS "collection", …`.
 * @param table `g.`
 */
export const fields = <Row>(columns: Columns<Row>, table = ''): string =>
  entriesOf(columns)
    .map(([field, [column]]) => `${table}${column} AS "${field}"`)
    .join(', ')

export const entriesOf = <Row>(
  columns: Columns<Row>,
): [field: string, [column: string, type: string]][] => Object.entries(columns)

/**
 * What is known of a place among a collection's grants.
 * @param asked rows `k` with `database`, `tag` and `serial`
 */
export const serialsOf = (asked: string): string => `
  SELECT c.database AS "database", c.tag AS "collection", k.serial AS "serial",
    c.serial AS "newest", g.id AS "grant"
  FROM ${asked} CROSS JOIN hilo_counters c
  LEFT JOIN hilo_grants g
    ON g.database = c.database AND g.tag = c.tag AND g.serial = k.serial
  WHERE c.database = k.database AND c.tag = k.tag`

export const STATUS = `
  SELECT database AS "database", tag AS "collection", max AS "max", free AS "free",
    fresh AS "fresh", outstanding AS "outstanding", grants AS "grants",
    last_claim AS "lastClaim"
  FROM hilo_counters WHERE dropped_at IS NULL ORDER BY database, tag`

/** @param database a parameter */
export const seriesOf = (database: '?' | '$1'): string =>
  `SELECT ${fields(SERIES_COLUMNS)} FROM hilo_series WHERE database = ${database}
   ORDER BY tag, letter`

/** How a row of a series replaces the one that is there. */
export const ON_SERIES_CONFLICT = `ON CONFLICT (grant_id) DO UPDATE SET
  last = excluded.last, seen_at = excluded.seen_at, closed_at = excluded.closed_at,
  closed_by = excluded.closed_by, reason = excluded.reason,
  doubtful_from = excluded.doubtful_from, doubtful_to = excluded.doubtful_to`

export const FREE_LISTS = `
  SELECT free AS "free", fresh AS "fresh" FROM hilo_counters
  WHERE free <> '[]' OR fresh <> '[]'`

export const COLLECTION_NAMES = `
  SELECT database AS "database", tag AS "collection" FROM hilo_counters ORDER BY database, tag`
export const IDENTITY_NAMES = `
  SELECT database AS "database", name AS "name" FROM hilo_identities ORDER BY database, name`

/** Tables whose rows are added because a request names them. */
export type NamedTable = 'hilo_counters' | 'hilo_identities'

export const countDatabases = (table: NamedTable): string =>
  `SELECT count(*) AS "count" FROM (
    SELECT DISTINCT database FROM ${table} WHERE dropped_at IS NULL) AS databases`

const PRUNE_STEP = 1_000

/**
 * Grants that may be pruned, a few.
 * @param settled a parameter: the time for those that are settled
 * @param heard a parameter: the time for the others
 */
export const oldGrants = (settled: '?' | '$1', heard: '?' | '$2'): string => {
  const some = (condition: string) =>
    `SELECT id AS "id", database AS "database", tag AS "collection" FROM hilo_grants
     WHERE ${condition} ORDER BY heard_at LIMIT ${PRUNE_STEP / 2}`
  return `SELECT * FROM (${some(`issued >= high AND heard_at < ${settled}`)}) AS done
    UNION ALL SELECT * FROM (${some(`issued < high AND heard_at < ${heard}`)}) AS unheard`
}

/**
 * Deletes the rows that belong to dropped collections and identities. Each statement is repeated
 * until it returns no row.
 */
export const DROPPINGS: readonly string[] = [
  dropping('hilo_grants', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_unheard', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_identity_claims', 'database, name, claim', 'hilo_identities', 'name'),
]

function dropping(table: string, key: string, named: NamedTable, name: string): string {
  const columns = key.split(', ').map((column) => `t.${column}`)
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${columns.join(', ')} FROM ${named} n
    JOIN ${table} t ON t.database = n.database AND t.${name} = n.${name}
    WHERE n.dropped_at IS NOT NULL LIMIT ${PRUNE_STEP}) RETURNING 1 AS "dropped"`
}

/** @param database a parameter */
export const identitiesOf = (database: '?' | '$1'): string =>
  `SELECT database AS "database", name AS "name" FROM hilo_identities
   WHERE database = ${database} AND dropped_at IS NULL ORDER BY name`

/**
 * Deletes stored answers to requests from before a time. Each statement is repeated until it
 * returns no row.
 * @param time a parameter
 */
export const prunings = (time: '?' | '$1'): readonly string[] => [
  pruning('hilo_returns', 'database, tag, range_end, range_last', `returned_at < ${time}`),
  pruning('hilo_identity_claims', 'database, name, claim', `claimed_at < ${time}`),
]

const pruning = (table: string, key: string, condition: string): string =>
  `DELETE FROM ${table} WHERE (${key}) IN
     (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${PRUNE_STEP}) RETURNING 1 AS "pruned"`

/** What a region holds of its root, by the key that names a collection there. */
export const READ_DEVICE = 'SELECT state AS "state" FROM hilo_devices WHERE key = $1'
export const READ_DEVICE_KEYS = `SELECT key AS "key" FROM hilo_devices WHERE state <> ''`
export const SAVE_DEVICE = `
  INSERT INTO hilo_devices (key, state, set_aside) VALUES ($1, $2, $3)
  ON CONFLICT (key) DO UPDATE SET state = excluded.state,
    set_aside = coalesce(excluded.set_aside, hilo_devices.set_aside)`
