/** A deadline that counts only the time in which timers run. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { whenLate } from '../../src/core/when-late.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('is late after the time, once', () => {
  const late = vi.fn()
  whenLate(8_000, late)
  vi.advanceTimersByTime(7_999)
  expect(late).not.toHaveBeenCalled()
  vi.advanceTimersByTime(60_000)
  expect(late).toHaveBeenCalledTimes(1)
})

test('is never late once it is cancelled', () => {
  const late = vi.fn()
  const cancel = whenLate(8_000, late)
  vi.advanceTimersByTime(5_000)
  cancel()
  vi.advanceTimersByTime(60_000)
  expect(late).not.toHaveBeenCalled()
})

test('an hour in the back/forward cache counts as a quarter of the time at most', () => {
  const late = vi.fn()
  whenLate(8_000, late)
  vi.advanceTimersByTime(100)
  const frozen = vi.getTimerCount()
  // A page that is thawed finds its timer due, and the clock an hour ahead.
  vi.setSystemTime(Date.now() + 3_600_000)
  vi.advanceTimersToNextTimer()
  expect(frozen).toBe(1)
  expect(late).not.toHaveBeenCalled()
  vi.advanceTimersByTime(5_999)
  expect(late).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(late).toHaveBeenCalledTimes(1)
})
