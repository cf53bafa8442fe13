/** The step by which a device checks in. */
import { expect, test } from 'vitest'
import { checkIn, readCheckIn, selectionOf } from '../../src/ledger/check-in.js'
import type { Rows } from '../../src/ledger/row-store.js'
import type { SerialRow } from '../../src/ledger/rows.js'
import { collectionOf, contextOf, grantId, grantOf, ORDERS, rowsOf, TOKENS } from './steps.js'

const tokenOf = (n: number, tokenVersion = 0) =>
  TOKENS.write(grantOf({ id: grantId(n), tokenVersion }))
const request = (tokens: string[], { spent = [] as string[], next = 0, id = 'check-1' } = {}) =>
  readCheckIn(
    { database: 'Shop', id, at: 7, grants: tokens.map((token) => ({ token, next })), spent },
    TOKENS,
  )

function done(rows: Rows, tokens: string[], options = {}) {
  const step = checkIn(rows, request(tokens, options), contextOf())
  if ('select' in step) throw new Error('It asks for more rows.')
  return step
}

test('each token that can be read selects its grant once', () => {
  const tokens = [tokenOf(1), tokenOf(2), tokenOf(1, 1), 'forged']
  expect(selectionOf(request(tokens, { spent: [tokenOf(3), 'forged'] }))).toEqual({
    grants: [grantId(1), grantId(2), grantId(3)],
    serials: [{ ...ORDERS, serial: 1 }],
  })
})

test('a token is replaced, and what was issued is remembered', () => {
  const { answer, changes } = done(rowsOf({ grants: [grantOf()] }), [tokenOf(0)], { next: 21 })
  expect(answer).toEqual([{ token: tokenOf(0, 1), high: 32 }])
  expect(changes).toEqual({
    grants: [grantOf({ issued: 20, tokenVersion: 1, checkIn: 'check-1', heardAt: 7 })],
    tombstones: [],
    collections: [],
    databases: [],
  })
})

test('the same check-in is answered the same way, once more in one request, too', () => {
  const rows = rowsOf({ grants: [grantOf({ tokenVersion: 1, checkIn: 'check-1' })] })
  const { answer } = done(rows, [tokenOf(0), tokenOf(0)])
  expect(answer).toEqual([
    { token: tokenOf(0, 1), high: 32 },
    { token: tokenOf(0, 1), high: 32 },
  ])
})

test('a copy is found out: its collection is asked for, and what the grant held is cut out', () => {
  const grants = [grantOf({ low: 5, high: 24, tokenVersion: 1, checkIn: 'check-of-another-copy' })]
  const wanted = request([tokenOf(0)])
  expect(checkIn(rowsOf({ grants }), wanted, contextOf())).toEqual({
    select: { collections: [ORDERS] },
  })
  const collections = [
    collectionOf({
      max: 64,
      highWater: 64,
      free: [
        [1, 4],
        [20, 25],
        [40, 50],
      ],
    }),
  ]
  expect(checkIn(rowsOf({ grants, collections }), wanted, contextOf())).toMatchObject({
    answer: ['superseded'],
    changes: {
      grants: [{ issued: 24, tokenVersion: 1 }],
      collections: [
        {
          floor: 0,
          max: 64,
          free: [
            [1, 4],
            [40, 50],
          ],
        },
      ],
    },
  })
})

test('a copy is found also where its collection is missing, without a second look', () => {
  const grants = [grantOf({ low: 5, high: 24, tokenVersion: 1, checkIn: 'check-of-another-copy' })]
  const rows = { ...rowsOf({ grants }), selected: { collections: [ORDERS] } }
  expect(checkIn(rows, request([tokenOf(0)]), contextOf())).toMatchObject({
    answer: ['superseded'],
    changes: { collections: [] },
  })
})

const place = (newest: number, grant: string | null = null): SerialRow => ({
  ...ORDERS,
  serial: 1,
  newest,
  grant,
  floor: 0,
  dropped: 0,
})

test.each<[string, Parameters<typeof rowsOf>[0]]>([
  ['would be newer than the newest', { serials: [place(0)] }],
  ['has another in its place', { serials: [place(9, grantId(7))] }],
  ['is of a collection that is not there', {}],
  [
    'has gone less far',
    { collections: [collectionOf()], grants: [grantOf()], serials: [place(1, grantId(0))] },
  ],
])('a token whose grant %s proves an older copy of the database', (_, given) => {
  const { answer, changes } = done(rowsOf(given), [tokenOf(0, 1)])
  expect(answer).toEqual(['superseded'])
  expect(changes.databases).toEqual([{ database: 'shop', isRestored: true, isDropped: false }])
})

test('a spent token proves an older copy, too: its device has used all of the grant', () => {
  const { answer, changes } = done(rowsOf({ serials: [place(0)] }), [], { spent: [tokenOf(0)] })
  expect(answer).toEqual([])
  expect(changes.databases).toEqual([{ database: 'shop', isRestored: true, isDropped: false }])
})

test('a spent token whose report comes again proves nothing', () => {
  const grants = [grantOf({ tokenVersion: 1, checkIn: 'check-1', issued: 32 })]
  for (const id of ['check-1', 'check-2'])
    expect(done(rowsOf({ grants }), [], { id, spent: [tokenOf(0)] }).changes.databases).toEqual([])
})

test('a token whose grant was pruned proves nothing', () => {
  const { answer, changes } = done(rowsOf({ serials: [place(9)] }), [tokenOf(0, 1)])
  expect(answer).toEqual(['superseded'])
  expect(changes).toEqual({ grants: [], tombstones: [], collections: [], databases: [] })
})

test('a token of another database is unknown, and proves nothing', () => {
  const token = TOKENS.write(grantOf({ database: 'evil', serial: 1_000_000 }))
  expect(done(rowsOf({}), [token])).toEqual({
    answer: ['unknown'],
    changes: { grants: [], tombstones: [], collections: [], databases: [] },
  })
})

test('a forged token is unknown, and proves nothing', () => {
  expect(done(rowsOf({}), ['forged'])).toEqual({
    answer: ['unknown'],
    changes: { grants: [], tombstones: [], collections: [], databases: [] },
  })
})

test('the token of a spent grant is void, and all of it counts as issued', () => {
  const rows = rowsOf({ grants: [grantOf(), grantOf({ id: grantId(1), tokenVersion: 1 })] })
  const { answer, changes } = done(rows, [], { spent: [tokenOf(0), tokenOf(1), tokenOf(7)] })
  expect(answer).toEqual([])
  expect(changes.grants).toEqual([
    grantOf({ issued: 32, tokenVersion: 1, checkIn: 'check-1', heardAt: 7 }),
  ])
})
