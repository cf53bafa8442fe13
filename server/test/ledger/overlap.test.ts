/** Which grants may not stand beside each other. */
import { expect, test } from 'vitest'
import { meets } from '../../src/ledger/overlap.js'
import { grantOf } from './steps.js'

const grant = { ...grantOf({ low: 33, high: 64, serial: 5 }), clearTo: 64 }

test.each([
  ['that ends just below it', { low: 1, high: 32, serial: 4 }, false],
  ['that has its first number', { low: 1, high: 33, serial: 4 }, true],
  ['that has its last number', { low: 64, high: 96, serial: 4 }, true],
  ['that begins just above it', { low: 65, high: 96, serial: 4 }, false],
  ['of another node', { low: 33, high: 64, serial: 4, serverTag: 'B' }, false],
  ['of which nothing is left', { low: 40, high: 39, serial: 4 }, false],
  ['with its serial', { low: 1, high: 32, serial: 5 }, true],
])('a new grant and one %s', (_, other, isMet) => {
  expect(meets({ ...grant, node: 'A' }, grantOf(other))).toBe(isMet)
})

test('one that the ledger counts has no other above it', () => {
  const { clearTo: _, ...counted } = grant
  expect(meets(counted, grantOf({ low: 65, high: 96, serial: 4 }))).toBe(true)
})
