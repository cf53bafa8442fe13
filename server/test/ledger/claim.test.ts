/** The step that grants claims. */
import { describe, expect, test } from 'vitest'
import { asksOfClaims, grantClaims } from '../../src/ledger/claim.js'
import { type BoundCollection, keyText } from '../../src/ledger/collections.js'
import type { CounterAnswers } from '../../src/ledger/counter-port.js'
import type { ClaimOutcome, ClaimRequest, UpstreamRange } from '../../src/ledger/ledger.js'
import type { Rows } from '../../src/ledger/row-store.js'
import { claimOf, collectionOf, contextOf, grantOf, ORDERS, rowsOf, TOKENS } from './steps.js'

const grant = (
  rows: Rows,
  claims: readonly ClaimRequest[],
  context = contextOf(),
  answers: CounterAnswers = new Map(),
  received?: readonly UpstreamRange[],
) => grantClaims(rows, claims, answers, received, context)

const spanOf = (outcome: ClaimOutcome) =>
  'grant' in outcome ? [outcome.grant.low, outcome.grant.high] : outcome.refused

describe('of a collection that the ledger counts', () => {
  test('one id twice in a step is granted once', () => {
    const rows = rowsOf({ collections: [collectionOf()] })
    const { answer, changes } = grant(rows, [claimOf({ id: 'a' }), claimOf({ id: 'a' })])
    expect(answer).toMatchObject([{ isRepeat: false }, { isRepeat: true, grant: { low: 1 } }])
    expect(changes.newGrants).toHaveLength(1)
  })

  test('a claim is a copy’s, too, if another one of the same step has shown its token', () => {
    const before = grantOf()
    const rows = rowsOf({
      collections: [collectionOf({ max: 32, highWater: 32 })],
      grants: [before],
    })
    const shown = [{ token: TOKENS.write(before), next: 5 }]
    const { answer } = grant(rows, [claimOf({ id: 'b', shown }), claimOf({ id: 'a' })])
    expect(answer.map(spanOf)).toEqual([[33, 64], 'spent'])
  })

  test('what a claim shows to be copied stays below max, whatever is written', () => {
    const copied = grantOf({ tokenVersion: 1, high: 20 })
    const rows = rowsOf({
      collections: [collectionOf({ max: 20, highWater: 32 })],
      grants: [copied],
    })
    const shown = [{ token: TOKENS.write({ ...copied, tokenVersion: 0 }), next: 1 }]
    const { changes } = grant(rows, [claimOf({ id: 'b', shown })])
    expect(changes.collections).toMatchObject([{ max: 64, forgotten: 32 }])
  })

  test('the number after max is granted, unless it was forgotten', () => {
    const granting = (forgotten: number) => () => {
      const rows = rowsOf({ collections: [collectionOf({ max: 10, highWater: 40, forgotten })] })
      return grant(rows, [claimOf({ count: 1 })]).answer.map(spanOf)
    }
    expect(granting(10)()).toEqual([[11, 11]])
    expect(granting(11)).toThrow("raise-floor shop 'orders' 11")
  })

  test('that is remembered as bound, nothing is granted', () => {
    const rows = rowsOf({ collections: [collectionOf({ binding: 'efcore on sequence s' })] })
    expect(() => grant(rows, [claimOf()])).toThrow('this server as counted by the ledger')
  })
})

describe('of a collection that an ORM’s counter counts', () => {
  const bound: BoundCollection = { ...ORDERS, authority: 'counter', description: 'a counter' }
  const context = () => contextOf(bound)
  const binding = 'a counter'
  const answered = (...fresh: [number, number][]): CounterAnswers =>
    new Map([[keyText(ORDERS), { fresh, used: [], isAtEnd: false }]])

  test('the counter is asked for what claims want and the stock has not', () => {
    const collections = [collectionOf({ binding, max: 50, highWater: 50, free: [[41, 50]] })]
    const rows = rowsOf({ collections, grants: [grantOf({ claim: 'known' })] })
    const claims = [
      claimOf({ id: 'a', count: 8 }),
      claimOf({ id: 'known', count: 500 }),
      claimOf({ id: 'b', count: 8 }),
      claimOf({ id: 'b', count: 8 }),
      claimOf({ count: 4 }),
    ]
    const asks = asksOfClaims(rows, claims, context())
    expect(asks).toMatchObject([{ ...ORDERS, raiseTo: undefined, above: 50, stock: [[41, 50]] }])
    expect(asks[0]!.missing([])).toBe(10)
    expect(asks[0]!.missing([[45, 45]])).toBe(20)
    expect(asksOfClaims(rows, claims.slice(1, 2), context())).toEqual([])
  })

  test('it is raised above what a client saw', () => {
    const rows = rowsOf({
      collections: [collectionOf({ binding, max: 50, highWater: 50, free: [[41, 50]] })],
    })
    const [ask] = asksOfClaims(rows, [claimOf({ id: 'a', lastMax: 70 })], context())
    expect(ask).toMatchObject({ ...ORDERS, raiseTo: 70, above: 70, stock: [] })
    expect(ask!.missing([])).toBe(32)
  })

  test('what the back end has ids of is granted to nobody, and is not in stock any more', () => {
    const stock = { free: [[11, 20]], fresh: [[31, 40]] } as const
    const rows = rowsOf({
      collections: [collectionOf({ binding, max: 50, highWater: 50, ...stock })],
    })
    const used: CounterAnswers = new Map([
      [keyText(ORDERS), { fresh: [[51, 60]], used: [[11, 20]], isAtEnd: false }],
    ])
    const claims = [claimOf({ id: 'a', count: 10 }), claimOf({ id: 'b', count: 10 })]
    const { changes } = grant(rows, claims, context(), used)
    expect(changes.newGrants).toMatchObject([
      { low: 31, high: 40 },
      { low: 51, high: 60 },
    ])
    expect(changes.collections).toMatchObject([{ free: [], fresh: [] }])
  })

  test('what it gives is granted; who claims without an id gets nothing that came back', () => {
    const rows = rowsOf({
      collections: [collectionOf({ binding, max: 50, highWater: 50, free: [[41, 50]] })],
    })
    const claims = [claimOf({ id: 'a', count: 12 }), claimOf({ count: 4 })]
    const { answer, changes } = grant(rows, claims, context(), answered([61, 70]))
    expect(answer.map(spanOf)).toEqual([
      [41, 50],
      [61, 64],
    ])
    expect(changes.collections).toMatchObject([{ max: 70, highWater: 70, fresh: [[65, 70]] }])
  })

  test('nothing is granted beyond the end of the id column', () => {
    const rows = rowsOf({ collections: [collectionOf({ binding, max: 50, highWater: 50 })] })
    const claims = [claimOf({ id: 'a' }), claimOf()]
    expect(grant(rows, claims, context(), answered()).answer.map(spanOf)).toEqual([
      'overflow',
      'overflow',
    ])
  })
})

describe('of a collection that an upstream counts', () => {
  const bound: BoundCollection = { ...ORDERS, authority: 'upstream', description: 'a RavenDB' }
  const binding = 'a RavenDB'
  const range = (low: number, high: number): UpstreamRange => ({
    database: 'Shop',
    collection: 'Orders',
    low,
    high,
    node: 'B',
  })

  test('a claim waits until the upstream is asked; the highest number seen is kept', () => {
    const rows = rowsOf({ collections: [collectionOf({ binding })] })
    const { answer, changes } = grant(rows, [claimOf({ id: 'a', lastMax: 40 })], contextOf(bound))
    expect(answer).toEqual([{ refused: 'short', max: 40 }])
    expect(changes.collections).toMatchObject([{ max: 40, highWater: 40 }])
  })

  test('a claim that comes twice in one commit gets one answer, also where it is refused', () => {
    const rows = rowsOf({ collections: [collectionOf({ binding })] })
    const claims = [claimOf({ id: 'a' }), claimOf({ id: 'a' })]
    const refused = grant(rows, claims, contextOf(bound))
    expect(refused.answer.map(spanOf)).toEqual(['short', 'short'])
    const granted = grant(rows, claims, contextOf(bound), new Map(), [range(1, 32)])
    expect(granted.answer.map(spanOf)).toEqual([
      [1, 32],
      [1, 32],
    ])
  })

  test('what it granted keeps its node, and is kept also when no claim needs it', () => {
    const collections = [collectionOf({ binding, max: 32, highWater: 32 })]
    const rows = rowsOf({ collections, grants: [grantOf()] })
    const claims = [claimOf({ id: 'a' })]
    const { changes } = grant(rows, claims, contextOf(bound), new Map(), [range(33, 64)])
    expect(changes.collections).toMatchObject([{ max: 64, fresh: [[33, 64, 'B']] }])
    const fresh = grant(rows, [claimOf()], contextOf(bound), new Map(), [range(33, 64)])
    expect(fresh.answer).toMatchObject([{ grant: { low: 33, high: 64, serverTag: 'B' } }])
  })
})

test('a block of a hook that does not begin above all others is a gap', () => {
  const bound: BoundCollection = { ...ORDERS, authority: 'hook', description: 'a hook' }
  const collections = [collectionOf({ binding: 'a hook', max: 32, highWater: 32 })]
  const granted = (low: number) =>
    grant(rowsOf({ collections }), [claimOf({ id: 'a' })], contextOf(bound), new Map(), [
      { ...ORDERS, low, high: low + 31 },
    ]).answer.map(spanOf)
  expect([granted(33), granted(32)]).toEqual([[[33, 64]], ['short']])
})
