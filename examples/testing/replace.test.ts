/** The test replaces the package, for code that imports its Hilo from a module of the app. */
import type { TestHilo } from 'offline-hilo/testing'
import { beforeEach, expect, test, vi } from 'vitest'

vi.mock('offline-hilo', () => import('offline-hilo/testing'))
// Each test loads the app anew, so that its ids begin at 1.
beforeEach(() => {
  vi.resetModules()
})

test('an order gets its id', async () => {
  const { hilo } = await import('./hilo.js')
  const { newOrder } = await import('./orders.js')
  expect(await newOrder(hilo, 'Ada')).toEqual({ id: 'orders/1-A', customer: 'Ada' })
})

test('an order stays a draft when no id is left', async () => {
  const { hilo } = await import('./hilo.js')
  const { newOrder } = await import('./orders.js')
  ;(hilo as TestHilo<'orders'>).exhaust()
  expect(await newOrder(hilo, 'Ada')).toEqual({ id: undefined, customer: 'Ada' })
})
