/** The test passes its own Hilo to the code under test. */
import { createTestHilo } from 'offline-hilo/testing'
import { expect, test } from 'vitest'
import { newOrder } from './orders'

test('an order gets its id offline, and stays a draft when none is left', async () => {
  const hilo = createTestHilo({ collections: { orders: { reserve: 2 } } })
  expect(await newOrder(hilo, 'Ada')).toEqual({ id: 'orders/1-A', customer: 'Ada' })
  hilo.disconnect()
  expect(await newOrder(hilo, 'Bob')).toEqual({ id: 'orders/2-A', customer: 'Bob' })
  expect(await newOrder(hilo, 'Cid')).toEqual({ id: 'orders/3-A', customer: 'Cid' })
  expect(await newOrder(hilo, 'Dan')).toEqual({ id: undefined, customer: 'Dan' })
  hilo.connect()
  expect(await newOrder(hilo, 'Eve')).toEqual({ id: 'orders/4-A', customer: 'Eve' })
})
