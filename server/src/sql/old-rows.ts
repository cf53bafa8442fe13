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

/**
 * Rows that belong to dropped collections and identities, and what is written about people in those
 * that stay.
 */
export const DROPPINGS: readonly string[] = [
  dropping('hilo_grants', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_tombstones', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_identity_claims', 'database, name, claim', 'hilo_identities', 'name'),
  // The series stays, so that its name is given to nobody else. `|` as in `lettersOf`.
  `UPDATE hilo_series SET device = '', hand_overs = '[]',
    closed_by = CASE WHEN closed_by IS NULL THEN NULL ELSE '' END,
    reason = CASE WHEN reason IS NULL THEN NULL ELSE '' END
    WHERE grant_id IN (
      SELECT t.grant_id FROM hilo_counters n
      JOIN hilo_series t ON t.database = n.database AND t.tag || '|' = n.tag
      WHERE n.dropped_at IS NOT NULL AND (t.device <> '' OR t.closed_by <> '' OR t.reason <> ''
        OR t.hand_overs <> '[]')
      LIMIT ${STEP}) RETURNING 1 AS "dropped"`,
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
