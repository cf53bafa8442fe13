/**
 * The number line of a bound collection. What ledgers make of it is in orm/bound-ledger.test.ts and
 * upstream.test.ts.
 */
import { expect, test } from 'vitest'
import { EMPTY_LINE } from '../../src/ledger/number-line.js'
import { addFresh, restock, shortfall, takeFromStock } from '../../src/ledger/stock.js'

const LINE = { ...EMPTY_LINE, max: 20, peak: 20, floor: 20 }
const MAX_JUMP = 1_000

test.each([
  ['with an id', 'a'],
  ['without', undefined],
])('what comes at or below the floor is granted to nobody, to a claim %s neither', (_, id) => {
  const demand = { id, count: 10, lastMax: 0 }
  const stock = addFresh(shortfall(LINE, [demand], MAX_JUMP), [[11, 30]])
  expect(takeFromStock(stock.line, demand, stock, 'overflow')).toMatchObject({
    span: [21, 30],
    line: { max: 30, peak: 30 },
  })
})

test('nor is what comes back from below it', () => {
  expect(restock(LINE, [11, 20]).free).toEqual([])
  expect(restock(LINE, [11, 25]).free).toEqual([[21, 25]])
})
