/**
 * When this device checks in for one collection: at the start and every few hours, in the
 * background, one tab at a time. Guarantees that the first id never waits for it, and that an
 * answer is taken over once.
 */

import { applyCheckIn, beginCheckIn, dropCheckIn, isCheckInDue } from '../core/check-in.js'
import type { Target } from '../core/contract.js'
import { isTemporary, toFailure } from '../core/errors.js'
import type { CheckInAnswer } from '../core/wire.js'
import type { OwnerContext, Update } from './context.js'
import type { World } from './world.js'

/**
 * A copy of this device's storage goes unnoticed for as long; a server sees this many requests
 * less.
 */
const INTERVAL_MS = 3 * 60 * 60 * 1000
/** After a failure. */
const RETRY_MS = 60_000

export class CheckIns {
  readonly #world: World
  readonly #context: OwnerContext
  readonly #target: Target
  readonly #lockName: string
  readonly #update: Update
  readonly #changed: () => void
  #flight: Promise<void> | undefined
  #cancelNext: (() => void) | undefined
  /** Id of the check-in that this session began. */
  #begun: string | undefined
  #isStarted = false
  #isStopped = false

  constructor(
    world: World,
    context: OwnerContext,
    target: Target,
    lockName: string,
    update: Update,
    changed: () => void,
  ) {
    this.#world = world
    this.#context = context
    this.#target = target
    this.#lockName = lockName
    this.#update = update
    this.#changed = changed
  }

  /**
   * @param isDue is there something to ask? A device that holds nothing yet has new tokens soon,
   * and shows them hours from now.
   */
  start(isDue: boolean): void {
    if (this.#isStarted) return
    this.#isStarted = true
    if (isDue) this.retryNow()
    else this.#schedule(INTERVAL_MS)
  }

  /** Now, if there is something to ask. */
  retryNow(): void {
    if (!this.#isStarted || this.#isStopped || !this.#context.isOnline()) return
    this.#flight ??= this.#run().finally(() => {
      this.#flight = undefined
    })
  }

  /**
   * Does something that a check-in must not overlap: a give-back under a token that is being
   * swapped would be ignored.
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

  stop(): void {
    this.#isStopped = true
    this.#cancelNext?.()
  }

  async #run(): Promise<void> {
    this.#cancelNext?.()
    let wait = INTERVAL_MS
    try {
      await this.#world.lock(this.#lockName, () => this.#checkIn())
    } catch {
      wait = RETRY_MS
    }
    if (!this.#isStopped) this.#schedule(wait)
  }

  #schedule(wait: number): void {
    this.#cancelNext = this.#world.after(wait, () => this.retryNow())
  }

  /** @param isForced also when there is nothing new to ask */
  async #checkIn(isForced = false): Promise<void> {
    const newId = this.#world.newId()
    const request = await this.#update((state) => {
      if (!isForced && !isCheckInDue(state, this.#world.date())) return [state, undefined]
      const begun = beginCheckIn(state, newId)
      return [begun.state, begun.request]
    })
    if (!request) return
    if (request.id === newId) this.#begun = newId
    let answer: CheckInAnswer
    try {
      answer = await this.#context.source.checkIn!(this.#target, request)
    } catch (error) {
      const failure = toFailure(error, 'storage-failed')
      // Only a refusal says that no token was swapped; in any other case the same request has to
      // bring the same answer again.
      if (failure.code === 'server-refused' && !isTemporary(failure))
        await this.#update((state) => [dropCheckIn(state, request.id), undefined])
      throw error
    }
    await this.#update((state) => [
      applyCheckIn(state, request.id, answer, this.#world.date()),
      undefined,
    ])
    this.#changed()
    // Begun by an earlier session: a copy of this storage may send the same, and is answered the
    // same. A new one tells them apart (H13).
    if (request.id !== this.#begun) await this.#checkIn(true)
  }
}
