/**
 * What consecutive numbers cost a device, over a fake IndexedDB and with the real server. The
 * counts are exact: whoever changes one changes its line here, and says in the commit why.
 */
import { IDBDatabase } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
// What a page loads late is here from the start: no count depends on when it comes.
import '../../src/addons/consecutive/online.js'
import { idsOf, openTill } from '../addons/consecutive/devices.js'
import { newShop, quiet, type Shop } from '../support/shop.js'
import type { Counts } from './device-world.js'

const COUNTS = {
  'a start on an empty device': { strict: 1, relaxed: 1 },
  'the first number': { strict: 7, claims: 1, checkIns: 1 },
  'a number online': { strict: 3, checkIns: 1 },
  'ten numbers online': { strict: 30, checkIns: 10 },
  'a receipt is confirmed': { strict: 1 },
  'a number offline': { strict: 1 },
  'ten numbers offline': { strict: 10 },
  'the network comes back': { strict: 3, checkIns: 1 },
  'a reload': { strict: 3, relaxed: 1, checkIns: 1 },
  'a number after it': { strict: 3, checkIns: 1 },
} satisfies Record<string, Counts>

/** However busy this machine is, the server is heard. */
const PATIENT = { series: { wait: 60_000 } }
const TEN = Array.from({ length: 10 }, (_, i) => `sale ${i}`)

let shop: Shop
beforeEach(async () => {
  shop = await newShop()
  // Node 24 has Web Locks, older ones have none.
  vi.stubGlobal('navigator', {})
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

test('numbers of a series', async () => {
  const counts: Record<string, Counts> = {}
  let running: Counts = {}
  const count = (what: keyof Counts) => {
    running[what] = (running[what] ?? 0) + 1
  }
  const { transaction } = IDBDatabase.prototype
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (
    this: IDBDatabase,
    ...args
  ) {
    const [, mode, options] = args
    // The fake one upgrades a database by a transaction of its own.
    if (String(mode) !== 'versionchange')
      count(options?.durability === 'strict' ? 'strict' : 'relaxed')
    return transaction.apply(this, args)
  })

  async function counted(what: string, act: () => unknown): Promise<void> {
    shop.requests.length = 0
    running = {}
    await act()
    await quiet()
    for (const { action } of shop.requests)
      count(action === 'series' ? 'claims' : action === 'checkin' ? 'checkIns' : 'others')
    counts[what] = { ...running }
  }

  let { hilo, receipts } = openTill(shop, PATIENT)
  await counted('a start on an empty device', () => {})
  await counted('the first number', () => idsOf(receipts, 'first'))
  await counted('a number online', () => idsOf(receipts, 'second'))
  await counted('ten numbers online', () => idsOf(receipts, ...TEN))
  await counted('a receipt is confirmed', () => receipts.settle('second', 'confirmed'))
  hilo.goOffline()
  await quiet()
  await counted('a number offline', () => idsOf(receipts, 'offline'))
  await counted('ten numbers offline', () => idsOf(receipts, ...TEN.map((key) => `offline ${key}`)))
  await counted('the network comes back', () => hilo.goOnline())
  await hilo.close()
  ;({ hilo, receipts } = openTill(shop, PATIENT))
  await counted('a reload', () => {})
  await counted('a number after it', () => idsOf(receipts, 'last'))
  expect(counts).toEqual(COUNTS)
})
