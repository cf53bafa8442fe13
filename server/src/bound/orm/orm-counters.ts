/**
 * The ORM counters that collections are bound to, in the ledger's own PostgreSQL: checked before
 * the first take of every connection, taken from inside the transaction that grants, raised when
 * the floor is.
 */

import { type CollectionKey, CounterUnusable } from '../../ledger/ledger.js'
import type { Counter, Span } from '../../ledger/number-line.js'
import { createMissing } from '../../postgres/migrations.js'
import type { PostgresPool, Query } from '../../postgres/pool.js'
import {
  BINDING_PREFIX,
  type Bindings,
  type Bound,
  bindingKey,
  changedBindings,
  descriptionOf,
} from '../bindings.js'
import { type Binding, isSequence } from './binding.js'
import { lastValue, valueAbove } from './blocks.js'
import { problemsOf } from './checks.js'
import { nameOf, quoted, raiseCounter, takeBlocks } from './sql-counter.js'

export interface Counters {
  /**
   * Numbers above `counter.peak`: up to `missing` and the rest of their last block; none where the
   * id column ends.
   */
  take(query: Query, key: CollectionKey, counter: Counter, missing: number): Promise<Span[]>
  /**
   * Whoever takes from the counter gets ids above `floor`. False, and nothing is changed: the id
   * column ends before.
   */
  raise(query: Query, key: CollectionKey, floor: number): Promise<boolean>
}

/** Takes that follow each other so closely grow, where another taker would starve. */
const CLOSE_MS = 1_000
const MAX_AHEAD = 64

/**
 * Classes of SQLSTATE that speak of the counter, not of the database's state: data, constraints,
 * names and rights.
 */
const OF_THE_COUNTER = /^(22|23|42)/

export function postgresCounters(bindings: Bindings): Counters {
  const checked = new WeakMap<Query, Set<Binding>>()
  const paces = new Map<Binding, { at: number; blocks: number }>()
  const find = (key: CollectionKey) => {
    const bound = bindings.get(bindingKey(key))
    return bound && 'counter' in bound ? bound.counter : undefined
  }

  async function usable(query: Query, key: CollectionKey): Promise<Binding> {
    const binding = find(key)!
    const done = checked.get(query) ?? new Set()
    checked.set(query, done)
    if (done.has(binding)) return binding
    const problems = await counterProblems(query, key, binding)
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
    done.add(binding)
    return binding
  }

  /** How many blocks to take where so many would do. */
  function paced(binding: Binding, blocks: number): number {
    if (!binding.yields) return blocks
    const [last, now] = [paces.get(binding), performance.now()]
    const ahead = last && now - last.at < CLOSE_MS ? Math.min(last.blocks * 2, MAX_AHEAD) : 1
    paces.set(binding, { at: now, blocks: ahead })
    return Math.max(blocks, ahead)
  }

  return {
    take: async (query, key, { peak }, missing) => {
      const binding = await usable(query, key)
      if (!hasIdsAbove(binding, peak)) return []
      const count = paced(binding, Math.ceil(missing / Number(binding.blocks.size)))
      return explained(binding, () => takeBlocks(query, binding, count, peak))
    },

    raise: async (query, key, floor) => {
      const binding = await usable(query, key)
      if (!hasIdsAbove(binding, floor)) return false
      await explained(binding, () => raiseCounter(query, binding, floor))
      return true
    },
  }
}

const hasIdsAbove = ({ blocks, maxId }: Binding, floor: number): boolean =>
  valueAbove(blocks, BigInt(floor)) <= lastValue(blocks, maxId)

/** What speaks against a counter: the database, and how far the ledger has come. */
async function counterProblems(
  query: Query,
  key: CollectionKey,
  binding: Binding,
): Promise<string[]> {
  const peak = await peakOf(query, key)
  return explained(binding, () => problemsOf(query, binding, peak))
}

/** Up to here the ledger's numbers of the collection may be in use. */
export async function peakOf(
  query: Query,
  { database, collection }: CollectionKey,
): Promise<number> {
  const [row] = await query<{ peak: number }>(
    'SELECT peak FROM hilo_counters WHERE database = $1 AND tag = $2',
    [database.toLowerCase(), collection.toLowerCase()],
  )
  return row?.peak ?? 0
}

/**
 * What speaks against these bindings, per collection: what the ledger remembers, what the database
 * says. What fails for one does not keep the others from being looked at.
 */
export async function bindingProblems(pool: PostgresPool, bindings: Bindings): Promise<string[]> {
  const { query } = pool
  const rows = await query<{ key: string; value: string }>(
    'SELECT key, value FROM hilo_meta WHERE starts_with(key, $1)',
    [BINDING_PREFIX],
  )
  const remembered = new Map(
    rows.map(({ key, value }) => [key.slice(BINDING_PREFIX.length), value]),
  )
  const problems = changedBindings(bindings, remembered)
  for (const [name, bound] of bindings) {
    if (!('counter' in bound)) continue
    const { counter } = bound
    const found = await explained(counter, () => createTextbookTable(pool, counter))
      .then(() => counterProblems(query, bound, counter))
      .catch((error) => {
        if (error instanceof CounterUnusable) return [error.message]
        throw error
      })
    problems.push(...found.map((problem) => `${name}: ${problem}`))
  }
  return problems
}

/**
 * The ledger begins to use these bindings, and remembers them.
 * @throws Error with every problem
 */
export async function startBindings(pool: PostgresPool, bindings: Bindings): Promise<void> {
  const problems = await bindingProblems(pool, bindings)
  if (problems.length > 0)
    throw new CounterUnusable(
      `These collections cannot be bound:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
  for (const bound of bindings.values()) await rememberBinding(pool.query, bound)
}

export async function rememberBinding(query: Query, bound: Bound): Promise<void> {
  await query(
    'INSERT INTO hilo_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET ' +
      'value = excluded.value',
    [BINDING_PREFIX + bindingKey(bound), descriptionOf(bound)],
  )
}

/** The textbook's table is ours, and made when it is missing. */
async function createTextbookTable(
  { transaction }: PostgresPool,
  { place, strategy }: Binding,
): Promise<void> {
  if (strategy !== 'textbook' || isSequence(place)) return
  const table = quoted(place.table)
  await transaction((query) =>
    createMissing(
      query,
      table,
      `CREATE TABLE ${table} (name text PRIMARY KEY, next_hi bigint NOT NULL)`,
    ),
  )
}

/** @throws CounterUnusable where PostgreSQL has something against the counter */
export async function explained<T>(binding: Binding, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === undefined || !OF_THE_COUNTER.test(code)) throw error
    throw new CounterUnusable(`${nameOf(binding)} cannot be used. PostgreSQL says: ${message}.`, {
      cause: error,
    })
  }
}
