/** What an app is told of its ids, by snapshot and by event. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hilo, HiloEvents } from '../../src/client/hilo.js'
import { VIEWS_OF_OWNER } from '../../src/client/owner-link.js'
import { statusOf, statusOfAll } from '../../src/client/status.js'
import { newPage } from '../../src/device/page/page.js'
import type { DeviceState } from '../../src/device/state.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import type { StoreKey } from '../../src/store/store.js'
import { FakeBuckets } from '../support/buckets.js'
import { eventually } from '../support/eventually.js'
import { newName, openRaw } from '../support/idb.js'
import { newShop, quiet, refusal, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

/** The next event of this kind. */
const next = <K extends keyof HiloEvents>(hilo: Hilo, type: K): Promise<HiloEvents[K]> =>
  new Promise((resolve) =>
    hilo.addEventListener(type, ({ detail }) => resolve(detail), { once: true }),
  )

describe('status', () => {
  test('is known before anything was asked for', () => {
    const { hilo } = shop.open({ collections: { orders: { reserve: 100 } } })
    expect(hilo.status()).toMatchObject({
      online: true,
      storage: 'opening',
      gaps: { crash: 0, giveBack: 0, fork: 0, drop: 0 },
    })
    expect(hilo.status('orders')).toMatchObject({
      available: 0,
      leased: 0,
      reserve: 100,
      state: 'claiming',
      gaps: 0,
    })
  })

  test('of a collection that nobody has asked for is not that more is under way', () => {
    const { hilo } = shop.open()
    expect(hilo.status('lines')).toMatchObject({ available: 0, state: 'low' })
    hilo.nextId('lines').catch(() => {})
    expect(hilo.status('lines').state).toBe('claiming')
  })

  test('of a device whose storage cannot be used is not that more is under way', async () => {
    const name = newName()
    ;(await openRaw(name, 1000)).close()
    const { hilo } = shop.open({ name })
    await expect(hilo.nextId('orders')).rejects.toMatchObject({ code: 'outdated' })
    expect(hilo.status('orders')).toMatchObject({
      state: 'exhausted',
      lastError: { code: 'outdated' },
    })
  })

  test('counts what is left for offline work, in the page and on the device', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 100)
    await hilo.nextId('orders')
    const before = hilo.status('orders')
    expect(before.state).toBe('ready')
    hilo.nextIdSync('orders')
    expect(hilo.status('orders')).toMatchObject({
      available: before.available - 1,
      leased: before.leased - 1,
    })
    expect(hilo.status().collections.orders).toEqual(hilo.status('orders'))
  })

  test.each<[free: number, offline: string, claiming: string]>([
    [0, 'exhausted', 'claiming'],
    [1, 'low', 'claiming'],
    [15, 'low', 'claiming'],
    [16, 'ready', 'ready'],
  ])(
    'of a device with %i of 32 numbers, offline: %s, and while it claims: %s',
    (free, ...states) => {
      const { queue } = newPage('page')
      const target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
      const stateWhile = (isClaiming: boolean) => {
        const gaps = { crash: 0, giveBack: 0, fork: 0, drop: 0 }
        const shown = { isReachable: false, order: 0, storage: 'persistent' } as const
        const view = { free, reserve: 32, surplus: 0, gaps, isClaiming, ...shown }
        return statusOf(
          { target, queue, offered: 0, view, failure: undefined, isAsked: true },
          false,
        ).state
      }
      expect([stateWhile(false), stateWhile(true)]).toEqual(states)
    },
  )

  test('does not say what a worker said that is lost since', () => {
    const { queue } = newPage('page')
    const seen = (collection: string, order: number, isWell: boolean) => {
      const target = { database: 'Shop', collection, separator: '/', reserve: 32 }
      const gaps = { crash: 1, giveBack: 0, fork: 0, drop: 0 }
      const storage = isWell ? ('persistent' as const) : ('memory' as const)
      const view = { free: 9, reserve: 32, surplus: 0, gaps, isClaiming: false, order, storage }
      const told = { ...view, isReachable: isWell }
      return { target, queue, offered: 0, view: told, failure: undefined, isAsked: true }
    }
    const { online, storage, degraded, gaps } = statusOfAll(
      [seen('orders', 7, false), seen('lines', VIEWS_OF_OWNER, true)],
      'Shop',
      true,
    )
    expect({ online, storage, degraded, lost: gaps.crash }).toEqual({
      online: true,
      storage: 'persistent',
      degraded: [],
      lost: 2,
    })
  })

  test.each([
    ['in memory', undefined],
    ['on a device', globalThis.indexedDB],
  ])('never falls by more than what was issued, %s', async (_, storage) => {
    vi.stubGlobal('indexedDB', storage)
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    let issued = 1
    let before = { issued, available: hilo.status('orders').available }
    const falls: object[] = []
    hilo.addEventListener('status', () => {
      const now = { issued, available: hilo.status('orders').available }
      // What a call is served with counts as issued before it has its ids.
      if (now.available + now.issued + 10 < before.available + before.issued)
        falls.push({ before, now })
      before = now
    })
    for (; issued < 200; issued += 10) await hilo.nextIds('orders', 10)
    await quiet()
    expect(falls).toEqual([])
  })

  test('keeps one collection of two databases apart', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    await hilo.nextIds('orders', 3, { database: 'Other' })
    expect(Object.keys(hilo.status().collections)).toHaveLength(2)
    expect(hilo.status().collections.orders).toEqual(hilo.status('orders'))
    expect(await hilo.nextId('["Other","orders"]')).toBe('["Other","orders"]/1-A')
  })

  test('shows why the last claim failed, as long as it matters', async () => {
    const { hilo } = shop.open({ reserve: 1 })
    await hilo.nextId('customers')
    shop.isDown = true
    await hilo.nextId('orders').catch(() => {})
    expect(hilo.status('orders')).toMatchObject({
      state: 'exhausted',
      available: 0,
      lastError: { code: 'server-unreachable' },
    })
    expect(hilo.status().online).toBe(false)
    shop.isDown = false
    await hilo.nextId('orders')
    expect(hilo.status('orders').lastError).toBeUndefined()
    expect(hilo.status().online).toBe(true)
  })

  test('is a snapshot: it does not change when things do', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    const before = hilo.status('orders')
    const copy = structuredClone({ ...before })
    await hilo.nextIds('orders', 5)
    expect(before).toEqual(copy)
  })
})

describe('events', () => {
  test('tell of ids that were made, once for a whole burst', async () => {
    const { hilo } = shop.open()
    await hilo.warm('orders', 500)
    await next(hilo, 'status')
    const heard = vi.fn()
    hilo.addEventListener('status', heard)
    const told = next(hilo, 'status')
    for (let i = 0; i < 100; i++) hilo.nextIdSync('orders')
    expect(heard).not.toHaveBeenCalled()
    expect((await told).collections.orders!.leased).toBeLessThanOrEqual(400)
  })

  test('make a status only for a listener who reads it', async () => {
    const { hilo } = shop.open()
    const made = vi.spyOn(hilo, 'status')
    const told = new Promise((resolve) => hilo.addEventListener('status', resolve, { once: true }))
    await hilo.nextId('orders')
    const event = (await told) as CustomEvent<HiloEvents['status']>
    expect(made).not.toHaveBeenCalled()
    expect(event.detail.collections).toHaveProperty('orders')
    expect(event.detail).toBe(event.detail)
    expect(made).toHaveBeenCalledOnce()
  })

  test('tell when less than half of the reserve is left', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 100)
    shop.isDown = true
    const low = next(hilo, 'low')
    await hilo.nextIds('orders', 80)
    expect(await low).toEqual({ collection: 'orders', available: expect.any(Number) })
    expect((await low).available).toBeLessThan(50)
  })

  test('do not count as used what the page has only leased', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 100)
    shop.isDown = true
    const low = vi.fn()
    hilo.addEventListener('low', low)
    await hilo.warm('orders', 70)
    await next(hilo, 'status')
    expect(hilo.status('orders')).toMatchObject({
      state: 'ready',
      available: expect.toSatisfy((count) => count >= 100),
    })
    expect(low).not.toHaveBeenCalled()
  })

  test('tell of a claim that failed in the background, once for each reason', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 40)
    shop.answer = () => refusal(403)
    const heard: unknown[] = []
    hilo.addEventListener('error', ({ detail }) => heard.push(detail))
    for (const count of [30, 5, 1]) await hilo.nextIds('orders', count)
    await quiet()
    expect(heard).toMatchObject([
      { collection: 'orders', error: { code: 'server-refused', status: 403 } },
    ])
  })

  test('are not heard any more by a listener that was removed', async () => {
    const { hilo } = shop.open()
    const heard = vi.fn()
    hilo.addEventListener('status', heard)
    hilo.removeEventListener('status', heard)
    await hilo.nextId('orders')
    await next(hilo, 'status')
    expect(heard).not.toHaveBeenCalled()
  })

  test('tell that this storage is a copy of one that went on; its numbers are unused', async () => {
    const key: StoreKey = ['https://shop.example.com', 'default', 'orders/']
    const [name, copy] = [newName(), newName()]
    const first = shop.open({ name, reserve: 100 })
    await first.hilo.nextId('orders')
    await first.hilo.close()
    const stored = await new IndexedDbStore(name).update(key, (state) => ({
      state: state as DeviceState,
      result: state as DeviceState,
    }))
    // As of long ago, so that both copies check in.
    const state = { ...stored, checkedIn: 0 }
    for (const each of [name, copy])
      await new IndexedDbStore(each).update(key, () => ({ state, result: undefined }))

    const original = shop.open({ name, reserve: 100 }).hilo
    await original.nextId('orders')
    const checkIns = () => shop.requests.filter(({ action }) => action === 'checkin')
    await eventually(() => expect(checkIns()).not.toHaveLength(0))
    const theirs = await original.nextIds('orders', 30)
    const { hilo } = shop.open({ name: copy, reserve: 100 })
    const fork = next(hilo, 'fork')
    await hilo.warm('orders', 1)
    expect(await fork).toEqual({ collection: 'orders' })
    expect(hilo.status().gaps.fork).toBeGreaterThan(0)
    const mine = await hilo.nextIds('orders', 60)
    expect(mine.filter((id) => theirs.includes(id))).toEqual([])
  })

  test('drop when the server has dropped the collection, and no fork; ids go on', async () => {
    const { hilo } = shop.open({ reserve: 32 })
    const forks: string[] = []
    hilo.addEventListener('fork', ({ detail }) => forks.push(detail.collection))
    await hilo.nextId('orders')
    await shop.ledger.drop({ database: 'default', collection: 'orders', at: 0 })
    const drop = next(hilo, 'drop')
    await hilo.reserve('orders', 100)
    expect(await drop).toEqual({ collection: 'orders' })
    expect(await hilo.nextNumber('orders')).toBeGreaterThan(32)
    expect(hilo.status().gaps).toEqual({ crash: 0, giveBack: 0, fork: 0, drop: 32 })
    expect(hilo.status('orders').lastError).toMatchObject({ code: 'dropped' })
    expect(forks).toEqual([])
  })
})

test('asking to keep the storage says what the browser said', async () => {
  const { hilo } = shop.open()
  expect(await hilo.persist()).toBe(false)
  vi.stubGlobal('navigator', {
    storage: { persist: async () => true, persisted: async () => true },
  })
  expect(await hilo.persist()).toBe(true)
  await hilo.nextId('orders')
  await eventually(() => expect(hilo.status().storage).toBe('persistent'))
})

test('asking to keep the storage asks for the bucket, too, and never by itself', async () => {
  const buckets = new FakeBuckets().install({
    storage: { persist: async () => true, persisted: async () => false },
  })
  const { hilo } = shop.open()
  await hilo.nextId('orders')
  const { own } = buckets
  expect([own.isPersisted, hilo.status().storage]).toEqual([false, 'best-effort'])
  own.isAllowed = false
  expect(await hilo.persist()).toBe(false)
  own.isAllowed = true
  expect(await hilo.persist()).toBe(true)
  await eventually(() => expect(hilo.status().storage).toBe('persistent'))
  vi.unstubAllGlobals()
})

test('persist resolves with false where storage is denied, as in a sandboxed frame', async () => {
  vi.stubGlobal('navigator', {
    storage: {
      persist: async () => {
        throw new TypeError('persist() called for opaque origin')
      },
    },
  })
  expect(await shop.open().hilo.persist()).toBe(false)
  vi.unstubAllGlobals()
})
