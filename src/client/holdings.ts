/**
 * What this page holds of one collection (leases to issue from, and offers to give back), and every
 * way to get them or give them up. Guarantees that the page issues nothing that it has parked, sent
 * or lost to a fork: it revokes the lease first, synchronously (H6).
 */
import type { DeviceView, Target } from '../core/contract.js'
import { type Failure, fromFailure, toFailure } from '../core/errors.js'
import { type LeaseLeft, LeaseQueue } from '../core/page/lease-queue.js'
import { insertAll, isReturnable, type Range, size } from '../core/range.js'
import type { Offer } from '../core/state.js'
import { Outbox } from './outbox.js'
import type { OwnerLink } from './owner-link.js'
import type { PageExit } from './page-exit.js'

/** `hidden` is also a page without a document: a service worker may be killed at any time. */
export type PageState = 'visible' | 'hidden' | 'closed'

export interface HoldingsContext {
  /** This page instance; no identity outlives it (H7). */
  page: string
  /** An id that no exchange of this page has had, whatever its collection. Begins with `page`. */
  newExchange(): string
  link: OwnerLink
  pageExit: PageExit
  state(): PageState
  /** May requests be sent? Otherwise surplus stays on the device. */
  isOnline(): boolean
  changed(): void
  /** This storage turned out to be a copy: all was revoked (H13). */
  forked(): void
}

/**
 * A page that is hidden gives its surplus back, because some engines send nothing later. It does so
 * at most once in this time: people switch tabs often.
 */
const GIVE_BACK_PAUSE_MS = 60_000

export class Holdings {
  readonly target: Target
  readonly queue = new LeaseQueue()
  /** What the device last said of itself. */
  view: DeviceView | undefined
  /** As in the view. It stands here too, because it is read for every number. */
  mixedNodes: readonly string[] | undefined
  /** The storage did not do what it was asked; gone with the next success. */
  failure: Failure | undefined
  /**
   * Surplus that this page will send back when it goes. Durably set aside before it is here (H8).
   */
  offers: Offer[] = []
  readonly #context: HoldingsContext
  readonly #outbox: Outbox
  #isUsed = false
  #gaveBackAt = Number.NEGATIVE_INFINITY
  /** Calls of `release` that have not ended. */
  #releases = 0
  /** How many numbers this device lost to forks. Unknown before the device's first answer. */
  #forked: number | undefined

  constructor(target: Target, context: HoldingsContext) {
    this.target = target
    this.#context = context
    this.#outbox = new Outbox(target, context.pageExit)
  }

  /**
   * One transaction on the device: it settles what this page has given up, leases `want` numbers,
   * and sets surplus aside for this page if `offer`. The page first cancels the offers that it has.
   * @param ahead leases as many more, if the device can spare them
   * @param call `claim`: the server is asked first, unless `want` are free
   */
  async exchange(
    want: number,
    offer = this.#mayOffer(),
    ahead = 0,
    call: 'exchange' | 'claim' = 'exchange',
  ): Promise<Failure | undefined> {
    const { page, link, pageExit, newExchange } = this.#context
    const id = newExchange()
    this.#isUsed = true
    this.#outbox.put(this.queue.takeSpent())
    const brought = this.#outbox.begin(id, this.#cancelOffers())
    const request = { page, id, want, ahead, offer, ...brought }
    const asked =
      call === 'claim'
        ? link.call('claim', [this.target, want, request])
        : link.call('exchange', [this.target, request])
    const answer = await asked.catch((error) => ({
      failure: toFailure(error, 'storage-failed'),
    }))
    if ('failure' in answer) {
      this.#outbox.cancel(id)
      // The view tells why a claim failed.
      if (call === 'claim' && 'view' in answer) this.observe(answer.view)
      else {
        this.failure = answer.failure
        this.#context.changed()
      }
      return answer.failure
    }
    this.failure = undefined
    const { view, leases, offers, outstanding } = answer
    const isDurable = view.storage !== 'memory'
    if (isDurable) pageExit.openStore()
    // guard: H6 an answer that comes when the page has gone is not used
    const isCancelled = !this.#outbox.confirm(id, brought, isDurable)
    if (isCancelled) {
      this.observe(view)
      if (leases.length + offers.length === 0) return undefined
      this.#outbox.put([{ exchange: id, takeBack: [] }])
      return this.exchange(0)
    }
    this.queue.add(leases)
    this.queue.renew(outstanding)
    this.offers.push(...offers)
    this.observe(view)
    return undefined
  }

  observe(view: DeviceView): void {
    this.view = view
    this.mixedNodes = view.mixedNodes
    const { fork } = view.gaps
    const before = this.#forked ?? fork
    this.#forked = fork
    // Fewer than before: the answer was made before a fork of which the page has heard, or the
    // storage was lost since.
    // guard: H13 a page that hears of a fork voids what it holds
    if (fork !== before) {
      this.revokeLeases()
      this.exchange(0)
      if (fork > before) this.#context.forked()
    }
    this.#context.changed()
  }

  /** Is there surplus that this page may give back? */
  hasSurplus(): boolean {
    return this.#mayOffer() && (this.view?.surplus ?? 0) > 0
  }

  /** Gives up every lease, also those in answers that have not come. The next exchange says so. */
  revokeLeases(): void {
    this.#outbox.put(this.queue.takeSpent())
    this.#outbox.put(this.queue.revoke().map(({ lease, next }) => ({ lease: lease.id, next })))
    this.#outbox.cancelAll()
  }

  /** Parks the newest numbers until the page holds only `count`. */
  parkDownTo(count: number, offer?: boolean): Promise<Failure | undefined> {
    const { notes, cuts } = this.queue.cutTo(count)
    this.#outbox.put([...notes, ...cuts])
    return this.exchange(0, offer)
  }

  /**
   * The page is hidden: it parks its lease while there is time, and leaves a note in case there is
   * none (H4).
   */
  async park(): Promise<void> {
    const { size: before } = this.#outbox
    if ((this.offers.length > 0 || this.#keepsNothing()) && this.#mayGiveBack()) this.exit()
    else {
      this.revokeLeases()
      this.#leaveNotes()
    }
    if (this.#outbox.size > before || this.offers.length > 0) await this.exchange(0)
  }

  /**
   * A page in the background that is at rest gives the surplus back now, because it may be killed
   * without a later chance.
   */
  async returnSurplus(): Promise<void> {
    if (!this.view?.surplus || !this.#mayGiveBack() || !this.#context.isOnline()) return
    await this.exchange(0, true)
    if (this.offers.length > 0) this.exit()
  }

  /** The page goes: leases become notes, and the surplus is sent back. All synchronous (H5). */
  exit(): void {
    const mayGo = ({ range }: { range: Range }) =>
      // guard: H9 a page sends without a token only to the node that granted
      this.#context.isOnline() && isReturnable(range, this.view?.serverTag)
    const kept = this.#cancelOffers((offer) => !mayGo(offer))
    if (kept.length > 0)
      this.#outbox.put([{ exchange: this.#context.newExchange(), takeBack: kept }])
    const sent = this.offers.map((offer): LeaseLeft => ({ lease: offer, next: offer.range.from }))
    // guard: H8 an offer is sent once
    this.#cancelOffers()
    for (const left of this.#keepsNothing() ? this.queue.revoke() : [])
      if (mayGo(left.lease)) sent.push(left)
      else this.#outbox.put([{ lease: left.lease.id, next: left.next }])
    this.#outbox.put(sent.map(({ lease, next }) => ({ lease: lease.id, next, givenBack: true })))
    this.revokeLeases()
    this.#leaveNotes()
    const rests = sent
      .map(({ lease, next }) => ({ ...lease.range, from: next }))
      .filter((range) => size(range) > 0)
    if (rests.length > 0) this.#giveBack(insertAll([], rests))
  }

  /**
   * Gives everything back that the page and the device hold.
   * @param ended aborted when nobody waits any more
   * @throws HiloError
   */
  async release(ended?: AbortSignal): Promise<void> {
    const { page, link, newExchange } = this.#context
    this.revokeLeases()
    this.#releases++
    try {
      check(await this.exchange(0, false))
      const id = newExchange()
      const early = ended && { call: id, ended }
      const answer = await link.call('release', [this.target, { page, id }], early)
      this.observe(answer.view)
      if ('failure' in answer) throw fromFailure(answer.failure)
    } finally {
      this.#releases--
    }
  }

  async close(): Promise<void> {
    if (this.#isUsed && this.#keepsNothing() && this.#context.isOnline())
      await this.release().catch(() => {})
    this.revokeLeases()
    // If all of it is in notes, the next page settles them.
    if (!this.#outbox.isLeft || this.offers.length > 0) await this.exchange(0)
  }

  /** From here on this page does not send these offers. */
  #cancelOffers(isMeant: (offer: Offer) => boolean = () => true): string[] {
    const meant = this.offers.filter(isMeant)
    // guard: H8 a page does not send what it takes back
    this.offers = this.offers.filter((offer) => !meant.includes(offer))
    return meant.map(({ id }) => id)
  }

  /** What this page would set aside during a release, the release would not send. */
  #mayOffer(): boolean {
    const { state, isOnline } = this.#context
    return this.#releases === 0 && state() === 'visible' && isOnline()
  }

  #mayGiveBack(): boolean {
    return performance.now() - this.#gaveBackAt > GIVE_BACK_PAUSE_MS
  }

  #keepsNothing(): boolean {
    const { reserve, storage } = this.view ?? (this.target as Partial<DeviceView>)
    return this.#context.pageExit.takesBack && (reserve === 0 || storage === 'memory')
  }

  /** Nobody would read the notes of a page whose storage is its memory. */
  #leaveNotes(): void {
    if (this.view?.storage !== 'memory') this.#outbox.leave()
  }

  async #giveBack(ranges: Range[]): Promise<void> {
    this.#gaveBackAt = performance.now()
    await this.#context.pageExit.giveBack(this.target, ranges)
    // The page still runs: a check-in finds out whether the give-back arrived.
    this.#context.link.retryNow()
  }
}

function check(failure: Failure | undefined): void {
  if (failure) throw fromFailure(failure)
}
