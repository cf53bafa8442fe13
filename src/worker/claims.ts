/**
 * The claims of one collection: one at a time, repeated after a failure, and safe to lose at any
 * point, because a claim's id is stored before it is first sent (H11).
 */
import { applyShown } from '../core/check-in.js'
import { addGrant, beginClaim, dropClaim } from '../core/claim.js'
import { type Failure, HiloError, toFailure } from '../core/errors.js'
import { isRepeated, nextStep } from '../core/failures.js'
import { type Range, total } from '../core/range.js'
import type { DeviceClaim } from '../core/state.js'
import { MIN_CAPACITY } from '../core/wire.js'
import { pagesWithOffers } from '../core/write-off.js'
import type { Seat } from './batch.js'
import type { CollectionContext } from './context.js'
import { Retry } from './retry.js'

const PAUSES = { first: 1_000, longest: 60_000 }

export class Claims {
  /** Why the last claim failed, as the status shows it. */
  failure: Failure | undefined
  /** The same for callers, as long as the server's pause lasts. */
  #lastFailure: Failure | undefined
  readonly #context: CollectionContext
  /** A claim in the background has ended; the server granted `missing` fewer than were wanted. */
  readonly #ended: (missing: number) => void
  readonly #retry: Retry
  #flight: Promise<Failure | undefined> | undefined
  /** How many numbers the last grant was too small. */
  #missing = 0
  /** A larger claim was refused. */
  #largest: number | undefined

  constructor(context: CollectionContext, ended: (missing: number) => void) {
    this.#context = context
    this.#ended = ended
    this.#retry = new Retry(context.owner, PAUSES)
  }

  get isUnderWay(): boolean {
    return this.#flight !== undefined
  }

  /** The server asked for a pause, or has just let a request wait in vain. */
  get isPaused(): boolean {
    return this.#retry.isPaused
  }

  /**
   * Asks the server once, unless `want` numbers are free. A caller who asks while a claim is under
   * way gets the outcome of that one.
   * @param seat in a request for several collections
   */
  ask(want: number, seat?: Seat): Promise<Failure | undefined> {
    const isOnline = this.#context.owner.isOnline()
    if (this.#flight || this.isPaused || !isOnline) {
      // This collection has no claim to send: the others in the request do not wait for it.
      seat?.leave()
      if (this.#flight && isOnline) return this.#flight
      return Promise.resolve(isOnline ? this.#lastFailure : SWITCHED_OFF)
    }
    this.#flight = this.#start(want, seat).finally(() => {
      this.#flight = undefined
    })
    return this.#flight
  }

  askInBackground(want: number): void {
    const { signal, isOnline } = this.#context.owner
    if (this.isUnderWay || signal.aborted || !isOnline()) return
    this.ask(want).then((failure) => this.#ended(failure ? 0 : this.#missing))
    this.#context.notify()
  }

  /** The network may be back: a claim that failed is sent again now. */
  retryNow(): void {
    this.#retry.now()
  }

  /** Resolves when nothing is under way, and nothing is repeated any more. */
  async finish(): Promise<void> {
    await this.#flight
    this.#retry.cancel()
  }

  async #start(want: number, seat?: Seat): Promise<Failure | undefined> {
    this.#retry.cancel()
    const { owner, name } = this.#context
    try {
      // Without the lock, another tab may send the same stored claim, and gets the same grant. With
      // it, a seat could wait for a tab that waits for one of the other seats.
      // guard: H18 a claim of several collections waits for no other tab
      const isAlone = seat === undefined
      const claim = () => this.#claim(want, seat)
      await (isAlone ? owner.world.lock(`offline-hilo ${name} claim`, claim) : claim())
      this.#retry.succeeded()
      this.#lastFailure = undefined
    } catch (error) {
      const failure = await owner.explained(toFailure(error, 'storage-failed'))
      this.#lastFailure = isRepeated(failure) ? { ...failure, isRepeated: true } : failure
      this.#retry.failed(failure, () => this.askInBackground(want))
    }
    seat?.leave()
    this.failure = this.#lastFailure
    return this.failure
  }

  async #claim(want: number, seat?: Seat): Promise<void> {
    const { owner, update } = this.#context
    for (let isFirstFailure = this.#retry.failures === 0; ; isFirstFailure = false) {
      const claim = await this.#begin(want, seat)
      // Without a claim there are enough numbers: other tabs claimed or parked some.
      this.#missing = 0
      if (!claim || owner.signal.aborted) return
      try {
        return await this.#send(claim, want, seat)
      } catch (error) {
        const step = nextStep(toFailure(error, 'storage-failed'))
        if (step === 'same' || step === 'stop') throw error
        // guard: H25 a claim that is refused for good is forgotten
        await update((state) => [dropClaim(state, claim.id), undefined])
        if (claim.shown) this.#context.showAgain()
        const isSmallest = claim.lastBatchSize <= MIN_CAPACITY
        if (step === 'smaller')
          this.#largest = isSmallest ? undefined : Math.max(MIN_CAPACITY, claim.lastBatchSize >> 1)
        if (step === 'forget' || (step === 'smaller' ? isSmallest : !isFirstFailure)) throw error
      }
    }
  }

  async #send(claim: DeviceClaim, want: number, seat?: Seat): Promise<void> {
    const { owner, target } = this.#context
    const grant = await (seat?.claim({ target, claim }) ?? owner.source.claim(target, claim))
    const error = await this.#context.updateAndLease((before) => {
      const state = applyShown(before, claim.id, grant.fates)
      try {
        const next = addGrant(state, claim.id, grant, owner.world.date())
        this.#missing = want - total(next.ranges)
        const isUsedUp = next.claim !== state.claim && next.ranges === state.ranges
        return [next, isUsedUp ? grantedAgain(grant.range) : undefined]
      } catch (error) {
        // The same claim would bring the same grant.
        return [dropClaim(state, claim.id), error]
      }
    })
    if (error) throw error
  }

  /**
   * The claim to send, durably stored; undefined when enough is free. It first asks other pages of
   * this device to park the surplus that they were to give back: they are nearer than the server.
   */
  async #begin(want: number, seat?: Seat): Promise<DeviceClaim | undefined> {
    const { owner, name, updateAndLease } = this.#context
    const id = seat?.takeId() ?? owner.world.newId()
    for (let mayAsk = true; ; mayAsk = false) {
      const { pages, claim } = await updateAndLease<{ pages?: Set<string>; claim?: DeviceClaim }>(
        (state, reserve) => {
          const pages = pagesWithOffers(state, want)
          // guard: H12 pages are asked for their offers before a server is
          if (mayAsk && pages.size > 0) return [state, { pages }]
          const { state: next, ...begun } = beginClaim(
            state,
            id,
            want,
            reserve,
            owner.world.date(),
            this.#largest,
          )
          return [next, begun]
        },
      )
      if (!pages) return claim
      await owner.tabs?.askToPark(name, pages)
    }
  }
}

/** Without this error, the device would ask such a server again at once, for ever. */
const grantedAgain = ({ from, to }: Range): HiloError =>
  new HiloError(
    'invalid-response',
    `The server granted ${from}–${to}, but this device has used these numbers. Nothing was ` +
      'taken. Was an answer repeated, or the server restored from a backup?',
  )

export const SWITCHED_OFF: Failure = {
  code: 'server-unreachable',
  isRepeated: true,
  message:
    'The app has switched the network off for offline-hilo. `hilo.goOnline()` switches it on.',
}
