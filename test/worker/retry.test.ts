/** The pauses between the tries of a request. */
import { expect, test } from 'vitest'
import type { Failure } from '../../src/core/errors.js'
import { newRetry } from '../../src/worker/retry.js'

test('a pause ends with its timer, although the clock is a little behind', () => {
  let now = 0
  const timers: { wait: number; run: () => void }[] = []
  const world = { now: () => now, random: () => 0 }
  const after = (wait: number, run: () => void) => {
    timers.push({ wait, run })
    return () => {}
  }
  const retry = newRetry({ world, after } as never, 1_000, 8_000)
  const failure: Failure = { code: 'server-refused', message: '', status: 429, retryAfter: 5_000 }
  const paused: unknown[] = []
  retry.failed(failure, () => paused.push(retry.pausedBy()))
  now = 4_999
  expect(retry.pausedBy()).toBe(failure)
  expect(timers.map(({ wait }) => wait)).toEqual([5_000])
  timers[0]!.run()
  expect(paused).toEqual([undefined])
})
