/** The step by which a device checks in. */
import { expect, test } from 'vitest'
import { checkIn, readCheckIn, selectionOf } from '../../src/ledger/check-in.js'
import type { Rows } from '../../src/ledger/row-store.js'
import { collectionOf, grantId, grantOf, ORDERS, rowsOf, TOKENS } from './steps.js'

const tokenOf = (n: number, rotation = 0) => TOKENS.write({ id: grantId(n), rotation })
const request = (tokens: string[], { spent = [] as string[], next = 0, id = 'check-1' } = {}) =>
  readCheckIn(
    { database: 'Shop', id, grants: tokens.map((token) => ({ token, next })), spent },
    TOKENS,
  )

function done(rows: Rows, tokens: string[], options = {}) {
  const step = checkIn(rows, request(tokens, options), TOKENS)
  if ('select' in step) throw new Error('It asks for more rows.')
  return step
}

test('each token that can be read selects its grant once', () => {
  const tokens = [tokenOf(1), tokenOf(2), tokenOf(1, 1), 'forged']
  expect(selectionOf(request(tokens, { spent: [tokenOf(3), 'forged'] }))).toEqual({
    grants: [grantId(1), grantId(2), grantId(3)],
  })
})

test('a token is replaced, and what was issued is remembered', () => {
  const { answer, changes } = done(rowsOf({ grants: [grantOf()] }), [tokenOf(0)], { next: 21 })
  expect(answer).toEqual([{ token: tokenOf(0, 1), high: 32 }])
  expect(changes).toEqual({
    grants: [grantOf({ issued: 20, rotation: 1, checkIn: 'check-1' })],
    collections: [],
  })
})

test('the same check-in is answered the same way, once more in one request, too', () => {
  const rows = rowsOf({ grants: [grantOf({ rotation: 1, checkIn: 'check-1' })] })
  const { answer } = done(rows, [tokenOf(0), tokenOf(0)])
  expect(answer).toEqual([
    { token: tokenOf(0, 1), high: 32 },
    { token: tokenOf(0, 1), high: 32 },
  ])
})

test('a copy is found out: its collection is asked for, and its numbers are cut off', () => {
  const grants = [grantOf({ rotation: 1, checkIn: 'check-of-another-copy' })]
  const wanted = request([tokenOf(0)])
  expect(checkIn(rowsOf({ grants }), wanted, TOKENS)).toEqual({ select: { collections: [ORDERS] } })
  const collections = [
    collectionOf({
      max: 64,
      peak: 64,
      free: [
        [10, 20],
        [40, 50],
      ],
    }),
  ]
  expect(checkIn(rowsOf({ grants, collections }), wanted, TOKENS)).toMatchObject({
    answer: ['superseded'],
    changes: { grants: [], collections: [{ floor: 32, max: 64, free: [[40, 50]] }] },
  })
})

test('a copy whose collection is not there is found out, too: nothing is asked for twice', () => {
  const grants = [grantOf({ rotation: 1, checkIn: 'check-of-another-copy' })]
  const rows = { ...rowsOf({ grants }), selected: { collections: [ORDERS] } }
  expect(checkIn(rows, request([tokenOf(0)]), TOKENS)).toMatchObject({
    answer: ['superseded'],
    changes: { collections: [] },
  })
})

test.each([
  ['is not there', []],
  ['has gone less far', [grantOf()]],
])('a token whose grant %s proves an older copy of the database', (_, grants) => {
  const { answer, changes } = done(rowsOf({ grants }), [tokenOf(0, 1)])
  expect(answer).toEqual(['superseded'])
  expect(changes).toEqual({ grants: [], distrusted: 'shop' })
})

test('a grant of another database is none', () => {
  const rows = rowsOf({ grants: [grantOf({ database: 'other' })] })
  expect(done(rows, [tokenOf(0)])).toMatchObject({ answer: ['superseded'] })
})

test('a forged token is unknown, and proves nothing', () => {
  expect(done(rowsOf({}), ['forged'])).toEqual({
    answer: ['unknown'],
    changes: { grants: [], collections: [] },
  })
})

test('a grant that is spent keeps its token, and all of it counts as issued', () => {
  const rows = rowsOf({ grants: [grantOf(), grantOf({ id: grantId(1), rotation: 1 })] })
  const { answer, changes } = done(rows, [], { spent: [tokenOf(0), tokenOf(1), tokenOf(7)] })
  expect(answer).toEqual([])
  expect(changes.grants).toEqual([grantOf({ issued: 32 })])
})
