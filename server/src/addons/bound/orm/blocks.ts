/**
 * Which ids a value of a counter stands for. For example, with 10 ids per block and `additive`, the
 * value 31 stands for the ids 31 to 40. Pure arithmetic, in BigInt, because counters go beyond
 * 2^53. Guarantees that two values of one counter never stand for the same id.
 */

/**
 * Every strategy is linear: a value stands for `value * factor + shift` and the ids that follow it.
 */
export interface Blocks {
  /** How many ids one value stands for. */
  size: bigint
  factor: bigint
  shift: bigint
  /** How far one take moves the counter. */
  step: bigint
  /** The lowest id there is. So the first value of a counter may stand for fewer ids, or none. */
  first: bigint
}

/** A value is an id: `value + shift` is the first of its block, and a take adds a block's size. */
export const additive = (size: bigint, shift: bigint, first = 0n): Blocks => ({
  size,
  factor: 1n,
  shift,
  step: size,
  first,
})

/** A value is the number of a block: `value * size + shift` is its first id. */
export const multiplicative = (size: bigint, shift: bigint, first = 0n): Blocks => ({
  size,
  factor: size,
  shift,
  step: 1n,
  first,
})

/** The first id of a value. */
export const firstOf = ({ factor, shift, first }: Blocks, value: bigint): bigint => {
  const begin = value * factor + shift
  return begin < first ? first : begin
}

/** Undefined: the value stands for no id. */
export function idsOf(blocks: Blocks, value: bigint): { low: bigint; high: bigint } | undefined {
  const high = value * blocks.factor + blocks.shift + blocks.size - 1n
  const low = firstOf(blocks, value)
  return low <= high ? { low, high } : undefined
}

/** The lowest value whose ids are all above `floor`. */
export const valueAbove = ({ factor, shift }: Blocks, floor: bigint): bigint =>
  -divideDown(-(floor + 1n - shift), factor)

/** The highest value whose ids are all at or below `maxId`. */
export const lastValue = ({ size, factor, shift }: Blocks, maxId: bigint): bigint =>
  divideDown(maxId - size + 1n - shift, factor)

function divideDown(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}
