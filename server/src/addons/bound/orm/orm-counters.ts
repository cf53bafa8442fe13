/**
 * The ORMs' counters that collections are bound to, in the ledger's own PostgreSQL. Guarantees that
 * each connection checks a counter before it takes from it, again after each change of its tables,
 * and that it takes in the transaction which grants the numbers.
 */
import {
  BINDING_PREFIX,
  bindingKey,
  changedBindings,
  refuseBindings,
} from '../../../ledger/collections.js'
import type { OrmCounters, Query, Schemas, SqlDatabase } from '../../../ledger/counter-port.js'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { CounterUnusable, LedgerUnavailable } from '../../../ledger/ledger-errors.js'
import { above, type Span } from '../../../ledger/number-line.js'
import { putSetting } from '../../../sql/meta.js'
import { readSpans, writeSpans } from '../../../sql/tables.js'
import { Pacer } from '../../upstream/authority.js'
import type { Tell } from '../cautions.js'
import type { Bindings, Bound } from '../collections-setting.js'
import { lastValue, valueAbove } from './blocks.js'
import { highestIn, idProblems, problemsOf, shapeProblems } from './counter-checks.js'
import { type Binding, type Counter, isSequence, type Relation } from './counter-options.js'
import {
  addFirstRow,
  descriptionOf,
  hasRow,
  nameOf,
  nextValue,
  raiseCounter,
} from './counter-statements.js'
import { findCounter, findRelation, shapeOf } from './relations.js'
import { isProven, proveCommand, unprovenProblems } from './remembered-proof.js'
import { STRATEGIES } from './strategies.js'
import { takeBlocks } from './take-blocks.js'
import { unnamedProblems } from './unnamed-columns.js'
import { joined, type UsedRange, usedOf } from './used-ids.js'

/**
 * Other takers of some counters give up when they lose too many races. There, takes that follow
 * each other closely double, up to so many blocks: takes are few, and races rare.
 */
const MOST_AT_ONCE = 64

/** SQLSTATEs whose cause is the counter or its table: all but those of the database's state. */
const OF_THE_COUNTER = /^(?!08|25|40|53|55P03|57|58|XX)[0-9A-Z]{5}$/

/** By SQLSTATE. */
const FIXES: Readonly<Record<string, (binding: Binding) => string>> = {
  // The end of a sequence, or of a column.
  '22003': () =>
    ' It is at the end of its type, so no id is left. If that is a mistake, correct it.',
  // A text that a column of another type does not take: a key's column.
  '22P02': ({ system }) => ` Give the key as ${system} has it.`,
  '42501': () =>
    " This server's role needs USAGE on the schema, SELECT on each table that ids names, and has " +
    'to see all its rows: where it has row level security, ALTER ROLE … BYPASSRLS.',
}

function ormCounters(ledger: string, bindings: Bindings<Relation>, tell: Tell): OrmCounters {
  const checked = new WeakMap<Query, Map<Counter, string>>()
  const pacers = new Map<Counter, Pacer>()
  /** Counters that blocks were taken from. */
  const begun = new Set<Counter>()

  async function usable(query: Query, key: CollectionKey): Promise<Counter> {
    const bound = bindings.get(bindingKey(key)) as Bound<Relation> & { authority: 'counter' }
    const { counter } = bound
    const done = checked.get(query) ?? new Map<Counter, string>()
    checked.set(query, done)
    const shape = await shapeOf(query, counter)
    // guard: H31 a table or sequence that was changed while the server runs is checked again
    if (done.get(counter) === shape) return counter
    const problems = await counterProblems(query, ledger, counter, false)
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
    done.set(counter, shape)
    return counter
  }

  /** Before the first block: rows may have come since the start. */
  async function refuseUnproven(query: Query, binding: Counter): Promise<void> {
    if (begun.has(binding)) return
    const highWater = await highWaterOf(query, ledger, binding.key)
    if (highWater > 0) {
      begun.add(binding)
      return
    }
    const problems = await explained(binding, () =>
      unprovenProblems(query, ledger, binding, highWater),
    )
    // guard: H20 a binding that nobody has proved takes no first block where the table has ids
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
  }

  /** How many blocks to take when `blocks` are needed. */
  function paced(binding: Counter, blocks: number): number {
    if (!binding.yields) return blocks
    const pacer = pacers.get(binding) ?? new Pacer(MOST_AT_ONCE)
    pacers.set(binding, pacer)
    return pacer.take(blocks, performance.now())
  }

  /** Spans of the stock of which the back end has ids. */
  async function usedStock(query: Query, binding: Counter, stock: readonly Span[]) {
    const ranges = stock.map(([low, high]) => ({ low: BigInt(low), high: BigInt(high) }))
    const used = await explained(binding, () => usedOf(query, binding.ids, ranges))
    for (const range of used) tell(usedText(binding, range, 'are granted to nobody'))
    return used.map(({ low, high }): Span => [Number(low), Number(high)])
  }

  return {
    async answer(query, { raiseTo: least, raiseBy, above, stock, missing, ...key }) {
      const binding = await usable(query, key)
      const raiseTo =
        raiseBy === undefined
          ? least
          : Math.max(least ?? 0, (await lastIdOf(query, binding)) + raiseBy)
      const isAtEnd = raiseTo !== undefined && !hasIdsAbove(binding, raiseTo)
      if (raiseTo !== undefined && !isAtEnd)
        await explained(binding, () => raiseCounter(query, binding, raiseTo))
      const used = await usedStock(query, binding, stock)
      const wanted = missing(used)
      if (wanted === 0 || !hasIdsAbove(binding, above)) return { fresh: [], used, isAtEnd }
      await refuseUnproven(query, binding)
      const count = paced(binding, Math.ceil(wanted / Number(binding.blocks.size)))
      const taken = await explained(binding, () => takeBlocks(query, binding, count, wanted, above))
      for (const range of joined(taken.used)) tell(usedText(binding, range, 'were passed over'))
      return { fresh: taken.fresh, used, isAtEnd }
    },
  }
}

/** A warning for an operator: numbers are in use although nobody was granted them. */
const usedText = (binding: Counter, { low, high, id, column }: UsedRange, fate: string): string =>
  `${bindingKey(binding.key)}: ${column} has ${id} already, so ${low} to ${high} ${fate}. They ` +
  `came from ${nameOf(binding)} as if they were free. Find out who made that row. If the back ` +
  'end did, strategy or size are wrong, or the counter was set back: stop this server, and ' +
  'correct that.'

/** The highest id that a counter has given. */
async function lastIdOf(query: Query, binding: Counter): Promise<number> {
  const { blocks } = binding
  const value = await explained(binding, () => nextValue(query, binding))
  return Number(value * blocks.factor + blocks.shift - 1n)
}

const hasIdsAbove = ({ blocks, maxId }: Binding, floor: number): boolean =>
  valueAbove(blocks, BigInt(floor)) <= lastValue(blocks, maxId)

/** The faults of a counter, by the database and by how far the ledger has come. */
async function counterProblems(
  query: Query,
  ledger: string | undefined,
  binding: Counter,
  isFirst: boolean,
): Promise<string[]> {
  const highWater = await highWaterOf(query, ledger, binding.key)
  return explained(binding, () => problemsOf(query, binding, highWater, isFirst))
}

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

/** Bindings as the database has them. */
interface Examined {
  /** Those whose counters were found. */
  bindings: Bindings<Relation>
  /** By the ledger's memory and by the database. */
  problems: string[]
}

/**
 * Finds the counters, and their faults. All are looked at, also when one fails.
 * @param isFirst rows that are missing will be added
 * @param prepare runs before a counter is looked for
 */
export async function examine(
  query: Query,
  { ledger, path }: Schemas,
  bindings: Bindings,
  isFirst: boolean,
  prepare?: (counter: Binding) => Promise<void>,
): Promise<Examined> {
  const found = new Map<string, Bound<Relation>>()
  const problems: string[] = []
  for (const [name, bound] of bindings) {
    if (bound.authority !== 'counter') {
      found.set(name, bound)
      continue
    }
    try {
      const counter = await explained(bound.counter, async () => {
        await prepare?.(bound.counter)
        return findCounter(query, path, bound.counter)
      })
      // guard: H31 the ledger remembers a counter with its schema
      found.set(name, { ...bound, counter, description: descriptionOf(counter) })
      const wrong = await startProblems(query, ledger, counter, isFirst)
      problems.push(...wrong.map((problem) => `${name}: ${problem}`))
    } catch (error) {
      if (!(error instanceof CounterUnusable)) throw error
      problems.push(`${name}: ${error.message}`)
    }
  }
  const changed = changedBindings(found, await rememberedBindings(query, ledger))
  return { bindings: found, problems: [...changed, ...problems, ...disagreements(found)] }
}

/** Collections on one counter whose bindings do not agree which ids a value stands for. */
function disagreements(bindings: Bindings<Relation>): string[] {
  const first = new Map<string, readonly [name: string, counter: Counter]>()
  return countersIn(bindings).flatMap(([name, { counter }]) => {
    const place = nameOf(counter)
    const [other, taker] = first.get(place) ?? [name, counter]
    first.set(place, [other, taker])
    // guard: H20 a counter means the same ids for all collections
    if (meaningOf(counter) === meaningOf(taker)) return []
    const by = ({ strategy, size }: Counter) => `${strategy} with ${size}`
    return [
      `${name}: It takes from ${place} by ${by(counter)}, and ${other} by ${by(taker)}. A value ` +
        'of a counter stands for the same ids, whoever takes it. So one of the two is wrong, and ' +
        'ids would come twice. Correct its strategy or size, as the back end has them.',
    ]
  })
}

const meaningOf = ({ blocks, location }: Counter): string =>
  [...Object.values(blocks), isSequence(location) ? 0 : location.ahead].join()

/** Above it nobody has an id: neither the back end's tables nor the ledger. */
export async function floorOf(
  query: Query,
  ledger: string | undefined,
  counter: Counter,
): Promise<bigint> {
  const highest = await highestIn(query, counter.ids, counter.sentinels)
  const highWater = BigInt(await highWaterOf(query, ledger, counter.key))
  return highest !== undefined && highest.id > highWater ? highest.id : highWater
}

const endProblems = ({ blocks, maxId }: Counter, floor: bigint): string[] =>
  valueAbove(blocks, floor) <= lastValue(blocks, maxId)
    ? []
    : [`No block is left above ${floor}: the id column ends at ${maxId} (maxId).`]

/** The faults of a counter at the start, also by the highest id in the tables. */
async function startProblems(
  query: Query,
  ledger: string | undefined,
  counter: Counter,
  isFirst: boolean,
): Promise<string[]> {
  const shape = await explained(counter, () => shapeProblems(query, counter, isFirst))
  if (shape.length > 0) return shape
  // A row that is to be made begins above all that is there.
  if (!(await hasRow(query, counter)))
    return explained(counter, async () =>
      endProblems(counter, await floorOf(query, ledger, counter)),
    )
  const problems = await counterProblems(query, ledger, counter, isFirst)
  const highWater = await highWaterOf(query, ledger, counter.key)
  // Rows from elsewhere: the back end cannot make the first id that a new counter may wait for.
  if (problems.length > 0 && highWater > 0) return problems
  const byIds = await explained(counter, () => idProblems(query, counter, highWater))
  return byIds.length > 0 ? byIds : problems
}

const countersIn = (bindings: Bindings<Relation>) =>
  [...bindings].flatMap(([name, bound]) =>
    bound.authority === 'counter' ? [[name, bound] as const] : [],
  )

/** A warning for an operator at the start. */
const unprovenText = (counter: Counter): string =>
  `nobody has seen that ${counter.system} makes its ids as configured. ` +
  (counter.ids.length === 0
    ? 'Nobody can look, because `ids` is false.'
    : 'Nothing in its tables contradicts that, and that is no proof. ' +
      `${proveCommand(counter)} proves it, while the back end stores a few records.`)

/** By `bindingKey`. None where there is no ledger yet. */
async function rememberedBindings(
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

/** A ledger that has begun to use bindings. */
export interface Started {
  bindings: Bindings<Relation>
  counters: OrmCounters
}

/**
 * The ledger begins to use these bindings, and remembers them.
 * @param isFirst makes the rows that are missing
 * @param tell gets each later warning
 * @throws Error with every problem
 */
export async function startBindings(
  database: SqlDatabase,
  schemas: Schemas & { ledger: string },
  configured: Bindings,
  isFirst: boolean,
  tell: Tell,
): Promise<Started> {
  const { query } = database
  const prepare = async (counter: Binding) => {
    if (isFirst) await createTextbookTable(database, schemas, counter)
  }
  const { bindings, problems } = await examine(query, schemas, configured, isFirst, prepare)
  for (const [name, { counter }] of countersIn(bindings)) {
    if (problems.some((problem) => problem.startsWith(`${name}:`))) continue
    const highWater = await highWaterOf(query, schemas.ledger, counter.key)
    // guard: H20 a binding that nobody has proved is refused where the table has ids
    const unproven = await unprovenProblems(query, schemas.ledger, counter, highWater)
    problems.push(...unproven.map((problem) => `${name}: ${problem}`))
  }
  refuseBindings(problems)
  for (const [name, { counter }] of countersIn(bindings)) {
    const said = await unnamedProblems(query, counter)
    if (!(await isProven(query, schemas.ledger, counter))) said.push(unprovenText(counter))
    for (const caution of said) tell(`${name}: ${caution}`)
  }
  for (const bound of bindings.values()) {
    if (isFirst && bound.authority === 'counter')
      await addFirstRow(query, bound.counter, await floorOf(query, schemas.ledger, bound.counter))
    await rememberBinding(query, schemas.ledger, bound)
  }
  return { bindings, counters: ormCounters(schemas.ledger, bindings, tell) }
}

/** Does the ledger remember another binding of the collection? */
export async function isRememberedOtherwise(
  query: Query,
  ledger: string,
  bound: Bound,
): Promise<boolean> {
  const before = (await rememberedBindings(query, ledger)).get(bindingKey(bound))
  return before !== undefined && before !== bound.description
}

export async function rememberBinding(query: Query, ledger: string, bound: Bound): Promise<void> {
  await query(putSetting(ledger), [BINDING_PREFIX + bindingKey(bound), bound.description])
}

/**
 * The table of the textbook strategy is the ledger's own, in its schema, under its own name: any
 * other name that is missing is a mistake.
 */
async function createTextbookTable(
  database: SqlDatabase,
  { ledger, path }: Schemas,
  { location, strategy }: Binding,
): Promise<void> {
  if (strategy !== 'textbook' || isSequence(location)) return
  const { table } = STRATEGIES.textbook.segments!
  if (location.table !== table || (await findRelation(database.query, path, table))) return
  await database.createMissing(
    `${ledger}.${table}`,
    `CREATE TABLE ${ledger}.${table} (name text PRIMARY KEY, next_hi bigint NOT NULL)`,
  )
}

/** @throws CounterUnusable when PostgreSQL refuses the counter */
export async function explained<T>(binding: Binding, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    // The pool says of a missing right that the database is unavailable.
    const said = error instanceof LedgerUnavailable ? error.cause : error
    const { code, message, where } = (said ?? {}) as Record<string, string | undefined>
    if (code === undefined || !OF_THE_COUNTER.test(code)) throw error
    const fix = FIXES[code]?.(binding) ?? ''
    // A trigger raised it.
    const from = where === undefined ? '' : ` (${where.split('\n')[0]})`
    throw new CounterUnusable(
      `${nameOf(binding)} cannot be used. PostgreSQL says: ${message}${from}.${fix}`,
      { cause: error },
    )
  }
}
