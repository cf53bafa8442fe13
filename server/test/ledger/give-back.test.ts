/** The step by which numbers come back. */
import { describe, expect, test } from 'vitest'
import { giveBack } from '../../src/ledger/give-back.js'
import { CounterUnusable } from '../../src/ledger/ledger-errors.js'
import type { GrantRow } from '../../src/ledger/rows.js'
import { collectionOf, contextOf, grantId, grantOf, ORDERS, rowsOf } from './steps.js'

const NOTHING = { answer: 0, changes: {} }
const TOKEN = { id: grantId(0), tokenVersion: 0 }
const request = (end: number, last: number) => ({ ...ORDERS, end, last, at: 7 })
const collection = collectionOf({ max: 64, highWater: 64, version: 2, grants: 2, outstanding: 64 })

describe('with a token', () => {
  const rows = (change: Partial<GrantRow> = {}) =>
    rowsOf({ collections: [collection], grants: [grantOf(change)] })

  test('nothing comes back to a server that does not know the collection as bound', () => {
    const bound = collectionOf({ ...collection, binding: 'the ranges of orders in a RavenDB' })
    const step = () =>
      giveBack(
        rowsOf({ collections: [bound], grants: [grantOf()] }),
        request(32, 20),
        TOKEN,
        contextOf(),
      )
    expect(step).toThrow(CounterUnusable)
  })

  test.each([
    ['not from its end', request(31, 20), {}, TOKEN],
    ['of nothing', request(32, 32), {}, TOKEN],
    ['of more than the grant', request(32, -1), {}, TOKEN],
    ['of what is known to be issued', request(32, 20), { issued: 21 }, TOKEN],
    ['by a replaced token', request(32, 20), { tokenVersion: 1 }, TOKEN],
    ['by a token of a later time', request(32, 20), {}, { ...TOKEN, tokenVersion: 1 }],
    ['of an unknown grant', request(32, 20), {}, { id: grantId(9), tokenVersion: 0 }],
    ['to another collection', request(32, 20), { collection: 'lines' }, TOKEN],
  ])('nothing comes back %s', (_, wanted, change, token) => {
    expect(giveBack(rows(change), wanted, token, contextOf())).toEqual(NOTHING)
  })
})

describe('without a token, as RavenDB’s clients return', () => {
  const plain = grantOf({ claim: null, low: 33, high: 64, firstHigh: 64, issued: 32 })
  const step = (returnedOf: GrantRow, isReturned = false, max = 64) =>
    giveBack(
      rowsOf({ collections: [{ ...collection, max }], returnedOf, isReturned }),
      request(64, 40),
      undefined,
      contextOf(),
    )

  test.each([
    ['was claimed with an id', { claim: 'a' }],
    ['was checked in', { tokenVersion: 1 }],
    ['was shortened before', { firstHigh: 70 }],
  ])('nothing comes back of a grant that %s', (_, change) => {
    expect(step({ ...plain, ...change })).toEqual(NOTHING)
  })
})

describe('to the stock of a bound collection', () => {
  const at = (authority: 'counter' | 'upstream') =>
    contextOf({ ...ORDERS, authority, description: 'bound' })
  const bound = collectionOf({ ...collection, binding: 'bound' })
  const rows = rowsOf({ collections: [bound], grants: [grantOf({ serverTag: 'B' })] })

  test('numbers come back, but its counter does not: max stays', () => {
    const { changes } = giveBack(rows, request(32, 20), TOKEN, at('counter'))
    expect(changes.collections).toMatchObject([{ max: 64, free: [[21, 32]] }])
  })

  test('numbers of an upstream keep their node', () => {
    const { changes } = giveBack(rows, request(32, 20), TOKEN, at('upstream'))
    expect(changes.collections).toMatchObject([{ max: 64, free: [[21, 32, 'B']] }])
  })

  test('without a token nothing comes back where several nodes count', () => {
    const plain = grantOf({ claim: null, low: 33, high: 64, firstHigh: 64, issued: 32 })
    const returned = rowsOf({ collections: [bound], returnedOf: plain })
    expect(giveBack(returned, request(64, 40), undefined, at('upstream')).answer).toBe(0)
    expect(giveBack(returned, request(64, 40), undefined, at('counter')).answer).toBe(24)
  })
})
