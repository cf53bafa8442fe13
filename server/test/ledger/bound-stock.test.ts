/**
 * The number line of a bound collection. What ledgers make of it is in
 * addons/orm/bound-ledger.test.ts and upstream.test.ts.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addFresh,
  restock,
  shortfall,
  takeFromStock,
  toSpans,
  withoutSpans,
} from '../../src/ledger/bound-stock.js'
import {
  type Demand,
  EMPTY_LINE,
  type NumberLine,
  type Span,
} from '../../src/ledger/number-line.js'

const LINE = { ...EMPTY_LINE, max: 20, highWater: 20, floor: 20 }
const MAX_JUMP = 1_000

test.each([
  ['with an id', 'a'],
  ['without', undefined],
])('what comes at or below the floor is granted to nobody, to a claim %s neither', (_, id) => {
  const demand = { id, count: 10, lastMax: 0 }
  const stock = addFresh(shortfall(LINE, [demand], MAX_JUMP), [[11, 30]])
  expect(takeFromStock(stock.line, demand, stock, 'overflow')).toMatchObject({
    span: [21, 30],
    line: { max: 30, highWater: 30 },
  })
})

test('nor is what comes back from below it', () => {
  expect(restock(LINE, [11, 20]).free).toEqual([])
  expect(restock(LINE, [11, 25]).free).toEqual([[21, 25]])
})

test('what came back goes first, also where as much is new and all was seen', () => {
  const line: NumberLine = {
    ...EMPTY_LINE,
    max: 100,
    highWater: 100,
    free: [[11, 20]],
    fresh: [[91, 100]],
  }
  const demand = { id: 'a', count: 10, lastMax: 100 }
  const short = shortfall(line, [demand], 0)
  expect(short.missing).toBe(0)
  const stock = addFresh(short, [])
  expect(takeFromStock(stock.line, demand, stock, 'overflow')).toMatchObject({ span: [11, 20] })
  const less: NumberLine = { ...line, free: [[12, 20]] }
  expect(takeFromStock(less, demand, stock, 'overflow')).toMatchObject({ span: [91, 100] })
})

test('a claim that saw an absurdly high number gets nothing of what is in stock', () => {
  const line: NumberLine = { ...EMPTY_LINE, max: 20, highWater: 20, free: [[11, 20]] }
  const demand = { id: 'a', count: 10, lastMax: 20 + MAX_JUMP + 1 }
  const stock = addFresh(shortfall(line, [demand], MAX_JUMP), [])
  expect(stock.line).toEqual(line)
  expect(takeFromStock(stock.line, demand, stock, 'overflow')).toEqual({ refused: 'jump' })
})

test.each<[string, Span]>([
  ['its first', [1, 11]],
  ['its last', [20, 25]],
])('a span of the stock of which %s number is in use goes as a whole', (_, used) => {
  const line: NumberLine = { ...LINE, free: [[11, 20]], fresh: [[26, 30]] }
  expect(withoutSpans(line, [used])).toEqual({ ...line, free: [] })
})

test('blocks of an ORM are stored from 1, and up to 2^53−1', () => {
  const last = BigInt(Number.MAX_SAFE_INTEGER)
  const blocks: [low: bigint, high: bigint][] = [
    [-9n, 0n],
    [0n, 1n],
    [3n, 5n],
    [last - 1n, last],
    [last, last + 1n],
  ]
  expect(toSpans(blocks.map(([low, high]) => ({ low, high })))).toEqual([
    [1, 1],
    [3, 5],
    [Number(last) - 1, Number(last)],
  ])
  expect(toSpans([{ low: -9n, high: 0n }])).toEqual([])
  const halves = [
    { low: 6n, high: 9n },
    { low: 1n, high: 5n },
  ]
  expect(toSpans(halves)).toEqual([[1, 9]])
})

describe('claims without an id', () => {
  const plain = { count: 32, lastMax: 0 }
  const BLOCK = 1_000

  /** Grants to each demand in turn; asks for a block whenever something is missing. */
  function grantAll(line: NumberLine, demands: readonly Demand[]) {
    let blocks = 0
    const spans: Span[] = []
    for (const demand of demands) {
      const short = shortfall(line, [demand], MAX_JUMP * BLOCK)
      const fresh: Span[] = []
      for (let missing = short.missing; missing > 0; missing -= BLOCK) {
        const low = BLOCK * (2 * blocks++ + 1)
        fresh.push([low, low + BLOCK - 1])
      }
      const stock = addFresh(short, fresh)
      const taken = takeFromStock(stock.line, demand, stock, 'overflow')
      if ('refused' in taken) throw new Error(taken.refused)
      line = taken.line
      spans.push(taken.span)
    }
    return { line, blocks, spans }
  }

  test('use up a block before the next one is taken', () => {
    const { blocks, spans } = grantAll(EMPTY_LINE, Array(31).fill(plain))
    expect(blocks).toBe(1)
    expect(spans.map(([low, high]) => high - low + 1)).toEqual(Array(31).fill(32))
    expect(spans.at(-1)).toEqual([1_960, 1_991])
    // Of 1000, 8 are too few for the next claim; a claim with an id gets them.
    expect(grantAll(EMPTY_LINE, Array(32).fill(plain)).blocks).toBe(2)
  })

  test('are not counted on one fresh number twice', () => {
    const line: NumberLine = { ...EMPTY_LINE, max: 32, highWater: 32, fresh: [[1, 32]] }
    expect(shortfall(line, [plain, { ...plain }], MAX_JUMP).missing).toBe(32)
  })

  test('never get what was granted before', () => {
    const { line } = grantAll(EMPTY_LINE, [plain])
    const back = restock(line, [1_000, 1_031])
    const { spans } = grantAll(back, Array(30).fill(plain))
    expect(Math.min(...spans.map(([low]) => low))).toBe(1_032)
    expect(grantAll(back, [{ ...plain, id: 'a' }]).spans).toEqual([[1_000, 1_031]])
  })

  test('get nothing at or below what their client saw, and leave it to others', () => {
    const line = { ...EMPTY_LINE, max: 100, highWater: 100, fresh: [[11, 100]] as Span[] }
    const { spans, blocks, line: rest } = grantAll(line, [{ count: 10, lastMax: 50 }])
    expect([spans, blocks, rest.fresh]).toEqual([
      [[51, 60]],
      0,
      [
        [11, 50],
        [61, 100],
      ],
    ])
    const fromSeen = { ...line, fresh: [[50, 100]] as Span[] }
    expect(grantAll(fromSeen, [{ count: 50, lastMax: 50 }]).line.fresh).toContainEqual([50, 50])
    // Nothing is left above for this one, so a new block comes.
    expect(grantAll(line, [{ count: 10, lastMax: 95 }])).toMatchObject({ blocks: 1 })
    expect(grantAll(rest, [{ count: 40, lastMax: 0 }]).spans).toEqual([[11, 50]])
  })

  test('get nothing that anybody had, whoever claims and gives back in between', () => {
    const step = fc.record({
      hasId: fc.boolean(),
      count: fc.integer({ min: 1, max: 2_500 }),
      comesBack: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const had = new Set<number>()
        const held = new Set<number>()
        let line = EMPTY_LINE
        let block = 0
        for (const [i, { hasId, count, comesBack }] of steps.entries()) {
          const demand = { count, lastMax: 0, ...(hasId && { id: String(i) }) }
          const short = shortfall(line, [demand], Number.MAX_SAFE_INTEGER / 2)
          const fresh: Span[] = []
          for (let missing = short.missing; missing > 0; missing -= 100) {
            fresh.push([block * 150 + 1, block * 150 + 100])
            block++
          }
          const stock = addFresh(short, fresh)
          const taken = takeFromStock(stock.line, demand, stock, 'overflow')
          if ('refused' in taken) throw new Error(taken.refused)
          const [low, high, ...node] = taken.span
          expect(node).toEqual([])
          for (let number = low; number <= high; number++) {
            expect(held.has(number)).toBe(false)
            if (!hasId) expect(had.has(number)).toBe(false)
            had.add(number)
            held.add(number)
          }
          line = taken.line
          if (!comesBack) continue
          line = restock(line, [low, high])
          for (let number = low; number <= high; number++) held.delete(number)
        }
      }),
    )
  })
})
