/**
 * A restored server has forgotten that a series went to another till. Once it hears of that till,
 * neither of them makes a number of the series any more, and each says why.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SeriesReport } from '../../../src/addons/consecutive/report.js'
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

async function floorsRaised() {
  await shop.ledger.raiseFloors({ database: 'default', by: 10 })
  await shop.ledger.reopenSeries({ database: 'default' })
}

/** The server is put back to the backup, as the documents say: with its floors raised. */
async function restored() {
  await restore()
  await floorsRaised()
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

const reason = expect.stringMatching(/restore had forgotten.*compare their documents/)
const closed = { kind: 'closed', by: 'the server', reason }
const unsure = { by: 'the server', reason }
const forgotten = { kind: 'handed-over', to: 'another device', by: 'the server', reason }

test('the till that got the series is heard first: the series ends for both', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  expect(await makes(till4, 'z')).toEqual(['L-000001'])
  await endOf(till4).toMatchObject(closed)
  await endOf(till3).toMatchObject({ ...forgotten, from: 'Till 3', doubtful: { from: 1, to: 3 } })
  expect((await registry())[0]).toMatchObject({ device: 'another device', closed: {} })
})

test('the lost till is heard first: the series ends for both once the other is heard', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  expect(await makes(till3, 'd')).toEqual(['T3-000004'])
  expect(await makes(till4, 'z')).toEqual(['L-000001'])
  await endOf(till4).toMatchObject(closed)
  await endOf(till3).toMatchObject({ ...forgotten, doubtful: { from: 1, to: 4 } })
  expect(await handOver('Till 5', 4)).toMatchObject({ refused: 'heard', least: 5 })
  expect(await handedOver('Till 5', 5)).toBeDefined()
})

test.each([
  ['a server does not know of its restore', 0],
  ['the floors are raised after the lost till was heard', 1],
  ['the floors are raised twice after the lost till was heard', 2],
])('%s: the series ends for both', async (_, times) => {
  const till4 = await handedOver('Till 4', 3)
  await restore()
  expect(await makes(till3, 'd')).toEqual(['T3-000004'])
  for (let time = 0; time < times; time++) await floorsRaised()
  till4.hilo.goOnline()
  await endOf(till4).toMatchObject(closed)
  await endOf(till3).toMatchObject({ ...forgotten, doubtful: { from: 1, to: 4 } })
})

test('two restores of one backup: each till ends that got the series in between', async () => {
  const till4 = await handedOver('Till 4', 3)
  await restored()
  const till5 = await handedOver('Till 5', 5)
  await restored()
  till5.hilo.goOnline()
  await endOf(till5).toMatchObject(closed)
  for (const each of [till4, till3]) await endOf(each).toMatchObject(forgotten)
})

test.each([
  ['last', ['Till 5', 'Till 4']],
  ['first', ['Till 4', 'Till 5']],
])('of two forgotten hand-overs the %s is heard first: all three end', async (_, order) => {
  const tills = { 'Till 4': await handedOver('Till 4', 3), 'Till 5': await handedOver('Till 5', 5) }
  await restored()
  for (const name of order) {
    const till = tills[name as keyof typeof tills]
    till.hilo.goOnline()
    await expect.poll(async () => (await till.receipts.report())[0]!.ended).toBeDefined()
  }
  await endOf(tills['Till 5']).toMatchObject(closed)
  await endOf(till3).toMatchObject(forgotten)
})

test('whom a person names after the restore goes on, and none of the forgotten tills', async () => {
  const till4 = await handedOver('Till 4', 3)
  const till5 = await handedOver('Till 5', 5)
  await restored()
  const till6 = await handedOver('Till 6', 7)
  const named = { kind: 'handed-over', to: 'Till 6', by: 'anna' }
  await endOf(till3).toMatchObject(named)
  for (const each of [till5, till4]) await endOf(each).toMatchObject({ ...named, ...unsure })
  expect(await makes(till6, 'last')).toEqual(['T3-000010'])
})

test.each([
  ['the forgotten till', true],
  ['the lost till', false],
])(
  '%s is heard first: what both made is doubtful, also as a person stated it',
  async (_, isFirst) => {
    const till4 = await handedOver('Till 4', 3)
    expect(await idsOf(till3.receipts, 'd', 'e')).toEqual(['T3-000004', 'T3-000005'])
    await restored()
    await handedOver('Till 6', 5)
    const tills = isFirst ? [till4, till3] : [till3, till4]
    for (const each of tills) await endOf(each).toMatchObject({ kind: 'handed-over', to: 'Till 6' })
    const [{ ended, numbers }] = (await till4.receipts.report()) as [SeriesReport]
    expect(ended).toMatchObject({ ...unsure, doubtful: { from: 4, to: 5 } })
    expect(numbers.map(({ id, isDoubtful }) => [id, isDoubtful])).toEqual([
      ['T3-000004', true],
      ['T3-000005', true],
    ])
    expect((await registry())[0]).toMatchObject({ device: 'Till 6', doubtful: { from: 3, to: 5 } })
  },
)

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

test('a backup that is restored twice stops nobody, if the floors go up by both', async () => {
  await restore()
  await shop.ledger.raiseFloors({ database: 'default', by: 10 })
  const till9 = till('Till 9')
  await idsOf(till9.receipts, 'a')
  till9.hilo.goOffline()
  await restore()
  await shop.ledger.raiseFloors({ database: 'default', by: 20 })
  expect(await makes(till9, 'b')).toEqual(['V-000001'])
  expect(await shop.ledger.restored()).toEqual([])
})

test.each([
  ['is heard when the other one has the series', true],
  ['is heard before the other one asks for the series', false],
])(
  'of two tills that got a series after restores of one backup, the first %s: it ends',
  async (_, isTaken) => {
    await restored()
    const till5 = await handedOver('Till 5', 3)
    expect(await idsOf(till5.receipts, 'z', 'zz')).toEqual(['T3-000006', 'T3-000007'])
    await restored()
    expect(await handOver('Till 6', 5)).toMatchObject({ device: 'Till 6' })
    const till6 = till('Till 6')
    if (isTaken) expect(await idsOf(till6.receipts, 'a')).toEqual(['T3-000006'])
    till5.hilo.goOnline()
    await endOf(till5).toMatchObject({
      ...{ kind: 'handed-over', to: 'Till 6', ...unsure },
      doubtful: { to: 7 },
    })
    expect(await idsOf(till6.receipts, 'b')).toEqual([isTaken ? 'T3-000007' : 'T3-000008'])
    const [{ ended, numbers }] = (await till5.receipts.report()) as [SeriesReport]
    expect(ended).toMatchObject({ kind: 'handed-over' })
    const inDoubt = numbers.filter(({ isDoubtful }) => isDoubtful).map(({ id }) => id)
    expect(inDoubt).toEqual(expect.arrayContaining(['T3-000006', 'T3-000007']))
    expect((await registry())[0]).toMatchObject({ device: 'Till 6', doubtful: { to: 7 } })
  },
)
