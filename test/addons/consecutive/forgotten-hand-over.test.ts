/**
 * A restored server has forgotten that a series went to another till. Once it hears of that till,
 * no number of the series is made twice any more.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { idsOf, openTill, registry, type Till } from './devices.js'

let shop: Shop
let till3: Till
let restore: () => Promise<void>

const KEY = { database: 'default', collection: 'receipts', letter: 'T3' }

const handOver = (to: string, last: number) =>
  shop.ledger.handOverSeries({
    ...{ ...KEY, to, last, period: '', by: 'anna', reason: 'the till was stolen' },
    at: Date.UTC(2026, 10, 21),
  })

const till = (device: string) => openTill(shop, { name: newName(), series: { device } })

/** A person gives T3 to a new till, which makes two numbers. */
async function handedOver(to: string, last: number): Promise<Till> {
  expect(await handOver(to, last)).toMatchObject({ device: to })
  const next = till(to)
  const made = [last + 1, last + 2].map((number) => `T3-00000${number}`)
  expect(await idsOf(next.receipts, 'x', 'y')).toEqual(made)
  next.hilo.goOffline()
  return next
}

/** The server is put back to the backup, as the documents say: with its floors raised. */
async function restored() {
  await restore()
  await shop.ledger.raiseFloors({ database: 'default', by: 10 })
  await shop.ledger.reopenSeries({ database: 'default' })
}

const makes = ({ hilo, receipts }: Till, key: string) => {
  hilo.goOnline()
  return idsOf(receipts, key)
}

const endOf = ({ hilo, receipts }: Till) => {
  hilo.goOffline()
  hilo.goOnline()
  return expect.poll(async () => (await receipts.report())[0]!.ended)
}

/** Till 3 has made 1 and 2 before the backup, and 3 without a network. */
beforeEach(async () => {
  shop = await newShop()
  till3 = openTill(shop, { name: newName(), series: { device: 'Till 3', series: 'T3' } })
  await idsOf(till3.receipts, 'a', 'b')
  restore = await shop.backUp()
  till3.hilo.goOffline()
  await idsOf(till3.receipts, 'c')
})
afterEach(() => shop.close())

const forgotten = { kind: 'handed-over', from: 'Till 3', to: 'another device', by: 'the server' }

test('the till that got the series is heard first: it goes on, and the lost one ends', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  expect(await makes(till4, 'z')).toEqual(['T3-000006'])
  await endOf(till3).toMatchObject({ ...forgotten, heard: 2, doubtful: { from: 3, to: 3 } })
  expect(await idsOf(till4.receipts, 'last')).toEqual(['T3-000007'])
  const [listed] = await registry()
  expect(listed).toMatchObject({ device: 'another device', last: 7, doubtful: { from: 3, to: 3 } })
  expect(listed!.closed).toBeUndefined()
  const renamed = await shop.ledger.renameDevice({ ...KEY, device: 'Till 4' })
  expect(renamed).toMatchObject({ device: 'Till 4', handOvers: [{ from: 'Till 3', to: 'Till 4' }] })
})

test('the lost till is heard first: the series ends for both once the other is heard', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  expect(await makes(till3, 'd')).toEqual(['T3-000004'])
  expect(await makes(till4, 'z')).toEqual(['L-000001'])
  const reason = expect.stringMatching(/restore had forgotten/)
  await endOf(till4).toMatchObject({ kind: 'closed', by: 'the server', reason })
  await endOf(till3).toMatchObject({ ...forgotten, heard: 0, doubtful: { from: 1, to: 4 } })
  expect(await handOver('Till 5', 4)).toMatchObject({ refused: 'heard', least: 5 })
  expect(await handedOver('Till 5', 5)).toBeDefined()
})

test('a server that does not know of its restore ends the series for both', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restore()
  till4.hilo.goOnline()
  await endOf(till4).toMatchObject({ kind: 'closed', by: 'the server' })
  await endOf(till3).toMatchObject({ ...forgotten, doubtful: { from: 1, to: 3 } })
})

test('a second restore of the backup changes nothing of that', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  const till5 = await handedOver('Till 5', 5)
  await restored()
  expect(await makes(till5, 'z')).toEqual(['T3-000008'])
  await endOf(till4).toMatchObject(forgotten)
  await endOf(till3).toMatchObject(forgotten)
  expect(await idsOf(till5.receipts, 'last')).toEqual(['T3-000009'])
})

test('what the lost till told is not forgotten by a later restore', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  expect(await makes(till3, 'd')).toEqual(['T3-000004'])
  restore = await shop.backUp()
  await restored()
  await endOf(till4).toMatchObject({ kind: 'closed', by: 'the server' })
  await endOf(till3).toMatchObject({ ...forgotten, doubtful: { from: 1, to: 4 } })
})

test('of two forgotten hand-overs, the last till goes on if it is heard first', async () => {
  const till4 = await handedOver('Till 4', 3)
  const till5 = await handedOver('Till 5', 5)
  await restored()
  expect(await makes(till5, 'z')).toEqual(['T3-000008'])
  await endOf(till4).toMatchObject(forgotten)
  await endOf(till3).toMatchObject(forgotten)
  expect(await idsOf(till5.receipts, 'last')).toEqual(['T3-000009'])
})

test('if the first of two is heard first, the series ends for all of them', async () => {
  const till4 = await handedOver('Till 4', 3)
  const till5 = await handedOver('Till 5', 5)
  await restored()
  till4.hilo.goOnline()
  await expect.poll(async () => (await registry())[0]).toMatchObject({ handOvers: [{}] })
  await endOf(till5).toMatchObject({ kind: 'closed', by: 'the server' })
  const both = { kind: 'handed-over', to: 'another device' }
  await endOf(till4).toMatchObject({ ...both, doubtful: { from: 4, to: 5 } })
  await endOf(till3).toMatchObject(both)
})

test('whom a person names after the restore goes on, and none of the forgotten tills', async () => {
  const till4 = await handedOver('Till 4', 3)
  const till5 = await handedOver('Till 5', 5)
  await restored()
  const till6 = await handedOver('Till 6', 7)
  const named = { kind: 'handed-over', to: 'Till 6', by: 'anna' }
  for (const each of [till5, till4, till3]) await endOf(each).toMatchObject(named)
  expect(await makes(till6, 'last')).toEqual(['T3-000010'])
})

test('another series, whose till made numbers since the backup, goes on', async () => {
  const till8 = openTill(shop, { name: newName(), series: { device: 'Till 8', series: 'T8' } })
  await idsOf(till8.receipts, 'a')
  restore = await shop.backUp()
  await idsOf(till8.receipts, 'b', 'c')
  till8.hilo.goOffline()
  const till4 = await handedOver('Till 4', 3)
  await restored()
  await makes(till3, 'd')
  await makes(till4, 'z')
  expect(await makes(till8, 'd')).toEqual(['T8-000004'])
  expect((await registry())[1]).toMatchObject({ series: 'T8', device: 'Till 8', last: 4 })
})
