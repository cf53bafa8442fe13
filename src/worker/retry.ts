/**
 * Plans when a request that failed is sent again. The pauses double. Each is shortened at random by
 * up to a half, so that many devices do not ask at once. None ends before the time that the server
 * asked for (`Retry-After`).
 */
import type { Failure } from '../core/errors.js'
import { isRepeated } from '../core/failures.js'
import type { OwnerContext } from './context.js'

/**
 * @param first milliseconds before the first repetition
 * @param longest the pauses double up to this many milliseconds
 */
export function newRetry({ world, after }: OwnerContext, first: number, longest: number) {
  /** Failures in a row. */
  let failures = 0
  /** Nothing is sent before these times: the pause that the server asked for, and our own. */
  let serverPause = 0
  let ownPause = 0
  let failure: Failure | undefined
  let planned: { run: () => void; cancel: () => void } | undefined

  // guard: H25 nothing is sent before the time that the server named
  const pause = () => Math.max(serverPause, ownPause) - world.now()
  const pausedBy = () => (pause() > 0 ? failure : undefined)

  function cancel(): void {
    planned?.cancel()
    planned = undefined
  }

  /** Runs `run` after `wait` milliseconds. It replaces an earlier plan. */
  function plan(wait: number, run: () => void): void {
    cancel()
    const due = () => {
      planned = undefined
      // A timer may go off a little before the clock shows the time that it was set for.
      // guard: H25 a pause ends with its timer
      serverPause = ownPause = 0
      run()
    }
    planned = { run: due, cancel: after(wait, due) }
  }

  return {
    /** The last failure, while nothing is to be sent because of it. */
    pausedBy,
    cancel,
    plan,
    failures: () => failures,

    /** Plans `run`, if it is to be repeated. */
    failed(latest: Failure, run: () => void, isAgain = isRepeated(latest)): void {
      failure = latest
      const { status, retryAfter = 0, noAnswer } = latest
      const until = world.now() + retryAfter
      // guard: H33 a stranger's pause ends when the network may be back
      if (status === undefined || noAnswer) ownPause = until
      else serverPause = until
      if (!isAgain) return
      // guard: H25 pauses double
      const next = Math.min(first * 2 ** failures++, longest)
      plan(Math.max(next * (1 - world.random() / 2), pause()), run)
    },

    succeeded(): void {
      failures = serverPause = ownPause = 0
    },

    /** Somebody asks during the pause: unless something is planned, `run` comes after it. */
    resume(run: () => void): void {
      if (!planned) plan(pause(), run)
    },

    /** The network may be back: the plan runs now, unless the server asked for a pause. */
    now(): void {
      failures = ownPause = 0
      if (pausedBy() || !planned) return
      const { run } = planned
      cancel()
      run()
    },
  }
}
