import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Outbox } from '../../demo/outbox.js'
import type { Customer, Order, Result } from '../../demo/records.js'
import { DeskStore } from '../../demo/store.js'

const made = (id: string) => ({ id, key: `key of ${id}`, createdAt: '2026-01-01T10:00:00.000Z', tab: 'abc' })
const customer: Customer = { ...made('customers/1-A'), name: 'Harbour Café' }
const order: Order = { ...made('orders/1-A'), customer: 'customers/1-A', lines: [{ item: 'Decaf, 500 g', quantity: 2, cents: 1120 }] }

type Answer = (collection: string, keys: string[]) => Result[] | Response

let requests: string[]

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
  requests = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

function answer(respond: Answer) {
  vi.stubGlobal('fetch', async (path: string, init: RequestInit = {}) => {
    if (path === '/api/counts') return Response.json({})
    const collection = path.replace('/api/', '')
    requests.push(collection)
    const results = respond(
      collection,
      JSON.parse(String(init.body)).map(({ key }: Order) => key),
    )
    return results instanceof Response ? results : Response.json({ results })
  })
}

const all =
  (status: Result['status']): Answer =>
  (_, keys) =>
    keys.map((key) => ({ key, status }))

async function openOutbox(isOnline = () => true) {
  const store = await DeskStore.open()
  await store.add('customers', [customer])
  await store.add('orders', [order])
  const outbox = new Outbox({ store, isOnline, settled() {}, changed() {} })
  return { outbox, store, states: async () => (await store.snapshot(10)).orders.map(({ state }) => state) }
}

test('customers go before the orders that refer to them', async () => {
  answer(all(201))
  const { outbox, states } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(async () => expect(await states()).toEqual(['sent']))
  expect(requests).toEqual(['customers', 'orders'])
})

test('what is refused stays, with the reason, and is not sent again', async () => {
  answer((collection, keys) => keys.map((key) => (collection === 'orders' ? { key, status: 409, reason: 'taken' } : { key, status: 201 })))
  const { outbox, store, states } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(async () => expect(await states()).toEqual(['refused']))
  expect((await store.snapshot(1)).orders[0]?.reason).toBe('taken')
  expect(await store.waiting('orders', 10)).toEqual([])
})

test('an answer that never came: the batch is sent again by itself', async () => {
  let attempts = 0
  answer((collection, keys) => {
    if (attempts++ === 0) throw new TypeError('network')
    return all(200)(collection, keys)
  })
  const { outbox, states } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(() => expect(outbox.problem).toBe('The server does not answer.'))
  expect(await states()).toEqual(['waiting'])
  await vi.advanceTimersByTimeAsync(1_000)
  await vi.waitFor(async () => expect(await states()).toEqual(['sent']))
  await vi.waitFor(() => expect(outbox.problem).toBeUndefined())
})

test('a server in trouble is asked less and less often', async () => {
  answer(() => new Response('', { status: 503 }))
  const { outbox } = await openOutbox()
  outbox.hurry()
  const pauses = vi.spyOn(globalThis, 'setTimeout')
  await vi.waitFor(async () => {
    await vi.advanceTimersByTimeAsync(30_000)
    expect(pauses.mock.calls.length).toBeGreaterThanOrEqual(7)
  })
  expect(pauses.mock.calls.slice(0, 7).map(([, ms]) => ms)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('offline nothing is sent, and a pause cancels what is planned', async () => {
  answer(() => new Response('', { status: 503 }))
  let isOnline = false
  const { outbox } = await openOutbox(() => isOnline)
  outbox.hurry()
  expect(requests).toEqual([])
  isOnline = true
  outbox.hurry()
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1))
  outbox.pause()
  expect(vi.getTimerCount()).toBe(0)
  expect(outbox.problem).toBeUndefined()
})

test('a server that lost its customers gets them again', async () => {
  let hasCustomer = true
  answer((collection, keys) => {
    if (collection === 'customers') hasCustomer = true
    return all(hasCustomer ? 201 : 424)(collection, keys)
  })
  const { outbox, store, states } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(async () => expect(await states()).toEqual(['sent']))
  hasCustomer = false
  await store.add('orders', [{ ...order, id: 'orders/2-A', key: 'second' }])
  outbox.hurry()
  await vi.waitFor(async () => expect(await states()).toEqual(['sent', 'sent']))
  expect(requests).toEqual(['customers', 'orders', 'orders', 'customers', 'orders'])
})

test('an answer about something else is trouble, not an endless loop', async () => {
  answer(() => [{ key: 'of nobody', status: 201 }])
  const { outbox } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(() => expect(outbox.problem).toContain('does not say'))
  expect(requests).toEqual(['customers'])
})

test('what is made while a batch is under way is sent too', async () => {
  let release!: () => void
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  answer(all(201))
  const answerNow = globalThis.fetch
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (path === '/api/counts') await held
    return answerNow(path, init)
  })
  const { outbox, store, states } = await openOutbox()
  outbox.hurry()
  await vi.waitFor(async () => expect(await states()).toEqual(['sent']))
  await store.add('orders', [{ ...order, id: 'orders/2-A', key: 'second' }])
  outbox.hurry()
  release()
  await vi.waitFor(async () => expect(await states()).toEqual(['sent', 'sent']))
})
