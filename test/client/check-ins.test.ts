/** A page that is seen again, or online again, checks in: a copy of its storage is found sooner. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OwnerLink } from '../../src/client/owner-link.js'
import { eventually } from '../support/eventually.js'
import { FakePage } from '../support/page.js'
import { newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
let network: EventTarget

beforeEach(async () => {
  shop = await newShop()
  network = new EventTarget()
  vi.stubGlobal('addEventListener', network.addEventListener.bind(network))
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await shop.close()
})

const checkIns = () => shop.requests.filter(({ action }) => action === 'checkin').length
/** Checking in again after less than a minute would tell nothing new. */
const passAMinute = () => vi.setSystemTime(Date.now() + 61_000)

/** A page that holds numbers and has checked in once. */
async function opened() {
  const earlier = shop.open().hilo
  await earlier.nextId('orders')
  await earlier.close()
  const page = new FakePage()
  const hilo = shop.openIn(page)
  await hilo.nextId('orders')
  await eventually(async () => expect(await hilo.inspect('orders')).toHaveProperty('checkedIn'))
  // It is stored a little before the check-in is over.
  await quiet()
  return { hilo, page, before: checkIns() }
}

test('when it is shown again', async () => {
  const { page, before } = await opened()
  passAMinute()
  page.hide()
  expect(checkIns()).toBe(before)
  const retryNow = vi.spyOn(OwnerLink.prototype, 'retryNow')
  page.show()
  // A claim that waits is sent at once, too.
  expect(retryNow).toHaveBeenCalledOnce()
  retryNow.mockRestore()
  await eventually(() => expect(checkIns()).toBe(before + 1))
})

test('when it comes back out of the back/forward cache', async () => {
  const { page, before } = await opened()
  passAMinute()
  page.leave()
  page.comeBack()
  await eventually(() => expect(checkIns()).toBe(before + 1))
})

test('when the network is back', async () => {
  const { before } = await opened()
  passAMinute()
  network.dispatchEvent(new Event('online'))
  await eventually(() => expect(checkIns()).toBe(before + 1))
})

test('but not each time that somebody switches tabs', async () => {
  const { hilo, page, before } = await opened()
  page.hide()
  page.show()
  network.dispatchEvent(new Event('online'))
  await hilo.nextIds('orders', 5)
  expect(checkIns()).toBe(before)
})

test('as soon as it is hidden, if numbers were used since', async () => {
  const { hilo, page, before } = await opened()
  vi.setSystemTime(Date.now() + 11_000)
  await hilo.nextIds('orders', 20)
  page.hide()
  await eventually(() => expect(checkIns()).toBe(before + 1))
})

test('but not when it is left: it may be frozen in the middle of a transaction', async () => {
  const { hilo, page } = await opened()
  vi.setSystemTime(Date.now() + 11_000)
  await hilo.nextIds('orders', 20)
  const reportNow = vi.spyOn(OwnerLink.prototype, 'reportNow')
  page.leave()
  expect(reportNow).not.toHaveBeenCalled()
  page.comeBack()
  page.hide()
  expect(reportNow).toHaveBeenCalledOnce()
})
