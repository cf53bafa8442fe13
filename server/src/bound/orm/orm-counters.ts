/**
 * The ORMs' counters that collections are bound to, in the ledger's own PostgreSQL. Guarantees that
 * each connection checks a counter before it takes from it, and that it takes in the transaction
 * which grants the numbers.
 */
import {
  BINDING_PREFIX,
  bindingKey,
  changedBindings,
  refuseBindings,
} from '../../ledger/collections.js'
import {
  isThere,
  type OrmCounters,
  type Query,
  type SqlDatabase,
} from '../../ledger/counter-port.js'
import { CounterUnusable } from '../../ledger/errors.js'
import type { CollectionKey } from '../../ledger/ledger.js'
import { above } from '../../ledger/number-line.js'
import { readSpans, writeSpans } from '../../sql/tables.js'
import { Pacer } from '../../upstream/refill.js'
import type { Bindings, Bound } from '../collections-setting.js'
import { lastValue, valueAbove } from './blocks.js'
import { idProblems, problemsOf } from './checks.js'
import { type Binding, isSequence } from './counter-options.js'
import {
  addFirstRow,
  nameOf,
  nextValue,
  quoted,
  raiseCounter,
  takeBlocks,
} from './counter-statements.js'
import { STRATEGIES } from './strategies.js'

/**
 * Other takers of some counters give up when they lose too many races. There, takes that follow
 * each other closely double, up to so many blocks: takes are few, and races rare.
 */
const MOST_AT_ONCE = 64

/** SQLSTATE classes whose cause is the counter: data, constraints, names and rights. */
const OF_THE_COUNTER = /^(22|23|42)/

/** SQLSTATE of a text that a column of another type does not take: a key's column. */
const OTHER_TYPE = '22P02'

function ormCounters(bindings: Bindings): OrmCounters {
  const checked = new WeakMap<Query, Set<Binding>>()
  const pacers = new Map<Binding, Pacer>()

  async function usable(query: Query, key: CollectionKey): Promise<Binding> {
    const bound = bindings.get(bindingKey(key)) as Bound & { authority: 'counter' }
    const { counter } = bound
    const done = checked.get(query) ?? new Set()
    checked.set(query, done)
    if (done.has(counter)) return counter
    const problems = await counterProblems(query, key, counter, false)
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
    done.add(counter)
    return counter
  }

  /** How many blocks to take when `blocks` are needed. */
  function paced(binding: Binding, blocks: number): number {
    if (!binding.yields) return blocks
    const pacer = pacers.get(binding) ?? new Pacer(MOST_AT_ONCE)
    pacers.set(binding, pacer)
    return pacer.take(blocks, performance.now())
  }

  return {
    async answer(query, { raiseTo: least, raiseBy, above, missing, ...key }) {
      const binding = await usable(query, key)
      const raiseTo =
        raiseBy === undefined
          ? least
          : Math.max(least ?? 0, (await lastIdOf(query, binding)) + raiseBy)
      const isAtEnd = raiseTo !== undefined && !hasIdsAbove(binding, raiseTo)
      if (raiseTo !== undefined && !isAtEnd)
        await explained(binding, () => raiseCounter(query, binding, raiseTo))
      if (missing === 0 || !hasIdsAbove(binding, above)) return { fresh: [], isAtEnd }
      // guard: H20 ids that are in the table already are not granted
      await refuseContradiction(query, binding, key)
      const count = paced(binding, Math.ceil(missing / Number(binding.blocks.size)))
      return {
        fresh: await explained(binding, () => takeBlocks(query, binding, count, above)),
        isAtEnd,
      }
    },
  }
}

async function refuseContradiction(
  query: Query,
  binding: Binding,
  key: CollectionKey,
): Promise<void> {
  if (binding.ids === undefined) return
  const highWater = await highWaterOf(query, key)
  const problems = await explained(binding, () => idProblems(query, binding, highWater))
  if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
}

/** The highest id that a counter has given. */
async function lastIdOf(query: Query, binding: Binding): Promise<number> {
  const { blocks } = binding
  const value = await explained(binding, () => nextValue(query, binding))
  return Number(value * blocks.factor + blocks.shift - 1n)
}

const hasIdsAbove = ({ blocks, maxId }: Binding, floor: number): boolean =>
  valueAbove(blocks, BigInt(floor)) <= lastValue(blocks, maxId)

/** What is wrong with a counter, by the database and by how far the ledger has come. */
async function counterProblems(
  query: Query,
  key: CollectionKey,
  binding: Binding,
  isFirst: boolean,
): Promise<string[]> {
  const highWater = await highWaterOf(query, key)
  return explained(binding, () => problemsOf(query, binding, highWater, isFirst))
}

/** Numbers of the collection up to here may be in use. */
export async function highWaterOf(
  query: Query,
  { database, collection }: CollectionKey,
): Promise<number> {
  if (!(await isThere(query, 'hilo_counters'))) return 0
  const [row] = await query<{ highWater: number }>(
    'SELECT high_water AS "highWater" FROM hilo_counters WHERE database = $1 AND tag = $2',
    [database.toLowerCase(), collection.toLowerCase()],
  )
  return row?.highWater ?? 0
}

/**
 * Nothing up to `id` is granted any more: rows with such ids may have come from another counter.
 * What of it was in stock is a gap.
 */
export async function forgetStock(
  query: Query,
  { database, collection }: CollectionKey,
  id: bigint,
): Promise<void> {
  if (!(await isThere(query, 'hilo_counters'))) return
  const key = [database.toLowerCase(), collection.toLowerCase()]
  const [row] = await query<{ free: string; fresh: string }>(
    'SELECT free, fresh FROM hilo_counters WHERE database = $1 AND tag = $2 FOR UPDATE',
    key,
  )
  if (!row) return
  // guard: H20 what the table’s own counter made is granted to nobody
  const rest = (spans: string) => writeSpans(above(Number(id), readSpans(spans)))
  await query(
    `UPDATE hilo_counters SET free = $3, fresh = $4, version = version + 1,
       max = greatest(max, $5), high_water = greatest(high_water, $5), floor = greatest(floor, $5)
     WHERE database = $1 AND tag = $2`,
    [...key, rest(row.free), rest(row.fresh), id],
  )
}

/**
 * What is wrong with these bindings, by what the ledger remembers and what the database says. All
 * are looked at, also when one fails.
 * @param isFirst rows that are missing will be added
 * @param isStarting with `isFirst`, the textbook's table is made where it is missing; else nothing
 * is written
 */
export async function bindingProblems(
  database: SqlDatabase,
  bindings: Bindings,
  isFirst: boolean,
  isStarting: boolean,
): Promise<string[]> {
  const { query } = database
  const problems = changedBindings(bindings, await rememberedBindings(query))
  for (const [name, bound] of bindings) {
    if (bound.authority !== 'counter') continue
    const { counter } = bound
    const found = await explained(counter, async () => {
      if (isStarting && isFirst) await createTextbookTable(database, counter)
    })
      .then(() => counterProblems(query, bound, counter, isFirst))
      .catch((error) => {
        if (error instanceof CounterUnusable) return [error.message]
        throw error
      })
    problems.push(...found.map((problem) => `${name}: ${problem}`))
  }
  return problems
}

/** By `bindingKey`. None where there is no ledger yet. */
async function rememberedBindings(query: Query): Promise<Map<string, string>> {
  if (!(await isThere(query, 'hilo_meta'))) return new Map()
  const rows = await query<{ key: string; value: string }>(
    'SELECT key, value FROM hilo_meta WHERE starts_with(key, $1)',
    [BINDING_PREFIX],
  )
  return new Map(rows.map(({ key, value }) => [key.slice(BINDING_PREFIX.length), value]))
}

/**
 * The ledger begins to use these bindings, and remembers them.
 * @param isFirst makes the rows that are missing
 * @throws Error with every problem
 */
export async function startBindings(
  database: SqlDatabase,
  bindings: Bindings,
  isFirst: boolean,
): Promise<OrmCounters> {
  refuseBindings(await bindingProblems(database, bindings, isFirst, true))
  for (const bound of bindings.values()) {
    if (isFirst && bound.authority === 'counter') await addFirstRow(database.query, bound.counter)
    await rememberBinding(database.query, bound)
  }
  return ormCounters(bindings)
}

/** Where there is no ledger yet, the server remembers it when it makes one. */
export async function rememberBinding(query: Query, bound: Bound): Promise<void> {
  if (!(await isThere(query, 'hilo_meta'))) return
  await query(
    'INSERT INTO hilo_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET ' +
      'value = excluded.value',
    [BINDING_PREFIX + bindingKey(bound), bound.description],
  )
}

/**
 * The table of the textbook strategy is the ledger's own, under its own name: any other name that
 * is missing is a mistake.
 */
async function createTextbookTable(
  database: SqlDatabase,
  { place, strategy }: Binding,
): Promise<void> {
  if (strategy !== 'textbook' || isSequence(place)) return
  if (place.table !== STRATEGIES.textbook.segments!.table) return
  const table = quoted(place.table)
  await database.createMissing(
    table,
    `CREATE TABLE ${table} (name text PRIMARY KEY, next_hi bigint NOT NULL)`,
  )
}

/** @throws CounterUnusable when PostgreSQL refuses the counter */
export async function explained<T>(binding: Binding, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === undefined || !OF_THE_COUNTER.test(code)) throw error
    const fix = code === OTHER_TYPE ? ` Give the key as ${binding.system} has it.` : ''
    throw new CounterUnusable(
      `${nameOf(binding)} cannot be used. PostgreSQL says: ${message}.${fix}`,
      { cause: error },
    )
  }
}
