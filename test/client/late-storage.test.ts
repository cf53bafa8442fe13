/** A page whose IndexedDB does not open at its start: it goes on, and uses what is stored later. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CheckInRequest } from '../../src/core/wire.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { newShop, type Shop } from '../support/shop.js'

let shop: Shop
/** IndexedDB opens again. */
let works: () => void
/** The database of the device. */
let storedIn: string

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

/** A device that has 200 ids, and a page that finds no storage there. */
async function startLate() {
  const name = newName()
  storedIn = name
  const before = shop.open({ name })
  await before.hilo.reserve('orders', 200)
  await before.hilo.close()
  const { open } = indexedDB
  const spy = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
    throw new DOMException('Not now', 'UnknownError')
  })
  works = () => spy.mockImplementation((...args) => open.apply(indexedDB, args))
  shop.requests.length = 0
  return shop.open({ name })
}

const numbersOf = (ids: readonly string[]) => ids.map((id) => Number(/\d+/.exec(id)![0]))

test('makes ids meanwhile, moves them when it opens, and has all 200 offline', async () => {
  const { hilo } = await startLate()
  const made = await hilo.nextIds('orders', 5)
  expect(hilo.status().storage).toBe('memory')
  works()
  await eventually(() => expect(hilo.status().storage).toBe('best-effort'))
  shop.isDown = true
  made.push(...(await hilo.nextIds('orders', 200)))
  expect(new Set(numbersOf(made)).size).toBe(205)
})

test('asks the server before it uses what is stored, as at a start', async () => {
  const { hilo } = await startLate()
  await hilo.nextId('orders')
  expect(shop.requests.map(({ action }) => action)).not.toContain('checkin')
  let ask = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  // Another copy of this device goes on with what is stored.
  shop.answer = (request) => {
    if (!request.url.endsWith('checkin')) return undefined
    return (async () => {
      await asked
      const { grants }: CheckInRequest = await request.json()
      return Response.json({ grants: grants.map(() => ({ superseded: true })) })
    })()
  }
  works()
  await eventually(() => expect(hilo.status().storage).toBe('best-effort'))
  const ids = hilo.nextIds('orders', 100)
  ask()
  expect(numbersOf(await ids).filter((number) => number <= 200)).toEqual([])
})

test('offline it says that the storage failed, and nothing of the server', async () => {
  const { hilo } = await startLate()
  shop.isDown = true
  await expect(hilo.nextId('orders', { timeout: 1 })).rejects.not.toMatchObject({
    code: 'no-hilo-server',
  })
})

test('reserves nothing in memory: what is reserved is stored', async () => {
  const { hilo } = await startLate()
  await expect(hilo.reserve('orders', 300)).rejects.toMatchObject({ code: 'storage-failed' })
  await expect(hilo.release()).rejects.toMatchObject({ code: 'storage-failed' })
  works()
  await hilo.reserve('orders', 300)
  expect(hilo.status('orders')).toMatchObject({ reserve: 300, state: 'ready' })
  expect(hilo.status().storage).toBe('best-effort')
})

test.each([
  ['that does not open', () => {}],
  ['that would open from now on', () => works()],
])('close() with a storage %s keeps all that is stored, and loses no number', async (_, open) => {
  const { hilo } = await startLate()
  const made = await hilo.nextIds('orders', 5)
  open()
  await hilo.close()
  works()
  const { outstanding } = (await shop.ledger.status())[0]!
  const { hilo: next } = shop.open({ name: storedIn })
  await next.nextId('orders')
  expect(next.status('orders').reserve).toBe(200)
  const { available } = next.status('orders')
  expect(outstanding - made.length - available - 1).toBe(0)
})
