/**
 * What an app passes is read once, when it calls: what it does with its object afterwards changes
 * nothing, and what no message can show is refused like any other mistake.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { consecutive } from '../../src/addons/consecutive/index.js'
import { createTestHilo } from '../../src/addons/testing/index.js'
import { HiloError } from '../../src/core/errors.js'
import { checkOptions, type HiloOptions } from '../../src/device/hilo-options.js'
import { newName } from '../support/idb.js'
import { newShop, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

test('one options object for many identities: each has the number of its own key', async () => {
  const { hilo } = shop.open()
  const options = { key: '' }
  const numbers = ['A', 'B', 'C'].map((key) => {
    options.key = key
    return hilo.nextIdentity('invoices', options)
  })
  expect(await Promise.all(numbers)).toEqual([1, 2, 3])
  expect(await hilo.nextIdentity('invoices', { key: 'B' })).toBe(2)
})

test('counts that change after `reserve` was called: those of the call are reserved', async () => {
  const { hilo } = shop.open()
  const counts: Record<string, number> = { orders: 70 }
  const reserved = hilo.reserve(counts)
  counts.orders = 700
  counts.lines = 40
  await reserved
  expect(Object.keys(hilo.status().collections)).toEqual(['orders'])
  expect(await shop.max()).toBe(70)
})

test('options that change after `createHilo` change nothing', async () => {
  const name = newName()
  const collections: Record<string, { reserve: number }> = { orders: { reserve: 50 } }
  const { hilo } = shop.open({ name, collections })
  collections.orders!.reserve = Number.NaN
  collections.lines = { reserve: -5 }
  await hilo.nextIds('orders', 3)
  expect(await hilo.nextId('lines')).toBe('lines/1-A')
  expect(hilo.status('orders')).toMatchObject({ reserve: 50, available: 47 })
  expect(hilo.status('lines')).toMatchObject({ reserve: 32 })
})

test('an option that says something else each time is checked as it is used', () => {
  let reads = 0
  const options: HiloOptions = {
    get timeout() {
      return reads++ === 0 ? 1000 : (Symbol('later') as never)
    },
  }
  expect(checkOptions(options, 'https://shop.example.com').timeout).toBe(1000)
})

test('sums that change after `closePeriod`: those of the call are recorded', async () => {
  const receipts = consecutive(createTestHilo(), 'receipts', { period: 'day' })
  const { period } = await receipts.next({ key: 'sale' })
  const sums = { cash: 12 }
  const closed = receipts.closePeriod(period!, { sums })
  sums.cash = 0
  expect(await closed).toMatchObject({ sums: { cash: 12 } })
})

describe('what cannot be shown is refused by a HiloError', () => {
  const fails = () => {
    throw new Error('No.')
  }
  const VALUES: [string, () => unknown][] = [
    [
      'an object whose name fails',
      () => Object.defineProperty({}, Symbol.toStringTag, { get: fails }),
    ],
    ['an object without a prototype', () => Object.create(null)],
    ['a symbol', () => Symbol('orders')],
  ]
  const hilo = createTestHilo()
  const receipts = consecutive(hilo, 'receipts')
  const series = (options: object) => consecutive(hilo, 'bills', { series: 'T1', ...options })
  const range = (of: object) => series({ ranges: [{ from: 1, to: 9, ...of }] })
  const CALLS: [string, (value: never) => unknown][] = [
    ['a count', (value) => hilo.nextIds('orders', value)],
    ['a collection', (value) => hilo.nextId(value)],
    ['a timeout', (timeout) => hilo.nextId('orders', { timeout })],
    ['a signal', (signal) => hilo.take('orders', 1, { signal })],
    ['a database', (database) => hilo.nextId('orders', { database })],
    ['a reserve', (value) => hilo.reserve('orders', value)],
    ['a key', (key) => hilo.nextIdentity('orders', { key })],
    ['a listener', (value) => hilo.watch(value)],
    ['an option', (reserve) => createTestHilo({ reserve })],
    [
      'a reserve of a collection',
      (reserve) => createTestHilo({ collections: { orders: { reserve } } }),
    ],
    ['the key of a sale', (key) => receipts.next({ key })],
    ['the date of a sale', (date) => receipts.next({ key: 'a', date })],
    ['the signal of a sale', (signal) => receipts.next({ key: 'a', signal })],
    ['the end of a range', (to) => range({ to })],
    ['the last day of a range', (validUntil) => range({ validUntil })],
    ['the wait of a series', (wait) => series({ wait })],
  ]

  test.each(CALLS)('%s', async (_, call) => {
    for (const [name, value] of VALUES)
      await expect((async () => call(value() as never))(), name).rejects.toBeInstanceOf(HiloError)
  })

  test('headers that fail without a reason are told as such', async () => {
    const headers = () => Promise.reject(Object.create(null))
    await expect(shop.open({ headers }).hilo.nextId('orders')).rejects.toThrow(
      '`headers` failed: unreadable.',
    )
  })
})
