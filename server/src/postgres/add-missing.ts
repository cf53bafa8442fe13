/**
 * Adds the rows of collections and identities that are asked for the first time, as far as the
 * quota allows. It does so in a transaction of its own, so that nobody who waits for another's new
 * row holds a lock.
 */

import { COLLECTION_COLUMNS, IDENTITY_COLUMNS, writeSpans } from '../ledger/columns.js'
import type { Query } from '../ledger/counter-port.js'
import { identityText, keyText } from '../ledger/keys.js'
import type { CollectionKey, IdentityKey } from '../ledger/ledger.js'
import { withinQuota } from '../ledger/quota.js'
import type { Quota, Rows, Selection } from '../ledger/row-store.js'
import { newCollection, newIdentity } from '../ledger/rows.js'
import { countDatabases, type NamedTable } from '../ledger/sql.js'
import { insertInto } from './save.js'

/**
 * Adds rows in one order, so that two servers which add the same rows do not block each other. A
 * dropped collection or identity goes on above all that was ever granted.
 */
const ADD_COLLECTIONS = `${insertInto('hilo_counters', COLLECTION_COLUMNS)}
  ORDER BY n."database", n."collection"
  ON CONFLICT (database, tag) DO UPDATE SET dropped_at = NULL
  WHERE hilo_counters.dropped_at IS NOT NULL`
const ADD_IDENTITIES = `${insertInto('hilo_identities', IDENTITY_COLUMNS)}
  ORDER BY n."database", n."name"
  ON CONFLICT (database, name) DO UPDATE SET dropped_at = NULL
  WHERE hilo_identities.dropped_at IS NOT NULL`

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
  query: Query,
  { collections, identities, quota }: Missing,
): Promise<void> {
  const newCollections = (await allowed(query, 'hilo_counters', collections, quota)).map((key) => ({
    ...newCollection(key),
    free: writeSpans([]),
    fresh: writeSpans([]),
  }))
  const newIdentities = (await allowed(query, 'hilo_identities', identities, quota)).map(
    newIdentity,
  )
  if (newCollections.length > 0) await query(ADD_COLLECTIONS, [JSON.stringify(newCollections)])
  if (newIdentities.length > 0) await query(ADD_IDENTITIES, [JSON.stringify(newIdentities)])
}

async function allowed<K extends { database: string }>(
  query: Query,
  table: NamedTable,
  keys: readonly K[],
  quota: Quota,
): Promise<K[]> {
  if (keys.length === 0) return []
  const counts = await query<{ database: string; count: number }>(
    `SELECT database AS "database", count(*) AS "count" FROM ${table}
     WHERE database = ANY($1) AND dropped_at IS NULL GROUP BY database`,
    [keys.map(({ database }) => database)],
  )
  const [all] = await query<{ count: number }>(countDatabases(table))
  const perDatabase = new Map(counts.map(({ database, count }) => [database, count]))
  return withinQuota(keys, { perDatabase, databases: all!.count }, quota)
}
