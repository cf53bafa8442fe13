/** The steps that move identities. */
import { expect, test } from 'vitest'
import { nextIdentities, seedIdentity } from '../../src/ledger/identities.js'
import { contextOf, rowsOf } from './steps.js'

const INVOICES = { database: 'shop', name: 'invoices|' }
const at = 5
const identity = { ...INVOICES, value: 7, highWater: 9, droppedAt: null }

test('claims of one step get numbers that follow each other; one id gets one', () => {
  const claims = [
    { ...INVOICES, at },
    { ...INVOICES, id: 'a', at },
    { ...INVOICES, id: 'a', at },
    { ...INVOICES, at },
  ]
  const rows = rowsOf({ identities: [{ ...identity, highWater: 7 }] })
  const { answer, changes } = nextIdentities(rows, claims)
  expect(answer).toEqual([{ value: 8 }, { value: 9 }, { value: 9 }, { value: 10 }])
  expect(changes).toEqual({
    identities: [{ ...INVOICES, value: 10, highWater: 10, droppedAt: null }],
    identityClaims: [{ ...INVOICES, claim: 'a', value: 9, claimedAt: at }],
  })
})

test('a claim that was answered before gets the same number, and nothing is saved', () => {
  const answered = [{ ...INVOICES, claim: 'a', value: 3, claimedAt: 1 }]
  const rows = rowsOf({ identities: [identity], answered })
  expect(nextIdentities(rows, [{ ...INVOICES, id: 'a', at }])).toEqual({
    answer: [{ value: 3 }],
    changes: { identities: [], identityClaims: [] },
  })
})

test('no number is given to a new name above the limit, nor beyond 2^53−1', () => {
  const last = {
    ...INVOICES,
    value: Number.MAX_SAFE_INTEGER,
    highWater: Number.MAX_SAFE_INTEGER,
    droppedAt: null,
  }
  const claims = [
    { ...INVOICES, at },
    { ...INVOICES, name: 'new|', at },
  ]
  expect(nextIdentities(rowsOf({ identities: [last] }), claims).answer).toEqual([
    { refused: 'overflow', value: Number.MAX_SAFE_INTEGER },
    { refused: 'full', value: 0 },
  ])
})

test.each([
  ['up', 20, false, { value: 20 }, 20],
  ['not down', 3, false, { value: 7 }, 7],
  ['down by force, but not below what was handed out', 3, true, { value: 9 }, 9],
  ['not absurdly far', 1_008, false, { refused: 'jump', value: 7 }, undefined],
])('a seed moves an identity %s', (_, value, isForced, answer, saved) => {
  const step = seedIdentity(
    rowsOf({ identities: [identity] }),
    { ...INVOICES, value, isForced },
    contextOf(),
  )
  expect(step.answer).toEqual(answer)
  expect(step.changes.identities?.[0]?.value).toBe(saved)
})

test('a seed finds no room for a new identity', () => {
  const seed = { ...INVOICES, value: 5, isForced: false }
  expect(seedIdentity(rowsOf({}), seed, contextOf())).toEqual({
    answer: { refused: 'full', value: 0 },
    changes: {},
  })
})
