/**
 * Callers that wait beside each other: who is served, who is refused, and what stays for others.
 */
import { IDBDatabase } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Hilo } from '../../src/client/hilo.js'
import { PageLeases } from '../../src/client/page-leases.js'
import { HiloError } from '../../src/core/errors.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { Change, StoreKey } from '../../src/store/store.js'
import { createOwner } from '../../src/worker/owner.js'
import { browserWorld } from '../../src/worker/world.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { errorOf, newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

const forEver = { timeout: Number.POSITIVE_INFINITY }

describe('without the network', () => {
  test('a caller that waits for more than there is does not delay smaller ones', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 32)
    shop.isDown = true
    const many = hilo.nextIds('orders', 1_000, forEver)
    await quiet()
    const ids: string[] = []
    for (let i = 0; i < 32; i++) ids.push(await hilo.nextId('orders'))
    expect(new Set(ids).size).toBe(32)
    expect((await errorOf(hilo.nextId('orders'))).code).toBe('exhausted')
    shop.isDown = false
    hilo.goOnline()
    expect(await many).toHaveLength(1_000)
  })

  test('a page that waits to be warmed does not hold up its callers', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 32)
    shop.isDown = true
    const warm = hilo.warm('orders', 500, forEver)
    await quiet()
    for (let i = 0; i < 32; i++) await hilo.nextId('orders')
    shop.isDown = false
    hilo.goOnline()
    await warm
    expect(hilo.status('orders').leased).toBeGreaterThanOrEqual(500)
  })

  test("a call during another's refusal is answered; without timeout it waits", async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    const later = errorOf(hilo.nextId('orders')).then(() => hilo.nextId('orders', forEver))
    const again = errorOf(hilo.nextId('orders')).then(() => errorOf(hilo.nextId('orders')))
    expect((await again).code).toBe('no-hilo-server')
    shop.isDown = false
    hilo.goOnline()
    expect(await later).toBe('orders/1-A')
  })

  test('warm that fails says how many are left, and leaves them to the other tabs', async () => {
    const { hilo, page } = shop.open({ reserve: 200 })
    await hilo.reserve('orders', 200)
    shop.isDown = true
    const error = await errorOf(hilo.warm('orders', 500))
    expect(error).toMatchObject({ code: 'exhausted', cause: { code: 'server-unreachable' } })
    expect(error.message).toContain('500 asked for, 200 left')
    expect(error.message).not.toContain('no id is left')
    expect(hilo.status('orders')).toMatchObject({ available: 200 })
    expect(hilo.status('orders').leased).toBeLessThanOrEqual(16)
    page.freeze()
    const other = shop.open({ reserve: 200 })
    expect(await other.hilo.nextIds('orders', 184)).toHaveLength(184)
  })

  test('nextIds that fails leaves what it had leased to the other tabs, too', async () => {
    const { hilo, page } = shop.open({ reserve: 200 })
    await hilo.reserve('orders', 200)
    shop.isDown = true
    expect((await errorOf(hilo.nextIds('orders', 500))).message).toContain('200 left')
    page.freeze()
    const other = shop.open({ reserve: 200 })
    expect(await other.hilo.nextIds('orders', 184)).toHaveLength(184)
  })
})

test('ids that another tab parks during a refusal are for the caller', async () => {
  const { hilo } = shop.open({ reserve: 200 })
  await hilo.reserve('orders', 200)
  const other = shop.open({ reserve: 200 })
  await other.hilo.warm('orders', 60)
  shop.isDown = true
  const { parkDownTo } = PageLeases.prototype
  vi.spyOn(PageLeases.prototype, 'parkDownTo').mockImplementation(async function (
    this: PageLeases,
    ...args
  ) {
    // The other tab keeps what it was warmed with.
    if (args[0] === 16) await other.hilo.close()
    await quiet()
    return parkDownTo.apply(this, args)
  })
  expect(await hilo.nextIds('orders', 180)).toHaveLength(180)
})

test('tabs that wait while switched off are idle: nobody wakes the other for nothing', async () => {
  const tabs = [shop.open(), shop.open()]
  for (const { hilo } of tabs) {
    hilo.goOffline()
    hilo.nextIds('orders', 5, forEver).catch(() => {})
  }
  await quiet()
  const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
  await quiet()
  expect(begun).not.toHaveBeenCalled()
  tabs[0]!.hilo.goOnline()
  tabs[1]!.hilo.goOnline()
})

test('a caller is served from as many ranges as it takes', async () => {
  const { hilo } = shop.open({ reserve: 2_000 })
  // The server grants 15 at a time, with gaps between: 100 ranges.
  let high = 0
  shop.answer = (request) => {
    if (!request.url.includes('/hilo/next')) return undefined
    const low = high + 2
    high = low + 14
    const range = { Prefix: 'orders/', Low: low, High: high, LastSize: 15, ServerTag: 'A' }
    return Response.json({ collections: [range] }, { status: 201 })
  }
  await hilo.reserve('orders', 1_500)
  shop.isDown = true
  expect(new Set(await hilo.nextIds('orders', 1_000)).size).toBe(1_000)
  expect(hilo.status()).toMatchObject({ gaps: { crash: 0 } })
  expect(hilo.status('orders').available).toBe(500)
})

test('20,000 callers at once are served in turn, with one transaction and one timer', async () => {
  const { hilo } = shop.open({ reserve: 20_000 })
  await hilo.reserve('orders', 20_000)
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
  const calls = Array.from({ length: 20_000 }, () => hilo.nextNumber('orders'))
  expect(timers.mock.calls.length).toBeLessThan(5)
  const numbers = await Promise.all(calls)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(begun.mock.calls.length).toBeLessThan(10)
})

describe('a storage that hangs', () => {
  /** Each update fails late, as long as it hangs: before or after it was applied. */
  class Hanging extends MemoryStore {
    hangs: 'before' | 'after' | undefined
    /** It hangs from this update on. */
    hangsFrom = Number.POSITIVE_INFINITY
    updates = 0
    failures = 0

    override async update<T>(
      key: StoreKey,
      change: (stored: unknown, notes: never[]) => Change<T>,
    ): Promise<T> {
      const late = new HiloError('storage-failed', 'It did not finish.', { retryAfter: 1 })
      if (++this.updates === this.hangsFrom) this.hangs = 'after'
      if (this.hangs) this.failures++
      if (this.hangs === 'before') throw late
      const result = await super.update(key, change)
      if (this.hangs) throw late
      return result
    }
  }

  function open(): { hilo: Hilo; store: Hanging } {
    shop.open()
    const store = new Hanging()
    const ownerHere = async () => createOwner({ ...browserWorld(), openStore: async () => store })
    const config = { url: 'https://shop.example.com', name: newName() }
    const { onlineCalls } = shop
    return { store, hilo: new Hilo(config, { spawn: undefined, ownerHere, onlineCalls }) }
  }

  test.each(['before', 'after'] as const)(
    'is asked again while a caller waits; what it stored (%s) is neither lost nor given twice',
    async (hangs) => {
      const { hilo, store } = open()
      store.hangs = hangs
      const ids = Promise.all([hilo.nextId('orders'), hilo.nextId('orders', forEver)])
      await eventually(() => expect(store.failures).toBeGreaterThan(2))
      store.hangs = undefined
      expect(await ids).toEqual(['orders/1-A', 'orders/2-A'])
      expect(await hilo.nextIds('orders', 30)).toContain('orders/32-A')
      await hilo.close()
    },
  )

  test.each(['before', 'after'] as const)(
    'is asked again by reserve and release; what was stored (%s) all goes back',
    async (hangs) => {
      const { hilo, store } = open()
      store.hangs = hangs
      const reserved = hilo.reserve('orders', 500)
      await eventually(() => expect(store.failures).toBeGreaterThan(2))
      store.hangs = undefined
      await reserved
      expect(hilo.status('orders').available).toBe(500)
      await hilo.nextId('orders')
      store.hangs = hangs
      const released = hilo.release('orders')
      const before = store.failures
      await eventually(() => expect(store.failures).toBeGreaterThan(before + 4))
      store.hangs = undefined
      await released
      expect(hilo.status('orders').available).toBe(0)
      await hilo.close()
      // Everything but the number that was used is the server's again.
      const { hilo: other } = shop.open({ name: newName() })
      expect(await other.nextId('orders')).toBe('orders/2-A')
    },
  )

  // The fifth one counts the numbers as sent: if it hangs, they are a gap, as after a crash.
  test.each([1, 2, 3, 4])(
    'from step %i of a release on is asked again, and everything goes back',
    async (step) => {
      const { hilo, store } = open()
      await hilo.reserve('orders', 500)
      store.hangsFrom = store.updates + step
      const released = hilo.release('orders')
      await eventually(() => expect(store.failures).toBeGreaterThan(2))
      store.hangs = undefined
      await released
      expect(hilo.status('orders').available).toBe(0)
      await hilo.close()
      const { hilo: other } = shop.open({ name: newName() })
      expect(await other.nextId('orders')).toBe('orders/1-A')
    },
  )

  test('that hangs for long leaves no listener behind for each try', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const { hilo, store } = open()
    await hilo.reserve('orders', 500)
    store.hangs = 'before'
    const released = hilo.release('orders')
    await eventually(() => expect(store.failures).toBeGreaterThan(20))
    store.hangs = undefined
    await released
    expect(warned).not.toHaveBeenCalled()
    await hilo.close()
  })

  test('is asked until the timeout of the caller, or its signal', async () => {
    const { hilo, store } = open()
    store.hangs = 'before'
    const off = new AbortController()
    const aborted = errorOf(hilo.nextId('orders', { signal: off.signal }))
    expect((await errorOf(hilo.nextId('orders', { timeout: 20 }))).code).toBe('timeout')
    off.abort()
    expect((await aborted).code).toBe('aborted')
    expect(hilo.status('orders').lastError?.code).toBe('storage-failed')
    await quiet()
    const { failures } = store
    await quiet()
    expect(store.failures).toBe(failures)
    await hilo.close()
  })

  test('that fails at once is not asked again', async () => {
    const { hilo, store } = open()
    vi.spyOn(store, 'update').mockRejectedValue(new HiloError('storage-failed', 'No space.'))
    expect((await errorOf(hilo.nextId('orders', forEver))).code).toBe('storage-failed')
    await hilo.close()
  })
})
