/** The steps that move a collection's line as somebody else says. */
import { describe, expect, test } from 'vitest'
import { keyText } from '../../src/ledger/collections.js'
import { withdraw } from '../../src/ledger/give-back.js'
import { asksOfFloor, raiseFloor, writeMarks } from '../../src/ledger/marks.js'
import type { Span } from '../../src/ledger/number-line.js'
import { collectionOf, contextOf, ORDERS, rowsOf } from './steps.js'

const collection = collectionOf({ max: 64, highWater: 64, version: 3, free: [[10, 20]] })
const counter = { ...ORDERS, authority: 'counter', description: 'a counter' } as const

describe('a write', () => {
  const write = (max: number, version?: number) => ({ ...ORDERS, max, version })

  test('moves max as far as a jump may go', () => {
    const rows = rowsOf({ collections: [collection] })
    expect(writeMarks(rows, [write(1_064)], contextOf()).answer).toMatchObject([{ max: 1_064 }])
  })

  test('goes down to what a grant holds at most', () => {
    const rows = rowsOf({ collections: [collection], held: 50 })
    expect(writeMarks(rows, [write(5)], contextOf()).answer).toEqual([{ max: 50, version: 4 }])
  })

  test('to a line that went back leads above what a grant holds, or is refused', () => {
    const back = rowsOf({ collections: [collectionOf({ max: 40, highWater: 64 })], held: 50 })
    expect(writeMarks(back, [write(40)], contextOf()).answer).toMatchObject([{ max: 50 }])
    expect(() => writeMarks(back, [write(41)], contextOf())).toThrow('raise-floor')
  })

  test.each([
    ['conflict', write(70, 2), collection, contextOf()],
    ['jump', write(1_065), collection, contextOf()],
    ['bound', write(70), collection, contextOf(counter)],
  ])('that cannot be (%s) is refused, and so are the others', (refused, bad, row, context) => {
    const good = { ...ORDERS, collection: 'lines', max: 5 }
    const rows = rowsOf({ collections: [row, collectionOf({ collection: 'lines' })] })
    expect(writeMarks(rows, [good, bad], context)).toEqual({
      answer: { refused, write: bad, mark: { max: 64, version: 3 } },
      changes: {},
    })
  })

  test('is refused where the ledger remembers a binding', () => {
    const rows = rowsOf({ collections: [{ ...collection, binding: 'a counter' }] })
    expect(() => writeMarks(rows, [write(5)], contextOf())).toThrow('Give every server and')
  })
})

describe('a floor', () => {
  const floor = (to: number) => ({ ...ORDERS, floor: to })
  const rows = rowsOf({ collections: [collection] })

  test('takes what is free below it, and raises max', () => {
    const { answer, changes } = raiseFloor(rows, floor(100), new Map())
    expect(answer).toBe(100)
    expect(changes.collections).toMatchObject([{ max: 100, highWater: 100, floor: 100, free: [] }])
  })

  test('never goes down, nor does max', () => {
    const raised = rowsOf({ collections: [{ ...collection, floor: 50 }], held: 64 })
    expect(raiseFloor(raised, floor(15), new Map())).toMatchObject({
      answer: 64,
      changes: { collections: [{ max: 64, floor: 50, free: [[16, 20]] }] },
    })
  })

  test('raises the counter of a bound collection first, and fails where that ends', () => {
    expect(asksOfFloor(rows, floor(100), contextOf())).toEqual([])
    const bound = rowsOf({ collections: [{ ...collection, binding: 'a counter' }] })
    const [ask] = asksOfFloor(bound, floor(100), contextOf(counter))
    expect(ask).toMatchObject({ ...ORDERS, raiseTo: 100, above: 100, stock: [] })
    expect(ask!.missing([])).toBe(0)
    expect(() => asksOfFloor(rows, floor(100), contextOf(counter))).toThrow('counted by itself')
    const atEnd = new Map([[keyText(ORDERS), { fresh: [], used: [], isAtEnd: true }]])
    expect(() => raiseFloor(bound, floor(100), atEnd)).toThrow('No block of')
  })
})

test('a piece that is withdrawn is free no more', () => {
  const stocked = collectionOf({
    max: 64,
    free: [
      [10, 20, 'A'],
      [60, 64, 'A'],
      [60, 64, 'B'],
    ],
  })
  const rows = rowsOf({ collections: [stocked] })
  expect(withdraw(rows, { ...ORDERS, end: 64, node: 'B' })).toMatchObject({
    answer: 60,
    changes: {
      collections: [
        {
          max: 59,
          free: [
            [10, 20, 'A'],
            [60, 64, 'A'],
          ],
        },
      ],
    },
  })
  expect(withdraw(rows, { ...ORDERS, end: 20, node: 'B' })).toEqual({
    answer: undefined,
    changes: {},
  })
})

test('a piece that is withdrawn goes as a whole, also what of it was granted before', () => {
  const free: Span[] = [
    [10, 20, 'A'],
    [60, 60, 'A'],
    [60, 64, 'B'],
    [64, 64, 'A'],
  ]
  const stocked = collectionOf({ max: 64, free, fresh: [[61, 63, 'A']] })
  const { answer, changes } = withdraw(rowsOf({ collections: [stocked] }), {
    ...ORDERS,
    end: 64,
    node: 'A',
  })
  expect(answer).toBe(60)
  expect(changes.collections).toMatchObject([{ max: 59, free: [free[0], free[2]], fresh: [] }])
})
