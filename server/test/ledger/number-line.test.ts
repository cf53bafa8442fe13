/** The number line against a model that keeps every number by itself. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cutOut,
  EMPTY_LINE,
  join,
  move,
  type NumberLine,
  raise,
  release,
  type Span,
  take,
  takeFrom,
} from '../../src/ledger/number-line.js'

const numbers = ([low, high]: Span): number[] =>
  Array.from({ length: high - low + 1 }, (_, i) => low + i)

/** Sorted, disjoint, none touching another or `max`, all above the floor. */
function expectSound({ max, highWater, floor, free }: NumberLine): void {
  expect(highWater).toBeGreaterThanOrEqual(max)
  for (const [i, [low, high]] of free.entries()) {
    expect(low).toBeLessThanOrEqual(high)
    expect(low).toBeGreaterThan(floor)
    expect(high).toBeLessThan((free[i + 1]?.[0] ?? max + 1) - 1)
  }
}

const operation = fc.record({
  kind: fc.constantFrom('take', 'take', 'take', 'release', 'release', 'seen', 'raise'),
  count: fc.integer({ min: 1, max: 12 }),
  which: fc.nat(),
  isPlain: fc.boolean(),
})

test('no number is held twice, and what is free was given back and is above the floor', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      let line: NumberLine = EMPTY_LINE
      const held: Span[] = []
      const owned = new Set<number>()
      for (const { kind, count, which, isPlain } of operations) {
        if (kind === 'raise') line = raise(line, which % 40)
        else if (kind === 'release') {
          const at = which % Math.max(1, held.length)
          const span = held[at]
          if (!span) continue
          const from = Math.max(span[0], span[1] - count + 1)
          held.splice(at, 1, ...(from > span[0] ? [[span[0], from - 1] as const] : []))
          for (const n of numbers([from, span[1]])) owned.delete(n)
          line = release(line, from, span[1], 0)
        } else {
          const lastMax = kind === 'seen' ? line.max + (which % 30) : 0
          const taken = take(
            line,
            { id: isPlain ? undefined : 'a', count, lastMax },
            { maxJump: 1_000, maxId: Number.MAX_SAFE_INTEGER },
          )
          if ('refused' in taken) throw new Error(taken.refused)
          for (const n of numbers(taken.span)) {
            if (owned.has(n)) throw new Error(`${n} is held twice`)
            expect(n).toBeGreaterThan(line.floor)
            owned.add(n)
          }
          held.push(taken.span)
          line = taken.line
        }
        expectSound(line)
        for (const span of line.free)
          for (const n of numbers(span)) expect(owned.has(n)).toBe(false)
      }
    }),
    { numRuns: 500 },
  )
})

test('after a counter went back, a number that comes back twice is free once', () => {
  const line = { ...EMPTY_LINE, max: 7, highWater: 7, free: [[2, 5]] as const }
  expect(release(line, 3, 6, 0)).toEqual({ ...line, free: [[2, 6]] })
  const spans: Span[] = [
    [2, 3],
    [5, 6],
    [9, 9],
  ]
  expect(join(spans, [[3, 8]])).toEqual([[2, 9]])
  expect(join([[2, 3, 'A']], [[3, 8, 'B']])).toHaveLength(2)
})

describe('of the numbers that may be granted', () => {
  const LAST = 20
  const RUNS = { numRuns: 500 }
  const number = fc.integer({ min: 1, max: 14 })
  const line = fc
    .record({ held: fc.uniqueArray(number, { maxLength: 9 }), floor: fc.nat(4) })
    .map(({ held, floor }): NumberLine => {
      const max = Math.max(floor, ...held)
      const free = numbers([floor + 1, max]).filter((n) => !held.includes(n))
      const spans = free.map((n): Span => [n, n])
      return { max, highWater: LAST, floor, free: join([], spans), fresh: [] }
    })
  const freeIn = ({ free }: NumberLine) => free.flatMap(numbers)
  const grantable = (line: NumberLine) => [...freeIn(line), ...numbers([line.max + 1, LAST])]

  test('those that are cut out are none, and all others stay', () => {
    fc.assert(
      fc.property(line, number, fc.nat(4), (line, low, more) => {
        const high = low + more
        const isOther = (n: number) => n < low || n > high
        const cut = cutOut(line, low, high, true)
        expectSound(cut)
        expect(grantable(cut)).toEqual(grantable(line).filter(isOther))
        // Where another authority counts, nothing above is free.
        const bound = cutOut(line, low, high, false)
        expect(freeIn(bound)).toEqual(freeIn(line).filter(isOther))
        expect(bound.max).toBe(Math.max(line.max, high))
      }),
      RUNS,
    )
  })

  test('those above a max that is set are some, of those below it the free ones', () => {
    fc.assert(
      fc.property(line, number, number, (line, max, held) => {
        const moved = Math.max(max, held, line.floor)
        const after = move(line, max, held)
        expectSound(after)
        expect(grantable(after)).toEqual([
          ...freeIn(line).filter((n) => n <= moved),
          ...numbers([moved + 1, LAST]),
        ])
      }),
      RUNS,
    )
  })

  test('those above a floor that is raised stay', () => {
    fc.assert(
      fc.property(line, number, (line, floor) => {
        const raised = raise(line, floor)
        expectSound(raised)
        expect(grantable(raised)).toEqual(grantable(line).filter((n) => n > floor))
      }),
      RUNS,
    )
  })
})

describe('joining', () => {
  const span = fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.nat(4), fc.constantFrom(undefined, 'A', 'B'))
    .map(([low, more, node]): Span => (node ? [low, low + more, node] : [low, low + more]))
  const named = ([low, high, node]: Span) => numbers([low, high]).map((n) => `${n}${node ?? ''}`)

  test('keeps every number once, sorted, neighbours of one node made one', () => {
    fc.assert(
      fc.property(fc.array(span, { maxLength: 30 }), (spans) => {
        const disjoint: Span[] = []
        for (const one of spans)
          if (!disjoint.flatMap(named).some((name) => named(one).includes(name))) disjoint.push(one)
        const joined = join([], disjoint)
        expect(joined.flatMap(named).sort()).toEqual(disjoint.flatMap(named).sort())
        expect(joined).toEqual(
          joined.toSorted((a, b) => a[0] - b[0] || ((a[2] ?? '') < (b[2] ?? '') ? -1 : 1)),
        )
        for (const [, high, node] of joined)
          expect(joined.some((other) => other[0] === high + 1 && other[2] === node)).toBe(false)
      }),
    )
  })

  test('the smallest range beyond a thousand becomes a gap', () => {
    const many = Array.from({ length: 1_000 }, (_, i): Span => [i * 10 + 1, i * 10 + 3])
    expect(join(many, [[20_001, 20_002]])).toEqual(many)
    expect(join(many, [[20_001, 20_009]])).toHaveLength(1_000)
  })
})

test.each<[string, number, Span, Span[]]>([
  [
    'the lowest range that holds it',
    3,
    [10, 12],
    [
      [1, 2],
      [13, 15],
      [20, 40],
      [50, 70],
    ],
  ],
  [
    'all of a range that it fills',
    6,
    [10, 15],
    [
      [1, 2],
      [20, 40],
      [50, 70],
    ],
  ],
  [
    'the lowest of the largest, where none holds it',
    50,
    [20, 40],
    [
      [1, 2],
      [10, 15],
      [50, 70],
    ],
  ],
])('a claim takes %s', (_, count, span, rest) => {
  expect(
    takeFrom(
      [
        [1, 2],
        [10, 15],
        [20, 40],
        [50, 70],
      ],
      count,
    ),
  ).toEqual({ span, rest })
})
