/**
 * Keeps enough ids of one collection at hand in this page: fetches them, parks those that are not
 * needed, and refuses the callers that cannot be served. `device/page/stock-rules` decides, and
 * this does it. Guarantees that one fetch runs at a time, and none after the page was closed.
 */
import { type Failure, fromFailure, type HiloError, toFailure } from '../core/errors.js'
import type { DeviceView } from '../device/contract.js'
import type { LeaseQueue } from '../device/page/lease-queue.js'
import { notServed } from '../device/page/page-refusals.js'
import {
  asked,
  type Call,
  ended,
  failed,
  heard,
  hidden,
  isDry,
  isLow,
  isUsed,
  limit,
  looksAgain,
  nextCall,
  nextFetch,
  type PageNeeds,
  parksAtRest,
  released,
  spared,
  UNUSED,
  wish,
} from '../device/page/stock-rules.js'
import { Pace } from './pace.js'
import type { PageLeases, PageState } from './page-leases.js'
import type { PageWorld } from './page-world.js'
import { Waiters } from './waiters.js'

export interface StockContext {
  /** Aborted when the page is closed, with the error for callers. */
  signal: AbortSignal
  world: PageWorld
  state(): PageState
  /** More or fewer ids are at hand. */
  changed(): void
  /** Callers were refused because no id is left. */
  exhausted(error: HiloError): void
}

/**
 * How long a page may hold more ids than it needs before it parks them, or leave surplus free
 * before it asks for an offer.
 */
const REST_MS = 1_000

/**
 * An owner that runs repeats a request within a minute, unless the server asked for a longer pause.
 */
const SILENCE_MS = 90_000

export class Stock {
  readonly waiters = new Waiters(() => this.#callerLeft())
  readonly #pageLeases: PageLeases
  readonly #queue: LeaseQueue
  readonly #context: StockContext
  readonly #pace = new Pace()
  #warmed = { count: 0, since: 0 }
  /** Not `#mode`, so that the explorer can tell one state of a page from another. */
  private mode = UNUSED
  #restTimer: ReturnType<typeof setTimeout> | undefined
  #silenceTimer: ReturnType<typeof setTimeout> | undefined
  #retryTimer: ReturnType<typeof setTimeout> | undefined

  constructor(pageLeases: PageLeases, context: StockContext) {
    this.#pageLeases = pageLeases
    this.#queue = pageLeases.queue
    this.#context = context
  }

  /** Has the page too few numbers for its callers, and no more come? */
  get isDry(): boolean {
    return isDry(this.mode)
  }

  /** Asked for every number. */
  get isLow(): boolean {
    return isLow(this.mode, this.#queue.held)
  }

  /** Keeps `count` ids in this page until they are issued or the page is left. */
  warm(count: number): void {
    this.#warmed = { count, since: this.#queue.issued }
  }

  /**
   * Fetches leases until the page holds enough and every caller is served, or no more can be had.
   * One at a time.
   * @param isIdle nobody asked for an id
   */
  fetchLeases(isIdle = false): void {
    const { is } = this.mode
    if (this.#context.signal.aborted) return
    // guard: H16 a call during the refusal of another one is not forgotten
    this.mode = asked(isIdle)
    this.#pageLeases.isAsked = true
    if (is !== 'fetching') void this.#fetchWhileAsked()
  }

  /**
   * The page is seen again, perhaps after a stay in the back/forward cache: it leases anew (H6).
   */
  wake(): void {
    if (isUsed(this.mode)) this.fetchLeases(true)
  }

  /** The network may be back. */
  retryNow(): void {
    if (!this.waiters.isEmpty) this.fetchLeases()
  }

  /** The device or another tab reported something. */
  onChange(news: DeviceView): void {
    const before = this.#pageLeases.view
    this.#pageLeases.observe(news)
    this.#watchOwner()
    const view = this.#pageLeases.view!
    const { failure } = view
    const canServe = this.waiters.canServe(this.#queue.held + view.free)
    const todo = !this.waiters.isEmpty && heard(this.mode, before?.failure, failure, canServe)
    if (todo === 'fetch') {
      this.fetchLeases()
      return
    }
    if (todo === 'refuse') void this.#refuse(failure!)
    const hasNewTokens = view.checkedIn !== before?.checkedIn && this.#queue.held > 0
    if (hasNewTokens && this.mode.is !== 'fetching') void this.#pageLeases.exchange(0, false)
    if (hasNewTokens) this.#watchRest()
    this.watchSurplus()
  }

  /** Surplus is not set aside at once: another page of this device may be about to lease it. */
  watchSurplus(): void {
    if (this.#pageLeases.hasSurplus()) this.#watchRest()
  }

  /**
   * Offline: numbers that this page would have sent back go to the device, for every tab to use.
   */
  keepSurplus(): void {
    if (this.#pageLeases.offers.length > 0) void this.#pageLeases.exchange(0)
  }

  /** Another page of this device has no id left: parks the ids that no caller here waits for. */
  async parkExcess(): Promise<void> {
    const keeps = () => spared(this.mode, this.#needs(0))
    // It repeats this if an answer that was under way brought more.
    // guard: H3 a page parks its excess again, when an answer brought more
    do await this.#pageLeases.parkDownTo(keeps(), false)
    while (this.#queue.held > keeps())
  }

  /** The page is hidden. It keeps the numbers that the app has asked it to hold. */
  park(): void {
    const { warmed } = this.#needs(0)
    this.mode = hidden(this.mode)
    if (warmed <= 0) this.#pageLeases.park()
    else if (this.#queue.held > warmed) void this.#pageLeases.parkDownTo(warmed)
  }

  exit(): void {
    this.#forgetPace()
    this.#pageLeases.exit()
  }

  /** As its page leases do. @throws HiloError */
  beginRelease(): Promise<void> {
    this.#forgetPace()
    this.mode = released(this.mode)
    return this.#pageLeases.beginRelease()
  }

  endRelease(): void {
    this.#pageLeases.endRelease()
    // It ended the repetitions of a claim that callers wait for.
    this.retryNow()
  }

  /** The page is closed: its signal is aborted. As its page leases do. */
  close(): Promise<boolean> {
    this.mode = released(this.mode)
    clearTimeout(this.#restTimer)
    clearTimeout(this.#silenceTimer)
    clearTimeout(this.#retryTimer)
    this.waiters.refuse(() => this.#context.signal.reason, 'all')
    return this.#pageLeases.close()
  }

  async #fetchWhileAsked(): Promise<void> {
    await this.#callersHadTheirTurn()
    // Checked after each wait: the page may have been closed or released.
    for (let mode = nextFetch(this.mode); mode; mode = nextFetch(this.mode)) {
      this.mode = mode
      const failure = await this.#fetch().catch((error) => toFailure(error, 'storage-failed'))
      if (failure) await this.#refuse(failure)
    }
    this.mode = ended(this.mode, this.#needs())
    this.#watchRest()
    this.#context.changed()
  }

  /** @returns why no more can be had */
  async #fetch(): Promise<Failure | undefined> {
    let call: Call | undefined = 'exchange'
    while (call && isUsed(this.mode)) {
      this.#serve()
      const lacking = wish(this.#needs(), this.mode)
      if (!lacking) return undefined
      const { want, ahead, isIdle } = lacking
      const failure = await this.#pageLeases.exchange(want, undefined, ahead, isIdle, call)
      this.#serve()
      // guard: H3 what a page looked ahead for is parked, also while its claim is unanswered
      this.#watchRest()
      if (failure || !isUsed(this.mode)) return failure
      const { free, failure: lastFailure, isReleased } = this.#pageLeases.view!
      if (isReleased && this.waiters.isEmpty) return undefined
      const atHand = free + this.#pageLeases.offers.length
      call = nextCall(this.#needs(), atHand, lastFailure, call)
    }
    return undefined
  }

  /**
   * Lets callers use up the page's numbers first; then the next lease is sized by the full rate.
   * Not while the page is hidden: its timers may be a second late.
   */
  async #callersHadTheirTurn(): Promise<void> {
    if (this.waiters.isEmpty && this.#context.state() === 'visible')
      await new Promise<void>((resolve) => this.#context.world.later(resolve))
  }

  #serve(mayOvertake = false): void {
    this.waiters.serve(() => this.#queue.held, mayOvertake)
  }

  /**
   * A claim may take long. Numbers for a caller that left meanwhile are for those behind it, or are
   * parked.
   */
  #callerLeft(): void {
    this.#serve(this.isDry)
    this.#watchRest()
  }

  /**
   * No more numbers come now. Serves the callers for whom the page holds enough, and parks the
   * leases of the others. Refuses the others, except callers without a timeout: if the request will
   * be repeated, these wait for it.
   */
  async #refuse(failure: Failure): Promise<void> {
    if (!isUsed(this.mode)) return
    this.mode = failed(this.mode)
    this.#serve(true)
    // The outcome of a step that hung is not known; the next one reads it, and takes it back.
    // guard: H18 a storage that hung is asked again while a caller waits
    if (failure.code === 'storage-failed' && failure.retryAfter)
      return this.#retryAfter(failure.retryAfter)
    const left = this.#queue.held + (this.#pageLeases.view?.free ?? 0)
    const most = limit(this.#needs())
    // guard: H3 a call that fails leaves its numbers to others
    if (this.#queue.held > most) {
      await this.#pageLeases.parkDownTo(most)
      // Another page may have parked meanwhile what the callers want.
      // guard: H25 who can be served after all is not refused
      if (nextFetch(this.mode)) return
      // More callers may have come while the page parked.
      this.#serve(true)
    }
    // While the page parked, the owner may have repeated the claim, and been refused.
    const last = (failure.isRepeated && this.#pageLeases.view?.failure) || failure
    const cause = fromFailure(last)
    if (!last.isRepeated) return this.waiters.refuse(() => cause, 'all')
    const errors = new Map<number, HiloError>()
    const errorFor = (count: number) => {
      const error =
        errors.get(count) ?? notServed(this.#pageLeases.target.collection, count, left, cause)
      errors.set(count, error)
      return error
    }
    this.waiters.refuse(errorFor, 'with-timeout')
    this.#watchOwner()
    if (left === 0) this.#context.exhausted(errorFor([...errors.keys()][0] ?? 1))
  }

  #retryAfter(wait: number): void {
    this.#retryTimer ??= this.#context.world.later(() => {
      this.#retryTimer = undefined
      this.retryNow()
    }, wait)
    this.#retryTimer?.unref?.()
  }

  #needs(
    perSecond = this.#pace.perSecond(this.#context.world.now(), this.#queue.issued),
  ): PageNeeds {
    const { held, issued } = this.#queue
    return {
      held,
      called: this.waiters.total,
      perSecond,
      warmed: this.#warmed.count - (issued - this.#warmed.since),
      isVisible: this.#context.state() === 'visible',
    }
  }

  #forgetPace(): void {
    this.#warmed.count = 0
    this.mode = hidden(this.mode)
  }

  /** Callers wait for a request that the owner repeats. If its worker dies, nobody repeats it. */
  #watchOwner(): void {
    clearTimeout(this.#silenceTimer)
    if (this.waiters.isEmpty) return
    // guard: H16 a page whose callers wait asks an owner that is silent
    this.#silenceTimer = this.#context.world.later(() => this.retryNow(), SILENCE_MS)
    // In Node, it does not keep the process alive. In a browser, timers are numbers.
    this.#silenceTimer?.unref?.()
  }

  /** After a burst, or in the background, parks numbers that the page does not need any more. */
  #watchRest(): void {
    if (this.#context.signal.aborted) return
    this.#restTimer ??= this.#context.world.later(() => {
      this.#restTimer = undefined
      void this.#rest()
    }, REST_MS)
  }

  async #rest(): Promise<void> {
    const needs = this.#needs()
    const most = limit(needs)
    if (parksAtRest(this.mode, needs, this.#pageLeases.hasSurplus()))
      await this.#pageLeases.parkDownTo(most)
    if (this.#context.state() !== 'visible' && most === 0) await this.#pageLeases.returnSurplus()
    if (looksAgain(this.#needs(0), most)) this.#watchRest()
  }
}
