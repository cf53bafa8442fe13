/**
 * What the calls of a Hilo take, answer and refuse. The Hilo is that of offline-hilo/testing: the
 * real one over a server and a storage in memory.
 */
import { expect, test, vi } from 'vitest'
import { createTestHilo } from '../../src/addons/testing/index.js'
import { HiloError } from '../../src/core/errors.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import { codeOf } from '../support/shop.js'

const BAD = 'invalid-argument'

const codeOfSync = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error instanceof HiloError ? error.code : error
  }
}

test('makes final ids from 1, each once', async () => {
  const hilo = createTestHilo()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  expect(await hilo.nextNumber('orders')).toBe(2)
  expect(await hilo.nextIds('orders', 40)).toEqual(
    Array.from({ length: 40 }, (_, i) => `orders/${i + 3}-A`),
  )
  expect(await hilo.nextIds('orders', 0)).toEqual([])
  expect((await hilo.take('orders', 0)).left).toBe(0)
  expect(await hilo.nextId('lines')).toBe('lines/1-A')
})

test.each<[string, (hilo: ReturnType<typeof createTestHilo>) => unknown, string]>([
  ['reserve of no collection', (hilo) => hilo.reserve({}), 'invalid-argument'],
  ['reserve of nothing', (hilo) => hilo.reserve(undefined as never), 'invalid-argument'],
  ['reserve of a list', (hilo) => hilo.reserve([] as never), 'invalid-argument'],
  ['reserve without a count', (hilo) => hilo.reserve('orders' as never), 'invalid-argument'],
  ['take without a count', (hilo) => hilo.take('orders', undefined as never), 'invalid-argument'],
  ['nextIds without a count', (hilo) => hilo.nextIds('orders', null as never), 'invalid-argument'],
  ['warm without a count', (hilo) => hilo.warm('orders', undefined as never), 'invalid-argument'],
  ['nextId of an object', (hilo) => hilo.nextId({}), 'invalid-collection'],
  ['nextId of an empty name', (hilo) => hilo.nextId(''), 'invalid-collection'],
  ['release of an empty name', (hilo) => hilo.release(''), 'invalid-collection'],
  ['release of a list', (hilo) => hilo.release([] as never), 'invalid-collection'],
  ['status of an object', async (hilo) => hilo.status({}), 'invalid-collection'],
  ['watch without a listener', async (hilo) => hilo.watch(undefined as never), 'invalid-argument'],
])('a call that is told nothing is refused: %s', async (_, call, code) => {
  const made = Promise.resolve(call(createTestHilo()))
  expect(await codeOf(made)).toBe(code)
})

test('has leased the listed collections when it is ready', async () => {
  const hilo = createTestHilo({ collections: { orders: {} } })
  expect(codeOfSync(() => hilo.nextIdSync('orders'))).toBe('not-leased')
  await hilo.ready
  expect(hilo.nextIdSync('orders')).toBe('orders/1-A')
})

test('names collections by class and entity, with the conventions of the app', async () => {
  class Order {}
  const hilo = createTestHilo({
    transformCollectionName: (name) => `${name.toLowerCase()}s`,
    identityPartsSeparator: '-',
  })
  expect(await hilo.nextId(Order)).toBe('orders-1-A')
  expect(await hilo.nextId(new Order())).toBe('orders-2-A')
  expect(await hilo.nextId('orders')).toBe('orders-3-A')
})

test.each<[string, NonNullable<HiloOptions['formatId']>]>([
  ['makes nothing', (() => {}) as never],
  ['makes one id of all numbers', () => 'orders/1'],
])('is not made with a formatId that %s', (_, formatId) => {
  expect(codeOfSync(() => createTestHilo({ formatId }))).toBe('invalid-argument')
})

test('refuses a formatId at its first use where it leaves the number out', async () => {
  const hilo = createTestHilo<string>({
    collections: { orders: {} },
    formatId: (number, { collection, prefix }) =>
      collection === 'lines' ? prefix : prefix + number,
  })
  await hilo.warm('lines', 5)
  for (let i = 0; i < 2; i++) expect(codeOfSync(() => hilo.nextIdSync('lines'))).toBe(BAD)
  expect(await codeOf(hilo.nextId('lines'))).toBe(BAD)
  expect(await codeOf(hilo.nextIds('lines', 2))).toBe(BAD)
  const [first] = await hilo.nextIds('orders', 2)
  expect(first).toBe('orders/1')
  expect(await hilo.nextNumber('lines')).toBeGreaterThan(1)
})

test('loses the number of an id that formatId does not make, and goes on', async () => {
  const hilo = createTestHilo({
    formatId: (number) => {
      if (number === 3) throw new Error('no form')
      return number === 5 ? '' : `K${Math.min(number, 7)}`
    },
  })
  const made = []
  for (let i = 1; i <= 8; i++) made.push(await hilo.nextId('orders').catch(({ code }) => code))
  expect(made).toEqual(['K1', 'K2', BAD, 'K4', BAD, 'K6', 'K7', BAD])
})

test('refuses bad input with the same codes', async () => {
  const hilo = createTestHilo()
  expect(await codeOf(hilo.nextId(''))).toBe('invalid-collection')
  const orders = Promise.resolve('orders')
  // @ts-expect-error an `await` is missing
  expect(await codeOf(hilo.nextId(orders))).toBe('invalid-collection')
  expect(await codeOf(hilo.nextId('orders', { database: '' }))).toBe('invalid-argument')
  expect(await codeOf(hilo.nextId('orders', { timeout: -1 }))).toBe('invalid-argument')
  expect(await codeOf(hilo.nextIds('orders', -1))).toBe('invalid-argument')
  expect(await codeOf(hilo.warm('orders', 0.5))).toBe('invalid-argument')
  expect(await codeOf(hilo.reserve('orders', -1))).toBe('invalid-argument')
  expect(codeOfSync(() => hilo.status(''))).toBe('invalid-collection')
  expect(codeOfSync(() => createTestHilo({ reserve: -1 }))).toBe('invalid-argument')
  expect(await codeOf(hilo.nextId('orders', { signal: AbortSignal.abort() }))).toBe('aborted')
})

test('goes on without the server while the device has ids, then is exhausted', async () => {
  const hilo = createTestHilo()
  await hilo.reserve('orders', 50)
  hilo.disconnect()
  const { available } = hilo.status('orders')
  expect(available).toBeGreaterThanOrEqual(50)
  expect(await hilo.nextIds('orders', available)).toHaveLength(available)
  expect(await codeOf(hilo.nextId('orders'))).toBe('exhausted')
  expect(hilo.status('orders')).toMatchObject({ available: 0, leased: 0, state: 'exhausted' })
  expect(hilo.status().online).toBe(false)
  expect(await codeOf(hilo.reserve('orders', 50))).toBe('server-unreachable')
  expect(await codeOf(hilo.nextIdentity('invoices'))).toBe('server-unreachable')
})

test('says that it never got an id, unless the app has the network switched off', async () => {
  const hilo = createTestHilo()
  hilo.goOffline()
  expect(await codeOf(hilo.nextId('orders'))).toBe('exhausted')
  hilo.disconnect()
  hilo.goOnline()
  expect(await codeOf(hilo.nextId('orders'))).toBe('no-hilo-server')
  expect(await codeOf(hilo.reserve('customers', 5))).toBe('no-hilo-server')
  hilo.connect()
  await hilo.nextId('orders')
  hilo.disconnect()
  expect(await codeOf(hilo.nextId('invoices'))).toBe('exhausted')
})

test('says how many are left when more are asked for; the event comes when none is', async () => {
  const hilo = createTestHilo()
  await hilo.reserve('orders', 40)
  hilo.disconnect()
  let told = 0
  hilo.addEventListener('exhausted', () => told++)
  await expect(hilo.nextIds('orders', 1_000)).rejects.toMatchObject({
    code: 'exhausted',
    message: expect.stringMatching(
      /^Collection 'orders': 1000 asked for, 40 left on this device\. /,
    ),
  })
  expect(told).toBe(0)
  await hilo.nextIds('orders', 40)
  expect(await codeOf(hilo.nextId('orders'))).toBe('exhausted')
  await expect.poll(() => told).toBe(1)
})

test('does nothing when the signal is aborted', async () => {
  const hilo = createTestHilo()
  const signal = AbortSignal.abort()
  expect(await codeOf(hilo.reserve({ orders: 500 }, { signal }))).toBe('aborted')
  expect(await codeOf(hilo.release({ signal }))).toBe('aborted')
  expect(await codeOf(hilo.nextIdentity('invoices', { signal }))).toBe('aborted')
  expect(hilo.status('orders').reserve).toBe(32)
})

test('gives everything back on release, and goes on where it was', async () => {
  const hilo = createTestHilo()
  await hilo.nextIds('orders', 3)
  await hilo.release()
  expect(hilo.status('orders')).toMatchObject({ available: 0, leased: 0, gaps: 0 })
  expect(await hilo.nextId('orders')).toBe('orders/4-A')
})

test.each([
  ['empty', ''],
  ['an object, which would be the same text as any other', { id: 7 }],
  ['no text', 7],
  ['null', null],
  ['129 bytes long', `${'ü'.repeat(64)}x`],
  ['of two lines', 'a\nb'],
  ['half of a surrogate pair', '\ud800'],
])('takes no identity number for a key that is %s', async (_, key) => {
  const hilo = createTestHilo()
  const refused = await hilo.nextIdentity('invoices', { key: key as string }).catch((e) => e)
  expect(refused).toMatchObject({
    code: 'invalid-argument',
    message: expect.stringMatching(/^No number was taken: `key` has to be a text of 1 to 128/),
  })
  expect(await hilo.nextIdentity('invoices', { key: 'ü'.repeat(64) })).toBe(1)
})

class Controlled {
  aborted = false
  addEventListener() {}
}

test.each([
  ['has no events', new AbortController()],
  ['cannot be left alone again', new Controlled()],
])('refuses by name what is no signal, in every call: it %s', async (_, signal) => {
  const hilo = createTestHilo()
  const limits = { signal: signal as never }
  const calls = [
    hilo.nextId('orders', limits),
    hilo.nextNumber('orders', limits),
    hilo.nextIds('orders', 3, limits),
    hilo.take('orders', 3, limits),
    hilo.warm('orders', 3, limits),
    hilo.reserve('orders', 3, limits),
    hilo.reserve({ orders: 3 }, limits),
    hilo.release(limits),
    hilo.release('orders', limits),
    hilo.nextIdentity('orders', limits),
  ]
  for (const call of calls)
    expect(await call.catch((error) => error)).toMatchObject({
      code: 'invalid-argument',
      message: expect.stringMatching(/`options.signal` has to be an AbortSignal; this is .object/),
    })
  expect(await hilo.nextIdentity('orders')).toBe(1)
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
})

test.each<[what: string, given: unknown, message: RegExp]>([
  ['a number', 5, /`options` .*this is 5\. See/],
  ['0', 0, /`options`/],
  ['no text', '', /`options`/],
  ['a database without its name', 'Archive', /`options` .*"Archive"/],
  ['a bare signal', new AbortController().signal, /`options` .*AbortSignal/],
  ['a list', [], /`options` .*Array/],
  ['a Map', new Map([['database', 'Archive']]), /`options` .*Map/],
  ['an instance of a class', new (class Order {})(), /`options`/],
  ['mistyped', { timeOut: 5 }, /`options\.timeOut`/],
  ['mistyped, and nothing', { sginal: undefined }, /`options\.sginal`/],
  ['a mistyped database', { dataBase: 'Archive' }, /`options\.dataBase`.*`database`/],
  ['far from any', { priority: 1 }, /`options\.priority`.*database/],
])('refuses options that are %s, by name, in every call', async (_, given, message) => {
  const hilo = createTestHilo()
  const options = given as never
  const calls = [
    () => hilo.nextId('orders', options),
    () => hilo.nextNumber('orders', options),
    () => hilo.nextIds('orders', 3, options),
    () => hilo.take('orders', 3, options),
    () => hilo.warm('orders', 3, options),
    async () => hilo.nextIdSync('orders', options),
    async () => hilo.nextNumberSync('orders', options),
    async () => hilo.status('orders', options),
    () => hilo.inspect('orders', options),
    () => hilo.reserve('orders', 3, options),
    () => hilo.reserve({ orders: 3 }, options),
    () => hilo.release('orders', options),
    () => hilo.release(undefined, options),
    () => hilo.nextIdentity('orders', options),
    () => hilo.startOver(options),
  ]
  for (const call of calls) {
    const error = await call().catch((thrown) => thrown)
    // A number in the place of options is a count there: of a collection that is none.
    if (error.code !== 'invalid-collection')
      expect(error).toMatchObject({ code: BAD, message: expect.stringMatching(message) })
    else expect(typeof given).toBe('number')
  }
  expect(await hilo.nextIdentity('orders')).toBe(1)
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
})

test.each<[call: string, more: object]>([
  ['a …Sync call', { timeout: 5 }],
  ['a status', { signal: new AbortController().signal }],
])('refuses what %s has no use for', async (_, more) => {
  const hilo = createTestHilo()
  await hilo.warm('orders', 3)
  expect(codeOfSync(() => hilo.nextIdSync('orders', more))).toBe(BAD)
  expect(codeOfSync(() => hilo.status('orders', more))).toBe(BAD)
  expect(await codeOf(hilo.inspect('orders', more))).toBe(BAD)
  expect(await codeOf(hilo.release({ timeout: 5 } as never))).toBe(BAD)
  expect(await codeOf(hilo.release(new AbortController().signal as never))).toBe(BAD)
  expect(hilo.nextIdSync('orders')).toBe('orders/1-A')
})

test.each([Number.NaN, -1, 0, '5', null])('refuses a timeout of %j', async (timeout) => {
  const hilo = createTestHilo()
  const options = { timeout: timeout as number }
  expect(await codeOf(hilo.nextId('orders', options))).toBe(BAD)
  expect(await codeOf(hilo.nextIds('orders', 2, options))).toBe(BAD)
  expect(await codeOf(hilo.warm('orders', 2, options))).toBe(BAD)
  expect(await codeOf(hilo.reserve('orders', 2, options))).toBe(BAD)
})

test('refuses a listener of watch that cannot be called', () => {
  const hilo = createTestHilo()
  expect(codeOfSync(() => hilo.watch(undefined as never))).toBe(BAD)
})

test('makes ids by methods that were taken off it', async () => {
  const hilo = createTestHilo()
  const { nextId, nextIds, nextIdSync, nextNumber, warm, status, addEventListener } = hilo
  const told: boolean[] = []
  addEventListener('status', ({ detail }) => told.push(detail.online))
  expect(await nextId('orders')).toBe('orders/1-A')
  expect(await nextIds('orders', 1)).toEqual(['orders/2-A'])
  expect(await nextNumber('orders')).toBe(3)
  await warm('orders', 3)
  expect(nextIdSync('orders')).toBe('orders/4-A')
  expect(status('orders').state).toBe('ready')
  const { reserve, release, inspect, watch, goOffline, goOnline, close, ...others } = hilo
  await reserve('orders', 50)
  expect((await inspect('orders')).reserve).toBe(50)
  watch(() => {})()
  goOffline()
  goOnline()
  await release()
  const { [Symbol.asyncDispose]: dispose } = hilo
  await dispose()
  await close()
  expect(Object.keys(others).filter((key) => key !== 'ready')).toEqual([])
  expect(told).toContain(true)
})

test.each(['Shop ', '', '..', 5])('refuses the database %j in every call', async (given) => {
  const hilo = createTestHilo()
  const options = { database: given as string }
  for (const call of [
    () => hilo.nextId('orders', options),
    () => hilo.take('orders', 3, options),
    () => hilo.reserve('orders', 3, options),
    () => hilo.nextIdentity('orders', options),
    // These would find nothing in it, and look like a success.
    () => hilo.release(options),
    () => hilo.startOver(options),
  ])
    expect(await codeOf(call())).toBe(BAD)
})

test('takes null for no options', async () => {
  const hilo = createTestHilo()
  const none = null as never
  expect(await hilo.nextId('orders', none)).toBe('orders/1-A')
  expect(await hilo.nextIds('orders', 1, none)).toEqual(['orders/2-A'])
  await hilo.warm('orders', 1, none)
  expect(hilo.nextIdSync('orders', none)).toBe('orders/3-A')
  await hilo.reserve('orders', 40, none)
  expect(await hilo.nextIdentity('orders', none)).toBe(1)
  await hilo.release('orders', none)
  expect(await codeOf(hilo.nextId('orders', { database: none }))).toBe('invalid-argument')
})

test('goes on when a listener of watch throws, and reports what it threw', async () => {
  const thrown = new Error('a bug in the app')
  const reported: unknown[] = []
  const { queueMicrotask: later } = globalThis
  vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((run) =>
    later(() => {
      try {
        run()
      } catch (error) {
        reported.push(error)
      }
    }),
  )
  const hilo = createTestHilo()
  const kinds = new Set<string>()
  const stop = hilo.watch(({ kind }) => {
    kinds.add(kind)
    throw thrown
  })
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  await expect.poll(() => [...kinds]).toEqual(expect.arrayContaining(['claim', 'lease']))
  stop()
  expect(new Set(reported)).toEqual(new Set([thrown]))
  vi.restoreAllMocks()
})

test('makes no id after it was closed, and rejects whoever waits', async () => {
  const hilo = createTestHilo()
  hilo.disconnect()
  const waiting = hilo.nextId('orders', { timeout: Number.POSITIVE_INFINITY })
  const rejected = codeOf(waiting)
  await hilo.close()
  expect(await rejected).toBe('closed')
  expect(await codeOf(hilo.nextId('orders'))).toBe('closed')
  expect(await codeOf(hilo.reserve('orders', 5))).toBe('closed')
  expect(await codeOf(hilo.release())).toBe('closed')
  expect(await codeOf(hilo.nextIdentity('invoices'))).toBe('closed')
  expect(codeOfSync(() => hilo.nextIdSync('orders'))).toBe('closed')
  await hilo.close()
})
