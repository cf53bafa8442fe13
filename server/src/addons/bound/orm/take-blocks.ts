/**
 * Takes blocks from an ORM's counter. Guarantees that the counter moves by whole blocks, never past
 * the end of the id column, that nobody else gets a value that was taken here, and that no id comes
 * which a table of the back end has already. A sequence does not roll back: a transaction that
 * fails leaves a gap.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/errors.js'
import { type Span, sizeOf } from '../../../ledger/number-line.js'
import { toSpans } from '../../../ledger/stock.js'
import { idsOf, lastValue } from './blocks.js'
import {
  type Counter,
  isSequence,
  type Relation,
  type SequenceLocation,
  type TableLocation,
} from './counter-options.js'
import {
  adoptCommand,
  conditionOf,
  nameOf,
  nextOf,
  readRows,
  storedIn,
} from './counter-statements.js'
import { quoted } from './sql-text.js'
import { type UsedRange, usedOf } from './used-ids.js'

/** A claim passes over blocks that are in use so many times. Then somebody has to look. */
const MAX_PASSES = 100

export interface Taken {
  fresh: Span[]
  /** Blocks that were passed over: the back end has ids of them. */
  used: UsedRange[]
}

/**
 * Takes `blocks` blocks, and more until they have `ids` ids: the value that a counter starts with
 * may stand for one id, or none, and a block may be in use. Fewer, or none, where the id column
 * ends.
 * @param floor only ids above it may come
 * @throws CounterUnusable
 */
export async function takeBlocks(
  query: Query,
  binding: Counter,
  blocks: number,
  ids: number,
  floor: number,
): Promise<Taken> {
  const { location } = binding
  const fresh: Span[] = []
  const used: UsedRange[] = []
  let wanted = blocks
  for (let passes = 0; ; ) {
    const values = isSequence(location)
      ? await takeFromSequence(query, binding, location, BigInt(wanted))
      : await takeFromTable(query, binding, location, BigInt(wanted))
    const taken = values.flatMap((value) => idsOf(binding.blocks, value) ?? [])
    refuseBackwards(binding, toSpans(taken), floor)
    // guard: H20 ids that are in the table already are not granted
    const inUse = await usedBlocks(query, binding, taken)
    used.push(...inUse)
    fresh.push(...toSpans(taken.filter(({ low }) => inUse.every((other) => other.low !== low))))
    const missing = ids - sizeOf(fresh)
    if (missing <= 0 || values.length === 0) return { fresh, used }
    if (inUse.length > 0 && ++passes === MAX_PASSES) throw alwaysInUse(binding, inUse.at(-1)!)
    wanted = Math.ceil(missing / Number(binding.blocks.size))
  }
}

function refuseBackwards(binding: Counter, [first]: readonly Span[], floor: number): void {
  if (!first || first[0] > floor) return
  throw new CounterUnusable(
    `${nameOf(binding)} gave ids from ${first[0]}, but up to ${floor} may be in use: it went ` +
      'backwards. Nothing was granted. Find out who set it back, then raise it: ' +
      `${adoptCommand(binding)}.`,
  )
}

const alwaysInUse = (binding: Counter, { id, column }: UsedRange): CounterUnusable =>
  new CounterUnusable(
    `${nameOf(binding)} gave ids that are in use, ${MAX_PASSES} times in one claim: the last of ` +
      `them is ${id} in ${column}. Nothing was granted. If these rows came from elsewhere, raise ` +
      `the counter above them: ${adoptCommand(binding)}. Else strategy or size are wrong.`,
  )

/** Blocks that follow each other are looked for at once, and each alone only if that finds any. */
async function usedBlocks(
  query: Query,
  { ids }: Counter,
  blocks: readonly { low: bigint; high: bigint }[],
): Promise<UsedRange[]> {
  const joined = toSpans(blocks).map(([low, high]) => ({ low: BigInt(low), high: BigInt(high) }))
  const found = await usedOf(query, ids, joined)
  const isFound = ({ low, high }: { low: bigint; high: bigint }) =>
    found.some((range) => range.low <= high && low <= range.high)
  return usedOf(query, ids, blocks.filter(isFound))
}

async function takeFromSequence(
  query: Query,
  { blocks, maxId }: Counter,
  location: SequenceLocation<Relation>,
  count: bigint,
): Promise<bigint[]> {
  const end = lastValue(blocks, maxId)
  const rows = await query<{ value: string; increment: string }>(
    `WITH counter AS (SELECT ${nextOf(blocks.step)} AS next FROM ${location.sequence})
     SELECT pg_catalog.nextval($1)::text AS value, seqincrement::text AS increment
     FROM counter, pg_catalog.pg_sequence,
       pg_catalog.generate_series(1, least($2::bigint, ($3::bigint - next) / ${blocks.step} + 1))
     WHERE next <= $3::bigint AND seqrelid = $1::pg_catalog.regclass`,
    [location.sequence, String(count), String(end)],
  )
  if (rows.some(({ increment }) => BigInt(increment) !== blocks.step))
    throw new CounterUnusable(
      `Sequence ${location.sequence} moves by ${rows[0]!.increment} now, and moved by ` +
        `${blocks.step} before. Nothing was granted.`,
    )
  return rows.map(({ value }) => BigInt(value)).filter((value) => value <= end)
}

async function takeFromTable(
  query: Query,
  { blocks, maxId }: Counter,
  location: TableLocation<Relation>,
  count: bigint,
): Promise<bigint[]> {
  const next = storedIn(location, await readRows(query, location, 'FOR UPDATE')) + location.ahead
  const end = lastValue(blocks, maxId)
  const values: bigint[] = []
  for (let value = next; values.length < count && value <= end; value += blocks.step)
    values.push(value)
  if (values.length === 0) return []
  const { text, parameters } = conditionOf(location, 2)
  const column = quoted(location.column)
  const moved = String(next - location.ahead + BigInt(values.length) * blocks.step)
  const [row] = await query<{ stored: string }>(
    `UPDATE ${location.table} SET ${column} = $1 WHERE ${text} RETURNING ${column}::text
     AS stored`,
    [moved, ...parameters],
  )
  // guard: H20 a counter in a table gives nothing unless it moves
  if (row?.stored !== moved)
    throw new CounterUnusable(
      `${location.table}.${location.column} was to become ${moved}, and is ` +
        `${row?.stored ?? 'not'} after the update: a trigger of the table is in the way. Nothing ` +
        'was granted.',
    )
  return values
}
