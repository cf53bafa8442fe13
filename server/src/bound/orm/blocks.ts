/**
 * Which ids a value of a counter stands for, and which value stands for an id. Pure arithmetic, in
 * BigInt: counters go beyond 2^53. Guarantees that two different values of one counter never stand
 * for the same id.
 */

/**
 * Every strategy is linear: a value stands for `value * factor + shift` and the ids that follow it.
 */
export interface Blocks {
  /** Ids of one value. */
  size: bigint
  factor: bigint
  shift: bigint
  /** How far one take moves the counter. */
  step: bigint
  /** There is no id below: the value that starts a counter may stand for fewer ids, or for none. */
  first: bigint
}

/**
 * `step` moves the counter by a whole block, so a value is an id: `value + shift` is the block's
 * first.
 */
export const additive = (size: bigint, shift: bigint, first = 0n): Blocks => ({
  size,
  factor: 1n,
  shift,
  step: size,
  first,
})

/** The counter counts blocks. */
export const multiplicative = (size: bigint, shift: bigint, first = 0n): Blocks => ({
  size,
  factor: size,
  shift,
  step: 1n,
  first,
})

/** Undefined: the value stands for nothing. */
export function idsOf(
  { size, factor, shift, first }: Blocks,
  value: bigint,
): { low: bigint; high: bigint } | undefined {
  const begin = value * factor + shift
  const high = begin + size - 1n
  const low = begin < first ? first : begin
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
