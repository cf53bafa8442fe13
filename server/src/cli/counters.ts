/** The commands `check` and `adopt`, for the counters that collections are bound to. */
import {
  type Bindings,
  type Bound,
  collectionsSetting,
  refuseWithoutPostgres,
} from '../addons/bound/collections-setting.js'
import { idsOf, lastValue, valueAbove } from '../addons/bound/orm/blocks.js'
import {
  forgetStock,
  highWaterOf,
  lockCollection,
  reachOf,
  rememberBinding,
  rememberedBindings,
} from '../addons/bound/orm/bound-rows.js'
import {
  type Counter,
  type IdColumn,
  idColumn,
  isSequence,
  type Relation,
} from '../addons/bound/orm/counter-binding.js'
import { highestIn, shapeProblems } from '../addons/bound/orm/counter-checks.js'
import {
  descriptionOf,
  firstValue,
  hasRow,
  lockSequence,
  nameOf,
  nextValue,
  raiseStatement,
} from '../addons/bound/orm/counter-statements.js'
import { explained } from '../addons/bound/orm/explained.js'
import { unreadableProblems } from '../addons/bound/orm/id-columns.js'
import { findColumns, findCounter } from '../addons/bound/orm/relations.js'
import {
  columnsOf,
  forgetProof,
  isProven,
  proveCommand,
} from '../addons/bound/orm/remembered-proof.js'
import { examine, floorOf } from '../addons/bound/orm/start-bindings.js'
import { unnamedProblems } from '../addons/bound/orm/unnamed-columns.js'
import { nameOfColumn } from '../addons/bound/orm/used-ids.js'
import { openRaven } from '../addons/bound/raven/cluster.js'
import { openPool, type PostgresPool } from '../addons/postgres/pool.js'
import { findSchemas } from '../addons/postgres/schemas.js'
import { refuseStandby } from '../addons/postgres/upgrade.js'
import { toSpans } from '../ledger/bound-stock.js'
import { bindingKey } from '../ledger/collections.js'
import type { Query } from '../ledger/counter-port.js'
import { CounterUnusable } from '../ledger/ledger-errors.js'
import { checked } from '../ledger/option-checks.js'
import type { ServeOptions } from '../serve.js'

/**
 * Resolves with a line per bound collection.
 * @throws Error with every problem
 */
export async function check(options: ServeOptions): Promise<string> {
  const bindings = boundCollections(options)
  refuseWithoutPostgres(bindings, options.databaseUrl)
  if (options.upstream)
    return (
      'All numbers of this server come from its upstream, which this command does not ask. When ' +
      "the upstream cannot be used, the server's log says why.\n"
    )
  if (bindings.size === 0)
    return 'No collection is bound to another counter: there is nothing to check.\n'
  const problems: string[] = []
  const lines: string[] = []
  for (const [name, bound] of bindings) {
    if (!('upstream' in bound)) continue
    try {
      await openRaven(bound.upstream).check()
      lines.push(`${name}  ${bound.description}: it answers`)
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`)
    }
  }
  if (options.databaseUrl !== undefined)
    await withPool(options.databaseUrl, async (pool) => {
      const schemas = await findSchemas(pool)
      const examined = await examine(pool.query, schemas, bindings, options.first ?? false)
      problems.push(...examined.problems)
      for (const [name, bound] of examined.bindings) {
        if (!('counter' in bound) || problems.some((problem) => problem.startsWith(`${name}:`)))
          continue
        const { counter, description } = bound
        const value = (await hasRow(pool.query, counter))
          ? await nextValue(pool.query, counter)
          : firstValue(counter, await floorOf(pool.query, schemas.ledger, counter))
        const next = nextIds(counter, value)
        if (value <= lastValue(counter.blocks, counter.maxId))
          lines.push(
            `${name}  ${description}: ${next}; ` +
              compared(counter, await isProven(pool.query, schemas.ledger, counter)),
            ...(await unnamedProblems(pool.query, counter)).map((text) => `${name}  ${text}`),
          )
        else
          problems.push(
            `${name}: No block of ${nameOf(counter)} is left up to maxId ${counter.maxId}: ` +
              `${next}. Claims get what is in stock, and are then refused. If the id column ` +
              'takes higher ids, correct maxId; else make it larger, or go on under a new name.',
          )
      }
    })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return `${lines.join('\n')}\n`
}

/** That nothing speaks against a binding does not prove it. */
function compared(counter: Counter, isProven: boolean): string {
  if (counter.ids.length === 0) return 'not compared with the ids in use, because `ids` is false'
  if (isProven) return `proved by the ids in ${columnsOf(counter)}`
  const fix = counter.isUnproven ? 'as `proved: false` says' : proveCommand(counter)
  return `not contradicted by the ids in ${columnsOf(counter)}, and not proved: ${fix}`
}

export interface Adoption {
  database: string
  collection: string
  /** `table.column` with ids that are in use. Default: the columns that `ids` names. */
  from?: string | undefined
  /** Run the statement, and begin to use the binding as it is now. */
  isApplied: boolean
}

/** Resolves with the statement that puts the counter above every id in use, and its effect. */
export async function adopt(
  options: ServeOptions,
  { database, collection, from, isApplied }: Adoption,
): Promise<string> {
  const bound = boundCollections(options).get(bindingKey({ database, collection }))
  if (!bound || !('counter' in bound) || options.databaseUrl === undefined)
    throw new Error(
      `${database}/${collection} is not bound to a counter in PostgreSQL. Bind it under ` +
        '`collections` of the configuration file, and give --config and --database-url.',
    )
  if (from === undefined && bound.counter.ids.length === 0)
    throw new Error(
      '--from is missing: which column has the ids in use? Nothing else says it, because `ids` ' +
        `of ${database}/${collection} is false.`,
    )
  if (from !== undefined && !/^[^"]+\.[^".]+$/.test(from))
    throw new Error(
      `--from ${from}: name the table and its id column, like orders.id or sales.orders.id.`,
    )
  return withPool(options.databaseUrl, async (pool) => {
    const { ledger, path } = await findSchemas(pool)
    return pool.transaction((query) =>
      explained(bound.counter, async () => {
        const counter = await findCounter(query, path, bound.counter)
        // A row that is missing is made by the statement.
        const problems = await shapeProblems(query, counter, true)
        const named = from === undefined ? [] : [idColumn(from)]
        const ids = await findColumns(query, path, named)
        for (const column of ids) problems.push(...(await unreadableProblems(query, column)))
        if (problems.length > 0) throw new CounterUnusable(problems.join('\n'))
        ids.push(...counter.ids)
        // Before the counter, as a claim does: else each would wait for the other.
        if (isApplied && ledger !== undefined) await lockCollection(query, ledger, bound)
        if (isApplied && isSequence(counter.location)) await lockSequence(query, counter.location)
        const found = { ...bound, counter, description: descriptionOf(counter) }
        return raised(query, ledger, found, { ids, isApplied })
      }),
    )
  })
}

async function raised(
  query: Query,
  ledger: string | undefined,
  bound: Bound<Relation> & { counter: Counter },
  { ids, isApplied }: { ids: readonly IdColumn<Relation>[]; isApplied: boolean },
): Promise<string> {
  const { counter } = bound
  const found = await highestIn(query, ids, counter.sentinels)
  const highest = found?.id ?? 0n
  const reach = BigInt(await reachOf(query, ledger, counter))
  const floor = highest > reach ? highest : reach
  const value = valueAbove(counter.blocks, floor)
  if (value > lastValue(counter.blocks, counter.maxId))
    throw new CounterUnusable(
      `No block is left above ${floor}: the id column ends at ${counter.maxId} (maxId).` +
        (found?.id === floor
          ? ` If no counter made the id ${floor} in ${nameOfColumn(found.column)}, because it ` +
            `stands for something else, name it: sentinels: ["${floor}"].`
          : ''),
    )
  const next = await nextValue(query, counter)
  const statement = raiseStatement(counter, value)
  const why =
    `The highest id in ${ids.map(nameOfColumn).join(', ')} is ${highest}, the highest granted ` +
    `here ${reach}; ${nameOf(counter)} gives ${next} next`
  const effect =
    next >= value
      ? 'which is above: the statement changes nothing'
      : `and has to give ${value} at least. Stop the back end before: it may hold ids of a block ` +
        'that are in no row yet'
  const missing = (await hasRow(query, counter))
    ? ''
    : `-- There is no row for ${nameOf(counter)} yet. The statement makes it, under exactly this ` +
      'key.\n'
  const plan = `-- ${why}, ${effect}.\n${missing}${statement};\n`
  if (!isApplied) return `${plan}-- Nothing was run. With --apply it is.\n`
  await query(statement)
  // Where there is no ledger yet, the server remembers the binding when it makes one.
  if (ledger !== undefined) {
    await forgetStock(query, ledger, bound, highest)
    const before = (await rememberedBindings(query, ledger)).get(bindingKey(bound))
    const isOther =
      before === undefined
        ? (await highWaterOf(query, ledger, bound)) > 0
        : before !== bound.description
    if (isOther && !(await isProven(query, ledger, counter)))
      await forgetProof(query, ledger, bound)
    await rememberBinding(query, ledger, bound)
  }
  return `${plan}-- Done: ${nextIds(counter, await nextValue(query, counter))}.\n`
}

function nextIds(binding: Counter, value: bigint): string {
  const [span] = toSpans([idsOf(binding.blocks, value) ?? []].flat())
  return span ? `the next ids are ${span.slice(0, 2).join(' to ')}` : `the next value is ${value}`
}

export const boundCollections = ({ collections = {} }: ServeOptions): Bindings =>
  checked(collectionsSetting, collections, 'collections')

export async function withPool<T>(
  databaseUrl: string,
  step: (pool: PostgresPool) => Promise<T>,
): Promise<T> {
  const pool = openPool(databaseUrl)
  try {
    await refuseStandby(pool.query)
    return await step(pool)
  } finally {
    await pool.close()
  }
}
