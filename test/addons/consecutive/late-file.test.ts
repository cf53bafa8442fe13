/** The file that speaks with the server is loaded on demand: it may be missing, or come later. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { errorOf, newShop, refusal, type Shop } from '../../support/shop.js'
import { currentOf, expectWhole, idsOf, openTill } from './devices.js'

let shop: Shop
let isThere = true

beforeEach(async () => {
  isThere = true
  const file = await vi.importActual<object>('../../../src/addons/consecutive/online.js')
  vi.doMock('../../../src/addons/consecutive/online.js', () => ({
    ...file,
    get onlineSeries() {
      if (isThere) return (file as { onlineSeries: unknown }).onlineSeries
      throw new TypeError('Failed to fetch dynamically imported module')
    },
  }))
  shop = await newShop()
  vi.stubGlobal('navigator', {})
})
afterEach(async () => {
  vi.doUnmock('../../../src/addons/consecutive/online.js')
  await shop.close()
})

test('a device without a series says so, and gets one when it has come', async () => {
  isThere = false
  const { receipts } = openTill(shop)
  await expect(receipts.prepare()).rejects.toMatchObject({ code: 'server-unreachable' })
  await expect(receipts.next({ key: 'a' })).rejects.toThrow(/could not be loaded/)
  expect(await currentOf(receipts)).toBeUndefined()
  isThere = true
  expect(await receipts.next({ key: 'a' })).toMatchObject({ id: 'A-000001', heard: true })
})

test('a device that has a series goes on without it, and tells the server later', async () => {
  await idsOf(openTill(shop).receipts, 'a', 'b')
  isThere = false
  const { receipts } = openTill(shop)
  expect(await receipts.prepare()).toMatchObject({ series: 'A', last: 2 })
  expect(await receipts.next({ key: 'c' })).toMatchObject({ id: 'A-000003', heard: false })
  await receipts.settle('c', 'confirmed')
  expect(await receipts.unfinished()).toHaveLength(2)
  const [report] = await receipts.report()
  expect(report!.numbers.map(({ heard }) => heard)).toEqual([undefined, undefined, false])
  isThere = true
  await idsOf(receipts, 'd')
  await expect.poll(() => currentOf(receipts)).toMatchObject({ made: 4, heard: 4 })
  expect(await receipts.next({ key: 'e' })).toMatchObject({ id: 'A-000005', heard: true })
  expectWhole(await receipts.report())
})

test('what the server refuses is still refused where it is missing', async () => {
  const first = openTill(shop)
  await idsOf(first.receipts, 'a')
  shop.answer = () => refusal(403)
  await expect(first.receipts.next({ key: 'b' })).rejects.toMatchObject({ code: 'server-refused' })
  isThere = false
  const { receipts } = openTill(shop)
  await expect(receipts.next({ key: 'c' })).rejects.toMatchObject({ code: 'server-refused' })
})

test('a service worker, which may load nothing late, is told what it needs', async () => {
  isThere = false
  vi.stubGlobal('ServiceWorkerGlobalScope', class {})
  const { receipts } = openTill(shop)
  const error = await errorOf(receipts.next({ key: 'a' }))
  expect(error).toMatchObject({ code: 'server-unreachable' })
  expect(error.message).toMatch(/service worker .*bundle it into one file/)
  expect(error.message).not.toMatch(/reload/i)
})
