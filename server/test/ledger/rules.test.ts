/**
 * The ledger without a database: its rules, over rows in maps, keep every promise that they keep on
 * SQLite and PostgreSQL. So the simulation may use these maps, too.
 */
import { expect, test, vi } from 'vitest'
import { createLedger } from '../../src/ledger/create-ledger.js'
import type { ClaimOutcome, Grant } from '../../src/ledger/ledger.js'
import { prune } from '../../src/ledger/prune.js'
import type { GrantRow } from '../../src/ledger/rows.js'
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

test.each<[string, Partial<GrantRow>, number, number]>([
  ['with numbers keeps max above them', { claim: null }, 32, 0],
  ['of which nothing is left keeps no max up', { claim: null, low: 33 }, 0, 0],
  ['that was claimed with an id may come back', {}, 32, 1],
  ['that was checked in may come back', { claim: null, tokenVersion: 1 }, 32, 1],
])('a forgotten grant %s', (_, change, forgotten, tombstones) => {
  const rows = rowsOf({ grants: [grantOf(change)], collections: [collectionOf({ max: 64 })] })
  const { changes } = prune(rows, { settledBefore: 1, heardBefore: 1 })
  expect(changes.collections).toMatchObject([{ forgotten }])
  expect(changes.tombstones).toHaveLength(tombstones)
})

test('what is free, and what may come back, is held here, by each of its numbers', async () => {
  const { ledger } = receipts()
  const key = { database: 'shop', collection: 'orders' }
  const claim = { ...key, count: 32, lastMax: 0, serverTag: 'A', at: AT }
  for (let i = 0; i < 3; i++) await ledger.claim([{ ...claim, id: newId() }])
  await ledger.raiseFloor({ ...key, floor: 200 })
  const low = await ledger.claim([{ ...claim, id: newId() }])
  await ledger.claim([{ ...claim, id: newId() }])
  const { token } = (low[0] as Extract<ClaimOutcome, { grant: Grant }>).grant
  await ledger.giveBack({ ...key, end: 232, last: 210, token, at: AT })
  for (const [from, to, isHeld] of [
    [97, 200, false],
    [210, 210, true],
    [211, 211, true],
    [232, 232, true],
    [264, 264, true],
    [265, 300, false],
  ] as const)
    expect(await ledger.holds(key, from, to), `${from}`).toBe(isHeld)
})

test('a series that two servers note at once is noted once', async () => {
  const { store, ledger } = receipts()
  const note = () => ledger.noteSeries({ ...RECEIPTS, letter: 'T3', at: AT })
  const { change } = store
  const meanwhile = vi.spyOn(store, 'change').mockImplementationOnce(async (transaction) => {
    meanwhile.mockRestore()
    await note()
    return change(transaction)
  })
  expect(await note()).toMatchObject({ letter: 'T3' })
  expect(await ledger.series('shop')).toHaveLength(1)
})
