/** A till whose chain was changed behind its back, or cut off: the server finds it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { newName, openRaw, requested } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { databaseOf, idsOf, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const SERIES = { chain: chain({ text: ({ id }, previous) => `${id};${previous}` }) }
const NUMBERS = ['numbers', 'links', 'entries']

/** Opens a till that has made A-000001 to A-000003, and has told of them. */
async function till(name: string) {
  const opened = openTill(shop, { name, series: SERIES })
  await idsOf(opened.receipts, 'a', 'b', 'c')
  await expect.poll(registry).toMatchObject([{ last: 3, link: { last: 3, at: 3 } }])
  await opened.hilo.close()
}

/** Somebody changes what a till has stored of its last number. */
async function change(name: string, what: (number: object) => object | undefined): Promise<void> {
  const db = await openRaw(databaseOf(name))
  const numbers = db.transaction(NUMBERS, 'readwrite').objectStore('numbers')
  const changed = what(await requested(numbers.get(['receipts', 'A', 3])))
  if (changed) await requested(numbers.put(changed))
  else await requested(numbers.delete(['receipts', 'A', 3]))
  db.close()
}

test('one that goes on as it was is accused of nothing', async () => {
  const name = newName()
  await till(name)
  const { receipts } = openTill(shop, { name, series: SERIES })
  expect(await idsOf(receipts, 'd', 'e')).toEqual(['A-000004', 'A-000005'])
  await expect.poll(registry).toMatchObject([{ last: 5, link: { last: 5, at: 5 } }])
  const [known] = await registry()
  const { last, ...link } = known!.link!
  expect(await receipts.verify({ known: { chain: 'A', ...link } })).toMatchObject({ broken: [] })
})

test.each([
  [
    'a hash that was changed',
    (row: object) => ({ ...row, link: { chain: 'A', at: 3, hash: 'x' } }),
  ],
  ['a link that has gone', ({ link: _, ...row }: { link?: object }) => row],
  ['an end that has gone', () => undefined],
])('%s: the series is closed, and the reason says why', async (_, what) => {
  const name = newName()
  await till(name)
  await change(name, what)
  const { receipts } = openTill(shop, { name, series: SERIES })
  expect(await idsOf(receipts, 'd')).toEqual(['B-000001'])
  const [ended] = await receipts.report()
  expect(ended!.ended).toMatchObject({
    kind: 'closed',
    by: 'the server',
    reason: expect.stringContaining('number 3 is not what the server has heard of it'),
  })
  expect((await registry())[0]).toMatchObject({
    series: 'A',
    last: 3,
    closed: { by: 'the server' },
  })
})
