/** A device makes numbers of the series that its app names, and of no other one. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { consecutive } from '../../../src/addons/consecutive/index.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { idsOf, inEachStore, openTill } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const close = (letter: string) =>
  shop.ledger.closeSeries({
    database: 'default',
    collection: 'receipts',
    letter,
    by: 'anna',
    reason: 'the app names another one',
    at: Date.UTC(2026, 10, 25),
  })

inEachStore(() => {
  test('a device that has another series makes no number, and keeps its own', async () => {
    const name = newName()
    const { hilo, receipts } = openTill(shop, { name })
    expect(await idsOf(receipts, 'a', 'b')).toEqual(['A-000001', 'A-000002'])
    const series = { series: 'T3', ranges: [{ from: 1001, to: 1100 }] }
    const named = openTill(shop, { name, series }).receipts
    const refusal = {
      code: 'invalid-argument',
      message: expect.stringMatching(/has series A of 'receipts', and .* says T3.*--close A/),
    }
    await expect(named.prepare()).rejects.toMatchObject(refusal)
    const onSamePage = consecutive(hilo, 'receipts', { series: 'T3' })
    for (const each of [named, onSamePage])
      await expect(each.next({ key: 'c' })).rejects.toMatchObject(refusal)
    // Its key has a number, so it stays.
    expect(await idsOf(named, 'a')).toEqual(['A-000001'])
    expect(await idsOf(receipts, 'c')).toEqual(['A-000003'])
    await close('A')
    await named.prepare()
    expect((await receipts.report()).at(-1)).toMatchObject({ series: 'T3', numbers: [] })
    expect(await idsOf(named, 'd')).toEqual(['T3-001001'])
  })
})
