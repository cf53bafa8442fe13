/**
 * The owner's work on one collection. It keeps no number in memory: everything that it answers is
 * stored first (order law), so losing its memory costs a gap at most.
 */

import { type Failure, toFailure } from '../core/errors.js'
import { isNoAnswer } from '../core/failures.js'
import { total } from '../core/range.js'
import { asksFirst, claimsFirst, isCheckInDue, reportIn, withUse } from '../device/check-in.js'
import type { Answer, DeviceView, OwnerCallbacks, SharedView, Target } from '../device/contract.js'
import { exchange, surplus } from '../device/device.js'
import { startOver } from '../device/ledger.js'
import { nameOf } from '../device/page-exit.js'
import { declare, reserveOf } from '../device/reserve.js'
import { enough, isLow } from '../device/sizes.js'
import {
  type DeviceState,
  type Exchange,
  type Exchanged,
  emptyState,
  type Note,
  type Stop,
} from '../device/state.js'
import { step } from '../device/stored.js'
import { pagesOf, writeOffPages } from '../device/write-off.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import type { CheckIns } from './check-ins.js'
import type { ClaimRequests } from './claim-requests.js'
import { Claims, SWITCHED_OFF } from './claims.js'
import type { CollectionContext, OwnerContext } from './context.js'
import { DeadPages } from './dead-pages.js'
import { CANCELLED } from './give-back.js'
import { Waiting } from './waiting.js'

/** What a transaction gives a page, and what it found that this owner has to do. */
type Given = Exchanged & { pages: Set<string>; isDue: boolean }

/** A device that starts waits no longer for the server before it goes on as offline. */
const ASK_MS = 1_000

export class OwnedCollection {
  readonly context: CollectionContext
  /** Of the collection's database. */
  readonly checkIns: CheckIns
  readonly #owner: OwnerContext
  readonly #target: Target
  readonly #key: StoreKey
  readonly #callbacks: OwnerCallbacks
  readonly #claims: Claims
  readonly #deadPages: DeadPages
  /** Exchanges that wait for their turn, for a claim, and for the first check-in. */
  readonly #arrived = new Waiting<Given>()
  readonly #waiting = new Waiting<Given>()
  readonly #starting = new Waiting<Given>()
  /** Up to these numbers a `reserve` that is under way fills the device. */
  readonly #filling: number[] = []
  /** What a status shows of the last state that was read. It never decides who owns a number. */
  #shared: SharedView
  /**
   * How many numbers a storage in memory offers. No other page sees that storage, so everything
   * in it is offered, and counts as free: its 40 numbers are 40 offered and 40 free.
   */
  #inMemory = 0
  #refreshing: Promise<void> = Promise.resolve()
  /** Nothing is leased before it resolves: the server is asked whether this device is a copy. */
  #asking: Promise<void> | undefined
  /** Undecided: no transaction has found yet that the server need not be asked. */
  #mayAsk = true
  #isAsking = false
  /** The last check-in that was answered to this owner. */
  #answered: string | undefined
  /** In how many milliseconds the server should hear of what was leased. */
  #reportIn: number | undefined
  /** What happened to the stored state while this owner ran. */
  #notice: Failure | undefined

  constructor(
    owner: OwnerContext,
    key: StoreKey,
    target: Target,
    callbacks: OwnerCallbacks,
    checkIns: CheckIns,
    requests: ClaimRequests,
  ) {
    this.#owner = owner
    this.#key = key
    this.#target = target
    this.#callbacks = callbacks
    this.#shared = { free: 0, reserve: target.reserve, surplus: 0, gaps: emptyState().gaps }
    this.context = {
      owner,
      target,
      name: nameOf(key),
      update: (change) => this.#update(change),
      updateAndLease: (change) => this.#updateAndLease(change, this.#waiting),
      checkedIn: (change) => this.#updateAndLease(change, this.#starting),
      reportIn: () => this.#reportIn,
      checkIn: () => checkIns.ask(this.context),
      asks: (state) => (this.#mayAsk || this.#isAsking) && this.#hasToAsk(state),
      wasAnswered() {
        checkIns.isAnswered = true
      },
      notify: () => this.#notify(),
    }
    this.#claims = new Claims(this.context, requests, (missing) => {
      const { free, reserve, isReleased } = this.#shared
      // A `reserve(4_000)` that failed leaves 4,000 missing. Were they all claimed here, a page at
      // rest would give back what exceeds its reserve of 200, they would be missing again, and
      // claims would never end.
      // guard: H25 claims in the background end at the reserve
      const want = Math.min(free + missing, this.#filledTo(reserve))
      if (want > free && !isReleased) this.#claims.askInBackground(want)
      this.#notify()
    })
    this.checkIns = checkIns
    checkIns.join(this.context)
    this.#deadPages = new DeadPages(owner, async (dead) => {
      const holders = await this.#update((before) => {
        const state = writeOffPages(before, dead)
        return [state, pagesOf(state)]
      })
      this.#notify()
      if (dead.size > 0) this.checkIns.retryNow()
      return holders
    })
  }

  exchange(request: Exchange): Promise<Answer<Exchanged>> {
    return this.#answer(() => this.#exchange(request))
  }

  claim(want: number, request?: Exchange): Promise<Answer<Exchanged>> {
    return this.#answer(async () => {
      const waiting = request && this.#waiting.add(request)
      const failure = await this.#claims.ask(request ? enough(want, this.#shared.reserve) : want)
      const isWanted = waiting && this.#waiting.remove(waiting) && !this.#owner.signal.aborted
      if (waiting?.given) return this.#give(waiting.request, waiting.given)
      if (failure && !(await this.#gather())) return { failure }
      if (!request) return NOTHING
      return this.#exchange(isWanted ? request : unwanted(request))
    })
  }

  parkExcess(): Promise<void> {
    return this.#callbacks.parkExcess(this.#target)
  }

  reserve(count: number, isCancelled: () => boolean): Promise<Answer<object>> {
    return this.#answer(async () => {
      // guard: H35 what is reserved is stored
      await this.#untilOpen()
      this.#filling.push(count)
      try {
        // The step that finds the count reached also stores it: later claims fill up to it.
        const keep = (state: DeviceState): [DeviceState, boolean] => {
          if (isCancelled()) return [state, false]
          const next = asked(state)
          return total(state.ranges) < count ? [next, false] : [{ ...next, reserve: count }, true]
        }
        while (!(await this.#update(keep))) {
          if (isCancelled()) return { failure: CANCELLED }
          const failure = await this.#claims.ask(count)
          if (failure) return { failure }
        }
        return {}
      } finally {
        this.#filling.splice(this.#filling.indexOf(count), 1)
      }
    })
  }

  /** Once it has resolved, nothing is claimed any more. */
  beginRelease(): Promise<Answer<object>> {
    return this.#answer(async () => {
      if (!this.#owner.isOnline()) return { failure: SWITCHED_OFF }
      await this.#untilOpen()
      // guard: H25 all tabs know that everything was released
      await this.#update((state) => [{ ...state, isReleased: true }, undefined])
      await this.#claims.finish()
      return {}
    })
  }

  /** @param failure why not everything was given back */
  endRelease(failure: Failure | undefined): Promise<Answer<object>> {
    return this.#answer(async () => {
      if (failure) {
        await this.#update((state) => [asked(state), undefined])
        return { failure }
      }
      this.#claims.failure = undefined
      await this.#update((state) => [withoutReserve(state), undefined])
      return {}
    })
  }

  startOver(): Promise<Answer<object>> {
    return this.#answer(async () => {
      const date = this.#owner.world.date()
      await this.#untilOpen()
      await this.#update((state) => [startOver(state, date), undefined])
      this.#claims.failure = undefined
      this.#notify()
      return {}
    })
  }

  /** Until now, ids were in memory. What is stored is used now, as at a start. */
  openedLate(): void {
    // guard: H35 a storage that opens late may be a copy: the server is asked first
    this.#mayAsk = true
    this.#notify()
    this.#owner.run(this.#move())
  }

  async #untilOpen(): Promise<void> {
    await this.#owner.store
    await this.#owner.world.untilOpen()
  }

  /** If it fails, the next transaction moves what was in memory. */
  async #move(): Promise<void> {
    await this.#update((state) => [{ ...state }, undefined])
    this.#notify()
    this.checkIns.retryNow()
    // The page was to give back all that it had in memory.
    await this.parkExcess()
  }

  /**
   * Another tab's transaction changed what this device holds, perhaps before the last one of this
   * tab: messages and transactions come in any order.
   */
  onChangeElsewhere(shared: SharedView): void {
    const { serverTag, mixedNodes } = this.#shared
    this.#shared = {
      // guard: H10 an older message of another tab does not hide that two nodes have granted
      mixedNodes,
      ...shared,
      // guard: H9 where two tabs name two nodes, none is known to have answered last
      serverTag: shared.serverTag === serverTag ? serverTag : undefined,
    }
    this.#notify()
    this.refresh()
  }

  /** One read: what the next transaction would find. */
  inspect(): Promise<Answer<{ state: DeviceState }>> {
    return this.#answer(async () => {
      const store = await this.#owner.store
      const { stored, notes } = await store.read(this.#key)
      return { state: step(stored, notes, (state) => [state, undefined]).state }
    })
  }

  /**
   * Tells the page how things stand, if it watches. One read after the other, so that an older
   * state never comes after a newer one.
   */
  refresh(): void {
    if (!this.#owner.isWatched()) return
    const refreshed = this.#refreshing.then(async () => {
      const answer = await this.inspect()
      if ('state' in answer) this.#callbacks.stored(this.#target, answer.state, answer.state)
    })
    this.#refreshing = this.#owner.run(refreshed)
  }

  /** The network may be back: failed requests are sent again now. */
  retryNow(): void {
    this.#claims.retryNow()
    this.checkIns.networkMayBeBack()
    this.#owner.run(this.#topUpInAdvance())
    this.#notify()
  }

  view(): DeviceView {
    const { failure } = this.#claims
    const notice = this.#notice
    return {
      ...this.#shared,
      order: this.#owner.nextView(),
      isClaiming: this.#claims.isUnderWay,
      isReachable: this.checkIns.isAnswered && !(failure && isNoAnswer(failure)),
      storage: this.#owner.storageKind(),
      ...(failure && { failure }),
      ...(notice && { notice }),
      ...(this.#answered !== undefined && { answered: this.#answered }),
    }
  }

  /** How many numbers are kept when the surplus is set aside to go back. */
  #keep(store: DeviceStore, state: DeviceState, reserve: number): number {
    const mayGoBack = this.#isHeard(store) || state.ranges.every(({ token }) => token !== undefined)
    if (!this.#owner.source.giveBack || !mayGoBack || isKept(store, state, reserve))
      return Number.POSITIVE_INFINITY
    return store.isDurable ? this.#filledTo(reserve) : 0
  }

  #filledTo(reserve: number): number {
    return this.#filling.reduce((most, count) => Math.max(most, count), reserve)
  }

  /**
   * Does this page hear when another node answers another page? If not, it gives nothing back
   * without a token: the range could be another node's (H9).
   */
  #isHeard({ isDurable }: DeviceStore): boolean {
    return this.#owner.tabs !== undefined || !isDurable
  }

  async #answer<T>(work: () => Promise<T | { failure: Failure }>): Promise<Answer<T>> {
    try {
      const result = await this.#owner.run(work())
      return { view: this.view(), ...result }
    } catch (error) {
      return { view: this.view(), failure: toFailure(error, 'storage-failed') }
    }
  }

  /**
   * Claims in the background when the reserve is low. A claim that fails is repeated later.
   * @param unmet how many numbers too few a page has just got
   */
  #topUp(unmet = 0): void {
    const { free, reserve, isReleased } = this.#shared
    if (!isReleased && isLow(free + this.#inMemory, reserve) && !this.#claims.isPaused)
      this.#claims.askInBackground(enough(unmet, reserve))
  }

  /** No caller waits, so it looks first whether a check-in or killed pages bring numbers back. */
  async #topUpInAdvance(): Promise<void> {
    await this.#deadPages.idle()
    await this.checkIns.idle()
    this.#topUp()
  }

  async #exchange(request: Exchange): Promise<Exchanged> {
    this.#cancel(request.notes)
    const arrived = this.#arrived.add(request)
    // guard: H4 a page that has gone is leased nothing by an exchange that comes to its turn late
    const wanted = () => (this.#arrived.has(arrived) ? request : unwanted(request))
    try {
      const store = await this.#owner.store
      if (request.want > 0) await this.#asking
      const given = await this.#update<Given | undefined>((state, reserve) =>
        this.#asksFirst(wanted())
          ? [state, undefined]
          : this.#lease(state, wanted(), store, reserve),
      )
      return given ? this.#give(request, given) : this.#askFirst(wanted())
    } finally {
      this.#arrived.remove(arrived)
    }
  }

  #asksFirst({ want }: Exchange): boolean {
    const { isOnline, signal } = this.#owner
    if (want === 0 || signal.aborted) return false
    if (this.#mayAsk) this.#isAsking = isOnline()
    this.#mayAsk = false
    // guard: H32 nothing is leased to any page before the answer
    return this.#isAsking
  }

  #hasToAsk(state: DeviceState): boolean {
    return asksFirst(state, this.#owner.answers[this.context.name], this.#claims.own)
  }

  /**
   * A device that starts may be a copy, or may have gone back: it asks the server before it leases
   * what is stored. The step that stores the answer also leases.
   */
  async #askFirst(request: Exchange): Promise<Exchanged> {
    const waiting = this.#starting.add(request)
    const served = new Promise<void>((resolve) => {
      waiting.served = resolve
    })
    this.#asking ??= this.#ask()
    await Promise.race([served, this.#asking])
    const isWanted = this.#starting.remove(waiting)
    if (waiting.given) return this.#give(request, waiting.given)
    return this.#exchange(isWanted ? request : unwanted(request))
  }

  /** Resolves when the server has said whether this device is a copy, or a second has passed. */
  async #ask(): Promise<void> {
    // What is lost to a copy now is news to the page.
    this.#notify()
    let cancel = () => {}
    const late = new Promise<void>((resolve) => {
      // guard: H32 a server that does not answer is not waited for
      cancel = this.#owner.after(ASK_MS, resolve)
    })
    await Promise.race([late, this.#checkInFirst().catch(() => {})])
    cancel()
    this.#isAsking = false
  }

  async #checkInFirst(): Promise<void> {
    // guard: H32 a claim of an earlier session does not hide a copy
    if (await this.#update((state) => [state, claimsFirst(state)])) await this.#claims.ask(0)
    await this.context.checkIn()
  }

  #lease(
    state: DeviceState,
    request: Exchange,
    store: DeviceStore,
    reserve: number,
  ): [DeviceState, Given] {
    const { tabs, world } = this.#owner
    // While several pages are busy, surplus stays free so that they can lease it. A page at rest
    // sets it aside to give back.
    const offer = request.offer && (request.want === 0 || !tabs || tabs.isAlone())
    const { state: next, ...answer } = exchange(
      request.want > 0 && !request.isIdle ? asked(state) : state,
      { ...request, offer },
      this.#keep(store, state, reserve),
      reserve,
    )
    return [next, { ...answer, pages: pagesOf(next), isDue: isCheckInDue(next, world.date()) }]
  }

  /** The transaction is complete: what the device does now that it has fewer numbers. */
  #give(request: Exchange, { pages, isDue, ...given }: Given): Exchanged {
    const unmet = request.want - total(given.leases.map(({ range }) => range))
    if (unmet > 0) this.#topUp(unmet)
    this.checkIns.start(this.context, isDue)
    this.checkIns.planReport()
    pages.delete(request.page)
    this.#deadPages.search(pages)
    // guard: H25 a page that asks for no number makes no claim
    if (request.want > 0 && unmet <= 0) this.#owner.run(this.#topUpInAdvance())
    return given
  }

  /**
   * Asks the device's other pages to park what they do not need.
   * @returns whether there is something to lease now
   */
  async #gather(): Promise<boolean> {
    const holders = await this.#update((state) => [state, pagesOf(state)])
    const wasAnyoneAsked = await this.#owner.tabs?.askToPark(this.context.name, holders)
    return wasAnyoneAsked
      ? this.#update((state) => [state, !state.stopped && state.ranges.length > 0])
      : false
  }

  /** Only an owner whose own check-in was answered stores that: its page need not ask any more. */
  #heard(checkIn: string | undefined): void {
    this.#answered = checkIn
    this.#mayAsk = false
  }

  #notify(): void {
    if (!this.#owner.signal.aborted) this.#callbacks.changed(this.#target, this.view())
  }

  #cancel(notes: readonly Note[]): void {
    for (const each of [this.#arrived, this.#waiting, this.#starting]) each.cancel(notes)
  }

  /**
   * One transaction of a claim or a check-in. It serves the page that waits for that, if enough is
   * free: now or because of it.
   */
  async #updateAndLease<T>(
    change: (state: DeviceState, reserve: number) => [DeviceState, T],
    waiting: Waiting<Given>,
  ): Promise<T> {
    const store = await this.#owner.store
    const { result, served } = await this.#update((before, reserve) => {
      const [changed, result] = change(before, reserve)
      const { state, served } = waiting.serve(changed, (request, free) =>
        this.#lease(free, request, store, reserve),
      )
      return [state, { result, served }]
    })
    served()
    return result
  }

  /**
   * One transaction. It settles the notes that pages left, and sets a record that cannot be used
   * aside. It tells other tabs only if something changed.
   */
  async #update<T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]): Promise<T> {
    const store = await this.#owner.store
    const { result, ...seen } = await store.update(this.#key, (stored, notes) => {
      this.#cancel(notes)
      const { before, refused, ...done } = step(stored, notes, (settled) => {
        const before = declare(settled, this.#target, this.#owner.world.date())
        if (!this.#hasToAsk(before)) this.#mayAsk = false
        const [changed, result] = change(before, reserveOf(before, this.#target.reserve))
        return [withUse(before, changed), result]
      })
      const { state, result } = done
      if (refused) this.#notice = unusable(refused)
      if (state.isPlain) this.#owner.source.wasPlain?.(this.#target.database)
      if (state.answered !== before.answered) this.#heard(state.answered)
      if (state.gaps.drop > before.gaps.drop) this.#notice = DROPPED
      if (state.gaps.fork > before.gaps.fork) this.#notice = FORKED
      const { ranges, gaps } = state
      const reserve = reserveOf(state, this.#target.reserve)
      const { checkedIn, serverTag, nodes, isReleased, stopped, followed } = state
      if (followed && followed !== before.followed) this.#notice = wentOn(followed)
      const shared: SharedView = {
        // What waits for somebody's decision serves nobody.
        free: stopped ? 0 : total(ranges),
        reserve,
        surplus: surplus(state, this.#keep(store, state, reserve)),
        gaps,
        ...(checkedIn !== undefined && { checkedIn }),
        ...(serverTag !== undefined && this.#isHeard(store) && { serverTag }),
        ...(isReleased && { isReleased }),
        ...(nodes && nodes.length > 1 && { mixedNodes: nodes }),
        ...(stopped && { stopped }),
        ...(followed && { followed }),
      }
      return {
        ...done,
        result: {
          result,
          shared,
          inMemory: store.isDurable ? 0 : total(state.offers.map(({ range }) => range)),
          isChanged: state !== stored,
          report: reportIn(state, this.#owner.world.date()),
          stages: [before, state] as const,
        },
      }
    })
    this.#shared = seen.shared
    this.#inMemory = seen.inMemory
    this.#reportIn = seen.report
    if (!seen.isChanged) return result
    if (store.isDurable) this.#owner.tabs?.notify(this.context.name, seen.shared)
    if (this.#owner.isWatched()) this.#callbacks.stored(this.#target, ...seen.stages)
    return result
  }
}

/**
 * A RavenDB takes back only the end of its counter. Once another client has claimed, what is sent
 * back is a gap; what is stored here serves the next page. Who wants no reserve keeps nothing: two
 * copies of the device would make the same ids of it, and a RavenDB cannot tell them apart.
 */
const isKept = ({ isDurable }: DeviceStore, { isPlain }: DeviceState, reserve: number): boolean =>
  isDurable && isPlain === true && reserve > 0

function withoutReserve(state: DeviceState): DeviceState {
  const { reserve, ...rest } = state
  return reserve === undefined ? state : rest
}

/** An app asks for numbers: a release is over. */
function asked(state: DeviceState): DeviceState {
  const { isReleased, ...rest } = state
  return isReleased ? rest : state
}

/** Its page does not wait for it any more; what it has given up is settled all the same. */
const unwanted = (request: Exchange): Exchange => ({
  ...request,
  want: 0,
  ahead: 0,
  offer: false,
})

const NOTHING: Exchanged = { leases: [], offers: [], outstanding: [] }

const unusable = (why: string): Failure => ({
  code: 'storage-failed',
  message:
    `The stored ranges could not be used: ${why}. They were set aside in the object store ` +
    '"set-aside", and new ones are claimed.',
})

const wentOn = ({ of, by, numbers }: Stop): Failure => ({
  code: 'other-ledger',
  message:
    `Ids come from ledger ${by} now, in place of ${of}. ${numbers} numbers of that one were ` +
    'dropped here. Ids that were made of it stay.',
})

const FORKED: Failure = {
  code: 'forked',
  message:
    'The storage of this device is a copy: another copy of it has checked in before. The ranges ' +
    'here were dropped and new ones are claimed. Ids made here since the copy was taken may ' +
    'exist twice: compare them.',
}

const DROPPED: Failure = {
  code: 'dropped',
  message:
    'The server has dropped this collection (`offline-hilo-server drop`). The ranges here were ' +
    'dropped, too, and new ones are claimed. No id was made twice. If the collection should be ' +
    'gone, the app makes no more ids in it.',
}
