/**
 * When this device checks in for one collection: at the start and every few hours, in the
 * background, one tab at a time. Guarantees that the first id never waits for it, and that an
 * answer is applied once.
 */

import { applyCheckIn, beginCheckIn, isCheckInDue } from '../core/check-in.js'
import { HiloError, toFailure } from '../core/errors.js'
import type { CollectionContext } from './context.js'
import { Retry } from './retry.js'

/** A longer interval spares the server requests, and notices a copy of this device later. */
const INTERVAL_MS = 3 * 60 * 60 * 1000
/** Longer than a claim's: nobody waits for a check-in. */
const PAUSES = { first: 60_000, longest: 60 * 60 * 1000 }

export class CheckIns {
  readonly #context: CollectionContext
  readonly #retry: Retry
  #flight: Promise<void> | undefined
  /** Id of the check-in that this owner began. */
  #begun: string | undefined
  #isStarted = false

  constructor(context: CollectionContext) {
    this.#context = context
    this.#retry = new Retry(context.owner, PAUSES)
  }

  /**
   * @param isDue is there something to ask? If not, the device checks in after the interval: it
   * holds no tokens yet, or has just got new ones.
   */
  start(isDue: boolean): void {
    if (this.#isStarted) return
    this.#isStarted = true
    if (isDue) this.retryNow()
    else this.#plan()
  }

  /** Checks in now, if there is something to ask and the server did not ask for a pause. */
  retryNow(): void {
    const { signal, isOnline } = this.#context.owner
    if (!this.#isStarted || this.#retry.isPaused || signal.aborted || !isOnline()) return
    this.#flight ??= this.#run().finally(() => {
      this.#flight = undefined
    })
  }

  /**
   * Runs `work` while no check-in is under way: the server would ignore a give-back under a token
   * that a check-in has just replaced.
   */
  async apart<T>(work: () => Promise<T>): Promise<T> {
    await this.idle()
    const done = work()
    this.#flight = done.then(
      () => {},
      () => {},
    )
    try {
      return await done
    } finally {
      this.#flight = undefined
    }
  }

  /** Resolves when none is under way. */
  async idle(): Promise<void> {
    while (this.#flight) await this.#flight
  }

  async #run(): Promise<void> {
    this.#retry.cancel()
    const { owner, name } = this.#context
    try {
      await owner.world.lock(`offline-hilo ${name} check-in`, () => this.#checkIn())
      this.#retry.succeeded()
      this.#plan()
    } catch (error) {
      this.#plan()
      this.#retry.failed(toFailure(error, 'storage-failed'), () => this.retryNow())
    }
  }

  #plan(): void {
    this.#retry.plan(INTERVAL_MS, () => this.retryNow())
  }

  /**
   * @param isForced also when there is nothing new to ask
   * @throws HiloError as a request that failed, also when a claim that shows a token is in the way
   */
  async #checkIn(isForced = false): Promise<void> {
    const { owner, target, update, notify } = this.#context
    const { world, source } = owner
    const newId = world.newId()
    const { request, isLater } = await update((state) => {
      const isDue = isForced || isCheckInDue(state, world.date())
      const { state: next, ...begun } = isDue ? beginCheckIn(state, newId) : { state }
      return [next, begun as Omit<ReturnType<typeof beginCheckIn>, 'state'>]
    })
    // It may wait until the user signs in again.
    // guard: H29 a page looks less and less often after a claim that waits
    if (isLater) throw new HiloError('server-unreachable', 'A claim is under way.')
    if (!request) return
    if (request.id === newId) this.#begun = newId
    // After a failure the same request is sent again, until it is answered. The server may have
    // replaced the tokens, also when a refusal comes: its answer may have been lost before.
    const answer = await source.checkIn!(target, request)
    await update((state) => [applyCheckIn(state, request.id, answer, world.date()), undefined])
    notify()
    // An earlier owner began this check-in. A copy of this storage may send the same one and gets
    // the same answer. A new check-in tells the two apart (H13).
    // guard: H13 a check-in that an earlier session began is followed by a new one
    if (request.id !== this.#begun) await this.#checkIn(true)
  }
}
