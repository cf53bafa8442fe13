/**
 * Compares a counter with its configuration, with the ledger and with the ids that are in the back
 * end's table, and reports each fault. Each message names the setting, the database's value and the
 * fix. Guarantees that two strategies are found: one whose next ids are there already, and one of
 * whose last block no id is there, while another strategy's has one.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import { type Blocks, firstOf, idsOf } from './blocks.js'
import { type Counter, type IdColumn, isSequence, type Relation } from './counter-binding.js'
import { adoptCommand, isWhole, nameOf, nextValue } from './counter-statements.js'
import { columnProblems } from './id-columns.js'
import { sequenceProblems } from './sequence-checks.js'
import { quoted } from './sql-text.js'
import { OPTIMIZERS, type Optimizer, STRATEGIES } from './strategies.js'
import { tableProblems } from './table-checks.js'
import { nameOfColumn } from './used-ids.js'

/**
 * The faults of the counter. Empty: none.
 * @param highWater numbers of the ledger up to here may be in use
 * @param isFirst a row that is missing will be added
 */
export async function problemsOf(
  query: Query,
  binding: Counter,
  highWater: number,
  isFirst: boolean,
): Promise<string[]> {
  const problems = await shapeProblems(query, binding, isFirst)
  if (problems.length > 0) return problems
  return positionProblems(binding, await nextValue(query, binding), highWater)
}

/** What is wrong with the counter and the columns of its ids, whatever its value. */
export async function shapeProblems(
  query: Query,
  binding: Counter,
  isFirst: boolean,
): Promise<string[]> {
  const { location } = binding
  const problems = isSequence(location)
    ? await sequenceProblems(query, binding, location)
    : await tableProblems(query, binding, location, isFirst)
  return [...problems, ...(await columnProblems(query, binding))]
}

function positionProblems(binding: Counter, next: bigint, highWater: number): string[] {
  const { blocks, first, system, fetchesTwice } = binding
  if (next < 0n)
    return [
      `${nameOf(binding)} gives ${next} next, and no id is below 1. Somebody set it back: raise ` +
        `it above every id in use: ${adoptCommand(binding)}.`,
    ]
  if (highWater > 0 && (idsOf(blocks, next)?.low ?? 0n) <= highWater)
    return [
      `${nameOf(binding)} gives ${next} next, whose ids are not above ${highWater}, and up to ` +
        'there ids were granted here. ' +
        'Find out what set it back and stop that. Then, or if the collection counted by itself ' +
        `before, raise the counter: ${adoptCommand(binding)}.`,
    ]
  if (fetchesTwice && next < first! + 2n * blocks.step)
    return [
      `${nameOf(binding)} gives ${next} next, so ${system} has not made its first ids yet. It ` +
        'fetches two values for them, and uses all ids between the two, also those of a value ' +
        'that this server was given in between. Let the back end make one id, then start again.',
    ]
  return []
}

/** The highest id, and where it is. */
export interface Highest {
  id: bigint
  column: IdColumn
}

/**
 * The highest id in columns of the back end's, which `columnProblems` has nothing against.
 * @param sentinels ids that do not count
 * @returns undefined while there is none
 * @throws CounterUnusable when it is no whole number
 */
export async function highestIn(
  query: Query,
  columns: readonly IdColumn<Relation>[],
  sentinels: readonly bigint[],
): Promise<Highest | undefined> {
  let highest: Highest | undefined
  for (const column of columns) {
    const id = await highestOf(query, column, sentinels)
    if (id !== undefined && (highest === undefined || id > highest.id)) highest = { id, column }
  }
  return highest
}

async function highestOf(
  query: Query,
  { table, column }: IdColumn<Relation>,
  sentinels: readonly bigint[],
): Promise<bigint | undefined> {
  // Unqualified, the order would be that of the text.
  const id = `t.${quoted(column)}`
  const [highest] = await query<{ id: string }>(
    `SELECT ${id}::text AS id FROM ${table} AS t
     WHERE ${id} IS NOT NULL AND ${id}::text <> ALL ($1::text[]) ORDER BY ${id} DESC LIMIT 1`,
    [sentinels.map(String)],
  )
  if (highest && !isWhole(highest.id))
    throw new CounterUnusable(
      `${nameOfColumn({ table, column })} has ${highest.id}, not whole numbers, so nobody can ` +
        'tell the highest id. Name the column with the numbers of the ids. Nothing was changed.',
    )
  return highest && BigInt(highest.id)
}

/** Where the highest id stands beside the block that was taken last and the one that comes next. */
type Position = 'before the last block' | 'in the last block' | 'in the next block or above'

function positionOf(blocks: Blocks, next: bigint, highest: bigint): Position {
  const { factor, shift, step } = blocks
  if (highest >= next * factor + shift) return 'in the next block or above'
  return highest < firstOf(blocks, next - step) ? 'before the last block' : 'in the last block'
}

/**
 * The faults of a binding by the ids of its table. None, where no table is named.
 * @param taken as of `takenUpTo`
 */
export async function idProblems(query: Query, binding: Counter, taken: number): Promise<string[]> {
  const { ids, sentinels, strategy, size, blocks } = binding
  // A row that comes after this look has an id of a value that was taken before the next one.
  const found = await highestIn(query, ids, sentinels)
  if (found === undefined) return []
  const next = await nextValue(query, binding)
  const position = positionOf(blocks, next, found.id)
  const highest = `The highest id in ${nameOfColumn(found.column)} is ${found.id}. `
  if (position === 'in the next block or above')
    return [
      `${highest}With ${strategy} and ${size}, ${nameOf(binding)} gives ${firstOf(blocks, next)} ` +
        'next: ids would come twice. Correct strategy or size here, as the back end has them. If ' +
        `rows came from elsewhere, raise the counter: ${adoptCommand(binding)}. If no counter ` +
        'made that id, because it stands for something else, name it: sentinels: ' +
        `["${found.id}"].`,
    ]
  // Later, blocks that devices hold are without rows, too.
  if (taken > 0 || position === 'in the last block') return []
  const fitting = alternativesTo(binding).filter(
    (other) => positionOf(other.blocks, next, found.id) === 'in the last block',
  )
  if (fitting.length === 0) return []
  return [
    `${highest}With ${strategy} and ${size} the last block begins at ` +
      `${firstOf(blocks, next - blocks.step)}, and no id of it is there. ` +
      `${fitting.map(({ name }) => name).join(', ')} fits. Correct that here. If it is right, ` +
      'let the back end make one id, then start again.',
  ]
}

export interface Alternative {
  name: string
  blocks: Blocks
}

/** The same ORM's ways to count by such a counter, which stand for other ids. */
export function alternativesTo({ strategy, blocks, location, first }: Counter): Alternative[] {
  const alternative = (name: string, { size, blocks: toBlocks }: Optimizer): Alternative[] => {
    // An older version's block nearly always holds the id, too.
    if (!size || name === strategy || name.includes('before')) return []
    const made = toBlocks(size === 'maxLo' ? blocks.size - 1n : blocks.size, first ?? 1n)
    return made.step === blocks.step && made.shift !== blocks.shift ? [{ name, blocks: made }] : []
  }
  // A table with keys stores its values in a way of its own.
  if (!isSequence(location) && location.key)
    return Object.entries(STRATEGIES[strategy].hasOptimizer ? OPTIMIZERS : {}).flatMap(
      ([name, optimizer]) => alternative(`the optimizer ${name}`, optimizer),
    )
  const kind = isSequence(location) ? 'sequence' : 'row'
  const [orm] = strategy.split('-')
  return Object.entries(STRATEGIES).flatMap(([name, other]) =>
    name.split('-')[0] === orm && other.kinds.includes(kind) ? alternative(name, other) : [],
  )
}
