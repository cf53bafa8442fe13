/** One chain over all collections of a device: each record holds the link of the one before. */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { type ConsecutiveOptions, consecutive } from '../../../src/addons/consecutive/index.js'
import { createHilo } from '../../../src/addons/testing/index.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { copyProfile, exportOf, inEachStore, openTill } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const ofDevice = chain({
  text: ({ collection, id, kind }, previous) => [collection, id, kind, previous].join(';'),
  over: 'device',
})
const series: ConsecutiveOptions = { chain: ofDevice }

/** By Node's own crypto, which shares no code with the chain. */
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function open(name: string) {
  const { hilo, receipts } = openTill(shop, { name, series })
  return { hilo, receipts, invoices: consecutive(hilo, 'invoices', series) }
}

inEachStore(() => {
  test('two collections have one chain, on any page, offline, also without numbers', async () => {
    const name = newName()
    const { hilo, receipts, invoices } = open(name)
    const first = await receipts.next({ key: 'a' })
    expect(first.hash).toBe(sha256('receipts;A-000001;number;'))
    const second = await invoices.next({ key: 'a' })
    expect(second).toMatchObject({ id: 'A-000001', number: 1 })
    expect(second.hash).toBe(sha256(`invoices;A-000001;number;${first.hash}`))
    hilo.goOffline()
    const third = await open(name).receipts.next({ key: 'b' })
    expect(third.hash).toBe(sha256(`receipts;A-000002;number;${second.hash}`))
    const fourth = await invoices.record({ key: 'void a', kind: 'void' })
    expect(fourth).toEqual({ at: 4, hash: sha256(`invoices;;void;${third.hash}`) })
    expect(await open(name).invoices.record({ key: 'void a', kind: 'void' })).toEqual(fourth)
    const last = await receipts.next({ key: 'c' })
    expect(last).not.toHaveProperty('flags')
    for (const each of [receipts, invoices])
      expect(await each.verify()).toMatchObject({
        chains: [{}, { chain: '', count: 5, last: { chain: '', at: 5, hash: last.hash } }],
        broken: [],
      })
  })

  test('a key has one record: no collection takes that of another one for its own', async () => {
    const { receipts, invoices } = open(newName())
    await receipts.next({ key: 'a' })
    await receipts.record({ key: 'void 17', kind: 'void' })
    await expect(invoices.record({ key: 'void 17', kind: 'void' })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('the key has a record of receipts'),
    })
  })

  test('many pages and collections at once make one record after another', async () => {
    const name = newName()
    const pages = [0, 1].map(() => open(name))
    const keys = Array.from({ length: 8 }, (_, i) => `sale ${i}`)
    await Promise.all(
      pages.flatMap(({ receipts, invoices }) =>
        keys.flatMap((key) => [receipts.next({ key }), invoices.next({ key })]),
      ),
    )
    const { receipts, invoices } = pages[0]!
    expect(await receipts.verify()).toMatchObject({ chains: [{}, { chain: '', count: 16 }] })
    expect(await invoices.verify()).toMatchObject({ broken: [] })
    for (const each of [receipts, invoices])
      expect((await each.report())[0]!.numbers.map(({ number }) => number)).toEqual(
        keys.map((_, i) => i + 1),
      )
  })

  test('an export has the records of the other collection in their order', async () => {
    const { receipts, invoices } = open(newName())
    await receipts.next({ key: 'a' })
    await invoices.next({ key: 'a' })
    await receipts.next({ key: 'b' })
    const all = (await exportOf(receipts)).trim().split('\n')
    const lines = all.filter((line) => JSON.parse(line).record !== 'entry')
    const [head, ...rows] = lines.map((line) => JSON.parse(line))
    expect(head).toMatchObject({ count: 3 })
    expect(rows.map(({ record, at, collection }) => [record, at, collection])).toEqual([
      ['number', 1, 'receipts'],
      ['record', 2, 'invoices'],
      ['number', 3, 'receipts'],
      ['end', undefined, undefined],
    ])
    expect(rows.at(-1)).toMatchObject({ totals: { open: 2 }, check: { broken: [] } })
  })

  test('each server, and each database of one, has a chain of its own', async () => {
    const name = newName()
    await open(name).receipts.next({ key: 'a' })
    const other = openTill(shop, { name, database: 'Other', series }).receipts
    await other.next({ key: 'a' })
    expect(await other.verify()).toMatchObject({ chains: [{}, { count: 1 }] })
  })

  test('a copy of the profile has the chain of both collections', async () => {
    const [name, copy] = [newName(), newName()]
    const { receipts, invoices } = open(name)
    await receipts.next({ key: 'a' })
    const { hash } = await invoices.next({ key: 'a' })
    await copyProfile(name, copy)
    const made = await open(copy).receipts.next({ key: 'b' })
    expect(made.hash).toBe(sha256(`receipts;A-000002;number;${hash}`))
  })
})

test('a Hilo of `offline-hilo/testing` has one, too', async () => {
  const hilo = createHilo()
  const receipts = consecutive(hilo, 'receipts', series)
  const { hash } = await receipts.next({ key: 'a' })
  const made = await consecutive(hilo, 'invoices', series).next({ key: 'a' })
  expect(made.hash).toBe(sha256(`invoices;A-000001;number;${hash}`))
  expect(await receipts.verify()).toMatchObject({ chains: [{}, { count: 2 }] })
})
