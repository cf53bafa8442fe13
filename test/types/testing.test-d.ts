/** The public types of `offline-hilo/testing`. */
import { expectTypeOf } from 'vitest'
import { type Consecutive, consecutive } from '../../src/addons/consecutive/index.js'
import {
  createHilo,
  createTestHilo,
  type TestHilo,
  type TestSwitches,
} from '../../src/addons/testing/index.js'
import type { Hilo, HiloOptions } from '../../src/index.js'

expectTypeOf(createTestHilo).parameter(0).toEqualTypeOf<HiloOptions | undefined>()
expectTypeOf(createHilo).toEqualTypeOf<typeof createTestHilo>()
expectTypeOf<TestHilo>().toExtend<Hilo>()
expectTypeOf<TestHilo>().toExtend<TestSwitches>()

/** Whoever takes a Hilo takes that of a test. */
export const asHilo: Hilo = createTestHilo()

export const typed = () => {
  const hilo = createTestHilo({ collections: { orders: {} } })
  expectTypeOf(hilo).toExtend<Hilo<'orders'>>()
  hilo.fork()
  hilo.addEventListener('low', ({ detail }) =>
    expectTypeOf(detail.available).toEqualTypeOf<number>(),
  )
  expectTypeOf(consecutive(hilo, 'orders')).toEqualTypeOf<Consecutive>()
  // @ts-expect-error a misspelt collection
  consecutive(hilo, 'ordres')
  // @ts-expect-error a misspelt collection
  hilo.nextId('ordres')
}
