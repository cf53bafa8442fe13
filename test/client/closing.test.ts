/** What closing stops: calls that wait, calls under way, and everything that would begin later. */
import { IDBDatabase, IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Hilo } from '../../src/client/hilo.js'
import { total } from '../../src/core/range.js'
import type { DeviceState } from '../../src/device/state.js'
import { createOwner } from '../../src/worker/owner.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { FakePage } from '../support/page.js'
import { codeOf, newShop, numberOf, quiet, type Shop } from '../support/shop.js'
import { FakeWorker } from '../support/worker.js'
import { FakeWorld } from '../support/world.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

/** An instance whose owner is in a worker; `starts` says whether the worker ever answers. */
function withWorker(starts = true) {
  new FakePage().enter()
  const world = new FakeWorld()
  const ownerHere = vi.fn(async () => createOwner(world))
  const workers: FakeWorker[] = []
  const spawn = () => {
    const worker = new FakeWorker(starts ? createOwner(world) : undefined)
    workers.push(worker)
    return worker as unknown as Worker
  }
  const open = () =>
    new Hilo(
      { url: 'https://shop.example.com', name: newName(), collections: { orders: {} } },
      { spawn, ownerHere, onlineCalls: () => import('../../src/client/online-calls.js') },
    )
  return { world, ownerHere, workers, open }
}

describe('close() while a call is with the worker', () => {
  test('rejects it, stores what is granted, then ends the worker; no other starts', async () => {
    const { open, ownerHere, workers, world } = withWorker()
    const hilo = open()
    await hilo.ready
    const before = world.source.claims.length
    let answer = () => {}
    world.source.onClaim = () =>
      new Promise<void>((resolve) => {
        answer = resolve
      })
    const reserving = codeOf(hilo.reserve('orders', 500))
    await eventually(() => expect(world.source.claims).toHaveLength(before + 1))
    const closing = hilo.close()
    expect(await reserving).toBe('closed')
    await quiet()
    expect(workers[0]!.isTerminated).toBe(false)
    answer()
    await closing
    expect(workers[0]!.isTerminated).toBe(true)
    const { stored } = await world.store.read(['https://shop.example.com', 'default', 'orders/'])
    expect(total((stored as DeviceState).ranges)).toBeGreaterThanOrEqual(500)
    expect(ownerHere).not.toHaveBeenCalled()
    expect(world.source.claims).toHaveLength(before + 1)
  })

  test('does not wait for a worker that dies meanwhile', async () => {
    const { open, workers, world } = withWorker()
    const hilo = open()
    await hilo.ready
    const before = world.source.claims.length
    world.source.onClaim = () => new Promise<void>(() => {})
    const reserving = codeOf(hilo.reserve('orders', 500))
    await eventually(() => expect(world.source.claims).toHaveLength(before + 1))
    const closing = hilo.close()
    expect(await reserving).toBe('closed')
    workers[0]!.fail()
    await closing
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true])
  })

  test('ends each instance that a component makes and closes at every mount', async () => {
    const { open, ownerHere, workers, world } = withWorker()
    for (let mount = 0; mount < 5; mount++) {
      const hilo = open()
      const ready = codeOf(hilo.ready)
      await hilo.close()
      expect(await ready).toBe('closed')
    }
    const last = open()
    await last.ready
    expect(last.nextIdSync('orders')).toBe('orders/1-A')
    await last.close()
    await quiet()
    expect(workers.map(({ isTerminated }) => isTerminated)).toEqual(Array(6).fill(true))
    expect(ownerHere).not.toHaveBeenCalled()
    const { stored } = await world.store.read(['https://shop.example.com', 'default', 'orders/'])
    expect(stored).toMatchObject({ leases: [] })
  })
})

test('close() during a call is no failure: no event and no status tells of one', async () => {
  const { open } = withWorker(false)
  const hilo = open()
  const errors: string[] = []
  hilo.addEventListener('error', ({ detail }) => errors.push(detail.error.code))
  const ready = codeOf(hilo.ready)
  // It waits for the worker.
  await quiet()
  await hilo.close()
  expect(await ready).toBe('closed')
  await quiet()
  expect(errors).toEqual([])
  expect(hilo.status('orders')).not.toHaveProperty('lastError')
})

test('close() ends a worker that has not started yet, and does not wait for it', async () => {
  const { open, ownerHere, workers } = withWorker(false)
  const hilo = open()
  const ready = codeOf(hilo.ready)
  const id = codeOf(hilo.nextId('orders', { timeout: Number.POSITIVE_INFINITY }))
  await hilo.close()
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true])
  expect([await ready, await id]).toEqual(['closed', 'closed'])
  await quiet()
  expect(ownerHere).not.toHaveBeenCalled()
})

test('close() parks what a worker had leased that died since', async () => {
  const { open, workers, world } = withWorker()
  const hilo = open()
  await hilo.ready
  workers[0]!.fail()
  await hilo.close()
  const { stored } = await world.store.read(['https://shop.example.com', 'default', 'orders/'])
  expect(stored).toMatchObject({ leases: [] })
})

test('close() leaves a note of its numbers while the storage fails', async () => {
  const { hilo } = shop.open()
  await hilo.reserve('orders', 40)
  await hilo.nextId('orders')
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
    throw new DOMException('The disk is full.', 'QuotaExceededError')
  })
  await hilo.close()
  vi.restoreAllMocks()
  expect(numberOf(await shop.open().hilo.nextId('orders'))).toBe(2)
})

test('after close() a collection that was not used before issues nothing either', async () => {
  const { hilo } = shop.open()
  await hilo.close()
  const closed = expect.objectContaining({ code: 'closed' })
  expect(() => hilo.nextIdSync('invoices')).toThrow(closed)
  expect(() => hilo.nextNumberSync('invoices')).toThrow(closed)
  for (const call of [
    hilo.nextId('invoices'),
    hilo.nextIds('invoices', 2),
    hilo.nextIds('invoices', 0),
    hilo.warm('invoices', 2),
    hilo.reserve('invoices', 2),
    hilo.release(),
    hilo.nextIdentity('invoices'),
    hilo.inspect('invoices'),
  ])
    expect(await codeOf(call)).toBe('closed')
  hilo.goOnline()
  await quiet()
  expect(shop.requests).toEqual([])
})

test.each<[string, (hilo: Hilo) => Promise<unknown>]>([
  ['reserve', (hilo) => hilo.reserve('orders', 100)],
  ['release', (hilo) => hilo.release()],
  ['inspect', (hilo) => hilo.inspect('orders')],
])('close() while the storage opens for %s leaves no connection to it', async (_, call) => {
  const begin = IDBFactory.prototype.open
  const open = vi.spyOn(IDBFactory.prototype, 'open')
  const isOpening = new Promise<void>((resolve) => {
    open.mockImplementation(function (this: IDBFactory, ...args) {
      resolve()
      return begin.apply(this, args)
    })
  })
  const close = vi.spyOn(IDBDatabase.prototype, 'close')
  const { hilo } = shop.open()
  const called = codeOf(call(hilo))
  await isOpening
  await hilo.close()
  expect(await called).toBe('closed')
  await quiet()
  expect(close.mock.calls).toHaveLength(open.mock.calls.length)
})

describe('with a reserve of 0', () => {
  test('close() leaves nothing on the device: the server has everything back', async () => {
    const { hilo } = shop.open({ reserve: 0 })
    await hilo.nextIds('orders', 3)
    await hilo.close()
    expect(await shop.max()).toBe(3)
  })

  test.each<[string, (opened: ReturnType<Shop['open']>) => unknown]>([
    ['a page that goes', ({ page }) => page.leave()],
    ['close()', ({ hilo }) => hilo.close()],
  ])('%s gives back 120 collections in two requests', async (_, leave) => {
    const names = Array.from({ length: 120 }, (_, i) => `c${i}`)
    const opened = shop.open({ reserve: 0 })
    await Promise.all(names.map((name) => opened.hilo.nextIds(name, 3)))
    await quiet()
    shop.requests.length = 0
    await leave(opened)
    await eventually(async () => expect(await shop.max('c119')).toBe(3))
    await quiet()
    for (const name of names) expect(await shop.max(name)).toBe(3)
    const posted = shop.requests.filter(({ method }) => method === 'POST')
    expect(posted.filter(({ action }) => action === 'return')).toHaveLength(2)
  })

  test('close() also gives back what a claim brings that is under way', async () => {
    const send = fetch
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    const fetched = vi.fn(async (...request: Parameters<typeof fetch>) => {
      const response = await send(...request)
      await held
      return response
    })
    vi.stubGlobal('fetch', fetched)
    const { hilo } = shop.open({ reserve: 0 })
    const waiting = codeOf(hilo.nextIds('orders', 3))
    await eventually(() => expect(fetched).toHaveBeenCalled())
    const closing = hilo.close()
    expect(await waiting).toBe('closed')
    answer()
    await closing
    expect(await shop.max()).toBe(0)
  })

  test('close() without a network keeps the numbers on the device', async () => {
    const { hilo } = shop.open({ reserve: 0 })
    await hilo.nextIds('orders', 3)
    shop.isDown = true
    await hilo.close()
    expect(await shop.open({ reserve: 0 }).hilo.nextId('orders')).toBe('orders/4-A')
  })
})

describe('two open instances for one device in one page', () => {
  const warned = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

  test('are named in the console, with what to do', async () => {
    const warn = warned()
    const { page } = shop.open()
    shop.openIn(page)
    await eventually(() => expect(warn).toHaveBeenCalledOnce())
    expect(warn.mock.calls[0]![0]).toContain('in a module of its own')
    warn.mockRestore()
  })

  test('are named on a server too, where no address is known', async () => {
    const warn = warned()
    vi.stubGlobal('location', undefined)
    const { page } = shop.open({ url: '/' })
    shop.openIn(page, { url: '/' })
    await eventually(() => expect(warn).toHaveBeenCalledOnce())
    expect(warn.mock.calls[0]![0]).not.toMatch(/\bat\b/)
    warn.mockRestore()
  })

  test('are no two when the first was closed before, or on different devices', async () => {
    const warn = warned()
    const { hilo, page } = shop.open()
    hilo.close()
    shop.openIn(page)
    shop.openIn(page, { name: 'another device' })
    shop.openIn(page, { url: 'https://another.example.com' })
    await quiet()
    expect(warn).not.toHaveBeenCalled()
    warn.mockRestore()
  })
})
