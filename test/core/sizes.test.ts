/** How much a device keeps and claims. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimSize, isLow, spare } from '../../src/core/sizes.js'
import { capacity, MAX_DOUBLED_CAPACITY, MIN_CAPACITY } from '../../src/core/wire.js'

const last = (size: number) => ({ size, at: '2026-11-21T07:09:21.4660000Z' })

test('a device spares for looking ahead what does not make it low', () => {
  expect(spare(100, 32)).toBe(84)
  expect(isLow(100 - spare(100, 32), 32)).toBe(false)
  expect(spare(100, 33)).toBe(83)
  expect(isLow(100 - spare(100, 33), 33)).toBe(false)
  expect(spare(10, 32)).toBe(0)
  expect(spare(10, 0)).toBe(10)
})

test('low is less than half of the reserve', () => {
  expect(isLow(16, 32)).toBe(false)
  expect(isLow(15, 32)).toBe(true)
  expect(isLow(0, 0)).toBe(false)
})

describe('claimSize', () => {
  test('the first claim asks for exactly what is missing, and sends no time', () => {
    expect(claimSize(10, 200, 1, undefined)).toEqual({ lastBatchSize: 190 })
  })

  test('never asks for less than the protocol grants', () => {
    expect(claimSize(30, 32, 1, undefined)).toEqual({ lastBatchSize: MIN_CAPACITY })
  })

  test('a claim in keeping with the last one lets the server decide how much', () => {
    expect(claimSize(10, 32, 11, last(32))).toEqual({ lastBatchSize: 32, lastRangeAt: last(32).at })
  })

  test('a shortage far above the last size is asked for in one request', () => {
    expect(claimSize(0, 500, 500, last(32))).toEqual({ lastBatchSize: 500 })
  })

  test('more than a server grants at once is claimed in parts: millions are not refused', () => {
    expect(claimSize(0, 32, 3_000_000, undefined)).toEqual({ lastBatchSize: MAX_DOUBLED_CAPACITY })
    expect(claimSize(0, 32, 3_000_000, last(MAX_DOUBLED_CAPACITY))).toEqual({
      lastBatchSize: MAX_DOUBLED_CAPACITY,
      lastRangeAt: last(1).at,
    })
  })

  test('a claim granted by the capacity table fills the device up, whatever is missing', () => {
    fc.assert(
      fc.property(
        fc.nat(5000),
        fc.nat(5000),
        fc.nat(5000),
        fc.option(fc.integer({ min: 1, max: 5000 })),
        (free, reserve, want, size) => {
          const { lastBatchSize, lastRangeAt } = claimSize(
            free,
            reserve,
            want,
            size === null ? undefined : last(size),
          )
          const granted = capacity(lastBatchSize, lastRangeAt === undefined ? undefined : 1_000)
          expect(free + granted).toBeGreaterThanOrEqual(Math.max(reserve, want))
        },
      ),
    )
  })
})
