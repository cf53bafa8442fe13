/** The desk’s sync: what waits is sent until the server has it, in an order that it can store. */
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Changes, Customer, Order, Result, Sent } from '../../demo/records.js'
import { DeskStore } from '../../demo/store.js'
import { Sync } from '../../demo/sync.js'
import { eventually } from '../support/eventually.js'

const made = (id: string) => ({
  id,
  key: `key of ${id}`,
  createdAt: '2026-01-01T10:00:00.000Z',
  tab: 'abc',
})
const customer: Customer = { ...made('customers/1-A'), name: 'Harbour Café' }
const lines = [{ item: 'Decaf, 500 g', quantity: 2, cents: 1120 }]
const order: Order = {
  ...made('orders/1-A'),
  customer: 'customers/1-A',
  lines,
  version: 1,
  edit: 'first',
}

type Answer = (
  collection: string,
  keys: string[],
  records: readonly Sent<Order>[],
) => Result[] | Response

let requests: string[]
/** What others did, for the next who asks. */
let changes: Partial<Changes>

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
  requests = []
  changes = {}
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  // One of them stands before the fake clock, and would bring it back.
  vi.restoreAllMocks()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function answer(respond: Answer) {
  vi.stubGlobal('fetch', async (path: string, init: RequestInit = {}) => {
    init.signal?.throwIfAborted()
    if (path.startsWith('/api/changes'))
      return Response.json({
        customers: [],
        orders: [],
        since: 0,
        isAll: true,
        counts: {},
        ...changes,
      })
    const collection = path.replace('/api/', '')
    requests.push(collection)
    const records: Sent<Order>[] = JSON.parse(String(init.body))
    const results = respond(
      collection,
      records.map(({ key }) => key),
      records,
    )
    return results instanceof Response ? results : Response.json({ results })
  })
}

const all =
  (status: Result['status']): Answer =>
  (_, keys) =>
    keys.map((key) => ({ key, status }))

async function openSync(isOnline = () => true) {
  const store = await DeskStore.open()
  await store.add('customers', [customer])
  await store.add('orders', [order])
  const sync = new Sync({ store, isOnline, isShown: () => false, settled() {}, changed() {} })
  onTestFinished(() => sync.pause())
  return {
    sync,
    store,
    states: async () => (await store.snapshot(10)).orders.map(({ state }) => state),
    order: async () => (await store.snapshot(1)).orders[0]!,
  }
}

test('customers go before the orders that refer to them', async () => {
  answer(all(201))
  const { sync, states } = await openSync()
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['sent']))
  expect(requests).toEqual(['customers', 'orders'])
})

test('what is refused stays, with the reason, and is not sent again', async () => {
  answer((collection, keys) =>
    keys.map((key) =>
      collection === 'orders' ? { key, status: 409, reason: 'taken' } : { key, status: 201 },
    ),
  )
  const { sync, store, states } = await openSync()
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['refused']))
  expect((await store.snapshot(1)).orders[0]?.reason).toBe('taken')
  expect(await store.takeWaiting('orders', 10)).toEqual([])
})

test('an answer that never came: the batch is sent again by itself', async () => {
  let attempts = 0
  answer((collection, keys) => {
    if (attempts++ === 0) throw new TypeError('network')
    return all(200)(collection, keys, [])
  })
  const { sync, states } = await openSync()
  sync.runNow()
  await eventually(() => expect(sync.problem).toBe('The server does not answer.'))
  expect(await states()).toEqual(['waiting'])
  await vi.advanceTimersByTimeAsync(1_000)
  await eventually(async () => expect(await states()).toEqual(['sent']))
  await eventually(() => expect(sync.problem).toBeUndefined())
})

test('offline nothing is sent, and a pause cancels what is planned', async () => {
  answer(() => new Response('', { status: 503 }))
  let isOnline = false
  const { sync } = await openSync(() => isOnline)
  sync.runNow()
  expect(requests).toEqual([])
  isOnline = true
  sync.runNow()
  await eventually(() => expect(vi.getTimerCount()).toBe(1))
  sync.pause()
  expect(vi.getTimerCount()).toBe(0)
  expect(sync.problem).toBeUndefined()
})

test('a server that lost its customers gets them again', async () => {
  let hasCustomer = true
  answer((collection, keys) => {
    if (collection === 'customers') hasCustomer = true
    return all(hasCustomer ? 201 : 424)(collection, keys, [])
  })
  const { sync, store, states } = await openSync()
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['sent']))
  hasCustomer = false
  await store.add('orders', [{ ...order, id: 'orders/2-A', key: 'second', edit: 'second' }])
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['sent', 'sent']))
  expect(requests).toEqual(['customers', 'orders', 'orders', 'customers', 'orders'])
})

const edited = [{ item: 'Decaf, 500 g', quantity: 5, cents: 1120 }]

test('an edit is sent on top of the version that the table is known to have', async () => {
  const sent: Sent<Order>[] = []
  answer((collection, keys, records) => {
    if (collection === 'orders') sent.push(...records)
    return all(201)(collection, keys, records)
  })
  const { sync, store, states, order } = await openSync()
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['sent']))
  await store.edit((await order()).key, edited)
  expect(await states()).toEqual(['waiting'])
  sync.runNow()
  await eventually(async () => expect(await states()).toEqual(['sent']))
  expect(sent.map(({ base, version }) => [base, version])).toEqual([
    [0, 1],
    [1, 2],
  ])
  expect(await order()).toMatchObject({ lines: edited, base: 2, version: 2 })
})

test.each(['mine', 'theirs'] as const)(
  'an edit that met another one is a conflict; %s wins when somebody says so',
  async (whose) => {
    const theirs: Order = {
      ...order,
      lines: [{ item: 'Grinder service', quantity: 1, cents: 7500 }],
      version: 2,
      edit: 'theirs',
    }
    let stored = order
    answer((collection, keys, records) => {
      if (collection === 'customers') return all(201)(collection, keys, records)
      const [{ base, ...record }] = records as [Sent<Order>]
      if (base !== 0 && base !== stored.version)
        return [{ key: record.key, status: 412, reason: 'edited', current: stored }]
      stored = record
      return [{ key: record.key, status: 201 }]
    })
    const opened = await openSync()
    opened.sync.runNow()
    await eventually(async () => expect(await opened.states()).toEqual(['sent']))
    stored = theirs
    await opened.store.edit(order.key, edited)
    opened.sync.runNow()
    await eventually(async () => expect(await opened.states()).toEqual(['conflict']))
    expect((await opened.order()).current).toEqual(theirs)
    await opened.store.resolve(order.key, whose)
    opened.sync.runNow()
    await eventually(async () => expect(await opened.states()).toEqual(['sent']))
    expect((await opened.order()).lines).toEqual(whose === 'mine' ? edited : theirs.lines)
    expect(stored.lines).toEqual(whose === 'mine' ? edited : theirs.lines)
  },
)
