/**
 * Callers that wait beside each other: who is served, who is refused, and what stays for others.
 */
import { IDBDatabase } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
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
