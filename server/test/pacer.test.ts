/** How much a server takes from elsewhere at once. */
import { expect, test } from 'vitest'
import { Pacer } from '../src/addons/upstream/authority.js'

/** All of it comes at once. */
function take(pacer: Pacer, count: number, now: number): number {
  const taken = pacer.take(count, now)
  pacer.came(taken, now)
  return taken
}

test('takes that follow each other within a second double', () => {
  const pacer = new Pacer()
  const taken = [0, 999, 1_998, 2_998, 3_997].map((now) => [take(pacer, 3, now), pacer.isFast])
  expect(taken).toEqual([
    [3, false],
    [6, true],
    [12, true],
    [3, false],
    [6, true],
  ])
})

test('a take is at least what is needed, and doubling stops at the most', () => {
  const pacer = new Pacer(8)
  const taken = [1, 20, 1, 1].map((count, i) => take(pacer, count, i))
  expect(taken).toEqual([1, 20, 8, 8])
})
