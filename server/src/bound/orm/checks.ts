/**
 * Compares a counter with its configuration, with the ledger and with the ids that are in the back
 * end's table, and says what is wrong. Each message names what the configuration says, what the
 * database says, and the fix. Guarantees that two strategies are found: one whose next ids are
 * there already, and one of whose last block no id is there, while another strategy's has one.
 */
import type { Query } from '../../ledger/counter-port.js'
import { CounterUnusable } from '../../ledger/errors.js'
import { type Blocks, idsOf } from './blocks.js'
import { type Counter, type IdColumn, isSequence, type Relation } from './counter-options.js'
import { nameOf, nextValue, quoted } from './counter-statements.js'
import { sequenceProblems } from './sequence-checks.js'
import { STRATEGIES, type StrategyName } from './strategies.js'
import { tableProblems } from './table-checks.js'

/**
 * What is wrong with the counter. Empty: nothing.
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
  const next = await nextValue(query, binding)
  return [
    ...positionProblems(binding, next, highWater),
    ...(await idProblems(query, binding, highWater)),
  ]
}

/** What is wrong with the counter, whatever its value. */
export async function shapeProblems(
  query: Query,
  binding: Counter,
  isFirst: boolean,
): Promise<string[]> {
  const { place } = binding
  return isSequence(place)
    ? sequenceProblems(query, binding, place)
    : tableProblems(query, binding, place, isFirst)
}

function positionProblems(binding: Counter, next: bigint, highWater: number): string[] {
  const { blocks, first, system, fetchesTwice } = binding
  if (fetchesTwice && next < first! + 2n * blocks.step)
    return [
      `${nameOf(binding)} gives ${next} next, so ${system} has not made its first ids yet. It ` +
        'fetches two values for them, and uses all ids between the two, also those of a value ' +
        'that this server was given in between. Let the back end make one id, then start again.',
    ]
  if (next < 0n)
    return [
      `${nameOf(binding)} gives ${next} next, and no id is below 1. Somebody set it back: raise ` +
        'it above every id in use: offline-hilo-server adopt.',
    ]
  if (highWater > 0 && (idsOf(blocks, next)?.low ?? 0n) <= highWater)
    return [
      `${nameOf(binding)} gives ${next} next, whose ids are not above ${highWater}, and up to ` +
        'there ids were granted here. ' +
        'Find out what set it back and stop that. If the collection counted by itself before, ' +
        'raise the counter: offline-hilo-server adopt.',
    ]
  return []
}

const WHOLE_NUMBERS = ['smallint', 'integer', 'bigint', 'numeric']

/**
 * The highest id in a column of the back end's.
 * @returns undefined while there is none
 * @throws CounterUnusable for a column of texts, of which the highest is not the highest number
 */
export async function highestIn(
  query: Query,
  ids: IdColumn<Relation>,
): Promise<bigint | undefined> {
  const highest = `pg_catalog.max(${quoted(ids.column)})`
  const [used] = await query<{ max: string | null; type: string }>(
    `SELECT ${highest}::text AS max, pg_catalog.pg_typeof(${highest})::text AS type
     FROM ${ids.table}`,
  )
  const { max, type } = used!
  if (!WHOLE_NUMBERS.includes(type) || !/^-?\d+$/.test(max ?? '0'))
    throw new CounterUnusable(
      `${nameOfColumn(ids)} has values of type ${type}, not whole numbers, so nobody can ` +
        'tell the highest id. ' +
        'Name the column with the numbers of the ids. Nothing was changed.',
    )
  return max === null ? undefined : BigInt(max)
}

export const nameOfColumn = ({ table, column }: IdColumn): string => `${table}.${column}`

/** Where the highest id stands beside the block that was taken last and the one that comes next. */
type Place = 'before the last block' | 'in the last block' | 'in the next block or above'

function placeOf({ factor, shift, step, first }: Blocks, next: bigint, highest: bigint): Place {
  if (highest >= next * factor + shift) return 'in the next block or above'
  const last = (next - step) * factor + shift
  return highest < (last < first ? first : last) ? 'before the last block' : 'in the last block'
}

/**
 * What is wrong with a binding by the ids of its table. Nothing, where no table is named.
 * @param highWater up to here the ledger has granted numbers; 0: nothing was ever taken from the
 * counter
 */
export async function idProblems(
  query: Query,
  binding: Counter,
  highWater: number,
): Promise<string[]> {
  const { ids, strategy, size, blocks } = binding
  if (ids === undefined) return []
  // A row that comes after this look has an id of a value that was taken before the next one.
  const highest = await highestIn(query, ids)
  if (highest === undefined) return []
  const next = await nextValue(query, binding)
  const place = placeOf(blocks, next, highest)
  const found = `The highest id in ${nameOfColumn(ids)} is ${highest}. `
  if (place === 'in the next block or above')
    return [
      `${found}With ${strategy} and ${size}, ${nameOf(binding)} gives ${begin(blocks, next)} ` +
        'next: ids would come twice. Correct strategy or size here, as the back end has them. If ' +
        'rows came from elsewhere, raise the counter: offline-hilo-server adopt.',
    ]
  // Later, blocks that devices hold are without rows, too.
  if (highWater > 0) return []
  const fitting = others(binding).filter(
    (other) => placeOf(other.blocks, next, highest) === 'in the last block',
  )
  if (fitting.length === 0) return []
  const names = fitting.map(({ name }) => name).join(', ')
  if (place === 'before the last block')
    return [
      `${found}With ${strategy} and ${size} the last block begins at ` +
        `${begin(blocks, next - blocks.step)}, and no id of it is there. ${names} fits. Correct ` +
        'strategy here. If it is right, let the back end make one id, then start again.',
    ]
  return [
    `${found}${strategy} fits, and so does ${names}: their ids differ from the next block on. ` +
      'Let the back end make one id more, then start again.',
  ]
}

/** The same ORM's ways to count by such a counter, which stand for other ids. */
function others({ strategy, blocks, place, first }: Counter): { name: string; blocks: Blocks }[] {
  const [orm] = strategy.split('-')
  const kind = isSequence(place) ? 'sequence' : 'row'
  return (Object.keys(STRATEGIES) as StrategyName[]).flatMap((name) => {
    const other = STRATEGIES[name]
    // An older version's block nearly always holds the id, too.
    if (name === strategy || name.includes('before') || name.split('-')[0] !== orm) return []
    if (!other.kinds.includes(kind) || !other.size) return []
    const size = other.size === 'maxLo' ? blocks.size - 1n : blocks.size
    const made = other.blocks(size, first ?? 1n)
    return made.step === blocks.step && made.shift !== blocks.shift ? [{ name, blocks: made }] : []
  })
}

const begin = ({ factor, shift, first }: Blocks, value: bigint): bigint => {
  const low = value * factor + shift
  return low < first ? first : low
}
