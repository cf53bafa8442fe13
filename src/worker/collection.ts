/**
 * The calls of a page about one collection, and the consequences of each: a claim, a check-in, a
 * search for pages that were killed.
 */
import { type Failure, toFailure } from '../core/errors.js'
import { total } from '../core/range.js'
import { claimsFirst } from '../device/check-in.js'
import type { Answer, OwnerCallbacks, Target } from '../device/contract.js'
import { startOver } from '../device/ledger.js'
import { type Given, lease } from '../device/owner/lease.js'
import { ended, wanted } from '../device/owner/start.js'
import { unwanted } from '../device/owner/waiting.js'
import { asked, filled, withoutReserve } from '../device/reserve.js'
import { enough, topUp } from '../device/sizes.js'
import type { DeviceState, Exchange, Exchanged } from '../device/state.js'
import { pagesOf, writeOffPages } from '../device/write-off.js'
import type { StoreKey } from '../store/store.js'
import type { CheckIns } from './check-ins.js'
import type { ClaimRequests } from './claim-requests.js'
import { type Claims, newClaims, SWITCHED_OFF } from './claims.js'
import type { OwnerContext } from './context.js'
import { DeadPages } from './dead-pages.js'
import { CANCELLED } from './give-back.js'
import { CollectionRecord } from './record.js'

/** A device that starts waits no longer for the server before it goes on as offline. */
const ASK_MS = 1_000

export class OwnedCollection extends CollectionRecord {
  /** Of the collection's database. */
  readonly checkIns: CheckIns
  readonly #claims: Claims
  readonly #deadPages: DeadPages
  /** Nothing is leased before it resolves: the server is asked whether this device is a copy. */
  #asking: Promise<void> | undefined

  constructor(
    owner: OwnerContext,
    key: StoreKey,
    target: Target,
    callbacks: OwnerCallbacks,
    checkIns: CheckIns,
    requests: ClaimRequests,
  ) {
    super(owner, key, target, callbacks, checkIns)
    this.checkIns = checkIns
    this.#claims = newClaims(this, requests, checkIns)
    checkIns.join(this)
    this.#deadPages = new DeadPages(this.owner, async (dead) => {
      const holders = await this.update((before) => {
        const state = writeOffPages(before, dead)
        return [state, pagesOf(state)]
      })
      this.notify()
      if (dead.size > 0) checkIns.retryNow()
      return holders
    })
  }

  exchange(request: Exchange): Promise<Answer<Exchanged>> {
    return this.#answer(() => this.#exchange(request))
  }

  claim(want: number, request?: Exchange): Promise<Answer<Exchanged>> {
    const { owner, waiting, shared } = this
    return this.#answer(async () => {
      const waiter = request && waiting.add(request, 'claim')
      const failure = await this.#claims.ask(request ? enough(want, shared.reserve) : want)
      if (waiter) waiting.remove(waiter)
      const isClosing = owner.signal.aborted
      if (waiter?.given) return this.#give(waiter.request, waiter.given)
      if (failure && !(await this.#gather())) return { failure }
      if (!waiter) return NOTHING
      return this.#exchange(isClosing ? unwanted(waiter.request) : waiter.request)
    })
  }

  parkExcess(): Promise<void> {
    return this.callbacks.parkExcess(this.target)
  }

  reserve(count: number, isCancelled: () => boolean): Promise<Answer<object>> {
    const { fillings } = this
    return this.#answer(async () => {
      // guard: H35 what is reserved is stored
      await this.#untilOpen()
      fillings.push(count)
      try {
        while (
          !(await this.update((state) => (isCancelled() ? [state, false] : filled(state, count))))
        ) {
          if (isCancelled()) return { failure: CANCELLED }
          const failure = await this.#claims.ask(count)
          if (failure) return { failure }
        }
        return {}
      } finally {
        fillings.splice(fillings.indexOf(count), 1)
      }
    })
  }

  /** Once it has resolved, nothing is claimed any more. */
  beginRelease(): Promise<Answer<object>> {
    return this.#answer(async () => {
      if (!this.owner.isOnline()) return { failure: SWITCHED_OFF }
      await this.#untilOpen()
      // guard: H25 all tabs know that everything was released
      await this.update((state) => [{ ...state, isReleased: true }, undefined])
      await this.#claims.finish()
      return {}
    })
  }

  /** @param failure why not everything was given back */
  endRelease(failure: Failure | undefined): Promise<Answer<object>> {
    return this.#answer(async () => {
      if (!failure) this.failure = undefined
      const end = failure ? asked : withoutReserve
      await this.update((state) => [end(state), undefined])
      return failure ? { failure } : {}
    })
  }

  startOver(): Promise<Answer<object>> {
    return this.#answer(async () => {
      const now = this.owner.world.date()
      await this.#untilOpen()
      await this.update((state) => [startOver(state, now), undefined])
      this.failure = undefined
      this.notify()
      return {}
    })
  }

  /** Until now, ids were in memory. The stored state is used now, as at a start. */
  openedLate(): void {
    // guard: H35 a storage that opens late may be a copy: the server is asked first
    this.start = 'open'
    this.notify()
    this.owner.run(this.#move())
  }

  inspect(): Promise<Answer<{ state: DeviceState }>> {
    return this.#answer(async () => ({ state: await this.read() }))
  }

  /** The network may be back: failed requests are sent again now. */
  retryNow(): void {
    this.#claims.retryNow()
    this.checkIns.networkMayBeBack()
    this.owner.run(this.#topUpInAdvance())
    this.notify()
  }

  async #untilOpen(): Promise<void> {
    const { store, world } = this.owner
    await store
    await world.untilOpen()
  }

  /** If it fails, the next transaction moves the numbers from memory. */
  async #move(): Promise<void> {
    await this.update((state) => [{ ...state }, undefined])
    this.notify()
    this.checkIns.retryNow()
    // The page was to give back all that it had in memory.
    await this.parkExcess()
  }

  async #answer<T>(work: () => Promise<T | { failure: Failure }>): Promise<Answer<T>> {
    try {
      const result = await this.owner.run(work())
      return { view: this.view(), ...result }
    } catch (error) {
      return { view: this.view(), failure: toFailure(error, 'storage-failed') }
    }
  }

  /** A claim that fails is repeated later. */
  #topUp(unmet = 0): void {
    const want = topUp(this.shared, this.inMemory, unmet)
    if (want > 0 && !this.#claims.isPaused()) this.#claims.askInBackground(want)
  }

  /** No caller waits, so it looks first whether a check-in or killed pages bring numbers back. */
  async #topUpInAdvance(): Promise<void> {
    await this.#deadPages.idle()
    await this.checkIns.idle()
    this.#topUp()
  }

  async #exchange(request: Exchange): Promise<Exchanged> {
    const { owner, waiting } = this
    waiting.cancel(request.notes)
    const waiter = waiting.add(request, 'turn')
    try {
      await owner.store
      if (request.want > 0) await this.#asking
      // guard: H4 a page that has gone is leased nothing by an exchange that comes to its turn late
      const now = () => waiter.request
      const given = await this.update<Given | undefined>((state, around) =>
        this.#waits(now()) ? [state, undefined] : lease(state, now(), around),
      )
      return given ? this.#give(request, given) : this.#askFirst(waiter.request)
    } finally {
      waiting.remove(waiter)
    }
  }

  #waits({ want }: Exchange): boolean {
    const { isOnline, signal } = this.owner
    if (want === 0 || signal.aborted) return false
    const [start, waits] = wanted(this.start, isOnline())
    this.start = start
    // guard: H32 nothing is leased to any page before the answer
    return waits
  }

  /**
   * A device that starts may be a copy, or may have gone back: it asks the server before it leases
   * stored numbers. The step that stores the answer also leases.
   */
  async #askFirst(request: Exchange): Promise<Exchanged> {
    const { waiting } = this
    const waiter = waiting.add(request, 'check-in')
    const served = new Promise<void>((resolve) => {
      waiter.served = resolve
    })
    this.#asking ??= this.#ask()
    await Promise.race([served, this.#asking])
    waiting.remove(waiter)
    return waiter.given ? this.#give(request, waiter.given) : this.#exchange(waiter.request)
  }

  /** Resolves when the server has said whether this device is a copy, or a second has passed. */
  async #ask(): Promise<void> {
    // The page has yet to hear of numbers that are lost to a copy now.
    this.notify()
    let cancel = () => {}
    const late = new Promise<void>((resolve) => {
      // guard: H32 a server that does not answer is not waited for
      cancel = this.owner.after(ASK_MS, resolve)
    })
    await Promise.race([late, this.#checkInFirst().catch(() => {})])
    cancel()
    this.start = ended(this.start)
  }

  async #checkInFirst(): Promise<void> {
    // guard: H32 a claim of an earlier session does not hide a copy
    if (await this.update((state) => [state, claimsFirst(state)])) await this.#claims.ask(0)
    await this.checkIns.ask(this)
  }

  /**
   * The transaction is complete. Now that the device has fewer numbers, it may claim or check in.
   */
  #give(request: Exchange, { pages, isDue, ...given }: Given): Exchanged {
    const unmet = request.want - total(given.leases.map(({ range }) => range))
    if (unmet > 0) this.#topUp(unmet)
    this.checkIns.start(this, isDue)
    this.checkIns.planReport()
    pages.delete(request.page)
    this.#deadPages.search(pages)
    // guard: H25 a page that asks for no number makes no claim
    if (request.want > 0 && unmet <= 0) this.owner.run(this.#topUpInAdvance())
    return given
  }

  /**
   * Asks the device's other pages to park numbers that they do not need.
   * @returns whether there is something to lease now
   */
  async #gather(): Promise<boolean> {
    const { owner, name } = this
    const holders = await this.update((state) => [state, pagesOf(state)])
    if (!(await owner.tabs?.askToPark(name, holders))) return false
    return this.update((state) => [state, !state.stopped && state.ranges.length > 0])
  }
}

const NOTHING: Exchanged = { leases: [], offers: [], outstanding: [] }
