/** How many ids a page issued in the last second, from two counters. */
import { expect, test } from 'vitest'
import { Pace } from '../../src/client/pace.js'

test('a page that issued nothing has no pace', () => {
  const pace = new Pace()
  expect(pace.perSecond(5_000, 0)).toBe(0)
  expect(pace.perSecond(6_000, 0)).toBe(0)
})

test('a steady pace is seen as it is', () => {
  const pace = new Pace()
  for (let now = 0; now <= 5_000; now += 100) {
    const perSecond = pace.perSecond(now, now / 10)
    if (now >= 1_000) expect(perSecond).toBe(100)
  }
})

test('a burst counts at once, fades within the next second, and is forgotten after two', () => {
  const pace = new Pace()
  pace.perSecond(10_000, 0)
  expect(pace.perSecond(10_100, 500)).toBe(500)
  expect(pace.perSecond(11_000, 500)).toBe(500)
  expect(pace.perSecond(11_500, 500)).toBe(250)
  expect(pace.perSecond(12_000, 500)).toBe(0)
})

test('a pause of minutes leaves nothing of an old burst', () => {
  const pace = new Pace()
  pace.perSecond(10_000, 0)
  pace.perSecond(10_100, 500)
  expect(pace.perSecond(600_000, 500)).toBe(0)
})
