/** Receipts with consecutive numbers, in a test of the app: a series in memory. */
import { consecutive } from 'offline-hilo/consecutive'
import { createTestHilo } from 'offline-hilo/testing'
import { expect, test } from 'vitest'

test('a till makes receipts offline, and begins another letter when it is a copy', async () => {
  const hilo = createTestHilo()
  const receipts = consecutive(hilo, 'receipts')
  expect((await receipts.next({ key: 'sale 1' })).id).toBe('A-000001')
  hilo.disconnect()
  expect((await receipts.next({ key: 'sale 2' })).id).toBe('A-000002')
  hilo.connect()
  hilo.fork()
  expect((await receipts.next({ key: 'sale 3' })).id).toBe('B-000001')
})
