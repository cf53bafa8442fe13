/**
 * The façade over a real owner, storage and server in one process: ids, arguments, reserves,
 * closing.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ravenConventions } from '../../src/addons/raven.js'
import { Hilo } from '../../src/client/hilo.js'
import { HiloError } from '../../src/core/errors.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
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

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `orders/${from + i}-A`)

describe('ids', () => {
  test('go to callers in the order in which they asked, however many at once', async () => {
    const { hilo } = shop.open()
    const ids = await Promise.all([
      hilo.nextId('orders'),
      hilo.nextIds('orders', 40),
      hilo.nextId('orders'),
      ...Array.from({ length: 200 }, () => hilo.nextId('orders')),
    ])
    expect(ids.flat()).toEqual(numbers(1, 242))
  })

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

  test('of two instances on one device never meet', async () => {
    const first = shop.open().hilo
    const second = shop.open().hilo
    const ids = (
      await Promise.all([first, second, first, second].map((hilo) => hilo.nextIds('orders', 250)))
    ).flat()
    expect(new Set(ids).size).toBe(1000)
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

  test('in the form of an app is refused, too: the form leaves the node out', async () => {
    const formatId = (number: number) => `#${number}`
    shop.answer = () => grantOf('A')
    const first = shop.open({ reserve: 0, formatId }).hilo
    expect(await first.nextId('orders')).toBe('#1')
    shop.answer = () => grantOf('B')
    const second = shop.open({ reserve: 0, formatId }).hilo
    const message = expect.stringMatching(/"#\d+".*for another node.*serverTag/)
    const refused = { code: 'invalid-argument', message }
    await expect(second.nextIds('orders', 32)).rejects.toMatchObject(refused)
    const batch = await second.take('orders', 1)
    expect(() => batch.next()).toThrow(expect.objectContaining(refused))
    const third = shop.open({
      reserve: 0,
      formatId: (number, { serverTag }) => `${number}${serverTag}`,
    }).hilo
    expect(await third.nextId('orders')).toMatch(/^\d+[AB]$/)
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

describe('a collection', () => {
  class Order {}
  class OrderLine {}

  test("follows RavenDB's with offline-hilo/raven", async () => {
    const { hilo } = shop.open({ ...ravenConventions })
    expect(await hilo.nextId(Order)).toBe('orders/1-A')
    expect(await hilo.nextId(OrderLine)).toBe('OrderLines/1-A')
  })

  test.each<[string, unknown]>([
    ['empty', ''],
    ['too long', 'x'.repeat(600)],
    ['with a |', 'a|b'],
    ['ending in the separator', 'orders/'],
    ['a number', 7],
    ['nothing', undefined],
    ['a class without a name', class {}],
    ['a plain object', {}],
  ])('that is %s is refused by every call, and nothing is sent', async (_, bad) => {
    const { hilo } = shop.open()
    const ref = bad as string
    for (const call of [
      hilo.nextId(ref),
      hilo.nextNumber(ref),
      hilo.nextIds(ref, 2),
      hilo.warm(ref, 2),
      hilo.reserve(ref, 2),
    ])
      expect(await codeOf(call)).toBe('invalid-collection')
    expect(() => hilo.nextIdSync(ref)).toThrow(HiloError)
    if (bad !== undefined) expect(() => hilo.status(ref)).toThrow(HiloError)
    expect(shop.requests).toEqual([])
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

describe('the sync calls', () => {
  test('throw when the page holds nothing yet, say what to do, and succeed soon', async () => {
    const { hilo } = shop.open()
    expect(() => hilo.nextIdSync('orders')).toThrow(
      expect.objectContaining({
        code: 'not-leased',
        message: expect.stringContaining("hilo.take('orders', n)"),
      }),
    )
    await hilo.warm('orders', 1)
    expect(hilo.nextIdSync('orders')).toBe('orders/1-A')
  })
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

describe('reserve', () => {
  test('lowered, sets what exceeds it aside at once, to go back with the page', async () => {
    const { hilo, page } = shop.open()
    await hilo.reserve('orders', 500)
    await hilo.reserve('orders', 40)
    page.leave()
    await eventually(async () => expect(await shop.max()).toBe(40))
  })

  test('fills the device up in one request, and keeps that as its target', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    const before = shop.requests.length
    await hilo.reserve('orders', 500)
    expect(shop.requests.slice(before).map(({ action }) => action)).toEqual(['next'])
    expect(hilo.status('orders')).toMatchObject({ reserve: 500, state: 'ready' })
    expect(hilo.status('orders').available).toBeGreaterThanOrEqual(500)
    const { hilo: later } = shop.open()
    await later.nextId('orders')
    expect(later.status('orders').reserve).toBe(500)
  })
})

describe('close', () => {
  test('is the end of an `await using`, and may be called twice', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    await hilo[Symbol.asyncDispose]()
    await hilo.close()
    expect(await codeOf(hilo.nextId('orders'))).toBe('closed')
  })
})
