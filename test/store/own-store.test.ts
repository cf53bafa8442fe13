/** A store of the app's own that is wrong: an error says so, and no number is burned. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import { createHilo } from '../../src/index.js'
import { MemoryStore } from '../../src/store/memory.js'
import { ownStore } from '../../src/store/own-store.js'
import type { Change, DeviceStore } from '../../src/store/store.js'
import { errorOf, newShop, type Shop } from '../support/shop.js'
import { KEY } from './contract.js'

let shop: Shop
beforeEach(async () => {
  shop = await newShop()
  // A device that claims for ever would leave no time for the test to fail.
  shop.answer = () => {
    shop.isDown = shop.requests.length > 20
    return undefined
  }
})
afterEach(() => shop.close())

/** A sound store, but for some of its methods. */
const storeWith = (wrong: (sound: MemoryStore) => object): DeviceStore => {
  const sound = new MemoryStore()
  return {
    isDurable: true,
    update: (key, change) => sound.update(key, change as never),
    read: (key) => sound.read(key),
    keys: () => sound.keys(),
    close() {},
    ...wrong(sound),
  }
}

const open = (store: DeviceStore) => createHilo({ url: 'https://shop.example.com', store })
type AnyChange = (stored: unknown, notes: unknown) => Change<unknown>
type Update = (key: never, change: AnyChange) => unknown

const forgetful = () => {
  const update: Update = async (_, change) => change(undefined, []).result
  return storeWith(() => ({ update, read: async () => ({ stored: undefined, notes: [] }) }))
}
/** As where a disk is full, and nobody looks at the error. */
function full() {
  let room = 2
  return storeWith((sound) => ({
    async update(key: never, change: AnyChange) {
      if (room-- > 0) return sound.update(key, change as never)
      return change((await sound.read(key)).stored, []).result
    },
  }))
}

describe.each<[string, () => DeviceStore, string]>([
  ['stores nothing', forgetful, '`read` found nothing of what `update` was to store'],
  ['stores nothing any more', full, '`read` found nothing of what `update` was to store'],
  [
    'stores a text of the state',
    () =>
      storeWith(() => {
        let text: string | undefined
        const update: Update = async (_, change) => {
          const { state, result } = change(text, [])
          text = JSON.stringify(state)
          return result
        }
        return { update, read: async () => ({ stored: text, notes: [] }) }
      }),
    '`read` found no state: it is not an object',
  ],
  [
    'resolves with something else than the result',
    () => storeWith(() => ({ update: async () => 'done' })),
    '`update` has to call the change, and to resolve with its `result`',
  ],
  [
    'hands a change no notes',
    () => storeWith(() => ({ update: (async (_, change) => change(undefined, null)) as Update })),
    '`update` has to hand the change what is stored, and an array of notes',
  ],
  [
    'reads nothing',
    () => storeWith(() => ({ read: async () => undefined })),
    '`read` has to resolve with `{ stored, notes }`',
  ],
])('a store that %s', (_, newStore, message) => {
  test.each([
    ['nextId', (hilo: ReturnType<typeof open>) => hilo.nextIds('orders', 200)],
    ['reserve', (hilo: ReturnType<typeof open>) => hilo.reserve('orders', 200)],
  ])('is an error of %s, which claims at most once', async (_, call) => {
    const hilo = open(newStore())
    const error = await errorOf(call(hilo))
    expect(error.message).toContain(message)
    expect(error.code).toBe('storage-failed')
    await hilo.close()
    expect(shop.requests.filter(({ action }) => action === 'next').length).toBeLessThan(2)
  })
})

test('a store that lists no keys is an error', async () => {
  const hilo = open(storeWith(() => ({ keys: async () => undefined })))
  expect((await errorOf(hilo.release())).message).toContain('`keys` has to resolve with an array')
  await hilo.close()
})

test('what another process has stored meanwhile is no fault of the store', async () => {
  const store = storeWith((sound) => ({
    async update(key: never, change: AnyChange) {
      const result = await sound.update(key, change as never)
      await sound.update(key, (stored) => {
        const { gaps, ...state } = stored as DeviceState
        return { state: { ...state, gaps: { ...gaps, crash: gaps.crash + 1 } }, result: 0 }
      })
      return result
    },
  }))
  const hilo = open(store)
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  await hilo.close()
})

test('a change that the next one undoes is no fault of the store', async () => {
  const store = ownStore(storeWith(() => ({})))
  const issued = (n: number) =>
    store.update(['Shop', 'orders', '/'], () => ({
      state: { ...emptyState(), issued: n },
      result: n,
    }))
  await issued(1)
  expect(await Promise.all([issued(2), issued(1)])).toEqual([2, 1])
})

test('a store without one of its methods is refused at once', () => {
  for (const name of ['update', 'read', 'keys', 'close'])
    expect(() => open(storeWith(() => ({ [name]: undefined })))).toThrow(
      /`options.store` has to be/,
    )
})

describe('a store that hangs', () => {
  const TIMERS = { toFake: ['setTimeout', 'clearTimeout', 'performance'] } as const
  beforeEach(() => void vi.useFakeTimers({ toFake: [...TIMERS.toFake] }))
  afterEach(() => void vi.useRealTimers())
  const forEver = () => new Promise<never>(() => {})

  test.each(['update', 'read', 'keys', 'close'])(
    'in `%s` is named, and close() ends',
    async (method) => {
      const hilo = open(storeWith(() => ({ [method]: forEver })))
      const failed = hilo.nextId('orders', { timeout: 60_000 }).catch(({ message }) => message)
      await vi.advanceTimersByTimeAsync(30_000)
      if (['update', 'read'].includes(method))
        expect(await failed).toContain(`\`${method}\` has not settled within 10000 ms`)
      const closed = hilo.close()
      await vi.advanceTimersByTimeAsync(60_000)
      await closed
    },
  )

  test('fails those that wait behind it, and makes no change that comes too late', async () => {
    let goOn = () => {}
    const store = ownStore(
      storeWith((sound) => ({
        update: async (...args: Parameters<typeof sound.update>) => {
          await new Promise<void>((resolve) => (goOn = resolve))
          return sound.update(...args)
        },
      })),
    )
    let changes = 0
    const update = () =>
      store
        .update(KEY, () => ({ state: emptyState(), result: ++changes }))
        .catch(({ code }) => code)
    const codes: unknown[] = []
    for (const failed of [update(), update()]) failed.then((code) => codes.push(code))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(codes).toEqual(['storage-failed', 'storage-failed'])
    goOn()
    await vi.advanceTimersByTimeAsync(0)
    expect(changes).toBe(0)
    const next = update()
    await vi.advanceTimersByTimeAsync(0)
    goOn()
    expect(await next).toBe(1)
  })
})
