/**
 * Ranges and states for tests: short to write, and arbitraries that only make what a device can
 * really hold.
 */
import fc from 'fast-check'
import type { Range } from '../../src/core/range.js'

export const range = (from: number, to: number, more: Partial<Range> = {}): Range => ({
  from,
  to,
  prefix: 'orders/',
  serverTag: 'A',
  ...more,
})

/**
 * Every number of `ranges` with the grant it belongs to, sorted: what no operation may change as a
 * whole.
 */
export const numbersOf = (ranges: readonly Range[]): string[] =>
  ranges
    .flatMap(({ from, to, prefix, serverTag, token }) =>
      Array.from(
        { length: to - from + 1 },
        (_, i) => `${prefix}${from + i}-${serverTag} of ${token}`,
      ),
    )
    .sort()

/** Ranges of several grants that share no number, in any order. */
export const disjointRanges = (): fc.Arbitrary<Range[]> =>
  fc
    .array(
      fc.record({
        gap: fc.nat(3),
        length: fc.integer({ min: 1, max: 12 }),
        serverTag: fc.constantFrom('A', 'B'),
        token: fc.constantFrom(undefined, 't1', 't2'),
      }),
      { maxLength: 12 },
    )
    .chain((parts) => {
      let next = 1
      const ranges = parts.map(({ gap, length, serverTag, token }) => {
        const from = next + gap
        next = from + length
        return range(from, next - 1, { serverTag, ...(token !== undefined && { token }) })
      })
      return fc.shuffledSubarray(ranges, { minLength: ranges.length })
    })

/**
 * `count` ranges that do not touch, not in order, and how often anybody has read where one begins
 * or ends.
 */
export function countedRanges(count: number): { ranges: Range[]; reads: () => number } {
  let reads = 0
  const ranges = Array.from({ length: count }, (_, i) => {
    const from = ((i * 7919) % count) * 10
    const counted = (value: number) => ({
      enumerable: true,
      get() {
        reads++
        return value
      },
    })
    const ends = { from: counted(from), to: counted(from + 4) }
    return Object.defineProperties({ prefix: 'orders/', serverTag: 'A' }, ends) as Range
  })
  return { ranges, reads: () => reads }
}
