/**
 * The statements that find and delete rows which are not needed any more. Each takes few rows, and
 * is repeated until it returns none, so that no claim waits long for it.
 */
const STEP = 1_000

/** Grants that may be pruned: those that are settled since `$1`, those not heard of since `$2`. */
export const OLD_GRANTS = `
  SELECT * FROM (${oldGrants('issued >= high', '$1')}) AS done
  UNION ALL SELECT * FROM (${oldGrants('issued < high', '$2')}) AS tombstones`

function oldGrants(condition: string, before: string): string {
  return `SELECT id AS "id", database AS "database", tag AS "collection" FROM hilo_grants
    WHERE ${condition} AND heard_at < ${before} ORDER BY heard_at LIMIT ${STEP / 2}`
}

/** Rows that belong to dropped collections and identities. */
export const DROPPINGS: readonly string[] = [
  dropping('hilo_grants', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_tombstones', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_identity_claims', 'database, name, claim', 'hilo_identities', 'name'),
]

function dropping(table: string, key: string, named: string, name: string): string {
  const columns = key.split(', ').map((column) => `t.${column}`)
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${columns.join(', ')} FROM ${named} n
    JOIN ${table} t ON t.database = n.database AND t.${name} = n.${name}
    WHERE n.dropped_at IS NOT NULL LIMIT ${STEP}) RETURNING 1 AS "dropped"`
}

/** Stored answers to requests from before `$1`. */
export const PRUNINGS: readonly string[] = [
  pruning('hilo_returns', 'database, tag, range_end, range_last', 'returned_at'),
  pruning('hilo_identity_claims', 'database, name, claim', 'claimed_at'),
]

function pruning(table: string, key: string, time: string): string {
  return `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${time} < $1 LIMIT ${STEP}) RETURNING 1 AS "pruned"`
}
