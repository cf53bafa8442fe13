/** The file that gives back is loaded after the first ids: it may be late. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
let come = () => {}

beforeEach(async () => {
  const file = await vi.importActual<object>('../../src/client/online-calls.js')
  vi.doMock('../../src/client/online-calls.js', async () => {
    await new Promise<void>((resolve) => (come = resolve))
    return file
  })
  shop = await newShop()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(async () => {
  come()
  vi.useRealTimers()
  vi.doUnmock('../../src/client/online-calls.js')
  await shop.close()
})

/** Passes the second after which a page at rest looks at what it holds. */
async function rest(): Promise<void> {
  await quiet()
  await vi.advanceTimersByTimeAsync(1_000)
  await quiet()
}

test('a page that was at rest when it came still gives everything back when it goes', async () => {
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
