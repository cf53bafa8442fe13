/**
 * Adds the rows of collections and identities that are asked for the first time, as far as the
 * quota allows. It does so in transactions of their own, so that nobody who waits for another's new
 * row holds a lock.
 */
import { identityText, keyText } from '../ledger/keys.js'
import type { CollectionKey, IdentityKey } from '../ledger/ledger.js'
import { withinQuota } from '../ledger/quota.js'
import type { Quota, Rows, Selection } from '../ledger/row-store.js'
import { newCollection, newIdentity } from '../ledger/rows.js'
import type { SqlConnection } from './connection.js'
import { adding, type Dialect, encoded, keysIn, statement } from './statements.js'
import { COLLECTIONS, fieldsOf, IDENTITIES, type Table } from './tables.js'

export interface Missing {
  collections: readonly CollectionKey[]
  identities: readonly IdentityKey[]
  quota: Quota
}

/** Undefined: all that was selected is there, or nothing may be added. */
export function missingFrom(rows: Rows, select: Selection): Missing | undefined {
  const { collections = [], identities = [], quota } = select
  if (!quota) return undefined
  const missing = {
    collections: collections.filter((key) => !rows.collections.has(keyText(key))),
    identities: identities.filter((key) => !rows.identities.has(identityText(key))),
    quota,
  }
  return missing.collections.length + missing.identities.length > 0 ? missing : undefined
}

export async function addMissing(
  connection: SqlConnection,
  { collections, identities, quota }: Missing,
): Promise<void> {
  await add(connection, COLLECTIONS, collections.map(newCollection), quota)
  await add(connection, IDENTITIES, identities.map(newIdentity), quota)
}

function add<Row extends { database: string }>(
  { dialect, transaction }: SqlConnection,
  table: Table<Row>,
  rows: readonly Row[],
  quota: Quota,
): Promise<void> {
  if (rows.length === 0) return Promise.resolve()
  const databases = [...new Set(rows.map(({ database }) => database))]
  return transaction({
    reads: [
      statement(
        // One search of the index for each: PostgreSQL would scan the table for a join.
        `SELECT k."database", (SELECT count(*) FROM ${table.name} t
           WHERE t.database = k."database" AND t.dropped_at IS NULL) AS "count"
         FROM ${keysIn(dialect, table, ['database'])}`,
        ...dialect.given(databases.map((database) => ({ database }))),
      ),
      statement(
        `SELECT count(*) AS "count" FROM
         (SELECT DISTINCT database FROM ${table.name} WHERE dropped_at IS NULL) AS databases`,
      ),
    ],
    step([counts, all]) {
      const found = counts as { database: string; count: number }[]
      const [used] = all as { count: number }[]
      const usage = {
        perDatabase: new Map(found.map(({ database, count }) => [database, count])),
        databases: used!.count,
      }
      const added = withinQuota(rows, usage, quota).map((row) => encoded(table, row))
      const writes =
        added.length > 0 ? [statement(reviving(dialect, table), ...dialect.given(added))] : []
      return { answer: undefined, writes }
    },
  })
}

/**
 * Adds rows in one order, so that two servers which add the same rows do not block each other. A
 * dropped collection or identity goes on above all that was ever granted.
 */
function reviving<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  return `${adding(dialect, table)} ORDER BY ${keys.map((field) => `n."${field}"`)}
    ON CONFLICT (${keys.map((field) => table.columns[field][0])})
    DO UPDATE SET dropped_at = NULL WHERE ${table.name}.dropped_at IS NOT NULL`
}
