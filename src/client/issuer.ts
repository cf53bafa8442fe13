/**
 * Issues the ids of one collection from what this page holds, and keeps enough of them at hand.
 * Guarantees that callers are served in turn and that a call takes all it asked for or nothing.
 */
import type { DeviceView, Target } from '../core/contract.js'
import { type Failure, fromFailure, HiloError, isTemporary, toFailure } from '../core/errors.js'
import type { IdParts } from '../core/names.js'
import { hiddenTarget, PAGE_AT_REST, pageTarget } from '../core/sizes.js'
import { Holdings, type HoldingsContext } from './holdings.js'
import type { LeaseQueue } from './lease-queue.js'
import { Pace } from './pace.js'
import { Waiters, type WaitLimits } from './waiters.js'

export interface IssuerContext extends Omit<HoldingsContext, 'changed' | 'forked'> {
  formatId: ((number: number, parts: IdParts) => string) | undefined
  changed(issuer: Issuer): void
  exhausted(issuer: Issuer, error: HiloError): void
  forked(issuer: Issuer): void
}

/**
 * How long a page may sit on more than {@link PAGE_AT_REST} ids, or on surplus that it could offer,
 * before it parks them.
 */
const REST_MS = 1_000

/** At most this often a burst of issued ids is told to listeners. */
const ANNOUNCE_MS = 50

export class Issuer {
  readonly holdings: Holdings
  readonly #queue: LeaseQueue
  readonly #context: IssuerContext
  readonly #waiters = new Waiters()
  readonly #pace = new Pace()
  /** With fewer held, the next lease is fetched. */
  #low = 0
  #warmed = { count: 0, since: 0 }
  #pump: Promise<void> | undefined
  #restTimer: ReturnType<typeof setTimeout> | undefined
  #isAnnounced = false
  /** Has anyone asked for ids here? Only then does a page that is shown again lease anew. */
  #isUsed = false
  #closed: HiloError | undefined

  constructor(target: Target, context: IssuerContext) {
    this.#context = context
    this.holdings = new Holdings(target, {
      ...context,
      changed: () => context.changed(this),
      forked: () => {
        context.forked(this)
        this.refill()
      },
    })
    this.#queue = this.holdings.queue
  }

  /** @throws HiloError `not-leased`, `closed`, or `invalid-argument` when numbers are ambiguous */
  nextNumberSync(): number {
    if (this.holdings.mixedNodes) throw this.#ambiguous(this.holdings.mixedNodes)
    return this.#take()
  }

  #take(): number {
    const number = this.#queue.take()
    if (number < 0) throw this.#closed ?? this.#notLeased()
    if (this.#queue.held < this.#low) this.refill()
    if (!this.#isAnnounced) this.#announce()
    return number
  }

  /** @throws HiloError `not-leased` or `closed` */
  nextIdSync(): string {
    const number = this.#take()
    const { formatId } = this.#context
    const { prefix, suffix, serverTag } = this.#queue
    return formatId
      ? formatId(number, { collection: this.holdings.target.collection, prefix, serverTag })
      : prefix + number + suffix
  }

  /**
   * Runs `take` at once when `count` numbers are held and nobody waits; otherwise as soon as it is
   * this caller's turn.
   */
  when<T>(count: number, take: (issuer: this) => T, limits: WaitLimits): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (this.#waiters.isEmpty && this.#queue.held >= count && !limits.signal?.aborted)
      return Promise.resolve(take(this))
    const taken = this.#waiters.add(count, () => take(this), limits)
    this.refill()
    return taken
  }

  /** Keeps `count` ids in this page until they are issued or the page is hidden. */
  warm(count: number): void {
    this.#warmed = { count, since: this.#queue.issued }
  }

  /**
   * Fetches leases until the page holds what it should and every waiter is served, or no more can
   * be had. One at a time.
   */
  refill(): void {
    if (this.#closed) return
    this.#isUsed = true
    this.#low = -1
    this.#pump ??= this.#callersHadTheirTurn()
      .then(() => this.#fetchLeases())
      .catch((error: unknown) => this.#refuse(toFailure(error, 'storage-failed')))
      .finally(() => {
        this.#pump = undefined
        if (this.#waiters.someHaveTimeout) this.refill()
      })
  }

  /**
   * The page is seen again, perhaps after a stay in the back/forward cache: it leases anew (H6).
   */
  wake(): void {
    if (this.#isUsed) this.refill()
  }

  /** The device or another tab reported something. */
  onChange(view: DeviceView): void {
    const isRenewed = view.checkedIn !== this.holdings.view?.checkedIn
    this.holdings.observe(view)
    if (!this.#waiters.isEmpty && (view.free > 0 || !view.failure)) this.refill()
    else if (!this.#pump && isRenewed && this.#queue.held > 0)
      this.holdings.exchange(0).catch(() => {})
    // Not at once: another page of this device may be about to lease it.
    else if (this.holdings.hasSurplus()) this.#watchRest()
  }

  /** @throws HiloError */
  async reserve(count: number): Promise<void> {
    await this.holdings.reserve(count)
    if (this.holdings.hasSurplus()) await this.holdings.exchange(0)
  }

  /** Offline: what this page would have sent back goes to the device, for every tab to use. */
  keepSurplus(): void {
    if (this.holdings.offers.length > 0) this.holdings.exchange(0).catch(() => {})
  }

  /** Another page of this device has no id left: it gets what this one only looks ahead with. */
  async parkExcess(): Promise<void> {
    // Again when an answer that was on its way brought more.
    do await this.holdings.parkDownTo(this.#target(0), false)
    while (this.#queue.held > this.#target(0))
  }

  park(): void {
    this.#forgetPace()
    this.holdings.park().catch(() => {})
  }

  exit(): void {
    this.#forgetPace()
    this.holdings.exit()
  }

  /** @throws HiloError */
  release(): Promise<void> {
    this.#forgetPace()
    this.#isUsed = false
    return this.holdings.release()
  }

  async close(error: HiloError): Promise<void> {
    this.#closed = error
    clearTimeout(this.#restTimer)
    this.#waiters.refuse(error, 'all')
    await this.holdings.close()
  }

  async #fetchLeases(): Promise<void> {
    const { link, requestTimeout } = this.#context
    // Closed or released while the server was asked: a lease taken now would be a gap.
    while (!this.#closed && this.#isUsed) {
      const want = this.#target() - this.#queue.held
      const failure = want > 0 ? await this.holdings.exchange(want) : undefined
      this.#waiters.serve(() => this.#queue.held)
      if (this.#closed || !this.#isUsed) return
      if (failure) this.#refuse(failure)
      if (failure || !this.#shouldClaim()) break
      // What this page was to give back comes with its next exchange.
      if (this.holdings.view!.free > 0 || this.holdings.offers.length > 0) continue
      const answer = await link.call(
        'claim',
        [this.holdings.target, this.#target() - this.#queue.held],
        requestTimeout,
      )
      if ('view' in answer) this.holdings.observe(answer.view)
      if (!('failure' in answer)) continue
      this.#refuse(answer.failure)
      break
    }
    this.#low = Math.min(this.#target(), this.#queue.held) >> 1
    this.#watchRest()
    this.#announce()
  }

  /**
   * A caller that makes one id after another uses up what is held first: the next lease is as large
   * as all before then, and not as the half of it. Timers of a hidden page may come a second late,
   * so nobody waits for one there.
   */
  async #callersHadTheirTurn(): Promise<void> {
    if (this.#waiters.isEmpty && this.#context.isVisible())
      await new Promise((resolve) => setTimeout(resolve))
  }

  /**
   * The device had too little: is it worth a request? A page that only looks ahead does not knock
   * at a server that just failed.
   */
  #shouldClaim(): boolean {
    // A caller just served may have taken some: one id less is no reason to ask again.
    const isShort =
      this.#queue.held < (this.#waiters.isEmpty ? this.#target() >> 1 : this.#target())
    return (
      isShort && (!this.#waiters.isEmpty || this.#queue.held === 0 || !this.holdings.view?.failure)
    )
  }

  /**
   * Nothing more can be had now. A patient caller waits on, unless the server will say no for ever.
   */
  #refuse(failure: Failure): void {
    const cause = fromFailure(failure)
    if (isTemporary(failure)) {
      const message = `${this.#name()}: no id is left on this device, and the server gave none. ${cause.message}`
      const error = new HiloError('exhausted', message, { cause })
      this.#waiters.refuse(error, 'with-timeout')
      if (this.#queue.held === 0) this.#context.exhausted(this, error)
    } else this.#waiters.refuse(cause, 'all')
  }

  /** How many numbers this page should hold now. */
  #target(pace = this.#pace.perSecond(performance.now(), this.#queue.issued)): number {
    const waiting = this.#waiters.total
    if (!this.#context.isVisible()) return Math.max(waiting, hiddenTarget(pace))
    const warmed = this.#warmed.count - (this.#queue.issued - this.#warmed.since)
    return Math.max(waiting, pageTarget(pace, warmed))
  }

  #forgetPace(): void {
    this.#warmed.count = 0
    this.#low = 0
  }

  /** After a burst, or in the background, parks what the page does not need any more. */
  #watchRest(): void {
    if (this.#closed) return
    this.#restTimer ??= setTimeout(() => {
      this.#restTimer = undefined
      this.#rest().catch(() => {})
    }, REST_MS)
  }

  async #rest(): Promise<void> {
    const target = this.#target()
    if (!this.#pump && (this.#queue.held > target || this.holdings.hasSurplus()))
      await this.holdings.parkDownTo(target)
    const isVisible = this.#context.isVisible()
    if (!isVisible) await this.holdings.returnSurplus()
    if (this.#queue.held > (isVisible ? PAGE_AT_REST : 0)) this.#watchRest()
  }

  /** Tells the façade, once for all ids that are issued in the meantime. */
  #announce(): void {
    this.#isAnnounced = true
    setTimeout(() => {
      this.#isAnnounced = false
      this.#context.changed(this)
    }, ANNOUNCE_MS)
  }

  #ambiguous(nodes: readonly string[]): HiloError {
    const { collection } = this.holdings.target
    return new HiloError(
      'invalid-argument',
      `${this.#name()}: no number was issued. This device has ids of ${nodes.join(' and of ')}, and ` +
        'both nodes may grant the same number. Use the whole id: ' +
        `\`await hilo.nextId('${collection}')\`.`,
    )
  }

  #notLeased(): HiloError {
    this.refill()
    const { collection } = this.holdings.target
    return new HiloError(
      'not-leased',
      `${this.#name()}: this page holds no id right now. Await \`hilo.warm('${collection}', n)\` before a burst of …Sync calls, or use \`await hilo.nextId('${collection}')\`.`,
    )
  }

  #name(): string {
    return `Collection '${this.holdings.target.collection}'`
  }
}
