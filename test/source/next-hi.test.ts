/** Ranges from any counter of the app: a hi stands for its ids, and a wrong hi for none. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createHilo } from '../../src/client/create.js'
import { HiloError } from '../../src/core/errors.js'
import type { Target } from '../../src/device/contract.js'
import { type NextHiOptions, nextHiSource } from '../../src/source/index.js'
import { newName } from '../support/idb.js'
import { newShop, type Shop } from '../support/shop.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const claimOf = (lastMax = 0) => ({ id: 'c1', lastBatchSize: 32, lastMax })
const LONG = 60_000

const answerTo = (options: Omit<NextHiOptions, 'key'>, lastMax = 0, timeout = LONG) =>
  nextHiSource({ key: 'hi', ...options }).claim(target, claimOf(lastMax), timeout)
const spanOf = async (options: Omit<NextHiOptions, 'key'>, lastMax = 0) => {
  const answer = await answerTo(options, lastMax)
  if ('failure' in answer) throw new Error(answer.failure.message)
  return [answer.grant.range.from, answer.grant.range.to]
}

describe('a hi', () => {
  test('stands for the ids hi × maxLo + lo, under the collection and its separator', async () => {
    const nextHi = vi.fn(() => 2)
    expect(await answerTo({ nextHi, maxLo: 1000 })).toEqual({
      grant: { range: { from: 2000, to: 2999, prefix: 'orders/', serverTag: '' } },
    })
    expect(nextHi).toHaveBeenCalledWith('orders', 'Shop')
  })

  test('of 0 begins with id 0, or with firstId', async () => {
    expect(await spanOf({ nextHi: () => 0, maxLo: 10 })).toEqual([0, 9])
    expect(await spanOf({ nextHi: () => 0, maxLo: 10, firstId: 1 })).toEqual([1, 9])
  })

  test('whose ids are all below firstId is skipped', async () => {
    let hi = 0
    expect(await spanOf({ nextHi: () => hi++, maxLo: 10, firstId: 25 })).toEqual([25, 29])
    hi = 0
    expect(await spanOf({ nextHi: () => hi++, maxLo: 1, firstId: 1 })).toEqual([1, 1])
  })

  test('that does not grow ends the search for one above firstId', async () => {
    // The third call returns undefined.
    const nextHi = vi.fn<() => number>().mockReturnValueOnce(0).mockReturnValueOnce(0)
    expect(await answerTo({ nextHi, maxLo: 10, firstId: 25 })).toMatchObject({
      failure: { code: 'invalid-response', message: expect.stringContaining('went backwards') },
    })
  })

  test.each([
    [-1, '-1'],
    [0.5, '0.5'],
    ['2', 'the string 2'],
    [2n, 'the bigint 2'],
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
  ])('of %s is refused, and shown as %s', async (hi, shown) => {
    const nextHi = () => hi as unknown as number
    expect(await answerTo({ nextHi, maxLo: 10 })).toMatchObject({
      failure: {
        code: 'invalid-response',
        message: expect.stringContaining(`gave ${shown}, which is no whole number`),
      },
    })
  })

  test('that is not above what this device has seen is refused', async () => {
    expect(await answerTo({ nextHi: () => 2, maxLo: 10 }, 29)).toMatchObject({
      failure: { code: 'invalid-response', message: expect.stringContaining('went backwards') },
    })
    expect(await answerTo({ nextHi: () => 2, maxLo: 10 }, 21)).toMatchObject({
      failure: { code: 'invalid-response' },
    })
    expect(await spanOf({ nextHi: () => 3, maxLo: 10 }, 29)).toEqual([30, 39])
  })

  test('whose ids pass 2^53−1 is refused', async () => {
    expect(await answerTo({ nextHi: () => 2 ** 52, maxLo: 10 })).toMatchObject({
      failure: { code: 'unsafe-range' },
    })
  })
})

describe('a nextHi', () => {
  test('that throws is asked again later', async () => {
    const answer = await answerTo({
      nextHi: () => Promise.reject(new Error('no network')),
      maxLo: 10,
    })
    expect(answer).toMatchObject({
      failure: { code: 'server-unreachable', message: expect.stringContaining('no network') },
    })
  })

  test('may throw a HiloError, which reaches the app unchanged', async () => {
    const nextHi = () =>
      Promise.reject(new HiloError('server-refused', 'Sign in first.', { status: 401 }))
    expect(await answerTo({ nextHi, maxLo: 10 })).toEqual({
      failure: { code: 'server-refused', message: 'Sign in first.', status: 401 },
    })
  })

  test('that answers too late is ignored, and is not asked again for the same claim', async () => {
    let answer: (hi: number) => void = () => {}
    const nextHi = vi.fn(() => new Promise<number>((resolve) => (answer = resolve)))
    expect(await answerTo({ nextHi, maxLo: 10, firstId: 25 }, 0, 20)).toMatchObject({
      failure: { code: 'server-unreachable' },
    })
    answer(0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(nextHi).toHaveBeenCalledTimes(1)
  })
})

test.each<[string, object]>([
  ['maxLo 0', { maxLo: 0 }],
  ['a negative maxLo', { maxLo: -1 }],
  ['a maxLo that is no whole number', { maxLo: 1.5 }],
  ['no maxLo', { maxLo: undefined }],
  ['a firstId that is no whole number', { firstId: 0.5 }],
  ['a negative firstId', { firstId: -1 }],
  ['maxLo 1 without a firstId', { maxLo: 1 }],
  ['a nextHi that is no function', { nextHi: 7 }],
  ['no key', { key: undefined }],
  ['an empty key', { key: '' }],
  ['a key that is no text', { key: 7 }],
])('%s is refused', (_, wrong) => {
  expect(() => nextHiSource({ key: 'hi', nextHi: () => 0, maxLo: 10, ...wrong })).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringContaining(`\`${Object.keys(wrong)[0]}\``),
    }),
  )
})

test('an option with a wrong name is refused, with the known ones; no options are, too', () => {
  const wrong = { key: 'hi', nextHi: () => 0, maxLo: 10, firstid: 1 } as NextHiOptions
  expect(() => nextHiSource(wrong)).toThrow(/`options\.firstid`.*firstId/)
  expect(() => nextHiSource(undefined as never)).toThrow('`options`')
})

describe('as the source of a page', () => {
  let shop: Shop
  beforeEach(async () => {
    shop = await newShop()
  })
  afterEach(() => shop.close())

  const counter = () => {
    let hi = 0
    return vi.fn(async () => hi++)
  }

  test('it makes ids from where the counter begins, and no HiLo server is asked', async () => {
    const { hilo } = shop.open({
      source: nextHiSource({ key: 'hi', nextHi: counter(), maxLo: 100 }),
    })
    expect(await hilo.nextIds('orders', 3)).toEqual(['orders/0', 'orders/1', 'orders/2'])
    expect(await hilo.nextNumber('orders')).toBe(3)
    expect(shop.requests).toEqual([])
  })

  test('a burst takes as many hi as it needs, and no id twice', async () => {
    const nextHi = counter()
    const { hilo } = shop.open({ source: nextHiSource({ key: 'hi', nextHi, maxLo: 10 }) })
    const numbers = (
      await Promise.all(Array.from({ length: 300 }, () => hilo.nextNumber('orders')))
    ).sort((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: 300 }, (_, i) => i))
  })

  test('nothing is given back: no surplus, not when the page goes, not on release', async () => {
    const nextHi = counter()
    const options = { reserve: 0, source: nextHiSource({ key: 'hi', nextHi, maxLo: 100 }) }
    const { hilo, page } = shop.open(options)
    await hilo.nextIds('orders', 5)
    await hilo.release()
    expect(hilo.status('orders').available).toBe(95)
    expect(await hilo.nextNumber('orders')).toBe(5)
    page.leave()
    const next = shop.open(options).hilo
    expect(await next.nextNumber('orders')).toBe(6)
    expect(nextHi).toHaveBeenCalledTimes(1)
    expect(shop.requests).toEqual([])
  })

  test('a hi that comes again is never issued, neither in another page', async () => {
    const open = () =>
      shop.open({ source: nextHiSource({ key: 'hi', nextHi: () => 4, maxLo: 10 }) })
    const { hilo, page } = open()
    expect(await hilo.nextIds('orders', 10)).toHaveLength(10)
    await expect(hilo.nextId('orders')).rejects.toMatchObject({ code: 'invalid-response' })
    page.leave()
    await expect(open().hilo.nextId('orders')).rejects.toMatchObject({ code: 'invalid-response' })
  })

  test('ranges of a server and ranges of a source are kept apart', async () => {
    expect(await shop.open().hilo.nextId('orders')).toBe('orders/1-A')
    expect(
      await shop
        .open({ source: nextHiSource({ key: 'hi', nextHi: () => 3, maxLo: 10 }) })
        .hilo.nextId('orders'),
    ).toBe('orders/30')
  })

  test('ranges of two counters are kept apart by their keys, as those of two tenants', async () => {
    const counters: Record<string, number> = { tenantA: 0, tenantB: 7 }
    const open = (tenant: string) =>
      shop.open({
        source: nextHiSource({ key: tenant, nextHi: () => counters[tenant]!++, maxLo: 100 }),
      })
    const first = open('tenantA')
    expect(await first.hilo.nextNumber('orders')).toBe(0)
    first.page.leave()
    const second = open('tenantB')
    expect(await second.hilo.nextNumber('orders')).toBe(700)
    second.page.leave()
    expect(await open('tenantA').hilo.nextNumber('orders')).toBe(1)
  })

  test('createHilo needs no url and no worker for it: it makes ids in Node', async () => {
    await using hilo = createHilo({
      name: newName(),
      source: nextHiSource({ key: 'hi', nextHi: counter(), maxLo: 100 }),
    })
    expect(await hilo.nextId('orders')).toBe('orders/0')
  })

  test('identities are refused: only a HiLo server has them', async () => {
    const { hilo } = shop.open({ source: nextHiSource({ key: 'hi', nextHi: () => 3, maxLo: 10 }) })
    await expect(hilo.nextIdentity('orders')).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})
