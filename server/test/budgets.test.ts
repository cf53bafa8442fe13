/**
 * The table of docs/threats.md, "What one till's token can do": each row is tried with one token,
 * beside forty others that notice nothing.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { TOO_MANY } from '../../src/core/wire.js'
import { createBudgets, createCosts } from '../src/http/budgets.js'
import type { HandlerOptions, LedgerLimits, ScopedToken } from '../src/index.js'
import { newFolder } from './folders.js'
import { type Ask, json, newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next'
const STOLEN = 'the-token-that-was-stolen'
const OTHERS = Array.from({ length: 40 }, (_, i) => `a-token-of-another-till-${i}`)
const OPERATOR = 'the-token-of-the-operator'

interface Shop {
  /** As the thief. */
  steal: Ask
  /** Each of the others claims, in its own collection and in the shared one. */
  othersWork(): Promise<void>
  metrics(): Promise<string>
  maxOf(collection: string): Promise<number>
}

async function newShop(
  stolen: Omit<ScopedToken, 'token'> = {},
  limits: HandlerOptions['limits'] = {},
  ledgerLimits: Partial<LedgerLimits> = {},
): Promise<Shop> {
  const tokens = [
    { token: STOLEN, ...stolen },
    ...OTHERS,
    { token: OPERATOR, actions: ['status' as const] },
  ]
  const { ask, handler, ledger } = await newHandler(
    { databases: ['Shop'], tokens, limits },
    { dataDir: newFolder(), limits: ledgerLimits },
  )
  const as =
    (token: string): Ask =>
    (path, init = {}) =>
      ask(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } })
  return {
    steal: as(STOLEN),
    async othersWork() {
      const answers = await Promise.all(
        OTHERS.map((token, i) => as(token)(NEXT, claimOf(['orders', `till-${i}`]))),
      )
      for (const { status, body } of answers) {
        expect(status).toBe(201)
        for (const range of body.collections) expect(range).toHaveProperty('Low')
      }
    },
    async metrics() {
      const headers = { Authorization: `Bearer ${OPERATOR}` }
      return (await handler(new Request('http://ids.test/metrics', { headers }))).text()
    },
    maxOf: async (collection) => (await ledger.read({ database: 'Shop', collection })).max,
  }
}

const claimOf = (tags: readonly string[], count = 32, lastMax = 0) =>
  json({ claim: randomUUID(), collections: tags.map((tag) => ({ tag, count, lastMax })) })

const newSeries = (collection = 'receipts') => json({ claim: randomUUID(), collection })

/** How many requests get through, one after the other, of so many. */
async function through(
  count: number,
  request: (i: number) => ReturnType<Ask>,
  refusals = [429],
): Promise<number> {
  let got = 0
  for (let i = 0; i < count; i++) {
    const { status, headers, body } = await request(i)
    if (status < 300) got++
    else {
      expect(refusals).toContain(status)
      if (status === 429) expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0)
      expect(body).toMatchObject({ Type: expect.any(String), Message: expect.any(String) })
    }
  }
  return got
}

let shop: Shop
beforeEach(async () => {
  // No budget comes back while a test runs.
  vi.useFakeTimers({ toFake: ['performance'] })
  shop = await newShop()
})
afterEach(() => vi.useRealTimers())

describe('what one till’s token can do', () => {
  test('it makes 100 collections, and leaves room for those of the others', async () => {
    const names = (i: number) => Array.from({ length: 100 }, (_, j) => `c${i * 100 + j}`)
    expect(await through(100, (i) => shop.steal(NEXT, claimOf(names(i))))).toBe(1)
    await shop.othersWork()
    expect(await shop.metrics()).toMatch(
      /hilo_over_budget_total{token="\S{8}",budget="names"} 99\n/,
    )
  })

  test('it moves a counter up by its numbers of an hour, and no further', async () => {
    const jump = (i: number) => claimOf(['orders'], 1, (i + 1) * 1_000_000)
    expect(await through(100, (i) => shop.steal(NEXT, jump(i)), [422, 429])).toBe(1)
    expect(await shop.maxOf('orders')).toBe(1_000_001)
    await shop.othersWork()
  })

  test('it moves a counter up once, also in requests that arrive together', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => shop.steal(NEXT, claimOf(['orders'], 1, 1_000_000))),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    await shop.othersWork()
  })

  test('it takes the numbers of one largest claim', async () => {
    expect(await through(20, () => shop.steal(NEXT, claimOf(['orders'], 1_048_576)))).toBe(1)
    expect(await shop.maxOf('orders')).toBe(1_048_576)
    await shop.othersWork()
  })

  test('it takes no more in one request than its numbers of an hour', async () => {
    const tags = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`)
    for (const [claim, numbers] of [
      [claimOf(tags(100), 1_048_576), 104_857_600],
      [claimOf(tags(2), 524_289), 1_048_578],
      [claimOf(tags(100), 1, 9_900_000), 990_000_100],
    ] as const) {
      const { status, body } = await shop.steal(NEXT, claim)
      expect(status).toBe(422)
      expect(body.Type).toBe(TOO_MANY)
      expect(body.Message).toContain(`takes ${numbers} numbers, and its token has 1048576 an hour`)
    }
    expect(await shop.maxOf('c0')).toBe(0)
    expect((await shop.steal(NEXT, claimOf(tags(2), 524_288))).status).toBe(201)
  })

  test('in no request it takes more of any budget than it has an hour', async () => {
    const { steal } = await newShop({}, { namesPerHour: 3 })
    const writes = ['a', 'b', 'c', 'd']
    expect(await steal(NEXT, claimOf(writes))).toMatchObject({
      status: 422,
      body: { Message: expect.stringContaining('limits.namesPerHour') },
    })
    expect((await steal(NEXT, claimOf(writes.slice(1)))).status).toBe(201)
  })

  test('it has 20 series', async () => {
    const ask = () => shop.steal('/databases/Shop/hilo/series', newSeries())
    expect(await through(150, ask, [422])).toBe(20)
    await shop.othersWork()
  })

  test('it makes 100 identities, and uses those that are there', async () => {
    const next = (name: string) =>
      shop.steal(`/databases/Shop/identity/next?name=${name}`, { method: 'POST' })
    for (let i = 0; i < 150; i++) expect((await next('bills')).status).toBe(200)
    expect(await through(150, (i) => next(`bills-${i}`))).toBe(99)
    // Its names are used up. Those that are there cost none, however many ask at once.
    const answers = await Promise.all(Array.from({ length: 150 }, () => next('bills')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    await shop.othersWork()
  })

  test('it pays once for a name that many of its requests make at once', async () => {
    const { steal } = await newShop({ actions: ['claim', 'seed'] }, { namesPerHour: 60 })
    const seed = (value: number) =>
      steal(`/databases/Shop/identity/seed?name=bills&value=${value}`, { method: 'POST' })
    for (let i = 1; i < 100; i++) expect((await seed(i)).status).toBe(200)
    const together = Array.from({ length: 50 }, () => steal(NEXT, claimOf(['orders'])))
    for (const { status } of await Promise.all(together)) expect(status).toBe(201)
    expect(await through(100, (i) => steal(NEXT, claimOf([`c${i}`])))).toBe(58)
  })

  test('it stores a bounded number of grants', async () => {
    const { steal, othersWork, metrics } = await newShop({}, { rowsPerHour: 1_000 })
    const tags = Array.from({ length: 100 }, (_, i) => `c${i}`)
    expect(await through(30, () => steal(NEXT, claimOf(tags, 1)))).toBe(10)
    await othersWork()
    expect(await metrics()).toContain('budget="rows"} 20\n')
  })

  test('its check-ins pay for each token, and its give-backs for their row', async () => {
    const grants = Array.from({ length: 100 }, (_, i) => ({ token: `t${i}`, next: 1 }))
    const checkIn = () =>
      shop.steal('/databases/Shop/hilo/checkin', json({ id: randomUUID(), grants }))
    expect(await through(120, checkIn)).toBe(100)
    const back = json({ tag: 'orders', end: 32, last: 1, token: 't' })
    expect(await through(3, () => shop.steal('/databases/Shop/hilo/return', back))).toBe(0)
    await shop.othersWork()
  })

  test('it sends 3,600 requests', async () => {
    expect(await through(3_700, () => shop.steal('/topology?name=Shop'))).toBe(3_600)
    await shop.othersWork()
    expect(await shop.metrics()).toContain('budget="requests"} 100\n')
  })

  test('it fills a tenth of the places in which claims wait', async () => {
    const tags = Array.from({ length: 100 }, (_, i) => `c${i}`)
    await shop.steal(NEXT, claimOf(tags, 1))
    const stolen = Array.from({ length: 64 }, () => shop.steal(NEXT, claimOf(tags, 1)))
    await shop.othersWork()
    const statuses = (await Promise.all(stolen)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([201, 429]))
    expect(statuses.filter((status) => status === 201).length).toBeLessThan(10)
  })

  test('where its collections are named, it has no others', async () => {
    const { steal, othersWork } = await newShop({ collections: ['Till-7'] })
    expect((await steal(NEXT, claimOf(['till-7']))).status).toBe(201)
    for (const request of [
      steal(NEXT, claimOf(['orders'])),
      steal(NEXT, claimOf(['till-7', 'orders'])),
      steal('/databases/Shop/hilo/series', newSeries()),
      steal('/databases/Shop/identity/next?name=orders', { method: 'POST' }),
    ])
      expect(await request).toMatchObject({
        status: 403,
        body: { Message: expect.stringContaining('not for the collection') },
      })
    const lister = await newShop({ collections: ['Till-7'], actions: ['series-list'] })
    expect(await lister.steal('/databases/Shop/hilo/series')).toMatchObject({
      status: 403,
      body: { Message: expect.stringContaining('not for all collections') },
    })
    expect(
      (await steal('/databases/Shop/identity/next?name=till-7', { method: 'POST' })).status,
    ).toBe(200)
    await othersWork()
  })
})

describe('a budget', () => {
  test('is said, with what to do, when it is used up', async () => {
    await shop.steal(NEXT, claimOf(['orders'], 1_048_576))
    const { status, headers, body } = await shop.steal(NEXT, claimOf(['orders']))
    expect(status).toBe(429)
    expect(headers.get('Retry-After')).toBe('1')
    expect(body.Message).toMatch(
      /its 1048576 numbers an hour.*Nothing was granted.*again.*"devices".*limits\.numbersPerHour/,
    )
  })

  test('stands in the metrics', async () => {
    const { metrics } = await newShop({}, { requestsPerHour: 7 })
    const text = await metrics()
    for (const line of ['requests"} 7', 'numbers"} 1048576', 'rows"} 10000', 'names"} 100'])
      expect(text).toContain(`hilo_token_budget{budget="${line}\n`)
  })

  test('comes back little by little', async () => {
    await shop.steal(NEXT, claimOf(['orders'], 1_048_576))
    vi.advanceTimersByTime(900_000)
    expect((await shop.steal(NEXT, claimOf(['orders'], 262_144))).status).toBe(201)
    expect((await shop.steal(NEXT, claimOf(['orders'], 1))).status).toBe(429)
    vi.advanceTimersByTime(100 * 3_600_000)
    expect(await through(3, () => shop.steal(NEXT, claimOf(['orders'], 1_048_576)))).toBe(1)
  })

  test('is larger for a token that many devices use', async () => {
    const { steal } = await newShop({ devices: 3 }, { requestsPerHour: 7 })
    expect(await through(30, () => steal('/topology?name=Shop'))).toBe(21)
  })

  test('does not pay for a claim that is repeated or refused', async () => {
    const far = claimOf(['orders'], 1, 2 ** 40)
    for (let i = 0; i < 3; i++) expect((await shop.steal(NEXT, far)).status).toBe(422)
    const again = claimOf(['orders'], 500_000)
    for (let i = 0; i < 10; i++) expect((await shop.steal(NEXT, again)).status).toBeLessThan(300)
    expect((await shop.steal(NEXT, claimOf(['orders'], 500_000))).status).toBe(201)
  })

  test('does not pay for a claim that finds no place to wait in', async () => {
    const { steal } = await newShop({}, { waiting: 1, numbersPerHour: 64 })
    const both = await Promise.all([1, 2].map(() => steal(NEXT, claimOf(['orders']))))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 429])
    expect((await steal(NEXT, claimOf(['orders']))).status).toBe(201)
    expect((await steal(NEXT, claimOf(['orders'], 1))).status).toBe(429)
  })

  test('is for tokens: a server without them has none', async () => {
    const { ask } = await newHandler({ limits: { requestsPerHour: 1, numbersPerHour: 1 } })
    expect(await through(5, () => ask(NEXT, claimOf(['orders'])))).toBe(5)
  })
})

describe('maxId', () => {
  test('is the highest number that any request leads to', async () => {
    const { steal, maxOf } = await newShop({}, {}, { maxId: 1_000 })
    expect((await steal(NEXT, claimOf(['orders'], 968))).status).toBe(201)
    for (const claim of [claimOf(['orders'], 33), claimOf(['orders'], 32, 1_000)])
      expect(await steal(NEXT, claim)).toMatchObject({
        status: 422,
        body: { Message: expect.stringContaining('limits.maxId') },
      })
    expect(await maxOf('orders')).toBe(968)
    expect((await steal(NEXT, claimOf(['orders'], 32))).status).toBe(201)
  })
})

test('a new token ends no budget of another one, however long it has been quiet', () => {
  let now = 0
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ token: name, name }))
  const limits = { requestsPerHour: 1, numbersPerHour: 1, rowsPerHour: 1, namesPerHour: 1 }
  const budgets = createBudgets(
    limits,
    () => {},
    undefined,
    () => now,
  )
  budgets.spend(a!, { requests: 1 })
  now = 1_800
  budgets.spend(b!, { requests: 1 })
  expect(() => budgets.spend(a!, { requests: 1 })).toThrow('again in 1800 seconds')
  // The clock was set back: no time has passed.
  now = 0
  budgets.spend(c!, { requests: 1 })
  expect(() => budgets.spend(b!, { requests: 1 })).toThrow('again in 3600 seconds')
})

test('how far a counter has gone is remembered of the last ten thousand', async () => {
  const readAll = vi.fn(async (keys: readonly object[]) => keys.map(() => ({ max: 7, version: 1 })))
  const costs = createCosts({ readAll })
  const keyOf = (n: number) => ({ database: 'shop', collection: `c${n}` })
  const priceOf = (n: number) => costs.of([{ ...keyOf(n), count: 1, lastMax: 0 }], (read) => read())
  for (let n = 0; n < 10_000; n++) costs.saw(keyOf(n), 5)
  // One that is known takes nobody's place.
  costs.saw(keyOf(9_999), 6)
  await priceOf(0)
  costs.saw(keyOf(10_000), 5)
  await priceOf(1)
  expect(readAll).not.toHaveBeenCalled()
  await priceOf(0)
  expect(readAll).toHaveBeenCalledExactlyOnceWith([expect.objectContaining(keyOf(0))])
})
