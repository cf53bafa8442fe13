/**
 * The claims of one collection: one at a time, retried with jittered back-off, and safe to lose at
 * any point, because a claim's id is stored before it is first sent (H11).
 */
import type { Target } from '../core/contract.js'
import { addGrant, beginClaim, dropClaim } from '../core/device.js'
import { type Failure, isTemporary, toFailure } from '../core/errors.js'
import type { ClaimRequest } from '../core/state.js'
import { pagesWithOffers } from '../core/write-off.js'
import type { OwnerContext, Update } from './context.js'
import type { World } from './world.js'

/**
 * Retries start here and double up to a minute, each shortened at random by up to a half so that a
 * fleet does not knock at once.
 */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

export class Claims {
  /** Why the last claim failed. */
  failure: Failure | undefined
  /** Did the server answer when it was last asked? */
  isReachable: boolean | undefined
  readonly #world: World
  readonly #context: OwnerContext
  readonly #target: Target
  /** Of the collection, on this device. */
  readonly #name: string
  readonly #update: Update
  readonly #changed: () => void
  #flight: Promise<Failure | undefined> | undefined
  #failures = 0
  /**
   * Until then a claim fails at once: the server asked for a pause, or its last answer never came.
   */
  #notBefore = 0
  #cancelRetry: (() => void) | undefined
  #isStopped = false

  constructor(
    world: World,
    context: OwnerContext,
    target: Target,
    name: string,
    update: Update,
    changed: () => void,
  ) {
    this.#world = world
    this.#context = context
    this.#target = target
    this.#name = name
    this.#update = update
    this.#changed = changed
  }

  get isUnderWay(): boolean {
    return this.#flight !== undefined
  }

  get isPaused(): boolean {
    return this.failure !== undefined && this.#world.now() < this.#notBefore
  }

  /**
   * Asks until `want` numbers are free. Whoever asks while a claim is under way gets that one's
   * outcome.
   */
  ask(want: number): Promise<Failure | undefined> {
    if (!this.#context.isOnline()) return Promise.resolve(SWITCHED_OFF)
    if (this.isPaused) return Promise.resolve(this.failure)
    this.#flight ??= this.#start(want).finally(() => {
      this.#flight = undefined
    })
    return this.#flight
  }

  askInBackground(want: number): void {
    if (this.isUnderWay || this.#isStopped || !this.#context.isOnline()) return
    this.ask(want).then(this.#changed)
    this.#changed()
  }

  /** Connectivity may be back: pauses are over. */
  resume(): void {
    this.#notBefore = 0
    this.#failures = 0
  }

  /** No retry any more; resolves when what is under way has ended. */
  async finish(): Promise<void> {
    await this.#flight
    this.#cancelRetry?.()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
  }

  async #start(want: number): Promise<Failure | undefined> {
    this.#cancelRetry?.()
    try {
      await this.#world.lock(`offline-hilo ${this.#name} claim`, () => this.#claim(want))
      this.resume()
      this.failure = undefined
    } catch (error) {
      this.failure = toFailure(error, 'storage-failed')
      this.#scheduleRetry(this.failure, want)
    }
    return this.failure
  }

  async #claim(want: number): Promise<void> {
    const claim = await this.#begin(this.#world.newId(), want)
    if (!claim) return // Another tab's claim was enough, or what others could spare.
    try {
      const grant = await this.#context.source.claim(this.#target, claim)
      this.isReachable = true
      await this.#update((state) => [addGrant(state, claim.id, grant), undefined])
    } catch (error) {
      const { code, status } = toFailure(error, 'storage-failed')
      if (code === 'server-unreachable') this.isReachable = false
      // The same claim would be answered the same way for ever.
      const isUseless =
        code === 'unsafe-range' || code === 'invalid-response' || status === CLAIM_SPENT
      if (isUseless) await this.#update((state) => [dropClaim(state, claim.id), undefined])
      if (status !== CLAIM_SPENT) throw error
      await this.#claim(want)
    }
  }

  /**
   * @param mayAsk may this device's other pages be asked for what they hold to give back? It is
   * nearer than the server.
   */
  async #begin(newId: string, want: number, mayAsk = true): Promise<ClaimRequest | undefined> {
    const { pages, claim } = await this.#update<{
      pages?: Set<string>
      claim?: ClaimRequest | undefined
    }>((state, reserve) => {
      const pages = pagesWithOffers(state, want)
      if (mayAsk && pages.size > 0) return [state, { pages }]
      const { state: next, claim } = beginClaim(state, newId, want, reserve)
      return [next, { claim }]
    })
    if (!pages) return claim
    await this.#context.tabs?.askToPark(this.#name, pages)
    return this.#begin(newId, want, false)
  }

  #scheduleRetry(failure: Failure, want: number): void {
    const now = this.#world.now()
    this.#notBefore = failure.retryAfter === undefined ? 0 : now + failure.retryAfter
    if (!isTemporary(failure) || this.#isStopped) return
    const backOff =
      Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS) *
      (1 - this.#world.random() / 2)
    this.#cancelRetry = this.#world.after(Math.max(backOff, this.#notBefore - now), () =>
      this.askInBackground(want),
    )
  }
}

/**
 * HTTP 410: the claim's numbers have been used since; whoever asks again is a copy of the device
 * that did (H13).
 */
const CLAIM_SPENT = 410

export const SWITCHED_OFF: Failure = {
  code: 'server-unreachable',
  message:
    'The app has switched the network off for offline-hilo. Switch it on again with ' +
    '`hilo.goOnline()`.',
}
