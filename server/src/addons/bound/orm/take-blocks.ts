/**
 * Takes blocks from an ORM's counter. Guarantees that the counter moves by whole blocks, never past
 * the end of the id column, that nobody else gets a value that was taken here, and that no id comes
 * which a table of the back end has already. A sequence does not roll back: a transaction that
 * fails leaves a gap.
 */

import { toSpans } from '../../../ledger/bound-stock.js'
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import { type Span, sizeOf } from '../../../ledger/number-line.js'
import { firstOf, idsOf, lastValue, valueAbove } from './blocks.js'
import {
  type Counter,
  isSequence,
  type Relation,
  type SequenceLocation,
  type TableLocation,
} from './counter-binding.js'
import {
  adoptCommand,
  moveRow,
  nameOf,
  nextOf,
  nextValue,
  readRows,
  storedIn,
} from './counter-statements.js'
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
      ? await takeFromSequence(query, binding, location, BigInt(wanted), floor)
      : await takeFromTable(query, binding, location, BigInt(wanted))
    const taken = values.flatMap((value) => idsOf(binding.blocks, value) ?? [])
    const [first] = toSpans(taken)
    if (first) refuseBackwards(binding, first[0], floor)
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

function refuseBackwards(binding: Counter, low: number | bigint, floor: number): void {
  if (low > floor) return
  throw new CounterUnusable(
    `${nameOf(binding)} gave ids from ${low}, but up to ${floor} may be in use: it went ` +
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
  binding: Counter,
  location: SequenceLocation<Relation>,
  count: bigint,
  floor: number,
): Promise<bigint[]> {
  const { blocks, maxId } = binding
  const end = lastValue(blocks, maxId)
  // The first values may stand for a part of their block.
  const isBegun = floor > 0 && floor >= blocks.first
  // guard: H20 a sequence that was set back stays there: more takes would go past the mark
  const least = isBegun ? valueAbove(blocks, BigInt(floor)) : -(2n ** 63n)
  const [rows, [now]] = await Promise.all([
    query<{ value: string }>(
      `WITH counter AS (SELECT ${nextOf(blocks.step)} AS next, least($3::bigint, seqmax) AS last
         FROM ${location.sequence}, pg_catalog.pg_sequence
         WHERE seqrelid = $1::pg_catalog.regclass)
       SELECT pg_catalog.nextval($1)::text AS value FROM counter,
         pg_catalog.generate_series(1, least($2::bigint, (last - next) / ${blocks.step} + 1))
       WHERE next BETWEEN $4::bigint AND last`,
      [location.sequence, String(count), String(end), String(least)],
    ),
    query<{ step: string }>(
      `SELECT seqincrement::text AS step FROM pg_catalog.pg_sequence
       WHERE seqrelid = $1::pg_catalog.regclass`,
      [location.sequence],
    ),
  ])
  // Whoever took a value holds off ALTER SEQUENCE until the transaction ends.
  // guard: H31 a sequence that is altered while it is asked gives nothing
  if (BigInt(now!.step) !== blocks.step)
    throw new CounterUnusable(
      `${nameOf(binding)} was altered while it was asked. Nothing was granted. ` +
        'npx offline-hilo-server check says what to correct.',
    )
  if (rows.length === 0 && isBegun)
    refuseBackwards(binding, firstOf(blocks, await nextValue(query, binding)), floor)
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
  await moveRow(query, location, next - location.ahead + BigInt(values.length) * blocks.step)
  return values
}
