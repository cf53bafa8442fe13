/**
 * A page's shell: carries out the decisions of `device/page` for one collection. It asks the owner,
 * hears its answers, leaves notes and sends the surplus back. Each event reaches the page
 * synchronously, before anybody is told of it.
 */
import { type Failure, fromFailure, toFailure } from '../core/errors.js'
import { type Range, total } from '../core/range.js'
import type { DeviceView, Target } from '../device/contract.js'
import type { LeaseQueue } from '../device/page/lease-queue.js'
import {
  adopt,
  answered,
  ask,
  cancel,
  cutTo,
  exit,
  giveUp,
  hearDropped,
  hearStop,
  isAllLeft,
  newPage,
  notesToLeave,
  type Page,
} from '../device/page/page.js'
import type { Offer, Stop } from '../device/state.js'
import type { OwnerLink } from './owner-link.js'
import type { PageExit } from './page-exit.js'

/** `hidden` is also a page without a document: a service worker may be killed at any time. */
export type PageState = 'visible' | 'hidden' | 'closed'

export interface PageLeasesContext {
  /** This page instance; no identity outlives it (H7). */
  page: string
  /** An id that no exchange of this page has had, in any collection. Begins with `page`. */
  newExchange(): string
  link: OwnerLink
  pageExit: PageExit
  state(): PageState
  /** May requests be sent? Otherwise surplus stays on the device. */
  isOnline(): boolean
  changed(): void
  /** This storage turned out to be a copy (H13), or the server has dropped: all was revoked. */
  dropped(cause: 'fork' | 'drop'): void
  /** Another ledger has answered: nothing is made, or the device has gone on with it (H34). */
  otherLedger(change: Stop, isStopped: boolean): void
}

/**
 * A page that is hidden gives its surplus back, because some engines send nothing later. It does so
 * at most once in this time: people switch tabs often.
 */
const GIVE_BACK_PAUSE_MS = 60_000

export class PageLeases {
  readonly target: Target
  readonly queue: LeaseQueue
  /** The device's last view of itself. */
  view: DeviceView | undefined
  /** As in the view. It stands here too, because it is read for every number. */
  mixedNodes: readonly string[] | undefined
  /** Has anybody asked for ids here? */
  isAsked = false
  /** The storage failed; undefined again after the next success. */
  failure: Failure | undefined
  readonly #context: PageLeasesContext
  readonly page: Page
  /** The most that page and device have had, issued ones too, since it waits for an answer. */
  most = 0
  #gaveBackAt = Number.NEGATIVE_INFINITY
  /** The last check-in of the device that made the offers. */
  #offeredAt: number | undefined
  /** Calls of `release` that have not ended. */
  #releases = 0

  constructor(target: Target, context: PageLeasesContext) {
    this.target = target
    this.#context = context
    this.page = newPage(context.page)
    this.queue = this.page.queue
  }

  get offers(): readonly Offer[] {
    return this.page.offers
  }

  /** The numbers of its offers, until a check-in has made them free on the device. */
  get offered(): number {
    if (this.#offeredAt !== this.view?.checkedIn) return 0
    return total(this.offers.map(({ range }) => range))
  }

  /** The page or its device has let go of these, the other has not got them yet. For a status. */
  get onTheWay(): number {
    return this.page.awaited.size > 0 ? Math.max(0, this.most - this.#count()) : 0
  }

  #count(): number {
    const { held, issued } = this.queue
    return (this.view?.free ?? 0) + this.offered + held + issued
  }

  /**
   * One transaction on the device: it settles the leases that this page has given up, leases `want`
   * numbers, and sets surplus aside for this page if `offer`. The page first cancels the offers
   * that it has.
   * @param ahead leases as many more, if the device can spare them
   * @param isIdle nobody asked for the numbers
   * @param call `claim`: the server is asked first, unless `want` are free
   */
  async exchange(
    want: number,
    offer = this.#mayOffer(),
    ahead = 0,
    isIdle = false,
    call: 'exchange' | 'claim' = 'exchange',
  ): Promise<Failure | undefined> {
    const { link, pageExit, newExchange } = this.#context
    if (!this.page.copies) adopt(this.page, pageExit.readNotes(this.target))
    this.most = Math.max(this.page.awaited.size > 0 ? this.most : 0, this.#count())
    const request = ask(this.page, { id: newExchange(), want, ahead, isIdle, offer })
    const asked =
      call === 'claim'
        ? link.call('claim', [this.target, want, request])
        : link.call('exchange', [this.target, request])
    const answer = await asked.catch((error) => ({
      failure: toFailure(error, 'storage-failed'),
    }))
    if ('failure' in answer) {
      cancel(this.page, request.id)
      // The view tells why a claim failed.
      if (call === 'claim' && 'view' in answer) this.observe(answer.view)
      // The app has closed it on purpose.
      else if (answer.failure.code !== 'closed') {
        this.failure = answer.failure
        this.#context.changed()
      }
      return answer.failure
    }
    this.failure = undefined
    const { view } = answer
    this.#offeredAt = view.checkedIn
    const [isUnused, settled] = answered(this.page, request, answer)
    if (view.storage !== 'memory') {
      pageExit.openStore(view.isInBucket)
      // The storage that knows them now is the one that earlier pages left them for.
      pageExit.forgetNotes(this.target, settled)
    }
    this.observe(view)
    return isUnused ? this.exchange(0) : undefined
  }

  observe(view: DeviceView): void {
    const before = this.view
    // guard: H9 a view that comes late does not name the node that answered before
    if (view.order >= (this.view?.order ?? 0)) this.view = view
    // guard: H10 two nodes stay two: this page may have issued numbers of both
    this.mixedNodes ??= view.mixedNodes
    if (view.answered !== undefined) this.#context.pageExit.heard(this.target, view.answered)
    this.most = Math.max(view.stopped ? 0 : this.most, this.#count())
    const more = hearDropped(this.page, view.gaps)
    if (more.fork + more.drop + more.ledger !== 0) this.most = 0
    if (Object.values(more).some((count) => count !== 0)) void this.exchange(0)
    // An older answer may bring numbers still.
    if (this.view?.stopped && hearStop(this.page)) void this.exchange(0)
    if (more.fork > 0) this.#context.dropped('fork')
    if (more.drop > 0) this.#context.dropped('drop')
    const { stopped, followed } = view
    if (stopped && stopped.by !== before?.stopped?.by) this.#context.otherLedger(stopped, true)
    if (before && followed && followed.at !== before.followed?.at)
      this.#context.otherLedger(followed, false)
    this.#context.changed()
  }

  /** Is there surplus that this page may give back? */
  hasSurplus(): boolean {
    return this.#mayOffer() && (this.view?.surplus ?? 0) > 0
  }

  /** Parks the newest numbers until the page holds only `count`. */
  parkDownTo(count: number, offer?: boolean): Promise<Failure | undefined> {
    const before = this.#count()
    cutTo(this.page, count)
    const parked = this.exchange(0, offer)
    this.most = Math.max(this.most, before)
    return parked
  }

  /**
   * The page is hidden: it parks its lease while there is time, and leaves a note in case there is
   * none (H4).
   */
  park(): void {
    const { unconfirmed } = this.page
    const { size: before } = unconfirmed
    if (this.#mayGiveBack()) this.exit()
    else {
      giveUp(this.page)
      this.#leaveNotes()
    }
    if (unconfirmed.size > before || this.offers.length > 0) void this.exchange(0)
  }

  /**
   * A page in the background that is at rest gives the surplus back now, because it may be killed
   * without a later chance.
   */
  async returnSurplus(): Promise<void> {
    if (!this.view?.surplus || !this.#mayGiveBack() || !this.#canSend()) return
    await this.exchange(0, true)
    if (this.offers.length > 0) this.exit()
  }

  /** The page goes: leases become notes, and the surplus is sent back. All synchronous (H5). */
  exit(): void {
    const { serverTag } = this.view ?? {}
    const id = this.#context.newExchange()
    const ranges = exit(this.page, id, this.#canSend(), serverTag, this.#keepsNothing())
    this.#leaveNotes()
    if (ranges.length > 0) void this.#giveBack(ranges)
  }

  /** Parks all that the page holds, so that the owner can give it back. @throws HiloError */
  async beginRelease(): Promise<void> {
    giveUp(this.page)
    this.#releases++
    const failure = await this.exchange(0, false)
    if (failure) throw fromFailure(failure)
  }

  /** After each `beginRelease`, however it ended. */
  endRelease(): void {
    this.#releases--
  }

  /** @returns shall the server get back the numbers on the device now? */
  async close(): Promise<boolean> {
    const isReleased =
      this.page.copies !== undefined && this.#keepsNothing() && this.#context.isOnline()
    giveUp(this.page)
    // If all of it is in notes, the next page settles them.
    const isLeft = !isReleased && isAllLeft(this.page) && this.offers.length === 0
    // guard: H4 a page that closes leaves notes of what could not be stored
    if (!isLeft && (await this.exchange(0))) this.#leaveNotes()
    return isReleased
  }

  /** The release would not send numbers that this page sets aside meanwhile. */
  #mayOffer(): boolean {
    const state = this.#context.state()
    // In memory, what a hidden page does not send when it goes is a gap.
    const isInFront = state === 'visible' || (state === 'hidden' && this.#isInMemory())
    return this.#releases === 0 && isInFront && this.#canSend()
  }

  #canSend(): boolean {
    const { isOnline, pageExit } = this.#context
    // Numbers that are sent in vain are of no use before the next check-in.
    return isOnline() && pageExit.sender !== undefined && this.view?.isReachable !== false
  }

  /** A hidden page whose storage is its memory has the only reserve. It sends it when it goes. */
  #mayGiveBack(): boolean {
    const isReserve = this.#isInMemory() && this.view!.reserve > 0
    return !isReserve && performance.now() - this.#gaveBackAt > GIVE_BACK_PAUSE_MS
  }

  #keepsNothing(): boolean {
    const { reserve } = this.view ?? this.target
    return this.#context.pageExit.takesBack && (reserve === 0 || this.#isInMemory())
  }

  #isInMemory(): boolean {
    return this.view?.storage === 'memory'
  }

  /** Nobody would read the notes of a page whose storage is its memory. */
  #leaveNotes(): void {
    if (this.page.unconfirmed.size === 0 || this.#isInMemory()) return
    this.#context.pageExit.leaveNotes(this.target, notesToLeave(this.page))
  }

  async #giveBack(ranges: readonly Range[]): Promise<void> {
    this.#gaveBackAt = performance.now()
    await this.#context.pageExit.giveBack(this.target, ranges)
    // The page still runs: a check-in finds out whether the give-back arrived.
    this.#context.link.retryNow()
  }
}
