/**
 * One collection of a test's `Hilo`: what the device holds of it, and what the page has leased. It
 * changes the device's state by the same functions as the real owner, but at once, without a
 * worker, a storage, a network or a timer.
 */

import { Batch } from '../client/batch.js'
import type { Counted } from '../client/status.js'
import { Waiters, type WaitLimits } from '../client/waiters.js'
import { addGrant, beginClaim } from '../core/claim.js'
import type { Target } from '../core/contract.js'
import { exchange } from '../core/device.js'
import { HiloError, toFailure } from '../core/errors.js'
import { type FormatId, type IdOf, idFormat } from '../core/id-format.js'
import type { LeaseQueue } from '../core/page/lease-queue.js'
import { answered, ask, cutTo, giveUp, newPage, type Page } from '../core/page/page.js'
import { notLeased, notServed } from '../core/page/refusals.js'
import { asked, wish } from '../core/page/stock.js'
import { total } from '../core/range.js'
import { isLow } from '../core/sizes.js'
import { type DeviceState, emptyState } from '../core/state.js'
import type { TestServer } from './server.js'

/** The page of a test, which is always the same one. */
export const PAGE = 'page'

export interface TestContext {
  server: TestServer
  formatId: FormatId | undefined
  isOnline(): boolean
  /** Why the server gives nothing. */
  unreachable(): HiloError
  changed(collection: TestCollection): void
  exhausted(collection: TestCollection, error: HiloError): void
  stored(collection: TestCollection, before: DeviceState, after: DeviceState): void
}

export class TestCollection {
  readonly target: Target
  readonly #page = newPage(PAGE)
  state = emptyState()
  lastError: HiloError | undefined
  readonly #context: TestContext
  readonly #format: IdOf | undefined
  readonly #waiters = new Waiters(() => this.#waiters.serve(() => this.queue.held))
  /** Of callers that took ids for themselves. */
  readonly #batches = new Set<Page>()
  #exchanges = 0
  #isUsed = false
  #isRefilling = false
  #closed: HiloError | undefined

  constructor(target: Target, context: TestContext) {
    this.target = target
    this.#context = context
    this.#format = context.formatId && idFormat(context.formatId, target.collection)
  }

  get queue(): LeaseQueue {
    return this.#page.queue
  }

  get available(): number {
    return this.queue.held + total(this.state.ranges)
  }

  get reserve(): number {
    return this.state.reserve ?? this.target.reserve
  }

  get counted(): Counted {
    const { target, queue, reserve, lastError } = this
    const { ranges, gaps } = this.state
    return {
      target,
      queue,
      offers: [],
      isAsked: true,
      failure: lastError && toFailure(lastError, 'server-unreachable'),
      view: {
        order: 0,
        free: total(ranges),
        reserve,
        surplus: 0,
        gaps,
        isClaiming: false,
        isReachable: true,
        storage: 'best-effort',
      },
    }
  }

  /** @throws HiloError `not-leased`, `closed` */
  nextNumber(): number {
    const number = this.queue.take()
    if (this.#wish(0) > 0) this.#refillSoon()
    if (number < 0) throw this.#closed ?? notLeased(this.target.collection)
    this.#claim(this.reserve)
    this.#context.changed(this)
    return number
  }

  /** @throws HiloError `not-leased`, `closed`, or `invalid-argument` when `formatId` makes none */
  nextId(): string {
    const number = this.nextNumber()
    if (this.#format) return this.#format(number, this.queue)
    const { prefix, suffix } = this.queue
    return prefix + number + suffix
  }

  /** `count` ids of one caller. */
  take(count: number, limits: WaitLimits): Promise<Batch> {
    const { formatId } = this.#context
    const { collection } = this.target
    const lease = () => {
      const page = newPage(PAGE)
      this.#batches.add(page)
      cutTo(this.#page, this.queue.held - count)
      this.#lease(0)
      this.#change(this.#exchange(count, page))
      return new Batch({
        collection,
        count,
        queue: page.queue,
        idOf: formatId && idFormat(formatId, collection),
        mixedNodes: () => undefined,
        closed: () => this.#closed,
        giveBack: () => this.#change(this.#parked(page)),
      })
    }
    return this.when(count, lease, limits)
  }

  /** Runs `take` once the page holds `count` numbers: at once, or when the server is back. */
  when<T>(count: number, take: () => T, { timeout, signal }: WaitLimits): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed)
    const mayTake = !signal?.aborted
    if (mayTake && this.#hold(count)) return Promise.resolve(take())
    if (mayTake && timeout < Number.POSITIVE_INFINITY) return Promise.reject(this.#exhausted(count))
    return this.#waiters.add(count, take, { timeout: Number.POSITIVE_INFINITY, signal })
  }

  /** @returns why the device has fewer */
  fill(count: number): HiloError | undefined {
    this.#isUsed = true
    this.#claim(count)
    if (this.available < count) return this.lastError
    this.#change({ ...this.state, reserve: count })
    return undefined
  }

  giveBack(): void {
    const { reserve: _, ...settled } = this.#parked()
    for (const range of [...settled.ranges].reverse())
      this.#context.server.takeBack(this.target, range)
    this.#isUsed = false
    this.#change({ ...settled, ranges: [] })
  }

  /** The server can be reached again: serves those who waited for it. */
  reconnect(): void {
    this.lastError = undefined
    if (this.#isUsed) this.#hold(Math.max(1, this.#waiters.total))
    this.#waiters.serve(() => this.queue.held)
    this.#context.changed(this)
  }

  /** Uses up everything, as if another page had. */
  exhaust(): void {
    if (this.available > 0) this.#lease(total(this.state.ranges))
    while (this.queue.take() >= 0);
    this.#claim(1)
    this.#context.changed(this)
  }

  /** Drops everything: the storage of this device turned out to be a copy. */
  drop(): void {
    this.#endBatches()
    const { gaps } = this.state
    const dropped = this.available
    this.#change({
      ...this.#parked(),
      ranges: [],
      leases: [],
      gaps: { ...gaps, fork: gaps.fork + dropped },
    })
    if (this.#isUsed && !this.#closed && this.#context.isOnline()) this.#hold(1)
  }

  close(error: HiloError): void {
    this.#closed = error
    this.#endBatches()
    this.#change(this.#parked())
    this.#waiters.refuse(() => error, 'all')
  }

  /** Leases until the page holds `count` numbers. @returns whether it does */
  #hold(count: number): boolean {
    this.#isUsed = true
    this.#claim(count)
    if (this.available < count) return false
    const want = this.#wish(count)
    if (want > 0) this.#lease(want)
    this.#claim(this.reserve)
    this.#context.changed(this)
    return true
  }

  /** As of a page that can be seen, and that issued nothing in the last second. */
  #wish(called: number): number {
    const { held } = this.queue
    const situation = { held, called, perSecond: 0, warmed: 0, isVisible: true }
    return wish(situation, asked(false))?.want ?? 0
  }

  /** Claims until the device holds `count` numbers, or what it keeps if that is more. */
  #claim(count: number): void {
    const shortage = Math.max(count, this.reserve) - this.available
    if (shortage <= 0) return
    if (this.#context.isOnline()) {
      const { state, claim } = beginClaim(this.state, PAGE, this.available + shortage, 0, 0)
      const range = this.#context.server.grant(this.target, shortage)
      this.lastError = undefined
      this.#change(addGrant(state, claim!.id, { range }, 0))
    } else if (this.available < count || isLow(this.available, this.reserve))
      this.lastError = this.#context.unreachable()
  }

  #lease(want: number): void {
    this.#change(this.#exchange(want))
  }

  /** @returns the device's state after it */
  #exchange(want: number, page = this.#page): DeviceState {
    const id = `${PAGE}:${this.#exchanges++}`
    const request = ask(page, { id, want, offer: false })
    const { state, ...answer } = exchange(this.state, request, Number.POSITIVE_INFINITY)
    answered(page, request, answer)
    return state
  }

  /** A real page fetches its next lease in the background, too. */
  #refillSoon(): void {
    if (this.#isRefilling || this.#closed) return
    this.#isRefilling = true
    queueMicrotask(() => {
      this.#isRefilling = false
      if (!this.#closed) this.#hold(1)
    })
  }

  /** Gives up all that the page has leased. @returns the device's state after it */
  #parked(page = this.#page): DeviceState {
    giveUp(page)
    return this.#exchange(0, page)
  }

  #endBatches(): void {
    for (const page of this.#batches) this.#change(this.#parked(page))
    this.#batches.clear()
  }

  #change(state: DeviceState): void {
    const before = this.state
    this.state = state
    this.#context.stored(this, before, state)
    this.#context.changed(this)
  }

  #exhausted(count: number): HiloError {
    const { available: left, lastError: cause = this.#context.unreachable() } = this
    this.lastError = cause
    const error = notServed(this.target.collection, count, left, cause)
    if (!left) this.#context.exhausted(this, error)
    return error
  }
}

export const unreachable = (isKnown = true): HiloError =>
  new HiloError(
    isKnown ? 'server-unreachable' : 'no-hilo-server',
    'The test has cut the server off. `hilo.connect()` or `hilo.goOnline()` brings it back.',
  )
