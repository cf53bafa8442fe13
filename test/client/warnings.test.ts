/** Mistakes that harm no id: in development the console names each, and what was meant. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EVENTS, type HiloEvents } from '../../src/client/events.js'
import { eventually } from '../support/eventually.js'
import { newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
const warn = vi.fn()

beforeEach(async () => {
  shop = await newShop()
  vi.stubGlobal('location', new URL('http://localhost:5173/orders'))
  warn.mockClear()
  vi.spyOn(console, 'warn').mockImplementation(warn)
})
afterEach(() => shop.close())

const openShop = () => shop.open({ collections: { orders: {}, tax: {} } }).hilo

test('a name that is like a listed one is told once, and gets its ids', async () => {
  const hilo = openShop()
  expect(await hilo.nextId('order')).toBe('order/1-A')
  await hilo.nextId('order')
  await eventually(() => expect(warn).toHaveBeenCalledOnce())
  expect(warn.mock.calls[0]![0]).toMatch(/'order' is not in .*Did you mean 'orders'\?/)
})

test.each([
  'customers',
  'orders',
  'orders2', // As `receipts-2026-11` and `receipts-2026-12`.
  'tag', // Short names are like each other.
])('%s is no mistake', async (name) => {
  await openShop().nextId(name)
  await quiet()
  expect(warn).not.toHaveBeenCalled()
})

test('an event that never comes is told, with those that do', async () => {
  openShop().addEventListener('lowx' as never, () => {})
  await eventually(() => expect(warn).toHaveBeenCalledOnce())
  expect(warn.mock.calls[0]![0]).toMatch(/no event 'lowx' .* are status, low, exhausted, /)
})

test('every event that there is may be listened to', async () => {
  const all: Record<keyof HiloEvents, true> = {
    status: true,
    low: true,
    exhausted: true,
    ending: true,
    fork: true,
    drop: true,
    ledger: true,
    degraded: true,
    error: true,
  }
  expect(EVENTS).toEqual(Object.keys(all))
  const hilo = openShop()
  for (const type of EVENTS) hilo.addEventListener(type, () => {})
  await quiet()
  expect(warn).not.toHaveBeenCalled()
})

test('in production nothing is said', async () => {
  vi.stubGlobal('location', new URL('https://shop.example.com/orders'))
  const hilo = openShop()
  hilo.addEventListener('lowx' as never, () => {})
  await hilo.nextId('order')
  await quiet()
  expect(warn).not.toHaveBeenCalled()
})
