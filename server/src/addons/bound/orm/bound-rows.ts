/** Rows of the ledger about a bound collection: how far it has gone, its stock and its binding. */
import { BINDING_PREFIX, bindingKey } from '../../../ledger/collections.js'
import type { Query } from '../../../ledger/counter-port.js'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { above } from '../../../ledger/number-line.js'
import { putSetting } from '../../../sql/meta.js'
import { readSpans, writeSpans } from '../../../sql/tables.js'
import type { Bound } from '../collections-setting.js'
import type { Counter } from './counter-binding.js'
import { placeIn } from './counter-statements.js'

/**
 * Numbers of the collection up to here may be in use.
 * @param ledger its schema; undefined: there is none
 */
export async function highWaterOf(
  query: Query,
  ledger: string | undefined,
  { database, collection }: CollectionKey,
): Promise<number> {
  if (ledger === undefined) return 0
  const [row] = await query<{ highWater: number }>(
    `SELECT high_water AS "highWater" FROM ${ledger}.hilo_collections
     WHERE database = $1 AND collection = $2`,
    [database.toLowerCase(), collection.toLowerCase()],
  )
  return row?.highWater ?? 0
}

/** Claims of the collection wait until the transaction ends. They lock their counter after it. */
export async function lockCollection(
  query: Query,
  ledger: string,
  { database, collection }: CollectionKey,
): Promise<void> {
  await query(
    `SELECT 1 FROM ${ledger}.hilo_collections WHERE database = $1 AND collection = $2 FOR UPDATE`,
    [database.toLowerCase(), collection.toLowerCase()],
  )
}

/**
 * Nothing up to `id` is granted any more: rows with such ids may have come from another counter.
 * Such numbers in stock are a gap.
 */
export async function forgetStock(
  query: Query,
  ledger: string,
  { database, collection }: CollectionKey,
  id: bigint,
): Promise<void> {
  const key = [database.toLowerCase(), collection.toLowerCase()]
  const [row] = await query<{ free: string; fresh: string }>(
    `SELECT free, fresh FROM ${ledger}.hilo_collections
     WHERE database = $1 AND collection = $2 FOR UPDATE`,
    key,
  )
  if (!row) return
  // guard: H20 what the table’s own counter made is granted to nobody
  const rest = (spans: string) => writeSpans(above(Number(id), readSpans(spans)))
  await query(
    `UPDATE ${ledger}.hilo_collections SET free = $3, fresh = $4, version = version + 1,
       max = greatest(max, $5), high_water = greatest(high_water, $5), floor = greatest(floor, $5)
     WHERE database = $1 AND collection = $2`,
    [...key, rest(row.free), rest(row.fresh), id],
  )
}

/** By `bindingKey`. None where there is no ledger yet. */
export async function rememberedBindings(
  query: Query,
  ledger: string | undefined,
): Promise<Map<string, string>> {
  if (ledger === undefined) return new Map()
  const rows = await query<{ key: string; value: string }>(
    `SELECT key, value FROM ${ledger}.hilo_meta WHERE pg_catalog.starts_with(key, $1)`,
    [BINDING_PREFIX],
  )
  return new Map(rows.map(({ key, value }) => [key.slice(BINDING_PREFIX.length), value]))
}

/**
 * As `highWaterOf`, of all collections that take from the counter, as far as the ledger remembers:
 * they share its blocks.
 */
export async function reachOf(
  query: Query,
  ledger: string | undefined,
  counter: Counter,
): Promise<number> {
  const own = await highWaterOf(query, ledger, counter.key)
  if (ledger === undefined) return own
  const [row] = await query<{ reach: number | null }>(
    `SELECT pg_catalog.max(high_water) AS reach
     FROM (SELECT pg_catalog.substr(key, $1) AS key FROM ${ledger}.hilo_meta
       WHERE pg_catalog.starts_with(key, $2) AND pg_catalog.strpos(value, $3) > 0) AS sharer
     JOIN ${ledger}.hilo_collections ON database = pg_catalog.split_part(key, '/', 1)
       AND collection = pg_catalog.substr(key, pg_catalog.strpos(key, '/') + 1)`,
    [BINDING_PREFIX.length + 1, BINDING_PREFIX, placeIn(counter)],
  )
  return Math.max(own, row!.reach ?? 0)
}

/**
 * As `highWaterOf`, of numbers from the counter. 0: none ever came from it; what was granted, the
 * ledger counted itself.
 */
export async function takenUpTo(
  query: Query,
  ledger: string | undefined,
  key: CollectionKey,
): Promise<number> {
  const remembered = await rememberedBindings(query, ledger)
  // guard: H20 what a collection counted by itself is no proof of its counter
  if (!remembered.has(bindingKey(key))) return 0
  return highWaterOf(query, ledger, key)
}

export async function rememberBinding(query: Query, ledger: string, bound: Bound): Promise<void> {
  await query(putSetting(ledger), [BINDING_PREFIX + bindingKey(bound), bound.description])
}
