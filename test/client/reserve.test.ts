/** Filling a device up before it goes offline: several collections at once, and ending early. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Hilo } from '../../src/client/hilo.js'
import { nextHiSource } from '../../src/source/index.js'
import { MemoryStore } from '../../src/store/memory.js'
import { createOwner } from '../../src/worker/owner.js'
import { browserWorld } from '../../src/worker/world.js'
import { newName } from '../support/idb.js'
import { errorOf, newShop, numberOf, quiet, refusal, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const claims = () => shop.requests.filter(({ action }) => action === 'next')
const reserves = (hilo: Hilo) =>
  Object.fromEntries(
    Object.entries(hilo.status().collections).map(([name, { reserve }]) => [name, reserve]),
  )

describe('several collections', () => {
  test('are filled up by one request, on a device that has nothing yet', async () => {
    const { hilo } = shop.open()
    await hilo.reserve({ orders: 500, customers: 100 })
    expect(claims()).toMatchObject([
      { method: 'POST', body: { collections: [{ tag: 'orders' }, { tag: 'customers' }] } },
    ])
    expect(reserves(hilo)).toEqual({ orders: 500, customers: 100 })
    shop.isDown = true
    expect(await hilo.nextIds('orders', 500)).toHaveLength(500)
    expect(await hilo.nextIds('customers', 100)).toHaveLength(100)
  })

  test('go in requests of a hundred', async () => {
    const { hilo } = shop.open()
    const counts = Array.from({ length: 101 }, (_, i) => [`c${i}`, 10] as const)
    await hilo.reserve(Object.fromEntries(counts))
    const sizes = claims().map(({ body }) => (body.collections as object[]).length)
    expect(sizes.sort()).toEqual([1, 100])
  })

  test('that are listed are claimed by one request when the page starts', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`)
    const { hilo } = shop.open({ collections: Object.fromEntries(names.map((each) => [each, {}])) })
    await hilo.ready
    await quiet()
    expect(claims()).toHaveLength(1)
    expect(claims()[0]!.body.collections).toHaveLength(20)
  })

  test('wait for no answer to an earlier request', async () => {
    let answerFirst = () => {}
    const { fetch } = globalThis
    globalThis.fetch = async (...args) => {
      if (String(args[1]?.body).includes('"first"'))
        await new Promise<void>((resolve) => {
          answerFirst = resolve
        })
      return fetch(...args)
    }
    const { hilo } = shop.open()
    const first = hilo.nextId('first')
    await quiet()
    const ids = ['a', 'b'].map((each) => hilo.nextId(each))
    expect(await Promise.all(ids)).toEqual(['a/1-A', 'b/1-A'])
    answerFirst()
    expect(await first).toBe('first/1-A')
    expect(claims().map(({ body }) => (body.collections as object[]).length)).toEqual([2, 1])
  })

  test('are not asked for one by one when nobody may ask', async () => {
    shop.answer = () => refusal(401)
    const { hilo } = shop.open()
    expect((await errorOf(hilo.reserve({ orders: 50, lines: 50 }))).status).toBe(401)
    expect(claims()).toHaveLength(1)
  })

  test('that were used are filled up by one request, which shows the tokens', async () => {
    const { hilo } = shop.open({ collections: { orders: {}, customers: {} } })
    await hilo.ready
    await quiet()
    const before = claims().length
    await hilo.reserve({ orders: 500, customers: 100 })
    const [claim, ...others] = claims().slice(before)
    expect(others).toEqual([])
    expect(claim!.body).toMatchObject({
      collections: [{ grants: [{ token: expect.any(String) }] }, { grants: [{}] }],
    })
    const { hilo: later } = shop.open()
    await later.nextId('orders')
    await later.nextId('customers')
    expect(reserves(later)).toEqual({ orders: 500, customers: 100 })
  })

  test('that have enough are not asked for', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 500)
    await hilo.reserve({ orders: 400, customers: 50, lines: 50 })
    expect(claims().at(-1)!.body).toMatchObject({
      collections: [{ tag: 'customers' }, { tag: 'lines' }],
    })
    const before = claims().length
    await hilo.reserve({ orders: 400, customers: 50, lines: 50 })
    expect(claims()).toHaveLength(before)
  })

  test('whose names differ by case, and are one to a server, get different numbers', async () => {
    const { hilo } = shop.open()
    await hilo.reserve({ orders: 50, Orders: 50, lines: 50 })
    const numbers = [...(await hilo.nextIds('orders', 50)), ...(await hilo.nextIds('Orders', 50))]
    expect(new Set(numbers.map(numberOf)).size).toBe(100)
  })

  test('do not wait for one whose earlier claim gets no answer', async () => {
    const { hilo } = shop.open()
    shop.isDown = true
    await errorOf(hilo.nextId('lines'))
    shop.isDown = false
    const { fetch } = globalThis
    globalThis.fetch = async (...args) =>
      String(args[1]?.body).includes('[{"tag":"lines"') ? new Promise(() => {}) : fetch(...args)
    hilo.reserve({ lines: 50, orders: 50, customers: 50 }).catch(() => {})
    await quiet()
    expect(claims().at(-1)!.body).toMatchObject({
      collections: [{ tag: 'orders' }, { tag: 'customers' }],
    })
  })

  test('of another database come from there', async () => {
    const { hilo } = shop.open()
    await hilo.reserve({ orders: 50, lines: 50 }, { database: 'Other' })
    expect(reserves(hilo)).toEqual({ 'orders|Other': 50, 'lines|Other': 50 })
  })

  test('are asked for one by one where a server does not know such a request', async () => {
    shop.answer = ({ method }) => (method === 'POST' ? refusal(404) : undefined)
    const { hilo } = shop.open()
    await hilo.reserve({ orders: 500, customers: 100 })
    expect(claims().map(({ method, query }) => [method, query.tag?.toLowerCase()])).toEqual([
      ['POST', undefined],
      ['GET', 'orders'],
      ['GET', 'customers'],
    ])
  })

  test('wait as long as the server asked, also where another one learnt its route', async () => {
    shop.answer = ({ method }) => {
      if (method !== 'POST') return undefined
      const [{ tag }] = claims().at(-1)!.body.collections as [{ tag: string }]
      return tag === 'lines' ? refusal(503, { 'Retry-After': '60' }) : refusal(404)
    }
    const handle = globalThis.fetch
    const answered: (() => void)[] = []
    vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
      const isOfLines = String(args[1]?.body).includes('"lines"')
      const response = await handle(...args)
      if (isOfLines) await new Promise<void>((resolve) => answered.push(resolve))
      return response
    })
    const { hilo } = shop.open()
    const lines = hilo.nextId('lines').catch(() => 'none')
    await expect.poll(() => answered.length).toBe(1)
    expect(await hilo.nextId('orders')).toBe('orders/1-A')
    answered[0]!()
    expect(await lines).toBe('none')
    await quiet()
    expect(claims().map(({ method, query }) => [method, query.tag?.toLowerCase()])).toEqual([
      ['POST', undefined],
      ['POST', undefined],
      ['GET', 'orders'],
    ])
  })

  test("are asked for one by one of an app's own source", async () => {
    const asked: string[] = []
    const nextHi = (collection: string) => asked.push(collection)
    const source = nextHiSource({ key: 'one by one', nextHi, maxLo: 1000 })
    const { hilo } = shop.open({ source })
    await hilo.reserve({ orders: 500, customers: 100 })
    expect(asked.sort()).toEqual(['customers', 'orders'])
  })

  test('that are not all reached are one error, which says what is missing of which', async () => {
    shop.answer = () => {
      const [first, second] = claims().at(-1)!.body.collections as { tag: string }[]
      return second || first!.tag === 'lines' ? refusal(403) : undefined
    }
    const { hilo } = shop.open()
    const error = await errorOf(hilo.reserve({ orders: 500, lines: 100, customers: 50 }))
    expect(error).toMatchObject({ code: 'server-refused', status: 403 })
    expect(error.message).toMatch(/^Not everything was reserved: 'lines' has 0 of 100\. .*No\./)
    expect(reserves(hilo)).toEqual({ orders: 500, lines: 32, customers: 50 })
  })

  test('all fail without a network, and the reason is given once', async () => {
    const { hilo } = shop.open()
    shop.isDown = true
    const error = await errorOf(hilo.reserve({ orders: 500, customers: 100 }))
    expect(error.code).toBe('no-hilo-server')
    expect(error.message).toMatch(/'orders' has 0 of 500, 'customers' has 0 of 100\. http/)
    expect(error.message.match(/could not be reached/g)).toHaveLength(1)
    expect(reserves(hilo)).toEqual({ orders: 32, customers: 32 })
  })

  test('an answer is lost: the claims come again, and get the same numbers', async () => {
    let isLost = true
    const { fetch } = globalThis
    globalThis.fetch = async (...args) => {
      const answer = await fetch(...args)
      if (isLost) throw new TypeError('The connection was reset')
      return answer
    }
    const { hilo } = shop.open()
    await errorOf(hilo.reserve({ orders: 500, customers: 100 }))
    isLost = false
    await hilo.reserve({ orders: 500, customers: 100 })
    expect(await shop.max('orders')).toBe(500)
    expect(await shop.max('customers')).toBe(100)
  })

  test('that take more than one grant get each grant once', async () => {
    const { hilo } = shop.open()
    await hilo.reserve({ orders: 1_100_000, customers: 100 })
    expect(hilo.status('orders')).toMatchObject({ reserve: 1_100_000, available: 1_100_000 })
    expect(await shop.max('orders')).toBe(1_100_000)
  })

  test('two calls for the same collections at once do not wait for each other', async () => {
    const { hilo } = shop.open()
    await Promise.all([
      hilo.reserve({ orders: 500, customers: 100 }),
      hilo.reserve({ customers: 200, orders: 300, lines: 10 }),
    ])
    expect(Number(hilo.status('customers').available)).toBeGreaterThanOrEqual(200)
  })

  test('none is refused: nothing would be reserved', async () => {
    const { code, message } = await errorOf(shop.open().hilo.reserve({}))
    expect(code).toBe('invalid-argument')
    expect(message).toContain('names no collection. Say how many ids of which, as in')
    expect(shop.requests).toEqual([])
  })

  test.each([
    ['a count', { orders: -1 }, 'invalid-argument'],
    ['a count', { orders: undefined }, 'invalid-argument'],
    ['a name', { 'a|b': 5 }, 'invalid-collection'],
    ['a promise', Promise.resolve({ orders: 5 }), 'invalid-argument'],
    ['a map', new Map([['orders', 5]]), 'invalid-argument'],
    ['a list', ['orders'], 'invalid-argument'],
    ['nothing', undefined, 'invalid-argument'],
  ])(
    'that make no sense (%s) are refused by name, and nothing is asked',
    async (_, counts, code) => {
      const { hilo } = shop.open()
      expect((await errorOf(hilo.reserve(counts as never))).code).toBe(code)
      expect(shop.requests).toEqual([])
    },
  )

  test('and no collection: the message says how', async () => {
    const error = await errorOf(shop.open().hilo.reserve(500 as never))
    expect(error).toMatchObject({ code: 'invalid-argument' })
    expect(error.message).toContain("`reserve('orders', 500)`")
  })

  test('is the device’s: a page that keeps less, or none, takes nothing away', async () => {
    const till = shop.open({ reserve: 200 }).hilo
    await till.nextId('orders')
    await quiet()
    for (const options of [{}, { reserve: 15 }, { collections: { orders: { reserve: 0 } } }]) {
      const { hilo, page } = shop.open(options)
      await hilo.nextId('orders')
      expect(hilo.status('orders').reserve).toBe(200)
      page.leave()
      await quiet()
    }
    await till.close()
    shop.isDown = true
    expect(await shop.open().hilo.nextIds('orders', 190)).toHaveLength(190)
  })

  test('stay in memory where there is no storage', async () => {
    const hilo = new Hilo(
      { url: 'https://shop.example.com', name: newName() },
      {
        spawn: undefined,
        ownerHere: async () =>
          createOwner({ ...browserWorld(), openStore: async () => new MemoryStore() }),
        onlineCalls: shop.onlineCalls,
      },
    )
    await hilo.reserve({ orders: 500, customers: 100 })
    expect(hilo.status()).toMatchObject({
      storage: 'memory',
      collections: { orders: { available: 500 }, customers: { available: 100 } },
    })
    await hilo.close()
  })
})

/** Requests of this kind reach the server only when `answer` is called. */
function hold(action: string): { answer(): void; asked: Promise<void> } {
  const { fetch } = globalThis
  let answer = () => {}
  let ask = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  globalThis.fetch = async (input, init) => {
    if (String(input).includes(`/${action}`)) {
      ask()
      await answered
    }
    return fetch(input, init)
  }
  return { answer, asked }
}

describe('a call that is ended early', () => {
  test.each([
    ['aborted', (signal: AbortSignal) => ({ signal })],
    ['timeout', () => ({ timeout: 1 })],
  ])('rejects with %s at once, and sets no target later', async (code, limits) => {
    const { answer, asked } = hold('hilo/next')
    const { hilo } = shop.open()
    const ending = new AbortController()
    const reserving = errorOf(
      hilo.reserve({ orders: 500, customers: 100 }, limits(ending.signal) as never),
    )
    await Promise.race([asked, reserving])
    ending.abort()
    expect(await reserving).toMatchObject({ code, message: expect.stringContaining('stays on') })
    answer()
    await quiet()
    expect(reserves(hilo)).toEqual({ orders: 32, customers: 32 })
    expect(claims().length).toBeLessThan(2)
  })

  test('a release of what is no collection gives nothing back', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 500)
    expect((await errorOf(hilo.release({ orders: 5 } as never))).code).toBe('invalid-argument')
    expect(hilo.status('orders').available).toBeGreaterThanOrEqual(500)
  })

  test('stops a release: what was not sent yet stays on the device', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 500)
    const { answer, asked } = hold('hilo/return')
    const ending = new AbortController()
    const releasing = errorOf(hilo.release({ signal: ending.signal }))
    await asked
    ending.abort()
    expect(await releasing).toMatchObject({ code: 'aborted' })
    answer()
    await quiet()
    expect(shop.requests.filter(({ action }) => action === 'return')).toMatchObject([
      { method: 'PUT', query: { end: '0' } },
    ])
    shop.isDown = true
    expect(await hilo.nextIds('orders', 500)).toHaveLength(500)
  })

  test('stops an identity, whose number may be taken', async () => {
    const { answer, asked } = hold('identity/next')
    const { hilo } = shop.open()
    const ending = new AbortController()
    const asking = errorOf(hilo.nextIdentity('invoices', { key: '7', signal: ending.signal }))
    await asked
    ending.abort()
    expect(await asking).toMatchObject({
      code: 'aborted',
      message: expect.stringContaining('same key'),
    })
    answer()
    expect(await hilo.nextIdentity('invoices', { key: '7' })).toBe(1)
  })

  test('by close() is closed, and goes on with nothing', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    const { answer, asked } = hold('hilo/next')
    const reserving = errorOf(hilo.reserve({ orders: 10_000_000, customers: 100 }))
    await asked
    await hilo.close()
    expect((await reserving).code).toBe('closed')
    const before = shop.requests.length
    answer()
    await quiet()
    expect(shop.requests.length - before).toBeLessThan(2)
  })
})

test('two tabs that reserve the same collections in opposite order wait for nobody', async () => {
  const queues = new Map<string, Promise<unknown>>()
  let asked = 0
  let second = () => {}
  const bothAsked = new Promise<void>((resolve) => {
    second = resolve
  })
  /** The tab that asks first gets its second lock last. Nobody gives up: a knot is for ever. */
  const request = async (name: string, _options: object, run: () => Promise<unknown>) => {
    if (++asked === 2) await bothAsked
    else if (asked === 4) second()
    const turn = (queues.get(name) ?? Promise.resolve()).then(run)
    queues.set(
      name,
      turn.catch(() => {}),
    )
    return turn
  }
  vi.stubGlobal('navigator', { locks: { request } })
  const [one, two] = [shop.open().hilo, shop.open().hilo]
  await Promise.all([
    one.reserve({ orders: 40, invoices: 40 }),
    two.reserve({ invoices: 40, orders: 40 }),
  ])
  expect([await shop.max('orders'), await shop.max('invoices')]).toEqual([40, 40])
})
