/** What goes over the wire: RavenDB’s capacity table and times, and answers that are no ranges. */
import { describe, expect, test } from 'vitest'
import { capacity, formatServerTime, MAX_DOUBLED_CAPACITY } from '../../src/core/wire.js'

describe('capacity', () => {
  test.each([
    [0, undefined, 32],
    [31, undefined, 32],
    [500, undefined, 500],
    [2_000_000, undefined, 2_000_000],
    [0, 0, 32],
    [32, 0, 64],
    [32, 29_999, 64],
    [32, 30_000, 32],
    [64, 60_000, 64],
    [64, 60_001, 32],
    [65, 60_001, 32],
    [131, 60_001, 65],
    [40, 3_600_000, 32],
    [32, -5_000, 64],
    [MAX_DOUBLED_CAPACITY, 1, MAX_DOUBLED_CAPACITY],
    [MAX_DOUBLED_CAPACITY - 1, 1, MAX_DOUBLED_CAPACITY],
  ])('last size %i, %s ms ago: %i numbers', (lastBatchSize, age, numbers) => {
    expect(capacity(lastBatchSize, age)).toBe(numbers)
  })
})

test('a time of the server has 7 fraction digits', () => {
  const time = Date.UTC(2026, 10, 21, 7, 9, 21, 466)
  expect(formatServerTime(time)).toBe('2026-11-21T07:09:21.4660000Z')
})
