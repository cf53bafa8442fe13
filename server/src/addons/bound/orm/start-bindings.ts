/**
 * The start of a ledger whose collections are bound to counters of ORMs. Guarantees that each
 * counter is found and checked before the first claim, and that a binding which the ledger
 * remembers otherwise, or which nobody has proved, stops the start.
 */
import { changedBindings, refuseBindings } from '../../../ledger/collections.js'
import type { OrmCounters, Query, Schemas, SqlDatabase } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import type { Tell } from '../cautions.js'
import type { Bindings, Bound } from '../collections-setting.js'
import { lastValue, valueAbove } from './blocks.js'
import {
  highWaterOf,
  reachOf,
  rememberBinding,
  rememberedBindings,
  takenUpTo,
} from './bound-rows.js'
import { type Binding, type Counter, isSequence, type Relation } from './counter-binding.js'
import { highestIn, idProblems, shapeProblems } from './counter-checks.js'
import { addFirstRow, conditionOf, descriptionOf, hasRow, nameOf } from './counter-statements.js'
import { explained } from './explained.js'
import { counterProblems, ormCounters } from './orm-counters.js'
import { findCounter, findRelation } from './relations.js'
import { isProven, proveCommand, unprovenProblems } from './remembered-proof.js'
import { STRATEGIES } from './strategies.js'
import { unnamedProblems } from './unnamed-columns.js'

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
  const sound = countersIn(found).flatMap(([name, { counter }]) =>
    problems.some((problem) => problem.startsWith(`${name}:`)) ? [] : [[name, counter] as const],
  )
  problems.push(...(await disagreements(query, sound)))
  return { bindings: found, problems: [...changed, ...problems] }
}

/** Collections on one counter whose bindings do not agree which ids a value stands for. */
async function disagreements(
  query: Query,
  counters: readonly (readonly [name: string, counter: Counter])[],
): Promise<string[]> {
  const problems: string[] = []
  for (const [i, [name, counter]] of counters.entries())
    for (const [other, taker] of counters.slice(0, i)) {
      // guard: H20 a counter means the same ids for all collections
      if (meaningOf(counter) === meaningOf(taker)) continue
      if (!(await isSameCounter(query, counter, taker))) continue
      const by = ({ strategy, size }: Counter) => `${strategy} with ${size}`
      problems.push(
        `${name}: It takes from ${nameOf(counter)} by ${by(counter)}, and ${other} by ` +
          `${by(taker)}. A value of a counter stands for the same ids, whoever takes it. So one ` +
          'of the two is wrong, and ids would come twice. Correct its strategy or size, as the ' +
          'back end has them.',
      )
      break
    }
  return problems
}

/** A row has many names: by other columns of its key, by one partition, by 2 or '2'. */
async function isSameCounter(query: Query, a: Counter, b: Counter): Promise<boolean> {
  if (nameOf(a) === nameOf(b)) return true
  const [one, other] = [a.location, b.location]
  if (isSequence(one) || isSequence(other) || one.column !== other.column) return false
  const first = conditionOf(one, 1)
  const second = conditionOf(other, 1 + first.parameters.length)
  // guard: H20 a row is one counter, by whatever names
  const rows = await query(
    `SELECT tableoid, ctid FROM ${one.table} WHERE ${first.text}
     INTERSECT SELECT tableoid, ctid FROM ${other.table} WHERE ${second.text}`,
    [...first.parameters, ...second.parameters],
  )
  return rows.length > 0
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
  const reach = BigInt(await reachOf(query, ledger, counter))
  return highest !== undefined && highest.id > reach ? highest.id : reach
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
  const taken = await takenUpTo(query, ledger, counter.key)
  const byIds = await explained(counter, () => idProblems(query, counter, taken))
  return byIds.length > 0 ? byIds : problems
}

/** Those whose numbers come from an ORM's counter. */
export const countersIn = <Name>(bindings: Bindings<Name>) =>
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
    const taken = await takenUpTo(query, schemas.ledger, counter.key)
    // guard: H20 a binding that nobody has proved is refused where the table has ids
    const unproven = await unprovenProblems(query, schemas.ledger, counter, taken)
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
