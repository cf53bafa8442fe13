/**
 * The number line of a bound collection. What ledgers make of it is in
 * strategies/bound-ledger.test.ts and upstream.test.ts.
 */
import { expect, test } from 'vitest'
import { NEW_COUNTER } from '../src/ledger/number-line.js'
import { fill, order, redeem, restock } from '../src/ledger/stock.js'

const COUNTER = { ...NEW_COUNTER, max: 20, peak: 20, floor: 20 }
const MAX_JUMP = 1_000

test.each([
  ['with an id', 'a'],
  ['without', undefined],
])('what comes at or below the floor is granted to nobody, to a claim %s neither', (_, id) => {
  const wishes = [{ id, count: 10, lastMax: 0 }]
  const { counter, tickets } = fill(order(COUNTER, wishes, MAX_JUMP), wishes, [[11, 30]])
  expect(redeem(counter, wishes[0]!, tickets[0]!, 'overflow')).toMatchObject({
    low: 21,
    high: 30,
    counter: { max: 30, peak: 30 },
  })
})

test('nor is what comes back from below it', () => {
  expect(restock(COUNTER, [11, 20]).free).toEqual([])
  expect(restock(COUNTER, [11, 25]).free).toEqual([[21, 25]])
})
