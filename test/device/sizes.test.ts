/** How much a device keeps and claims. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_DOUBLED_CAPACITY } from '../../src/core/wire.js'
import { claimSize, enough, goOn, isLow, spare, topUp } from '../../src/device/sizes.js'

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

test('enough leaves a device that is not low', () => {
  for (const reserve of [0, 1, 8, 32, 33, 200])
    expect(isLow(enough(16, reserve) - 16, reserve)).toBe(false)
  expect(enough(16, 32)).toBe(32)
})

describe('a claim in the background', () => {
  const holding = (free: number) => ({ free, reserve: 32 })

  test('tops up a device that is low, with what is offered in memory counted as free', () => {
    expect(topUp(holding(15), 0, 0)).toBe(16)
    expect(topUp(holding(16), 0, 0)).toBe(0)
    expect(topUp(holding(15), 1, 0)).toBe(0)
    expect(topUp(holding(0), 0, 5)).toBe(21)
  })

  test('goes on with what the server did not grant, up to the most that is kept', () => {
    expect(goOn(holding(8), 20, 32)).toBe(28)
    expect(goOn(holding(8), 4_000, 32)).toBe(32)
    expect(goOn(holding(31), 1, 32)).toBe(32)
    expect(goOn(holding(32), 1, 32)).toBe(0)
    expect(goOn(holding(8), 0, 32)).toBe(0)
  })

  test('is not made after a release', () => {
    expect(topUp({ ...holding(15), isReleased: true }, 0, 0)).toBe(0)
    expect(goOn({ ...holding(8), isReleased: true }, 20, 32)).toBe(0)
  })
})

describe('claimSize', () => {
  const need = { free: 0, wanted: 32, issued: 0, age: undefined }
  const SECOND = 1_000

  test('asks for exactly what is missing, in one request', () => {
    expect(claimSize({ ...need, free: 10, wanted: 200 })).toBe(190)
    expect(claimSize({ ...need, free: 184, wanted: 10_000, issued: 16, age: SECOND })).toBe(9_816)
  })

  test('asks for few where few are missing: a server of ours grants no more', () => {
    expect(claimSize({ ...need, free: 30 })).toBe(2)
    expect(claimSize({ ...need, wanted: 1 })).toBe(1)
  })

  test('how often a device asked counts for nothing, if it issued nothing', () => {
    for (const age of [0, SECOND, 100 * SECOND]) expect(claimSize({ ...need, age })).toBe(32)
  })

  test.each([
    ['less than half a minute: twice as many', 29.9, 2_000],
    ['half a minute: as many', 30, 1_000],
    ['a minute: as many', 60, 1_000],
    ['more than a minute: half as many', 60.1, 500],
    ['a time that lies ahead, because the clock was set back: twice as many', -1_000, 2_000],
  ])('1,000 ids issued in %s', (_, seconds, count) => {
    expect(claimSize({ ...need, issued: 1_000, age: seconds * SECOND })).toBe(count)
  })

  test('more than a server grants at once is claimed in parts: millions are not refused', () => {
    expect(claimSize({ ...need, wanted: 3_000_000 })).toBe(MAX_DOUBLED_CAPACITY)
    expect(claimSize({ ...need, wanted: 3_000_000, issued: 900_000, age: 5 }, 5_000)).toBe(5_000)
  })

  test('fills the device up, and asks for at most twice what was issued above that', () => {
    const count = fc.nat(5_000)
    fc.assert(
      fc.property(count, count, count, fc.option(fc.nat(100_000)), (free, wanted, issued, age) => {
        const size = claimSize({ free, wanted, issued, age: age ?? undefined })
        expect(free + size).toBeGreaterThanOrEqual(wanted)
        expect(size).toBeLessThanOrEqual(Math.max(wanted - free, 2 * issued))
      }),
    )
  })
})

test('a device that makes ten ids a second claims twice a minute at most, and no more', () => {
  const sizes: number[] = []
  let [free, issued, at] = [0, 0, 0]
  for (let second = 0; second < 3_600; second++) {
    if (isLow(free, 32)) {
      const age = sizes.length === 0 ? undefined : (second - at) * 1_000
      sizes.push(claimSize({ free, wanted: 32, issued, age }))
      free += sizes.at(-1)!
      issued = 0
      at = second
    }
    free -= 10
    issued += 10
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(600)
  expect(sizes.length).toBeLessThanOrEqual(130)
})
