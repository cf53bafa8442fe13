/**
 * How many collections and identities each database has. Whoever adds or drops one counts it, so
 * that nobody has to count them all when a new name is asked for.
 */
import { type Dialect, keysIn, rowsOf, type Statement, statement } from './statements.js'
import { NAMES } from './tables.js'

export type Names = 'collections' | 'identities'

/**
 * Finds how many each of these databases has (`database`, `count`), and how many databases have
 * any (`count`).
 */
export const namesIn = (
  dialect: Dialect,
  names: Names,
  databases: readonly string[],
): Statement[] => [
  statement(
    `SELECT t.database AS "database", t.${names} AS "count"
     FROM ${keysIn(dialect, NAMES, ['database'])} CROSS JOIN hilo_names t
     WHERE t.database = k."database"`,
    ...dialect.given(databases.map((database) => ({ database }))),
  ),
  statement(`SELECT count(*) AS "count" FROM hilo_names WHERE ${names} > 0`),
]

/** Counts those that were added (1) or dropped (-1). */
export function counting(
  dialect: Dialect,
  changed: Partial<Record<Names, readonly { database: string }[] | undefined>>,
  by: 1 | -1,
): Statement[] {
  const { collections = [], identities = [] } = changed
  const count = (rows: readonly { database: string }[], name: string) =>
    by * rows.filter(({ database }) => database === name).length
  const names = new Set([...collections, ...identities].map(({ database }) => database))
  const rows = [...names].map((database) => ({
    database,
    collections: count(collections, database),
    identities: count(identities, database),
  }))
  return rows.length > 0 ? [statement(adding(dialect), ...dialect.given(rows))] : []
}

const adding = (dialect: Dialect): string => `
  INSERT INTO hilo_names (database, collections, identities)
  SELECT n."database", n."collections", n."identities" FROM ${rowsOf(dialect, NAMES)}
  WHERE true ORDER BY n."database"
  ON CONFLICT (database) DO UPDATE SET
    collections = hilo_names.collections + excluded.collections,
    identities = hilo_names.identities + excluded.identities`
