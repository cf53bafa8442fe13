/** `release`, while the app goes on: what is given back and what is issued never meet. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { eventually } from '../support/eventually.js'
import { newName, openRaw, requested } from '../support/idb.js'
import { codeOf, newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

/** Holds every give-back up. */
function holdGiveBacks() {
  const send = fetch
  let held = 0
  let go = () => {}
  const gate = new Promise<void>((open) => {
    go = open
  })
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    if (url.includes('/hilo/return')) {
      held++
      await gate
    }
    return send(url, init)
  })
  return { go: () => go(), isHeld: () => eventually(() => expect(held).toBeGreaterThan(0)) }
}

describe('release of everything', () => {
  test('warns of no leak, however many collections there are', async () => {
    const { hilo } = shop.open()
    await hilo.reserve(Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`c${i}`, 32])))
    const warned = vi.fn()
    process.on('warning', warned)
    await hilo.release()
    await quiet()
    process.off('warning', warned)
    expect(warned).not.toHaveBeenCalled()
  })

  test('sends back no number that the first call for its collection gets meanwhile', async () => {
    const device = shop.open().hilo
    const other = shop.open({ name: 'another device' }).hilo
    await device.reserve('orders', 32)
    await other.nextId('orders')
    await device.reserve('orders', 64)
    await device.close()

    const { hilo } = shop.open()
    const { go, isHeld } = holdGiveBacks()
    const releasing = hilo.release()
    await isHeld()
    const mine = await hilo.nextIds('orders', 40)
    go()
    await releasing
    mine.push(...(await hilo.nextIds('orders', 40)))
    await quiet()
    const theirs = await shop.open({ name: 'a third device' }).hilo.nextIds('orders', 120)
    expect(new Set([...mine, ...theirs]).size).toBe(200)
  })
})

test('release of everything reaches what only earlier pages used, however alike', async () => {
  const earlier = shop.open().hilo
  await earlier.reserve({ orders: 32, invoices: 32 })
  await earlier.reserve('orders', 32, { database: 'South' })
  await earlier.close()
  const other = shop.open({ identityPartsSeparator: '-' }).hilo
  await other.reserve('orders', 32)
  await other.close()
  const { hilo } = shop.open()
  await hilo.reserve('orders', 32)
  await hilo.release()
  await quiet()
  const left = (await shop.ledger.status()).map(({ outstanding }) => outstanding)
  expect(left).toEqual([0, 0, 0])
})

test.each<[string, IDBValidKey]>([
  ['a number', 7],
  ['too short', ['https://shop.example.com']],
  ['of other types', ['https://shop.example.com', 'Shop', 7]],
])('release passes over a record of somebody else, whose key is %s', async (_, key) => {
  const name = newName()
  const first = shop.open({ name }).hilo
  await first.nextId('orders')
  await first.close()
  const db = await openRaw(name)
  const records = db.transaction('collections', 'readwrite').objectStore('collections')
  await requested(records.put({}, key))
  db.close()
  const { hilo } = shop.open({ name })
  await hilo.release()
  expect(await shop.max()).toBe(1)
})

test('release asks the server only for collections that hold numbers', async () => {
  const device = shop.open().hilo
  const empty = Array.from({ length: 60 }, (_, i) => `c${i}`)
  for (const collection of empty) await device.nextId(collection)
  await device.release()
  await device.reserve('orders', 32)
  await device.close()
  await quiet()
  const { hilo } = shop.open()
  shop.requests.length = 0
  await hilo.release()
  await hilo.release('never used')
  await quiet()
  const sent = shop.requests.map(({ action }) => action).filter((action) => action !== 'checkin')
  // It asks whether the server is there, then gives the one range back.
  expect(sent).toEqual(['return', 'return'])
  expect(await shop.max('orders')).toBe(0)
})

test('release of a database leaves the others what they hold', async () => {
  const device = shop.open().hilo
  await device.reserve('orders', 32, { database: 'South' })
  await device.close()
  const { hilo } = shop.open()
  await hilo.reserve('orders', 32, { database: 'North' })
  await hilo.nextId('invoices', { database: 'South' })
  await hilo.release(undefined, { database: 'North' })
  await hilo.release({ database: 'West' })
  hilo.goOffline()
  expect(await hilo.nextIds('orders', 32, { database: 'South' })).toHaveLength(32)
  expect(await codeOf(hilo.nextId('orders', { database: 'North' }))).toBe('exhausted')
})

test('release of one collection goes on when that of another one is aborted', async () => {
  const device = shop.open().hilo
  await device.reserve({ orders: 32, invoices: 32 })
  await device.close()
  const { hilo } = shop.open()
  const { go, isHeld } = holdGiveBacks()
  const caller = new AbortController()
  const aborted = codeOf(hilo.release('orders', { signal: caller.signal }))
  const other = codeOf(hilo.release('invoices'))
  await isHeld()
  caller.abort()
  go()
  expect([await aborted, await other]).toEqual(['aborted', undefined])
  expect([await shop.max('orders'), await shop.max('invoices')]).toEqual([32, 0])
})

test('release that fails leaves a caller without a timeout waiting for the network', async () => {
  const { hilo } = shop.open({ reserve: 0 })
  await hilo.reserve('orders', 4)
  shop.isDown = true
  const ids = hilo.nextIds('orders', 80, { timeout: Number.POSITIVE_INFINITY })
  expect(await codeOf(hilo.nextIds('orders', 80))).toBe('exhausted')
  expect(await codeOf(hilo.release())).toBe('server-unreachable')
  await quiet()
  shop.isDown = false
  expect(await ids).toHaveLength(80)
})

describe('after a release, another tab of the device', () => {
  /** Two tabs; the first one has given everything back. */
  async function released() {
    const first = shop.open({ reserve: 100 })
    const { hilo, page } = shop.open({ reserve: 100 })
    await hilo.nextId('orders')
    await first.hilo.nextId('orders')
    await quiet()
    await first.hilo.release()
    await quiet()
    shop.requests.length = 0
    return { first: first.hilo, hilo, page }
  }
  const claims = () => shop.requests.filter(({ action }) => action === 'next')

  test.each<[string, (tab: Awaited<ReturnType<typeof released>>) => unknown]>([
    ['whose network comes back', ({ hilo, page }) => page.enter() && hilo.goOnline()],
    ['that is hidden and shown again', ({ page }) => [page.hide(), page.show()]],
    ['that makes storage persistent', ({ hilo, page }) => page.enter() && hilo.persist()],
    ['that is started', () => shop.open({ reserve: 100 })],
  ])('%s claims nothing', async (_, act) => {
    await act(await released())
    await quiet()
    await quiet()
    expect(claims()).toEqual([])
  })

  test('ends it when it asks for a number, for all tabs', async () => {
    const { first, hilo } = await released()
    while (hilo.status('orders').leased > 0) hilo.nextIdSync('orders')
    await hilo.nextId('orders')
    await quiet()
    expect(first.status('orders').available).toBeGreaterThanOrEqual(50)
  })

  test('ends it when it reserves', async () => {
    const { first, hilo } = await released()
    await hilo.reserve('orders', 60)
    await quiet()
    expect(first.status('orders')).toMatchObject({ reserve: 60, state: 'ready' })
  })
})
