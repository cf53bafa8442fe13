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

test('a series that begins while another gets a range has none of its numbers', async () => {
  const store = new MemoryStore()
  const ledger = createLedger(store, LIMITS, new Map())
  const receipts = { database: 'shop', collection: 'receipts' }
  const claim = () => ledger.claimSeries({ ...receipts, id: newId(), device: 'Till', at: AT })
  const give = (letter: string) =>
    ledger.giveRange({ ...receipts, letter, range: { from: 2001, to: 3000 } })
  await claim()
  // Before the transaction of the first gift, another server does all of this.
  vi.spyOn(store, 'change').mockImplementationOnce(async (transaction) => {
    await claim()
    expect(await give('B')).toMatchObject({ letter: 'B' })
    return store.change(transaction)
  })
  expect(await give('A')).toMatchObject({ refused: 'overlap', letter: 'B' })
})

test('a grant of which the server has heard since it was found to be old is not forgotten', () => {
  const old = { settledBefore: 5, heardBefore: 5 }
  const heardAt = (time: number) =>
    rowsOf({ grants: [grantOf({ heardAt: time })], collections: [collectionOf()] })
  expect(prune(heardAt(4), old).answer).toBe(1)
  expect(prune(heardAt(5), old).answer).toBe(0)
})
