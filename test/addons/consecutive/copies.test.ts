/** A till and a copy of its profile, both online: no number is handed out by both. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { copyProfile, expectWhole, idsOf, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

/** Each request and each answer takes half of it. */
function roundTrip(milliseconds: number): void {
  if (milliseconds === 0) return
  const handle = globalThis.fetch
  const half = () => new Promise((resolve) => setTimeout(resolve, milliseconds / 2))
  vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
    await half()
    const answer = await handle(...args)
    await half()
    return answer
  })
}

describe.each([0, 400])('at a round trip of %i ms', (milliseconds) => {
  test('a till that was online all along makes none that its copy made', async () => {
    const [name, copy] = [newName(), newName()]
    const till = openTill(shop, { name })
    const before = await idsOf(till.receipts, 'a', 'b')
    await expect.poll(registry).toMatchObject([{ last: 2 }])
    await copyProfile(name, copy)
    roundTrip(milliseconds)
    const copied = openTill(shop, { name: copy })
    const ofCopy = await idsOf(copied.receipts, 'x', 'y', 'z')
    const ofTill = await idsOf(till.receipts, 'c', 'd', 'e')
    const all = [...before, ...ofCopy, ...ofTill]
    expect(all).toEqual([...new Set(all)])
    for (const { receipts } of [till, copied]) expectWhole(await receipts.report())
  })

  test('two that make numbers at once make none twice', async () => {
    const [name, copy] = [newName(), newName()]
    const till = openTill(shop, { name })
    await idsOf(till.receipts, 'a')
    await expect.poll(registry).toMatchObject([{ last: 1 }])
    await copyProfile(name, copy)
    roundTrip(milliseconds)
    const copied = openTill(shop, { name: copy })
    const all = await Promise.all([
      idsOf(till.receipts, 'b', 'c', 'd'),
      idsOf(copied.receipts, 'x', 'y', 'z'),
      ...['p', 'q'].map((key) => idsOf(copied.receipts, key)),
    ])
    expect(all.flat()).toEqual([...new Set(all.flat())])
    for (const { receipts } of [till, copied]) expectWhole(await receipts.report())
  })
})
