/**
 * `useHiloStatus` over a React that only remembers: what a component gets from render to render.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useHiloStatus } from '../../src/addons/react.js'
import { newShop, type Shop } from '../support/shop.js'

interface Store {
  subscribe: (changed: () => void) => () => void
  snapshot: () => unknown
}

const react = vi.hoisted(() => ({
  memo: undefined as { deps: unknown[]; value: unknown } | undefined,
  stores: [] as Store[],
}))

vi.mock('react', () => ({
  useMemo(make: () => unknown, deps: unknown[]) {
    if (!react.memo?.deps.every((dep, i) => Object.is(dep, deps[i])))
      react.memo = { deps, value: make() }
    return react.memo.value
  },
  useSyncExternalStore(subscribe: Store['subscribe'], snapshot: Store['snapshot']) {
    react.stores.push({ subscribe, snapshot })
    return snapshot()
  },
}))

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
  react.memo = undefined
  react.stores = []
})
afterEach(() => shop.close())

class Order {}

test('an entity that is new in each render is one collection: one render per change', async () => {
  const { hilo } = shop.open()
  await hilo.nextId(Order)
  const render = () => useHiloStatus(hilo, new Order())
  const first = render()
  const { subscribe } = react.stores[0]!
  const stop = subscribe(() => {})
  const shown = react.stores[0]!.snapshot()
  for (let i = 0; i < 3; i++) expect(render()).toBe(shown)
  expect(new Set(react.stores.map((store) => store.subscribe)).size).toBe(1)
  expect(first).toEqual(hilo.status(Order))
  stop()
})

test('a name in the place of the Hilo is refused', () => {
  expect(() => useHiloStatus('orders' as never)).toThrow('`hilo` has to be what')
})

test('another class, or another name, is another collection', async () => {
  const { hilo } = shop.open()
  useHiloStatus(hilo, new Order())
  useHiloStatus(hilo, new (class Invoice {})())
  useHiloStatus(hilo, 'orders')
  useHiloStatus(hilo)
  expect(new Set(react.stores.map((store) => store.subscribe)).size).toBe(4)
})

test('what is no collection is refused by name', () => {
  const { hilo } = shop.open()
  const orders = Promise.resolve('orders')
  // @ts-expect-error an `await` is missing
  expect(() => useHiloStatus(hilo, orders)).toThrow(
    expect.objectContaining({ code: 'invalid-collection' }),
  )
})
