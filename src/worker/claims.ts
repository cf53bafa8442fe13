/**
 * The claims of one collection: one at a time, repeated after a failure, and safe to lose at any
 * point, because a claim's id is stored before it is first sent (H11).
 */

import { type Failure, type HeardLedger, HiloError, toFailure } from '../core/errors.js'
import { isRepeated, nextStep } from '../core/failures.js'
import { type Range, total } from '../core/range.js'
import { MIN_CAPACITY } from '../core/wire.js'
import { applyShown, beginCheckIn } from '../device/check-in.js'
import { addGrant, beginClaim, dropClaim } from '../device/claim.js'
import { hear, ledgersDiffer } from '../device/ledger.js'
import type { DeviceClaim, DeviceState, GrantedRange } from '../device/state.js'
import { pagesWithOffers } from '../device/write-off.js'
import type { Begun, ClaimRequests, Sent } from './claim-requests.js'
import type { CollectionContext } from './context.js'
import { Retry } from './retry.js'

const PAUSES = { first: 1_000, longest: 60_000 }

export class Claims {
  /** Why the last claim failed, as the status shows it. */
  failure: Failure | undefined
  /** The same for callers, as long as the server's pause lasts. */
  #lastFailure: Failure | undefined
  readonly #context: CollectionContext
  /** Of the collection's database. */
  readonly #requests: ClaimRequests
  /** A claim in the background has ended; the server granted `missing` fewer than were wanted. */
  readonly #ended: (missing: number) => void
  readonly #retry: Retry
  /** The id of the claim that this owner has begun: no copy of the storage repeats it. */
  own: string | undefined
  #flight: Promise<Failure | undefined> | undefined
  /** How many numbers the last grant was too small. */
  #missing = 0
  /** A larger claim was refused. */
  #largest: number | undefined

  constructor(
    context: CollectionContext,
    requests: ClaimRequests,
    ended: (missing: number) => void,
  ) {
    this.#context = context
    this.#requests = requests
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
   */
  ask(want: number): Promise<Failure | undefined> {
    const isOnline = this.#context.owner.isOnline()
    if (!isOnline) return Promise.resolve(SWITCHED_OFF)
    if (this.isPaused && !this.#flight) return Promise.resolve(this.#lastFailure)
    this.#flight ??= this.#start(want).finally(() => {
      this.#flight = undefined
    })
    return this.#flight
  }

  askInBackground(want: number): void {
    const { signal, isOnline } = this.#context.owner
    if (this.isUnderWay || signal.aborted || !isOnline()) return
    const { run } = this.#context.owner
    run(this.ask(want).then((failure) => this.#ended(failure ? 0 : this.#missing)))
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

  async #start(want: number): Promise<Failure | undefined> {
    this.#retry.cancel()
    const { owner } = this.#context
    try {
      await this.#claimInTurn(want)
      this.#retry.succeeded()
      this.#lastFailure = undefined
    } catch (error) {
      const failure = await owner.explained(toFailure(error, 'storage-failed'))
      this.#lastFailure = isRepeated(failure) ? { ...failure, isRepeated: true } : failure
      this.#retry.failed(failure, () => this.askInBackground(want))
    }
    this.failure = this.#lastFailure
    return this.failure
  }

  /**
   * Another tab may send the same stored claim, and use what it got before this one is answered. So
   * one tab at a time claims for a collection. Nobody waits here for the lock of another one.
   */
  async #claimInTurn(want: number): Promise<void> {
    const { owner, target, name } = this.#context
    const { source, world } = owner
    const isAlone = () => source.isPlain?.(target.database) ?? true
    if (!isAlone()) this.#requests.open()
    // guard: H18 one tab at a time claims for a collection
    await world.lock(`offline-hilo ${name} claim`, async () => {
      if (!isAlone())
        try {
          return await this.#claim(want, false)
        } catch (error) {
          const { code } = error as HiloError
          // Another collection may have learnt meanwhile that this is a RavenDB.
          // guard: H25 only a claim that was refused is made by another route
          if (!isAlone() || code !== 'server-refused') throw error
        }
      await this.#claim(want, true)
    })
  }

  async #claim(want: number, isAlone: boolean): Promise<void> {
    const { update } = this.#context
    for (let isFirstFailure = this.#retry.failures === 0; ; ) {
      const { claim, grant } = await this.#ask(want, isAlone)
      // Without a claim there are enough numbers: other tabs claimed or parked some.
      this.#missing = 0
      if (!claim || !grant) return
      try {
        return await this.#add(claim, await grant, want)
      } catch (error) {
        const failure = toFailure(error, 'storage-failed')
        const step = nextStep(failure)
        if (
          failure.ledger &&
          (await this.#follows({ ...failure.ledger, follows: claim.ledgers?.[failure.ledger.tag] }))
        )
          continue
        if (step === 'same' || step === 'stop') throw error
        // guard: H25 a claim that is refused for good is forgotten
        const isOurs = await update((state) => [
          dropClaim(state, claim.id),
          state.claim?.id === claim.id,
        ])
        // A check-in shows its token now.
        if (claim.shown) void this.#context.checkIn()
        const isSmallest = claim.lastBatchSize <= MIN_CAPACITY
        if (step === 'smaller')
          this.#largest = isSmallest ? undefined : Math.max(MIN_CAPACITY, claim.lastBatchSize >> 1)
        // Without Web Locks another tab sends the same claim, and may use what it brings first.
        const isTaken = step === 'fresh' && !isOurs
        if (step === 'forget' || (step === 'smaller' ? isSmallest : !isFirstFailure && !isTaken))
          throw error
        if (!isTaken) isFirstFailure = false
      }
    }
  }

  /**
   * @returns whether the device goes on with that ledger
   * @throws HiloError when it does not, and stops
   */
  async #follows(heard: HeardLedger): Promise<boolean> {
    const { owner, update } = this.#context
    const [before, after] = await update((state) => {
      // guard: H34 a claim that another ledger refuses is heard
      const next = hear(state, heard, owner.world.date())
      return [next, [state, next] as const]
    })
    const stop = this.#twoLedgers(after)
    if (stop) {
      // It is refused, too: so all collections of the database hear.
      void this.#context.checkIn()
      throw stop
    }
    return after.followed !== before.followed
  }

  /** Why nothing is claimed, where two ledgers have answered. */
  #twoLedgers({ stopped }: DeviceState): HiloError | undefined {
    const { owner, target } = this.#context
    return stopped && ledgersDiffer(owner.url, target.database, stopped)
  }

  /**
   * It first asks other pages of this device to park the surplus that they were to give back: they
   * are nearer than the server.
   */
  async #ask(want: number, isAlone: boolean): Promise<Sent> {
    const { owner, name, target } = this.#context
    for (let mayAsk = true; ; mayAsk = false) {
      const begin = (id: string) => this.#begin(id, want, mayAsk)
      const sent = await this.#requests.claim(target, begin, isAlone)
      if (!sent.pages) return sent
      await owner.tabs?.askToPark(name, sent.pages)
    }
  }

  /** The claim to send, durably stored; none when enough is free. */
  #begin(id: string, want: number, mayAsk: boolean): Promise<Begun> {
    const { owner, updateAndLease } = this.#context
    return updateAndLease<Begun>((state, reserve) => {
      const stop = this.#twoLedgers(state)
      if (stop) throw stop
      const pages = pagesWithOffers(state, want)
      // guard: H12 pages are asked for their offers before a server is
      if (mayAsk && pages.size > 0) return [state, { pages }]
      const date = owner.world.date()
      const { state: next, ...begun } = beginClaim(state, id, want, reserve, date, this.#largest)
      if (begun.claim?.id === id) this.own = id
      return [next, begun]
    })
  }

  /**
   * @param isNew the server may have got back what this device seems to hold: a page that closed
   * sent it, and its note is not there. A check-in tells, and then the grant is added.
   */
  async #add(claim: DeviceClaim, grant: GrantedRange, want: number, isNew = true): Promise<void> {
    const { owner, checkIn, updateAndLease } = this.#context
    this.#context.wasAnswered()
    const error = await updateAndLease((before) => {
      // guard: H34 a grant is heard before it is used, also one that comes late
      const heard = hear(
        before,
        { name: grant.ledger, tag: grant.range.serverTag },
        owner.world.date(),
      )
      const state = applyShown(heard, claim.id, grant.results)
      try {
        if (state.stopped) return [state, this.#twoLedgers(state)]
        const next = addGrant(state, claim.id, grant, owner.world.date())
        this.#missing = want - total(next.ranges)
        const isUsedUp = next.claim !== state.claim && next.ranges === state.ranges
        return [next, isUsedUp ? grantedAgain(grant.range) : undefined]
      } catch (error) {
        // guard: H12 a grant that seems to be held is refused only after a check-in
        if (isNew) return [beginCheckIn(state, owner.world.newId()).state, AFTER_CHECK_IN]
        // The same claim would bring the same grant.
        return [dropClaim(state, claim.id), error]
      }
    })
    if (error === AFTER_CHECK_IN) {
      await checkIn()
      return this.#add(claim, grant, want, false)
    }
    if (error) throw error
  }
}

const AFTER_CHECK_IN = Symbol()

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
