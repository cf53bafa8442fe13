/** Another ledger answers at the address of the server (H34): what an app sees of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHiloHandler, type Ledger, openLedger } from '../../server/src/index.js'
import { consecutive } from '../../src/addons/consecutive/index.js'
import type { Hilo, HiloEvents } from '../../src/client/hilo.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { codeOf, errorOf, newShop, numberOf, quiet, type Shop } from '../support/shop.js'
import { shownLog } from '../support/shown-log.js'

const OPTIONS = { reserve: 4, database: 'Shop' }

let shop: Shop
let other: Ledger
let folder: string

beforeEach(async () => {
  shop = await newShop()
  folder = mkdtempSync(join(tmpdir(), 'offline-hilo-'))
  other = await openLedger({ create: true, dataDir: folder })
})
afterEach(async () => {
  vi.useRealTimers()
  await shop.close()
  await other.close()
  rmSync(folder, { recursive: true, force: true })
})

/** From now on, only the other ledger answers. */
function answerAsOther(): void {
  const handle = createHiloHandler({ ledger: other, log: shownLog, open: true })
  shop.answer = (request) => handle(request)
}

/** A page that has an id of the first ledger, and hears of every change. */
async function opened() {
  const { hilo } = shop.open(OPTIONS)
  const heard: HiloEvents['ledger'][] = []
  hilo.addEventListener('ledger', ({ detail }) => heard.push(detail))
  await hilo.nextId('orders')
  await quiet()
  return { hilo, heard }
}

/** More ids than the device has, so that it asks the server. */
const askServer = (hilo: Hilo) => codeOf(hilo.nextIds('orders', 50))

const names = async () => ({
  before: `${await shop.ledger.readName()}/shop`,
  after: `${await other.readName()}/shop`,
})

test('stops every page, which hear and show it, and grants nothing', async () => {
  const { hilo, heard } = await opened()
  const second = shop.open(OPTIONS).hilo
  await second.nextId('orders')
  answerAsOther()
  expect(await askServer(hilo)).toBe('other-ledger')
  await eventually(() => expect(second.status('orders').stopped).toBeDefined())
  for (const page of [hilo, second]) {
    expect(await codeOf(page.nextId('orders'))).toBe('other-ledger')
    expect(page.status('orders')).toMatchObject({ available: 0, leased: 0, state: 'exhausted' })
    expect(page.status('orders').stopped).toMatchObject(await names())
  }
  expect(heard).toMatchObject([{ collection: 'orders', ...(await names()), isStopped: true }])
  expect(heard[0]!.since).toBeInstanceOf(Date)
  expect(await other.status()).toEqual([])
})

test('stops all collections of the database', async () => {
  const { hilo } = await opened()
  await hilo.nextId('lines')
  answerAsOther()
  await askServer(hilo)
  await eventually(() => expect(hilo.status('lines').stopped).toBeDefined())
  expect(await codeOf(hilo.nextId('lines'))).toBe('other-ledger')
})

test('stops also a collection of the database that is new on the device', async () => {
  const { hilo } = await opened()
  answerAsOther()
  expect(await codeOf(hilo.nextId('lines'))).toBe('other-ledger')
  expect(hilo.status('lines').stopped).toMatchObject(await names())
  await eventually(() => expect(hilo.status('orders').stopped).toBeDefined())
  expect(await other.status()).toEqual([])
})

test('starting over leaves nothing of the first one in another collection', async () => {
  const { hilo } = await opened()
  await hilo.nextId('tickets')
  await hilo.close()
  const next = shop.open(OPTIONS).hilo
  answerAsOther()
  expect(await askServer(next)).toBe('other-ledger')
  await next.startOver()
  expect(await next.nextId('orders')).toMatch(/^orders\//)
  expect(await next.nextId('lines')).toMatch(/^lines\//)
  expect(await next.nextIdentity('invoices', { database: 'Shop' })).toBe(1)
  expect(numberOf(await next.nextId('tickets'))).toBeGreaterThan(18)
})

test('another tab that has not asked since claims for a new collection, too', async () => {
  const { hilo } = await opened()
  const second = shop.open(OPTIONS).hilo
  await second.nextId('orders')
  answerAsOther()
  expect(await askServer(hilo)).toBe('other-ledger')
  await eventually(() => expect(second.status('orders').stopped).toBeDefined())
  await hilo.startOver()
  await eventually(() => expect(second.status('orders').stopped).toBeUndefined())
  expect(await second.nextId('lines')).toMatch(/^lines\//)
})

test('is heard where it answers one claim of two collections, and no other', async () => {
  const { hilo } = await opened()
  await hilo.nextId('lines')
  await quiet()
  const before = await shop.max('orders')
  const [first, second] = [shop.ledger, other].map((ledger) =>
    createHiloHandler({ ledger, log: shownLog, open: true }),
  )
  const answered: string[][] = []
  shop.answer = async (request) => {
    const { collections = [] }: { collections?: { tag: string }[] } = await request.clone().json()
    answered.push(collections.map(({ tag }) => tag))
    return collections.length === 2 ? second!(request) : first!(request)
  }
  const many = ['orders', 'lines'].map((name) => codeOf(hilo.nextIds(name, 50)))
  expect(await Promise.all(many)).toEqual(['other-ledger', 'other-ledger'])
  expect(answered[0]).toEqual(expect.arrayContaining(['orders', 'lines']))
  expect(await shop.max('orders')).toBe(before)
})

test('stops the device for good: also its next page, and when the first one is back', async () => {
  const { hilo } = await opened()
  answerAsOther()
  await askServer(hilo)
  await hilo.close()
  shop.answer = undefined
  const next = shop.open(OPTIONS).hilo
  const { code, message } = await errorOf(next.nextId('orders'))
  expect(code).toBe('other-ledger')
  for (const part of [(await names()).before, (await names()).after, 'startOver()'])
    expect(message).toContain(part)
})

test('goes on with the other ledger when the app starts over, above all it had', async () => {
  const { hilo, heard } = await opened()
  answerAsOther()
  await askServer(hilo)
  await hilo.startOver()
  // It has seen 18 numbers of the first one.
  expect(numberOf(await hilo.nextId('orders'))).toBe(19)
  expect(heard.map(({ isStopped }) => isStopped)).toEqual([true, false])
  expect(hilo.status('orders').stopped).toBeUndefined()
  expect(hilo.status().gaps.ledger).toBe(heard[1]!.numbers)
})

test('starting over goes on with the first ledger, where that one answers', async () => {
  const { hilo } = await opened()
  answerAsOther()
  await askServer(hilo)
  shop.answer = undefined
  await hilo.startOver()
  expect(numberOf(await hilo.nextId('orders'))).toBeGreaterThan(18)
  expect(hilo.status('orders').stopped).toBeUndefined()
})

test('after starting over with the second ledger, the first one is a second one', async () => {
  const { hilo, heard } = await opened()
  answerAsOther()
  await askServer(hilo)
  await hilo.startOver()
  await hilo.nextId('orders')
  shop.answer = undefined
  expect(await askServer(hilo)).toBe('other-ledger')
  await hilo.startOver()
  expect(numberOf(await hilo.nextId('orders'))).toBeGreaterThan(19)
  expect(heard.map(({ isStopped }) => isStopped)).toEqual([true, false, true, false])
})

test('starting over changes nothing while one ledger answers', async () => {
  const { hilo, heard } = await opened()
  await hilo.startOver()
  expect(numberOf(await hilo.nextId('orders'))).toBe(2)
  expect(heard).toEqual([])
})

test('goes on by itself with a ledger that follows the first one', async () => {
  const { hilo, heard } = await opened()
  const { before } = await names()
  await other.follow({ database: 'Shop', name: before!, above: 1_000 })
  answerAsOther()
  const ids = await hilo.nextIds('orders', 50)
  expect(ids.map(numberOf).every((number) => number > 1_000)).toBe(true)
  expect(heard).toMatchObject([{ ...(await names()), isStopped: false }])
})

test('stops for a ledger that follows the first one from too low a number', async () => {
  const { hilo } = await opened()
  const { before } = await names()
  await other.follow({ database: 'Shop', name: before!, above: 10 })
  answerAsOther()
  expect(await askServer(hilo)).toBe('other-ledger')
})

test('a device that starts hears of it by its check-in, before it leases anything', async () => {
  const { hilo } = await opened()
  await hilo.close()
  answerAsOther()
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(Date.now() + 61_000)
  const next = shop.open(OPTIONS).hilo
  expect(await codeOf(next.nextId('orders'))).toBe('other-ledger')
  expect(shop.requests.at(-1)).toMatchObject({ action: 'checkin' })
})

test('so does another database of the same server, which counts for itself', async () => {
  const { hilo, heard } = await opened()
  const handle = createHiloHandler({ ledger: shop.ledger, log: shownLog, open: true })
  shop.answer = (request) =>
    handle(new Request(request.url.replace('/Shop/', '/Depot/'), request.clone()))
  expect(await askServer(hilo)).toBe('other-ledger')
  const name = await shop.ledger.readName()
  expect(heard).toMatchObject([{ before: `${name}/shop`, after: `${name}/depot` }])
  shop.answer = undefined
  expect(await codeOf(hilo.nextId('orders'))).toBe('other-ledger')
  await hilo.startOver()
  expect(await hilo.nextId('orders')).toMatch(/^orders\//)
})

test('gives no identity to a device of the first, until it follows that one', async () => {
  const { hilo } = await opened()
  const next = () => hilo.nextIdentity('invoices', { database: 'Shop' })
  expect(await next()).toBe(1)
  answerAsOther()
  const { code, message } = await errorOf(next())
  expect(code).toBe('other-ledger')
  expect(message).toContain('holds numbers of ledger')
  shop.answer = undefined
  expect(await next()).toBe(2)
  const { before: name } = await names()
  await other.follow({ database: 'Shop', name, above: 1_000 })
  answerAsOther()
  expect(await next()).toBe(1_001)
})

test('a device of the database with the longest name is served on each route', async () => {
  const database = 'ä'.repeat(128)
  const { hilo } = shop.open({ reserve: 4, database })
  const receipts = consecutive(hilo, 'receipts')
  const take = async () => [
    (await hilo.nextIds('orders', 50)).length,
    await hilo.nextIdentity('invoices', { database }),
    (await receipts.next({ key: newName() })).number,
  ]
  expect(await take()).toEqual([50, 1, 1])
  expect(await take()).toEqual([50, 2, 2])
})

test('two servers of one ledger are one to a device', async () => {
  const { hilo, heard } = await opened()
  const handle = createHiloHandler({ ledger: shop.ledger, log: shownLog, open: true })
  shop.answer = (request) => handle(request)
  expect(await askServer(hilo)).toBeUndefined()
  expect(heard).toEqual([])
})
