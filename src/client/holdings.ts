/**
 * What this page holds of one collection, leases to issue from and offers to give back, and every
 * way it gets them or gives them up. Guarantees that nothing it has parked, sent or lost to a fork
 * is ever issued: it is voided here first, synchronously (H6).
 */
import type { DeviceView, Target } from '../core/contract.js'
import { type Failure, fromFailure } from '../core/errors.js'
import { insert, isReturnable, type Range, size } from '../core/range.js'
import type { Exchange, Note, Offer } from '../core/state.js'
import { LeaseQueue } from './lease-queue.js'
import type { OwnerLink } from './owner-link.js'
import type { PageExit } from './page-exit.js'

export interface HoldingsContext {
  /** This page instance; no identity outlives it (H7). */
  page: string
  link: OwnerLink
  pageExit: PageExit
  /** Milliseconds a request to the server may take. */
  requestTimeout: number
  isVisible(): boolean
  /** May requests be sent? Otherwise surplus stays on the device. */
  isOnline(): boolean
  changed(): void
  /** This storage turned out to be a copy: all was voided (H13). */
  forked(): void
}

/**
 * Hiding a page gives its surplus back, because some engines let nothing out later; but not each
 * time somebody switches tabs.
 */
const GIVE_BACK_PAUSE_MS = 60_000

export class Holdings {
  readonly target: Target
  readonly queue = new LeaseQueue()
  /** What the device last said of itself. */
  view: DeviceView | undefined
  /** As in the view; read for every number. */
  mixedNodes: readonly string[] | undefined
  /** The storage did not do what it was asked; gone with the next success. */
  failure: Failure | undefined
  /**
   * Surplus that this page will send back when it goes. Durably set aside before it is here (H8).
   */
  offers: Offer[] = []
  readonly #context: HoldingsContext
  #exchanges = 0
  /** Exchanges whose answers this page still waits for and will use, with what it brought. */
  readonly #unanswered = new Map<string, Pick<Exchange, 'notes' | 'takeBack'>>()
  #gaveBackAt = Number.NEGATIVE_INFINITY
  /** Numbers that forks have cost this device; unknown before its first word. */
  #forked: number | undefined
  #isClosed = false
  /**
   * Notes that lie in `localStorage`: those of earlier pages, read at the first exchange, and this
   * page's own, should it come back. Settled with the next exchange.
   */
  #left: Note[] | undefined

  constructor(target: Target, context: HoldingsContext) {
    this.target = target
    this.#context = context
  }

  /**
   * One transaction on the device. Offers are disarmed before it starts; new ones come armed with
   * its answer.
   */
  async exchange(
    want: number,
    notes: readonly Note[] = [],
    cuts: Exchange['cuts'] = [],
    offer = this.#mayOffer(),
  ): Promise<Failure | undefined> {
    const { pageExit, page, link } = this.#context
    this.#left ??= pageExit.readNotes(this.target)
    const id = this.#nextId()
    const isFirst = this.#forked === undefined
    const brought = {
      notes: [...this.#left, ...notes, ...this.queue.takeSpent()],
      takeBack: this.#cancelOffers(),
    }
    this.#left = []
    this.#unanswered.set(id, brought)
    const answer = await link.call('exchange', [
      this.target,
      { page, id, want, cuts, offer, ...brought },
    ])
    const isCancelled = !this.#unanswered.delete(id)
    this.failure = 'failure' in answer ? answer.failure : undefined
    if ('failure' in answer) {
      this.#context.changed()
      return answer.failure
    }
    if (answer.view.storage !== 'memory') pageExit.openStore()
    pageExit.forgetNotes(this.target, brought.notes)
    // What other pages caused may be told before the answer is here: it can be of before a fork
    // that took these leases.
    const isOfBeforeFork = isFirst && answer.view.gaps.fork < (this.#forked ?? 0)
    if (isCancelled || isOfBeforeFork) {
      this.observe(answer.view)
      return answer.leases.length + answer.offers.length > 0
        ? this.exchange(0, [{ exchange: id, takeBack: [] }])
        : undefined
    }
    this.queue.add(answer.leases)
    this.queue.renew(answer.outstanding)
    this.offers.push(...answer.offers)
    this.observe(answer.view)
    return undefined
  }

  observe(view: DeviceView): void {
    this.view = view
    this.mixedNodes = view.mixedNodes
    this.#forked ??= view.gaps.fork
    if (view.gaps.fork > this.#forked) {
      this.#forked = view.gaps.fork
      this.offers = []
      this.exchange(0, this.revokeLeases()).catch(() => {})
      this.#context.forked()
    }
    this.#context.changed()
  }

  /** Something to set aside that a page may give back? */
  hasSurplus(): boolean {
    return this.#mayOffer() && (this.view?.surplus ?? 0) > 0
  }

  /** Gives every lease up, those in answers not yet here too, and says what of it was used. */
  revokeLeases(): Note[] {
    const notes: Note[] = this.queue.takeSpent()
    for (const { lease, next } of this.queue.revoke()) notes.push({ lease: lease.id, next })
    for (const [exchange, brought] of this.#unanswered)
      notes.push(...brought.notes, { exchange, takeBack: brought.takeBack })
    this.#unanswered.clear()
    return notes
  }

  /** Gives the newest numbers to the device until only `count` are held. */
  parkDownTo(count: number, offer?: boolean): Promise<Failure | undefined> {
    const { notes, cuts } = this.queue.cutTo(count)
    return this.exchange(0, notes, cuts, offer)
  }

  /**
   * Hidden: the lease goes back to the device while there is time, and is left as a note in case
   * there is none (H4).
   */
  async park(): Promise<void> {
    const before = this.#left?.length
    if ((this.offers.length > 0 || this.#keepsNothing()) && this.#mayGiveBack()) this.exit()
    else this.#leaveNotes(this.revokeLeases())
    if (this.#left?.length !== before || this.offers.length > 0) await this.exchange(0)
  }

  /**
   * In the background, at rest: what exceeds the reserve goes back, as nobody knows whether there
   * will be a moment for it later.
   */
  async returnSurplus(): Promise<void> {
    if (!this.view?.surplus || !this.#mayGiveBack() || !this.#context.isOnline()) return
    await this.exchange(0, [], [], true)
    if (this.offers.length > 0) this.exit()
  }

  /** Goes: the lease becomes a note, and the surplus is sent back. All of it synchronous (H5). */
  exit(): void {
    const mayGo = ({ range }: { range: Range }) =>
      this.#context.isOnline() && isReturnable(range, this.view?.serverTag)
    // What must not be sent is disarmed, and the device keeps it.
    const kept = this.#cancelOffers((offer) => !mayGo(offer))
    if (kept.length > 0) this.#unanswered.set(this.#nextId(), { notes: [], takeBack: kept })
    const left = this.#keepsNothing() ? this.queue.revoke() : []
    const returned = left.filter(({ lease }) => mayGo(lease))
    const parked = left
      .filter(({ lease }) => !mayGo(lease))
      .map(({ lease, next }) => ({ lease: lease.id, next }))
    returned.push(...this.offers.map((offer) => ({ lease: offer, next: offer.range.from })))
    this.#cancelOffers()
    const sent = returned.map(({ lease, next }) => ({
      lease: lease.id,
      next,
      givenBack: true as const,
    }))
    this.#leaveNotes([...parked, ...this.revokeLeases(), ...sent])
    const rests = returned
      .map(({ lease, next }) => ({ ...lease.range, from: next }))
      .filter((range) => size(range) > 0)
    if (rests.length > 0) this.#giveBack(rests.reduce<Range[]>(insert, []))
  }

  /** Fills the device up to `count`, and keeps that as its target. @throws HiloError */
  async reserve(count: number): Promise<void> {
    const { link, page, requestTimeout } = this.#context
    const answer = await link.call(
      'reserve',
      [this.target, { page, takeBack: this.#cancelOffers(), count }],
      2 * requestTimeout,
    )
    if ('view' in answer) this.observe(answer.view)
    if ('failure' in answer) throw fromFailure(answer.failure)
  }

  /** Gives everything back that the page and the device hold. @throws HiloError */
  async release(): Promise<void> {
    const { link, page, requestTimeout } = this.#context
    const id = this.#nextId()
    const notes = this.revokeLeases()
    const takeBack = this.#cancelOffers()
    // It may wait for a claim first: a page that goes meanwhile leaves what it brought as a note.
    this.#unanswered.set(id, { notes, takeBack })
    const answer = await link.call(
      'release',
      [this.target, { page, id, notes, takeBack }],
      requestTimeout,
    )
    this.#unanswered.delete(id)
    if ('failure' in answer) {
      // Given up here, and perhaps not yet there: the next exchange brings it, of this page or of
      // another.
      this.#leaveNotes([...notes, { exchange: id, takeBack }])
      throw fromFailure(answer.failure)
    }
    this.observe(answer.view)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const notes = this.revokeLeases()
    if (notes.length > 0 || this.offers.length > 0) await this.exchange(0, notes)
  }

  /** From here on this page does not send these offers. */
  #cancelOffers(isMeant: (offer: Offer) => boolean = () => true): string[] {
    const meant = this.offers.filter(isMeant)
    this.offers = this.offers.filter((offer) => !meant.includes(offer))
    return meant.map(({ id }) => id)
  }

  #mayOffer(): boolean {
    return this.#context.isVisible() && this.#context.isOnline() && !this.#isClosed
  }

  #mayGiveBack(): boolean {
    return performance.now() - this.#gaveBackAt > GIVE_BACK_PAUSE_MS
  }

  #keepsNothing(): boolean {
    return (
      this.#context.pageExit.takesBack &&
      (this.view?.reserve === 0 || this.view?.storage === 'memory')
    )
  }

  #leaveNotes(notes: Note[]): void {
    this.#context.pageExit.leaveNotes(this.target, notes)
    this.#left?.push(...notes)
  }

  async #giveBack(ranges: Range[]): Promise<void> {
    this.#gaveBackAt = performance.now()
    await this.#context.pageExit.giveBack(this.target, ranges)
    // Still here: what became of it comes out at a check-in.
    if (!this.#isClosed) this.#context.link.retryNow()
  }

  #nextId(): string {
    return `${this.#context.page}:${this.#exchanges++}`
  }
}
