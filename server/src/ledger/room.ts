/**
 * How many more collections, or identities, a database may have, and how many more databases there
 * may be: their names come from requests. Processes that add at the same moment may pass a limit by
 * what each of them adds.
 */

import type { Query } from '../postgres/pool.js'
import { prepare, type Sqlite } from '../sqlite/file.js'
import type { LedgerLimits } from './ledger.js'

export type Room = Pick<LedgerLimits, 'collections' | 'databases'>
type Table = 'hilo_counters' | 'hilo_identities'

/** @returns whether there is room for one more in a database */
export function roomInSqlite(
  db: Sqlite,
  table: Table,
  limits: Room,
): (database: string) => boolean {
  const countIn = prepare<{ count: number }>(
    db,
    `SELECT count(*) AS count FROM ${table} WHERE database = ?`,
  )
  const countDatabases = prepare<{ count: number }>(db, databasesOf(table))
  return (database) => {
    const { count } = countIn(database)!
    return count > 0 ? count < limits.collections : countDatabases()!.count < limits.databases
  }
}

/** @returns those of `keys` for which there is room, in their order */
export async function withRoomInPostgres<K extends { database: string }>(
  query: Query,
  table: Table,
  keys: readonly K[],
  limits: Room,
): Promise<K[]> {
  const counts = await query<{ database: string; count: number }>(
    `SELECT database, count(*) AS count FROM ${table} WHERE database = ANY($1) GROUP BY database`,
    [keys.map(({ database }) => database)],
  )
  const countIn = new Map(counts.map(({ database, count }) => [database, count]))
  const isAnyNew = keys.some(({ database }) => !countIn.has(database))
  let databases = isAnyNew ? (await query<{ count: number }>(databasesOf(table)))[0]!.count : 0
  return keys.filter(({ database }) => {
    const count = countIn.get(database) ?? 0
    if (count > 0 ? count >= limits.collections : databases >= limits.databases) return false
    if (count === 0) databases++
    countIn.set(database, count + 1)
    return true
  })
}

const databasesOf = (table: Table): string =>
  `SELECT count(*) AS count FROM (SELECT DISTINCT database FROM ${table}) AS databases`
