/** What goes over the wire: RavenDB’s capacity table and times, and answers that are no ranges. */
import { describe, expect, test } from 'vitest'
import {
  capacity,
  formatServerTime,
  MAX_DOUBLED_CAPACITY,
  parseServerTime,
} from '../../src/core/wire.js'

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

describe('server times', () => {
  test('have 7 fraction digits and come back to the millisecond', () => {
    const time = Date.UTC(2026, 10, 21, 7, 9, 21, 466)
    expect(formatServerTime(time)).toBe('2026-11-21T07:09:21.4660000Z')
    expect(parseServerTime('2026-11-21T07:09:21.4660000Z')).toBe(time)
  })

  test('may lack the Z, as an old official client sends them', () => {
    expect(parseServerTime('2026-11-21T07:09:21.4660000')).toBe(
      Date.UTC(2026, 10, 21, 7, 9, 21, 466),
    )
  })

  test.each([
    '',
    '2026-11-21T07:09:21.466Z',
    '2026-11-21T07:09:21Z',
    '2026-13-41T07:09:21.4660000Z',
    'yesterday',
    '1763709',
  ])('anything else is no time: %j', (text) => {
    expect(parseServerTime(text)).toBeUndefined()
  })
})
