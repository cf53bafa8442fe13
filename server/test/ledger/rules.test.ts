/**
 * The ledger without a database: its rules, over rows in maps, keep every promise that they keep on
 * SQLite and PostgreSQL. So the simulation may use these maps, too.
 */
import { expect, test, vi } from 'vitest'
import { createLedger } from '../../src/ledger/create-ledger.js'
import { prune } from '../../src/ledger/prune.js'
import { AT, LIMITS, newId } from '../ledger-bench.js'
import { describeLedger } from '../ledger-contract.js'
import { MemoryStore } from './memory-store.js'
import { collectionOf, grantOf, rowsOf } from './steps.js'

describeLedger('ledger in memory', async () => {
  const store = new MemoryStore()
  return {
    open: async (limits) => createLedger(store, { ...LIMITS, ...limits }, new Map()),
    secret: async () => store.secrets.kept,
    edit: async (table, key, change) => store.edit(table.name, key, change),
  }
})

const RECEIPTS = { database: 'shop', collection: 'receipts' }

function receipts() {
  const store = new MemoryStore()
  const ledger = createLedger(store, LIMITS, new Map())
  return {
    store,
    ledger,
    claim: (device = 'Till') => ledger.claimSeries({ ...RECEIPTS, id: newId(), device, at: AT }),
    give: (letter: string) =>
      ledger.giveRange({ ...RECEIPTS, letter, range: { from: 2001, to: 3000 } }),
  }
}

test.each([
  ['before the series are read', 0],
  ['after the series were read', 1],
])('a series that begins %s has no number of the range that another gets', async (_, calls) => {
  const { store, claim, give } = receipts()
  await claim()
  const change = store.change
  const spy = vi.spyOn(store, 'change')
  for (let i = 0; i < calls; i++) spy.mockImplementationOnce(change)
  // Before this transaction of the first gift, another server does all of this.
  spy.mockImplementationOnce(async (transaction) => {
    await claim()
    expect(await give('B')).toMatchObject({ letter: 'B' })
    return store.change(transaction)
  })
  expect(await give('A')).toMatchObject({ refused: 'overlap', letter: 'B' })
})

test('what a person does with a series reads few rows, however many series there are', async () => {
  const { store, ledger, claim, give } = receipts()
  for (let i = 1; i <= 50; i++) await claim(`Till ${i}`)
  const read: number[] = []
  const { change, readSeries } = store
  vi.spyOn(store, 'change').mockImplementation((transaction) =>
    change({
      ...transaction,
      step(rows, answers) {
        read.push(rows.series.size)
        return transaction.step(rows, answers)
      },
    }),
  )
  vi.spyOn(store, 'readSeries').mockImplementation(async (...asked) => {
    const rows = await readSeries(...asked)
    read.push(rows.length)
    return rows
  })
  const stated = { by: 'Ann', reason: 'lost', at: AT }
  const handOver = (to: string) =>
    ledger.handOverSeries({ ...RECEIPTS, ...stated, letter: 'A', to, last: 1, period: '' })
  expect(await give('B')).toMatchObject({ letter: 'B' })
  expect(await handOver('Till 50')).toEqual({ refused: 'holder', letter: 'AX' })
  expect(await handOver('Till 51')).toMatchObject({ letter: 'A' })
  expect(await ledger.closeSeries({ ...RECEIPTS, ...stated, letter: 'C' })).toBeDefined()
  expect(read).toEqual([1, 20, 20, 10, 1, 2, 1, 1])
})

test('a series has a hundred ranges, and no more', async () => {
  const { ledger, claim } = receipts()
  await claim()
  const give = (n: number) =>
    ledger.giveRange({ ...RECEIPTS, letter: 'A', range: { from: n, to: n } })
  for (let n = 1; n <= 100; n++) expect(await give(n)).toMatchObject({ letter: 'A' })
  expect(await give(101)).toEqual({ refused: 'crowded' })
})

test('a grant of which the server has heard since it was found to be old is not forgotten', () => {
  const old = { settledBefore: 5, heardBefore: 5 }
  const heardAt = (time: number) =>
    rowsOf({ grants: [grantOf({ heardAt: time })], collections: [collectionOf()] })
  expect(prune(heardAt(4), old).answer).toBe(1)
  expect(prune(heardAt(5), old).answer).toBe(0)
})
