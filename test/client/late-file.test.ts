/** The file that gives back is loaded after the first ids: it may be late, or not come at all. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import type { CallOptions } from '../../src/client/waiters.js'
import { codeOf, newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
let come = () => {}

beforeEach(async () => {
  shop = await newShop()
  const { onlineCalls } = shop
  const comes = new Promise<void>((resolve) => (come = resolve))
  shop.onlineCalls = () => comes.then(onlineCalls)
})
afterEach(async () => {
  come()
  vi.useRealTimers()
  await shop.close()
})

/** Passes the second after which a page at rest looks at what it holds. */
async function rest(): Promise<void> {
  await quiet()
  await vi.advanceTimersByTimeAsync(1_000)
  await quiet()
}

test('a page that was at rest when it came still gives everything back when it goes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { hilo, page } = shop.open({ reserve: 0 })
  expect(await hilo.nextIds('orders', 100)).toHaveLength(100)
  // It parks what it holds from looking ahead, and cannot set it aside yet.
  await rest()
  await rest()
  expect(hilo.status('orders')).toMatchObject({ leased: 16 })
  expect(hilo.status('orders').available).toBeGreaterThan(16)
  come()
  await rest()
  page.leave()
  await quiet()
  expect(await shop.max()).toBe(100)
})

test('where it cannot be loaded, ids go on; a later call loads it', async () => {
  const { onlineCalls } = shop
  come()
  const missing = new TypeError('Failed to fetch dynamically imported module')
  shop.onlineCalls = async () => {
    throw missing
  }
  const { hilo } = shop.open()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  await expect(hilo.reserve('orders', 100)).rejects.toMatchObject({
    code: 'server-unreachable',
    message: expect.stringContaining('could not be loaded'),
    cause: missing,
  })
  expect(await hilo.nextId('orders')).toBe('orders/2-A')
  shop.onlineCalls = onlineCalls
  await hilo.reserve('orders', 100)
  expect(hilo.status('orders').available).toBeGreaterThanOrEqual(100)
})

describe('a call that waits for it', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))

  test('rejects when its own timeout has passed', async () => {
    const { hilo } = shop.open()
    const reserving = codeOf(hilo.reserve('orders', 100, { timeout: 100 }))
    await vi.advanceTimersByTimeAsync(99)
    expect(await Promise.race([reserving, 'waits'])).toBe('waits')
    await vi.advanceTimersByTimeAsync(1)
    expect(await Promise.race([reserving, 'waits'])).toBe('timeout')
  })

  test.each([
    ['reserve', (hilo: Hilo, limits: CallOptions) => hilo.reserve({ orders: 100 }, limits)],
    ['release', (hilo: Hilo, { signal }: CallOptions) => hilo.release({ signal: signal! })],
  ])('says of itself what did not happen: %s', async (name, call) => {
    const signal = AbortSignal.abort()
    const aborted = `\`hilo.${name}()\` was aborted by its signal; it did nothing.`
    await expect(call(shop.open().hilo, { signal })).rejects.toThrow(aborted)
  })

  test('says of itself what did not happen in time', async () => {
    const reserving = shop.open().hilo.reserve('orders', 100, { timeout: 100 })
    const message = reserving.catch((error) => error.message)
    await vi.advanceTimersByTimeAsync(100)
    expect(await message).toMatch(/^`hilo.reserve\(\)` did nothing within 100 ms/)
  })

  test.each([
    ['reserve', (hilo: Hilo) => hilo.reserve('orders', 100)],
    ['release', (hilo: Hilo) => hilo.release()],
    ['nextIdentity', (hilo: Hilo) => hilo.nextIdentity('bills')],
    ['startOver', (hilo: Hilo) => hilo.startOver()],
  ])('rejects when the Hilo is closed: %s', async (_, call) => {
    const { hilo } = shop.open()
    const calling = codeOf(call(hilo))
    await hilo.close()
    await quiet()
    expect(await Promise.race([calling, 'waits'])).toBe('closed')
  })

  test.each([
    ['reserve', (hilo: Hilo, signal: AbortSignal) => hilo.reserve({ orders: 100 }, { signal })],
    ['release', (hilo: Hilo, signal: AbortSignal) => hilo.release({ signal })],
    ['release of one', (hilo: Hilo, signal: AbortSignal) => hilo.release('orders', { signal })],
    ['nextIdentity', (hilo: Hilo, signal: AbortSignal) => hilo.nextIdentity('bills', { signal })],
  ])('rejects when its signal is aborted: %s', async (_, call) => {
    const ending = new AbortController()
    const calling = codeOf(call(shop.open().hilo, ending.signal))
    ending.abort()
    await quiet()
    expect(await Promise.race([calling, 'waits'])).toBe('aborted')
  })

  test('has what is left of its timeout when the file has come', async () => {
    shop.answer = () => new Promise(() => {})
    const { hilo } = shop.open()
    const reserving = codeOf(hilo.reserve('orders', 100, { timeout: 100 }))
    await vi.advanceTimersByTimeAsync(60)
    come()
    await quiet()
    await vi.advanceTimersByTimeAsync(40)
    await quiet()
    expect(await Promise.race([reserving, 'waits'])).toBe('timeout')
  })

  test('is refused at once when its options are wrong', async () => {
    const reserving = codeOf(shop.open().hilo.reserve('orders', 100, { timeOut: 5 } as never))
    await quiet()
    expect(await Promise.race([reserving, 'waits'])).toBe('invalid-argument')
  })
})
