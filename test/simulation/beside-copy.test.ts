/** How much a copy beside its original may make, and what the checker does not excuse. */
import { beforeEach, expect, test } from 'vitest'
import { BesideCopy } from './beside-copy.js'
import type { Device } from './device.js'
import { REPORTED_MS } from './set-back.js'

const series = 'orders-A'
const devices = ['a', 'b'].map((name) => ({ name }) as Device)
let beside: BesideCopy

const leased = (device: string, from: number, at: number) =>
  beside.leased({ series, device, from, to: from + 7, at })
const isTooLate = (n: number) => beside.tooLate(series, n) !== undefined

beforeEach(() => {
  beside = new BesideCopy()
  beside.copied({ series, from: 1, to: 32, at: 0, bothAsk: false, devices })
})

test('both make what was leased within two reports of the first use', () => {
  leased('a', 1, 10)
  leased('b', 1, 20)
  leased('a', 9, 10 + REPORTED_MS)
  leased('b', 9, 20 + REPORTED_MS)
  leased('a', 17, 30 + REPORTED_MS)
  leased('b', 17, 40 + REPORTED_MS)
  expect([1, 9, 17].map(isTooLate)).toEqual([false, false, true])
})

test('a copy that begins later has heard after two reports of its own, whatever is made', () => {
  const begun = 10 * REPORTED_MS
  leased('a', 1, 10)
  leased('a', 9, 20)
  leased('b', 1, begun)
  leased('b', 9, begun + REPORTED_MS + 1)
  expect([1, 9].map(isTooLate)).toEqual([false, true])
})

test('the one that was used first goes on', () => {
  leased('a', 1, 10)
  leased('b', 9, 20)
  leased('a', 9, 10 * REPORTED_MS)
  expect(isTooLate(9)).toBe(false)
})
