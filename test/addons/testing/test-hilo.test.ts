/** The instance for the app's own tests: the same ids in every run, and nothing left behind. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { consecutive } from '../../../src/addons/consecutive/index.js'
import * as testing from '../../../src/addons/testing/index.js'
import { createHilo, type Hilo, HiloError } from '../../../src/index.js'

const { createTestHilo } = testing

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** What an app does that gets its Hilo from outside. */
const addOrder = async (hilo: Hilo, customer: string) => ({
  id: await hilo.nextId('orders'),
  customer,
})

test('an app takes it for a Hilo, and every run makes the same ids', async () => {
  for (let run = 0; run < 3; run++) {
    const hilo: Hilo = createTestHilo({ collections: { orders: { reserve: 200 } } })
    expect(await addOrder(hilo, 'Ada')).toEqual({ id: 'orders/1-A', customer: 'Ada' })
    expect(await addOrder(hilo, 'Bob')).toEqual({ id: 'orders/2-A', customer: 'Bob' })
  }
})

test('it takes the names of the main entry, so that it can replace the module', () => {
  expect(testing.createHilo).toBe(createTestHilo)
  expect(testing.HiloError).toBe(HiloError)
  expect(Object.keys(testing).sort()).toEqual(['HiloError', 'createHilo', 'createTestHilo'])
})

test('it needs no network, no worker, no storage and no timer, under fake timers too', async () => {
  const forbidden = (what: string) => () => {
    throw new Error(`It used ${what}.`)
  }
  for (const name of ['fetch', 'Worker', 'BroadcastChannel', 'indexedDB', 'localStorage'])
    vi.stubGlobal(name, forbidden(name))
  // As Jest's do by default.
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'Date', 'performance', 'queueMicrotask'],
  })
  const hilo = createTestHilo({
    url: '/ids',
    headers: forbidden('headers'),
    worker: forbidden('a worker'),
    collections: { orders: {} },
  })
  await hilo.ready
  for (let i = 0; i < 100; i++) await hilo.nextId('orders')
  await hilo.warm('orders', 1)
  hilo.nextIdSync('orders')
  hilo.exhaust()
  await expect(hilo.nextId('orders')).rejects.toMatchObject({ code: 'exhausted' })
  const waiting = hilo.nextId('orders', { timeout: Number.POSITIVE_INFINITY })
  hilo.connect()
  await waiting
  await consecutive(hilo, 'orders').next({ key: 'sale' })
  hilo.fork()
  await hilo.reserve('orders', 500, { timeout: 1_000 })
  await hilo.release()
  await hilo.close()
  expect(vi.getTimerCount()).toBe(0)
})

describe('the switches', () => {
  test('disconnect: the reserve goes on, then calls are refused; connect ends it', async () => {
    const hilo = createTestHilo({ collections: { orders: { reserve: 2 } } })
    expect(await hilo.nextId('orders')).toBe('orders/1-A')
    hilo.disconnect()
    expect(hilo.status().online).toBe(false)
    expect(hilo.status('orders')).toMatchObject({ available: 2, state: 'ready' })
    expect(await hilo.nextIds('orders', 2)).toEqual(['orders/2-A', 'orders/3-A'])
    await expect(hilo.nextId('orders')).rejects.toMatchObject({
      code: 'exhausted',
      cause: { code: 'server-unreachable' },
    })
    hilo.connect()
    expect(hilo.status().online).toBe(true)
    expect(hilo.status('orders')).toMatchObject({ available: 2, state: 'ready' })
    expect(hilo.status('orders').lastError).toBeUndefined()
    expect(await hilo.nextId('orders')).toBe('orders/4-A')
  })

  test('disconnect before the start: ready waits until connect', async () => {
    const hilo = createTestHilo({ collections: { orders: {} } })
    hilo.disconnect()
    let isReady = false
    hilo.ready.then(() => {
      isReady = true
    })
    await expect(hilo.nextId('orders')).rejects.toMatchObject({ code: 'no-hilo-server' })
    expect(isReady).toBe(false)
    hilo.connect()
    await hilo.ready
  })

  test('exhaust: the next call is refused, and an event tells the app', async () => {
    const hilo = createTestHilo({ collections: { orders: {} } })
    await hilo.ready
    const told: string[] = []
    hilo.addEventListener('exhausted', ({ detail }) => told.push(detail.collection))
    hilo.exhaust()
    expect(hilo.status('orders')).toMatchObject({ available: 0, state: 'exhausted' })
    expect(() => hilo.nextIdSync('orders')).toThrow(HiloError)
    await expect(hilo.nextId('orders')).rejects.toBeInstanceOf(HiloError)
    expect(told).toEqual(['orders'])
    hilo.connect()
    expect(await hilo.nextId('orders')).toMatch(/^orders\/\d+-A$/)
  })

  test.each([10, 40])(
    'fork: an event tells the app, and a reserve of %i is a gap',
    async (reserve) => {
      const hilo = createTestHilo({ reserve })
      const first = await hilo.nextNumber('orders')
      const told: string[] = []
      hilo.addEventListener('fork', ({ detail }) => told.push(detail.collection))
      hilo.fork()
      expect(told).toEqual(['orders'])
      expect(hilo.status('orders')).toMatchObject({ available: reserve, gaps: reserve })
      expect(await hilo.nextNumber('orders')).toBe(first + reserve + 1)
    },
  )
})

test('no switch brings ids back after close()', async () => {
  const hilo = createTestHilo()
  await hilo.nextIds('orders', 3)
  await hilo.close()
  hilo.exhaust()
  hilo.connect()
  hilo.fork()
  expect(() => hilo.nextIdSync('orders')).toThrow(expect.objectContaining({ code: 'closed' }))
  expect(hilo.status('orders').leased).toBe(0)
})

test('it needs no globals but those of Jest’s jsdom', async () => {
  // Of those that Node has and the tests of an app may lack.
  for (const name of ['TextEncoder', 'structuredClone', 'BroadcastChannel', 'Request', 'Response'])
    vi.stubGlobal(name, undefined)
  const hilo = createTestHilo()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  expect(await hilo.nextIdentity('invoices', { key: 'sale' })).toBe(1)
  expect(await consecutive(hilo, 'receipts').next({ key: 'sale' })).toMatchObject({ number: 1 })
  await hilo.reserve('orders', 500)
  await hilo.release()
  await hilo.close()
})

describe('consecutive numbers', () => {
  test('of eight collections are made without a warning of Node', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    const hilo = createTestHilo()
    for (let i = 0; i < 8; i++) await consecutive(hilo, `c${i}`).next({ key: 'a' })
    await new Promise((done) => setImmediate(done))
    process.off('warning', warned)
    expect(warned).not.toHaveBeenCalled()
    await hilo.close()
  })

  test('are made in AA after Z, so that no series goes on in another one', async () => {
    const hilo = createTestHilo()
    const receipts = consecutive(hilo, 'receipts')
    const ids: string[] = []
    for (let series = 1; series <= 28; series++) {
      ids.push((await receipts.next({ key: `sale ${series}` })).id)
      hilo.fork()
    }
    expect(ids.slice(25)).toEqual(['Z-000001', 'AA-000001', 'AB-000001'])
  })

  test('go on while the server is gone; a fork ends the series, and says so', async () => {
    const hilo = createTestHilo()
    const receipts = consecutive(hilo, 'receipts')
    const told: string[] = []
    hilo.addEventListener('fork', ({ detail }) => told.push(detail.collection))
    hilo.fork()
    expect(told).toEqual([])
    await receipts.next({ key: 'a' })
    hilo.exhaust()
    expect(await receipts.next({ key: 'b' })).toEqual({ id: 'A-000002', number: 2, heard: false })
    hilo.fork()
    expect(told).toEqual(['receipts'])
    await expect(receipts.next({ key: 'c' })).rejects.toMatchObject({ code: 'server-unreachable' })
    hilo.connect()
    expect(await receipts.next({ key: 'c' })).toEqual({ id: 'B-000001', number: 1, heard: true })
    expect(await receipts.report()).toMatchObject([
      { series: 'A', ended: { kind: 'copied', doubtful: { from: 2, to: 2 } } },
      { series: 'B', numbers: [{ key: 'c' }] },
    ])
  })

  test('are the same in every run, and of each collection alone', async () => {
    for (let run = 0; run < 2; run++) {
      const hilo = createTestHilo()
      const next = (collection: string) => consecutive(hilo, collection).next({ key: 'a' })
      for (const made of [next('receipts'), next('bills')])
        expect(await made).toEqual({ id: 'A-000001', number: 1, heard: true })
      expect(await next('receipts')).toEqual({ id: 'A-000001', number: 1, heard: true })
    }
  })
})

test('ids for calls without await run out within one task; `warm` brings others', async () => {
  const hilo = createTestHilo({ reserve: 100 })
  await hilo.nextId('orders')
  const held = hilo.status('orders').leased
  for (let i = 0; i < held; i++) hilo.nextIdSync('orders')
  expect(() => hilo.nextIdSync('orders')).toThrow(expect.objectContaining({ code: 'not-leased' }))
  await hilo.warm('orders', 1)
  expect(hilo.nextNumberSync('orders')).toBe(held + 2)
})

test.each(['disconnect', 'exhaust', 'fork'] as const)(
  '%s in the middle of anything makes no id twice, and loses no caller',
  async (cut) => {
    for (let moment = 0; moment < 80; moment++) {
      const hilo = createTestHilo({ reserve: 5 })
      const made: number[] = []
      const make = (count: number) =>
        Promise.all(
          Array.from({ length: count }, async () => {
            made.push(await hilo.nextNumber('orders', { timeout: Number.POSITIVE_INFINITY }))
          }),
        )
      const batch = hilo.take('orders', 3, { timeout: Number.POSITIVE_INFINITY })
      const first = make(30)
      for (let i = 0; i < moment; i++) await Promise.resolve()
      hilo[cut]()
      hilo.connect()
      await first
      using mine = await batch
      await make(30)
      while (mine.left > 0) made.push(mine.nextNumber())
      expect(new Set(made).size, `after ${moment} microtasks`).toBe(made.length)
    }
  },
)

test('options are checked as those of `createHilo`, also those that do nothing', () => {
  const wrong = { name: 7, worker: 'w', headers: 7, source: {}, store: {}, url: 'ftp://x', tag: 1 }
  for (const [name, value] of Object.entries(wrong)) {
    const options = { [name]: value } as never
    const messages = [createHilo, createTestHilo].map((create) => {
      try {
        create(options)
      } catch (error) {
        return (error as Error).message
      }
      return `${name} was taken`
    })
    expect(messages[1]).toBe(messages[0])
    expect(messages[1]).toContain(name)
  }
})

test('the browser keeps its storage when it is asked to', async () => {
  const hilo = createTestHilo({ collections: { orders: {} } })
  await hilo.ready
  expect(hilo.status().storage).toBe('best-effort')
  expect(await hilo.persist()).toBe(true)
  await hilo.nextId('orders')
  expect(hilo.status().storage).toBe('persistent')
})
