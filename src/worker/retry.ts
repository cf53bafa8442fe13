/**
 * Plans when a request that failed is sent again. The pauses double, each is shortened at random by
 * up to a half so that many devices do not ask at once, and none ends before the time that the
 * server asked for (`Retry-After`).
 */
import type { Failure } from '../core/errors.js'
import { isRepeated } from '../core/failures.js'
import type { OwnerContext } from './context.js'

export interface Pauses {
  /** Milliseconds before the first repetition. */
  first: number
  /** The pauses double up to this many milliseconds. */
  longest: number
}

export class Retry {
  readonly #owner: OwnerContext
  readonly #pauses: Pauses
  /** Failures in a row. */
  failures = 0
  /** Nothing is sent before these times: the pause that the server asked for, and our own. */
  #serverPause = 0
  #ownPause = 0
  #planned: { run: () => void; cancel: () => void } | undefined

  constructor(owner: OwnerContext, pauses: Pauses) {
    this.#owner = owner
    this.#pauses = pauses
  }

  get isPaused(): boolean {
    return this.#pause > 0
  }

  /** Plans `run`, if it is to be repeated. */
  failed(failure: Failure, run: () => void, isAgain = isRepeated(failure)): void {
    const { status, retryAfter = 0, noAnswer } = failure
    const until = this.#owner.world.now() + retryAfter
    // guard: H33 a stranger's pause ends when the network may be back
    if (status === undefined || noAnswer) this.#ownPause = until
    else this.#serverPause = until
    if (!isAgain) return
    // guard: H25 pauses double
    const pause = Math.min(this.#pauses.first * 2 ** this.failures++, this.#pauses.longest)
    this.plan(Math.max(pause * (1 - this.#owner.world.random() / 2), this.#pause), run)
  }

  succeeded(): void {
    this.failures = 0
    this.#serverPause = 0
    this.#ownPause = 0
  }

  /** Runs `run` after `wait` milliseconds. It replaces an earlier plan. */
  plan(wait: number, run: () => void): void {
    this.cancel()
    const planned = () => {
      this.#planned = undefined
      // A timer may go off a little before the clock shows the time that it was set for.
      // guard: H25 a pause ends with its timer
      this.#serverPause = this.#ownPause = 0
      run()
    }
    this.#planned = { run: planned, cancel: this.#owner.after(wait, planned) }
  }

  /** Somebody asks during the pause: unless something is planned, `run` comes after it. */
  resume(run: () => void): void {
    if (!this.#planned) this.plan(this.#pause, run)
  }

  /** The network may be back: the plan runs now, unless the server asked for a pause. */
  now(): void {
    this.failures = 0
    this.#ownPause = 0
    if (this.isPaused || !this.#planned) return
    const { run, cancel } = this.#planned
    cancel()
    run()
  }

  cancel(): void {
    this.#planned?.cancel()
    this.#planned = undefined
  }

  get #pause(): number {
    // guard: H25 nothing is sent before the time that the server named
    return Math.max(this.#serverPause, this.#ownPause) - this.#owner.world.now()
  }
}
