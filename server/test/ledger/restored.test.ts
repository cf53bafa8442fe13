/** Floors that are raised after a restore, where numbers end. */
import { describe, expect, test } from 'vitest'
import { keyText } from '../../src/ledger/collections.js'
import { withFloors } from '../../src/ledger/core.js'
import { asksOfFloors, raiseFloors } from '../../src/ledger/marks.js'
import { newDatabase } from '../../src/ledger/rows.js'
import { collectionOf, contextOf, ORDERS, rowsOf } from './steps.js'

const MAX = Number.MAX_SAFE_INTEGER
const FLOORS = { database: 'shop', by: 1_000 }
const counter = { ...ORDERS, authority: 'counter', description: 'a counter' } as const

describe('raised floors', () => {
  const identity = { database: 'shop', name: 'invoices|', value: 7, highWater: 9, droppedAt: null }

  test('what has too few numbers left is used up; all else goes on', () => {
    const rows = rowsOf({
      collections: [
        collectionOf({ max: 64, highWater: 64, free: [[10, 20]] }),
        collectionOf({
          collection: 'lines',
          max: MAX - 1_000,
          highWater: MAX - 1_000,
          free: [[10, 20]],
        }),
      ],
      identities: [identity, { ...identity, name: 'bills|', value: 3, highWater: MAX - 999 }],
    })
    const { answer, changes } = raiseFloors(rows, FLOORS, new Map())
    expect(answer).toEqual({
      collections: 2,
      identities: 2,
      floor: 1_000,
      usedUp: ['lines', 'bills|'],
    })
    expect(changes.collections).toMatchObject([
      { max: 1_064, highWater: 1_064, floor: 1_064, free: [] },
      { max: MAX, highWater: MAX, floor: MAX, free: [] },
    ])
    expect(changes.identities).toMatchObject([
      { value: 1_009, highWater: 1_009 },
      { value: MAX, highWater: MAX },
    ])
  })

  test('new names begin above a floor of 1, too', () => {
    const databases = [{ ...newDatabase('shop'), floor: 1, serial: 1 }]
    const { collections } = withFloors(
      rowsOf({ databases, collections: [collectionOf()] }),
      new Map(),
    )
    expect([...collections.values()]).toMatchObject([{ max: 1, highWater: 1 }])
  })

  test('new names do not begin above 2^53−1', () => {
    const databases = [{ ...newDatabase('shop'), isRestored: true, floor: MAX - 999 }]
    expect(() => raiseFloors(rowsOf({ databases }), FLOORS, new Map())).toThrow('passes 2^53-1')
  })

  test('a bound counter is asked for what exists at most; at its end, what to do is said', () => {
    const row = collectionOf({ max: MAX - 9, highWater: MAX - 9, binding: 'a counter' })
    const rows = rowsOf({ collections: [row] })
    const [ask] = asksOfFloors(rows, FLOORS, contextOf(counter).bound)
    expect(ask).toMatchObject({ ...ORDERS, raiseTo: MAX, raiseBy: 1_000, above: MAX, stock: [] })
    expect(ask!.missing([])).toBe(0)
    const atEnd = new Map([[keyText(ORDERS), { fresh: [], used: [], isAtEnd: true }]])
    expect(() => raiseFloors(rows, FLOORS, atEnd)).toThrow(/Give a smaller --by.*raise maxId/)
  })
})
