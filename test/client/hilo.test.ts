/** The façade over a real owner, storage and server in one process: ids and arguments. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Hilo } from '../../src/client/hilo.js'
import type { HiloOptions } from '../../src/device/options.js'
import type { DeviceClaim } from '../../src/device/state.js'
import { nextHiSource } from '../../src/source/index.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { FakePage } from '../support/page.js'
import { codeOf, newShop, refusal, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

describe('ids', () => {
  test('of two collections and two databases are counted apart', async () => {
    const { hilo } = shop.open()
    expect(await hilo.nextId('invoices')).toBe('invoices/1-A')
    expect(await hilo.nextId('orders')).toBe('orders/1-A')
    expect(await hilo.nextId('orders', { database: 'Other' })).toBe('orders/1-A')
    expect(hilo.nextIdSync('orders', { database: 'Other' })).toBe('orders/2-A')
    expect(hilo.nextIdSync('orders')).toBe('orders/2-A')
    expect(hilo.nextIdSync('orders')).toBe('orders/3-A')
    expect(hilo.nextIdSync('invoices')).toBe('invoices/2-A')
    expect(hilo.nextIdSync('orders', { database: 'Other' })).toBe('orders/3-A')
    expect(hilo.nextIdSync('orders')).toBe('orders/4-A')
  })
})

describe('a bare number', () => {
  const grantOf = (node: string, [from, to] = [1, 32]) =>
    Response.json({
      collections: [{ Prefix: 'orders/', Low: from, High: to, LastSize: 32, ServerTag: node }],
    })
  /** As a server grants: above all that the device has seen. */
  const grantsOf = (node: string) => () => {
    const { collections = [] } = shop.requests.at(-1)!.body as { collections?: DeviceClaim[] }
    const lastMax = collections[0]?.lastMax ?? 0
    return grantOf(node, [lastMax + 1, lastMax + 32])
  }
  const refusal = expect.objectContaining({
    code: 'invalid-argument',
    message: expect.stringMatching(/orders\/…-A.*orders\/…-B.*nextId/),
  })

  test('is refused as soon as two nodes have granted ranges: both grant the number 1', async () => {
    const { hilo, page } = shop.open({ reserve: 0 })
    shop.answer = grantsOf('A')
    const numbers = []
    for (let i = 0; i < 32; i++) numbers.push(await hilo.nextNumber('orders'))
    expect(numbers).toContain(1)
    shop.answer = () => grantOf('B')
    let id = ''
    while (!id.endsWith('-B')) id = await hilo.nextId('orders')
    expect(id).toBe('orders/1-B')
    shop.answer = grantsOf('B')
    await expect(hilo.nextNumber('orders')).rejects.toEqual(refusal)
    expect(() => hilo.nextNumberSync('orders')).toThrow(refusal)
    const batch = await hilo.take('orders', 1)
    expect(() => batch.nextNumber()).toThrow(refusal)
    batch.end()
    expect(await hilo.nextId('orders')).toBe('orders/2-B')
    page.leave()
    shop.answer = () => grantOf('B', [33, 64])
    const next = shop.open({ reserve: 0 }).hilo
    await next.warm('orders', 1)
    await expect(next.nextNumber('orders')).rejects.toEqual(refusal)
  })

  test('is refused in other pages of the device too; their ids are of one node', async () => {
    shop.answer = () => grantOf('A')
    const first = shop.open({ reserve: 0 }).hilo
    expect(await first.nextNumber('orders')).toBe(1)
    shop.answer = () => grantOf('B')
    const second = shop.open({ reserve: 0 }).hilo
    await second.nextIds('orders', 32)
    await eventually(() => expect(() => first.nextNumberSync('orders')).toThrow(refusal))
  })
})

describe('a wrong option', () => {
  test('leaves nothing behind: no worker, no listener', () => {
    const page = new FakePage().enter()
    const listen = vi.spyOn(page.document, 'addEventListener')
    const used = vi.fn()
    const realm = { spawn: used, ownerHere: used, onlineCalls: used }
    expect(() => new Hilo({ url: 'https://x', collections: { 'a|b': {} } }, realm)).toThrow(
      expect.objectContaining({ code: 'invalid-collection' }),
    )
    expect(listen).not.toHaveBeenCalled()
    expect(used).not.toHaveBeenCalled()
  })

  test('that is undefined in a call counts as left out', async () => {
    const { hilo } = shop.open()
    expect(await hilo.nextId('orders', { timeout: undefined as never })).toBe('orders/1-A')
  })
})

test('a cache that sends everybody the answer to the first claim gives no id to two', async () => {
  const cached = new Map<string, string>()
  const server = fetch
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const place = `${init.method} ${new URL(url).pathname}`
    if (!url.endsWith('/hilo/next')) return server(url, init)
    if (!cached.has(place)) cached.set(place, await (await server(url, init)).text())
    return new Response(cached.get(place))
  })
  expect(await shop.open().hilo.nextId('orders')).toBe('orders/1-A')
  const others = [
    shop.open({ name: newName() }).hilo.nextId('orders'),
    shop.open().hilo.nextId('customers'),
  ]
  expect(await Promise.all(others.map(codeOf))).toEqual(['no-hilo-server', 'no-hilo-server'])
})

test.each<[string, NonNullable<HiloOptions['headers']>]>([
  ['an object', { Authorization: 'Bearer 1' }],
  ['a Headers', new Headers({ Authorization: 'Bearer 1' })],
  ['pairs', [['Authorization', 'Bearer 1']]],
  ['a function that makes a Headers', () => new Headers({ Authorization: 'Bearer 1' })],
])('headers that are %s are sent with each request, also on the way out', async (_, headers) => {
  const sent: (string | null)[] = []
  shop.answer = (request) => {
    sent.push(request.headers.get('Authorization'))
    return undefined
  }
  const { hilo } = shop.open({ headers, reserve: 0 })
  await hilo.nextId('orders')
  await hilo.close()
  expect(sent.length).toBeGreaterThan(1)
  expect(new Set(sent)).toEqual(new Set(['Bearer 1']))
})

test('a header beyond Latin-1 is an error of its own: ids are not exhausted', async () => {
  let user = 'Zoë'
  const { hilo } = shop.open({ headers: async () => ({ 'X-User': user }) })
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  await hilo.release()
  user = 'Zoë Ω'
  await expect(hilo.nextId('orders')).rejects.toMatchObject({
    code: 'invalid-argument',
    message: expect.stringMatching(/`headers`.*encodeURIComponent/),
  })
  user = 'Zoë'
  expect(await hilo.nextId('orders')).toBe('orders/2-A')
})

describe('a database name that no server can have', () => {
  test.each(['', '.', '..', 'my shop', 'a/b', 'x'.repeat(129)])(
    '%j is refused at once',
    async (database) => {
      const { hilo } = shop.open()
      expect(await codeOf(hilo.nextId('orders', { database }))).toBe('invalid-argument')
      expect(() => shop.open({ database })).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      )
      expect(shop.requests).toEqual([])
    },
  )

  test('is a name all the same for a source, which may have others', async () => {
    const nextHi = vi.fn(() => 1)
    const source = nextHiSource({ key: 'hi', nextHi, maxLo: 10 })
    const { hilo } = shop.open({ source, database: 'my shop' })
    expect(await hilo.nextId('orders')).toBe('orders/10')
    expect(await hilo.nextId('orders', { database: 'a/b' })).toBe('orders/10')
    expect(nextHi).toHaveBeenCalledWith('orders', 'a/b')
  })
})

describe('ready', () => {
  test('resolves at once when nothing is listed', async () => {
    await shop.open().hilo.ready
    expect(shop.requests).toEqual([])
  })

  test('rejects when the server refuses for good', async () => {
    shop.answer = () => refusal(403)
    expect(await codeOf(shop.open({ collections: { orders: {} } }).hilo.ready)).toBe(
      'server-refused',
    )
  })

  test('rejects when it was closed before', async () => {
    shop.isDown = true
    const { hilo } = shop.open({ collections: { orders: {} } })
    await hilo.close()
    expect(await codeOf(hilo.ready)).toBe('closed')
  })
})
