/** Ranges of numbers: no operation invents or loses one, and grants never merge. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  insert,
  insertAll,
  overlaps,
  type Range,
  size,
  takeHighest,
  takeLowest,
  total,
} from '../../src/core/range.js'
import { countedRanges, disjointRanges, numbersOf, range } from '../support/ranges.js'

const sorted = (ranges: Range[]): Range[] => ranges.reduce<Range[]>(insert, [])

describe('insert', () => {
  test('joins neighbours of one grant, whatever the order they come in', () => {
    expect(sorted([range(17, 32), range(1, 10), range(11, 16)])).toEqual([range(1, 32)])
  })

  test.each([
    ['grant token', range(1, 16, { token: 'a' }), range(17, 32, { token: 'b' })],
    ['server tag', range(1, 16, { serverTag: 'A' }), range(17, 32, { serverTag: 'B' })],
    ['prefix', range(1, 16, { prefix: 'orders/' }), range(17, 32, { prefix: 'Orders/' })],
  ])('never joins neighbours that differ in their %s', (_, low, high) => {
    expect(insert([low], high)).toEqual([low, high])
    expect(insert([high], low)).toEqual([low, high])
  })

  test('looks at each range a few times, however many there are', () => {
    const readsOf = (count: number) => {
      const { ranges, reads } = countedRanges(count)
      expect(insertAll([], ranges)).toHaveLength(count)
      return reads()
    }
    // Sorting needs a little more than in proportion; looking at each pair would be 256 times.
    expect(readsOf(16_000)).toBeLessThan(30 * readsOf(1_000))
  })

  test('adds nothing for an empty range', () => {
    expect(insert([range(1, 5)], range(6, 5))).toEqual([range(1, 5)])
  })

  test('keeps every number with its grant, sorted, and leaves its input alone', () => {
    fc.assert(
      fc.property(disjointRanges(), (ranges) => {
        const before = structuredClone(ranges)
        const result = sorted(ranges)
        expect(numbersOf(result)).toEqual(numbersOf(ranges))
        expect(result.map(({ from }) => from)).toEqual(
          result.map(({ from }) => from).toSorted((a, b) => a - b),
        )
        expect(ranges).toEqual(before)
      }),
    )
  })
})

describe('takeLowest and takeHighest', () => {
  test('lose and invent nothing', () => {
    fc.assert(
      fc.property(disjointRanges(), fc.nat(100), (ranges, count) => {
        for (const take of [takeLowest, takeHighest]) {
          const { taken, rest } = take(sorted(ranges), count)
          expect(numbersOf([...taken, ...rest])).toEqual(numbersOf(ranges))
          expect(total(taken)).toBe(Math.min(count, total(ranges)))
          expect([...taken, ...rest].every((each) => size(each) > 0)).toBe(true)
        }
      }),
    )
  })

  test('the lowest are below the rest, the highest above it', () => {
    fc.assert(
      fc.property(disjointRanges(), fc.nat(100), (ranges, count) => {
        const low = takeLowest(sorted(ranges), count)
        for (const { to } of low.taken)
          for (const { from } of low.rest) expect(to).toBeLessThan(from)
        const high = takeHighest(sorted(ranges), count)
        for (const { from } of high.taken)
          for (const { to } of high.rest) expect(from).toBeGreaterThan(to)
      }),
    )
  })

  test('what is taken keeps the grant it came from', () => {
    const ranges = [range(1, 4, { token: 'a' }), range(5, 8, { token: 'b', serverTag: 'B' })]
    expect(takeLowest(ranges, 5).taken).toEqual([
      range(1, 4, { token: 'a' }),
      range(5, 5, { token: 'b', serverTag: 'B' }),
    ])
    expect(takeHighest(ranges, 5).taken).toEqual([
      range(4, 4, { token: 'a' }),
      range(5, 8, { token: 'b', serverTag: 'B' }),
    ])
  })
})

describe('overlaps', () => {
  test('one shared number is enough, being neighbours is not', () => {
    expect(overlaps(range(1, 5), range(5, 9))).toBe(true)
    expect(overlaps(range(2, 3), range(1, 9))).toBe(true)
    expect(overlaps(range(1, 5), range(6, 9))).toBe(false)
  })

  test('the same numbers from another node, or under another prefix, make other ids', () => {
    expect(overlaps(range(1, 5), range(1, 5, { serverTag: 'B' }))).toBe(false)
    expect(overlaps(range(1, 5), range(1, 5, { prefix: 'invoices/' }))).toBe(false)
  })

  test('the same numbers under another token are the same ids', () => {
    expect(overlaps(range(1, 5, { token: 'a' }), range(3, 9, { token: 'b' }))).toBe(true)
  })
})
