/**
 * A restored server takes whichever of a till and its copy comes first for the one that it knows,
 * because it has forgotten the token of the other. Once both have come, each says which numbers may
 * exist twice, and neither makes another one.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { copyProfile, idsOf, openTill, registry, type Till } from './devices.js'

let shop: Shop
let till: Till
let copies: Till[]
let restore: () => Promise<void>

const open = (name: string) => openTill(shop, { name, series: { device: 'Till 3' } })

async function copyOf(name: string): Promise<Till> {
  const copy = newName()
  await copyProfile(name, copy)
  const copied = open(copy)
  copied.hilo.goOffline()
  return copied
}

/** In the order in which they are asked for: numbers that a till says it made with the server. */
async function makes({ hilo, receipts }: Till, ...keys: string[]) {
  hilo.goOnline()
  const made = await Promise.all(keys.map((key) => receipts.next({ key })))
  expect(made.every(({ heard }) => heard)).toBe(true)
  hilo.goOffline()
  return made.map(({ id }) => id)
}

async function endOf({ hilo, receipts }: Till) {
  hilo.goOffline()
  hilo.goOnline()
  await expect.poll(async () => (await receipts.report())[0]!.ended).toBeDefined()
  return (await receipts.report())[0]!.ended
}

async function floorsRaised() {
  await shop.ledger.raiseFloors({ database: 'default', by: 10 })
  await shop.ledger.reopenSeries({ database: 'default' })
}

async function restored() {
  await restore()
  await floorsRaised()
}

/** A device starts, asks whether it is a copy, and makes no number. */
async function lookedOf({ hilo, receipts }: Till) {
  const checkIns = () => shop.requests.filter(({ action }) => action === 'checkin').length
  const before = checkIns()
  hilo.goOnline()
  await expect.poll(checkIns).toBeGreaterThan(before)
  await receipts.report()
  hilo.goOffline()
}

const receipts = (...numbers: number[]) => numbers.map((number) => `A-00000${number}`)
const two = {
  ...{ kind: 'handed-over', from: 'Till 3', to: 'another device', by: 'the server' },
  reason: expect.stringMatching(/restored.*two copies.*compare their documents/),
}

/** The till makes 1 and 2 before the backup, 3 to 5 after it, and is copied before 4 and 5. */
beforeEach(async () => {
  shop = await newShop()
  const name = newName()
  till = open(name)
  await idsOf(till.receipts, 'a', 'b')
  restore = await shop.backUp()
  await idsOf(till.receipts, 'c')
  copies = [await copyOf(name)]
  await idsOf(till.receipts, 'd')
  copies.push(await copyOf(name))
  await idsOf(till.receipts, 'e')
  till.hilo.goOffline()
})
afterEach(() => shop.close())

describe.each([1, 2, 5])('of a copy that makes %i numbers', (count) => {
  const keys = ['p', 'q', 'r', 's', 't'].slice(0, count)

  test.each([
    ['the floors are raised', 1, 0],
    ['nobody raises the floors', 0, 0],
    ['the floors are raised after it was heard', 0, 1],
    ['the floors are raised twice', 1, 1],
  ])('heard first, %s: the series ends for both', async (_, before, after) => {
    await restore()
    if (before) await floorsRaised()
    expect(await makes(copies[0]!, ...keys)).toEqual(receipts(4, 5, 6, 7, 8).slice(0, count))
    if (after) await floorsRaised()
    if (after) await lookedOf(copies[0]!)
    expect(await endOf(till)).toMatchObject({ ...two, doubtful: { from: 4, to: 5 } })
    const last = 3 + count
    expect(await endOf(copies[0]!)).toMatchObject({ ...two, doubtful: { from: 4, to: last } })
    const doubtful = { from: 4, to: Math.max(5, last) }
    expect((await registry())[0]).toMatchObject({ doubtful, closed: { by: 'the server' } })
  })

  test('heard after the till: it gets another series, no number comes twice', async () => {
    await restored()
    expect(await makes(till, 'f')).toEqual(receipts(6))
    expect(await makes(copies[0]!, ...keys)).not.toContainEqual(expect.stringMatching(/^A/))
    expect(await endOf(copies[0]!)).toEqual({ kind: 'copied', heard: 6 })
    expect(await makes(till, 'g')).toEqual(receipts(7))
  })
})

test('a copy that has made no number since gives way to the till', async () => {
  await restored()
  for (const copy of copies) await lookedOf(copy)
  expect(await makes(till, 'f', 'g')).toEqual(receipts(6, 7))
  for (const copy of copies) {
    expect(await makes(copy, 'p')).not.toContainEqual(expect.stringMatching(/^A/))
    expect(await endOf(copy)).toEqual({ kind: 'copied', heard: 7 })
  }
  expect(await makes(till, 'h')).toEqual(receipts(8))
})

test('of two copies and the till each is told, in any order', async () => {
  await restored()
  expect(await makes(copies[1]!, 'p')).toEqual(receipts(5))
  expect(await endOf(copies[0]!)).toMatchObject({ kind: 'copied' })
  expect(await makes(copies[1]!, 'q')).toEqual(receipts(6))
  expect(await endOf(till)).toMatchObject({ ...two, doubtful: { from: 5, to: 5 } })
  expect(await endOf(copies[1]!)).toMatchObject({ ...two, doubtful: { from: 5, to: 6 } })
})

test('a third one that comes late is told, too', async () => {
  await restored()
  await makes(copies[0]!, 'p')
  expect(await endOf(copies[1]!)).toMatchObject({ ...two, doubtful: { from: 4, to: 4 } })
  expect(await endOf(till)).toMatchObject({ ...two, doubtful: { from: 4, to: 5 } })
})

test('handed over after a copy was heard: the till tells what both made', async () => {
  await restored()
  expect(await makes(copies[0]!, 'p')).toEqual(receipts(4))
  await shop.ledger.handOverSeries({
    ...{ database: 'default', collection: 'receipts', letter: 'A', to: 'Till 4', last: 5 },
    ...{ period: '', by: 'anna', reason: 'the till was stolen', at: Date.UTC(2026, 10, 21) },
  })
  const other = openTill(shop, { name: newName(), series: { device: 'Till 4' } })
  expect(await makes(other, 'x')).toEqual(receipts(6))
  expect(await endOf(till)).toMatchObject({ ...two, to: 'Till 4', doubtful: { from: 4, to: 5 } })
  expect((await registry())[0]).toMatchObject({ device: 'Till 4', doubtful: { from: 4, to: 5 } })
  expect(await endOf(copies[0]!)).toMatchObject({ kind: 'handed-over', by: 'anna' })
  expect(await makes(other, 'y')).toEqual(receipts(7))
})

test('a till whose first answer after the restore was lost goes on', async () => {
  await restored()
  let isLost = true
  shop.answer = (request) => {
    if (!isLost || !request.url.endsWith('/checkin')) return undefined
    isLost = false
    return Response.error()
  }
  till.hilo.goOnline()
  expect(await idsOf(till.receipts, 'f', 'g')).toEqual(receipts(6, 7))
})
