/** Collections that are listed in the options are the only names that a typed Hilo takes. */
import { expectTypeOf } from 'vitest'
import { useHiloStatus } from '../../src/addons/react.js'
import { createHilo, type Hilo, type HiloOptions } from '../../src/index.js'
import { createHilo as createHiloInWorker } from '../../src/worker/index.js'

class Invoice {}

export async function typed(): Promise<void> {
  const hilo = createHilo({ url: '/ids', collections: { orders: { reserve: 200 }, lines: {} } })
  expectTypeOf(hilo).toEqualTypeOf<Hilo<'orders' | 'lines'>>()
  await hilo.nextId('orders')
  await hilo.nextId('lines', { database: 'Archive' })
  await hilo.nextId(Invoice)
  await hilo.nextId(new Invoice())
  hilo.status('lines')
  useHiloStatus(hilo, 'orders')
  // Identities are no collections: nothing is leased for them.
  await hilo.nextIdentity('invoices')
  // @ts-expect-error a misspelt collection
  await hilo.nextId('ordres')
  // @ts-expect-error a misspelt collection
  await hilo.nextNumber('ordres')
  // @ts-expect-error a misspelt collection
  await hilo.nextIds('ordres', 5)
  // @ts-expect-error a misspelt collection
  hilo.nextIdSync('ordres')
  // @ts-expect-error a misspelt collection
  hilo.nextNumberSync('ordres')
  // @ts-expect-error a misspelt collection
  await hilo.warm('ordres', 5)
  // @ts-expect-error a misspelt collection
  await hilo.take('ordres', 5)
  // @ts-expect-error a misspelt collection
  await hilo.reserve('ordres', 5)
  await hilo.reserve({ orders: 500 })
  await hilo.reserve({ orders: 500, lines: 100 }, { database: 'Archive', timeout: 30_000 })
  // @ts-expect-error a misspelt collection
  await hilo.reserve({ ordres: 5 })
  // @ts-expect-error a count is a number
  await hilo.reserve({ orders: '5' })
  // @ts-expect-error a count is missing
  await hilo.reserve('orders')
  // @ts-expect-error a misspelt collection
  hilo.status('ordres')
  // @ts-expect-error a misspelt collection
  await hilo.inspect('ordres')
  // @ts-expect-error a misspelt collection
  useHiloStatus(hilo, 'ordres')
}

export async function untyped(name: string, options: HiloOptions): Promise<void> {
  for (const hilo of [
    createHilo(),
    createHilo({ url: '/ids' }),
    createHilo({ collections: {} }),
    createHilo(options),
    createHilo<string>({ collections: { orders: { reserve: 200 } } }),
  ]) {
    expectTypeOf(hilo).toEqualTypeOf<Hilo>()
    await hilo.nextId(name)
    await hilo.reserve({ [name]: 500 })
  }
}

/** Whoever takes any Hilo takes a typed one. */
export const asAny: Hilo = createHilo({ collections: { orders: {} } })

/** Names may be listed by hand, without being leased at the start. */
const byHand = createHilo<'orders' | 'lines'>({ collections: { orders: {} } })
expectTypeOf(byHand).toEqualTypeOf<Hilo<'orders' | 'lines'>>()

export const inWorker = async () => {
  const hilo = createHiloInWorker({ collections: { orders: {} } })
  await hilo.nextId('orders')
  // @ts-expect-error a misspelt collection
  await hilo.nextId('ordres')
}

export const wrong = () => [
  // @ts-expect-error a misspelt option
  createHilo({ collections: { orders: {} }, reserv: 5 }),
  // @ts-expect-error what a collection can be told
  createHilo({ collections: { orders: { size: 5 } } }),
]
