/**
 * The owner's work on one collection. It keeps no number in memory: whatever it answers was durable
 * before (order law), and whatever it forgets costs a gap at most.
 */
import { isCheckInDue } from '../core/check-in.js'
import type {
  Answer,
  DeviceView,
  OwnerCallbacks,
  Release,
  Reserve,
  SharedView,
  Target,
} from '../core/contract.js'
import { exchange, setAside, settle, surplus, takeBack } from '../core/device.js'
import { type Failure, toFailure } from '../core/errors.js'
import { total } from '../core/range.js'
import { isLow } from '../core/sizes.js'
import { type DeviceState, type Exchange, type Exchanged, emptyState } from '../core/state.js'
import { readState } from '../core/stored.js'
import { pagesOf, writeOffPages } from '../core/write-off.js'
import type { DeviceStore, StoreKey } from '../store/store.js'
import { CheckIns } from './check-ins.js'
import { Claims, SWITCHED_OFF } from './claims.js'
import type { OwnerContext, Update } from './context.js'
import { PAGE_ANSWER_MS } from './tabs.js'
import type { World } from './world.js'

export class OwnedCollection {
  readonly #world: World
  readonly #context: OwnerContext
  readonly #target: Target
  readonly #key: StoreKey
  /** Of the key, as text. */
  readonly #name: string
  readonly #callbacks: OwnerCallbacks
  readonly #claims: Claims
  readonly #checkIns: CheckIns
  /** Everything was given back; nothing is claimed until somebody asks for ids again. */
  #isReleased = false
  #hasSearched = false
  #cancelPageSearch: (() => void) | undefined
  /** Resolves when it is known which of the device's pages live. */
  #pageSearch: Promise<void> | undefined
  /** What a status shows of the last state seen. Never used to decide who owns a number. */
  #shared: SharedView
  /**
   * Offered numbers of a storage that nobody else can see: all that is free is offered there, and
   * is no less at hand.
   */
  #inMemory = 0
  #refreshing: Promise<void> = Promise.resolve()
  /** What happened to the stored state in this session. */
  #notice: Failure | undefined

  constructor(
    world: World,
    context: OwnerContext,
    key: StoreKey,
    name: string,
    target: Target,
    callbacks: OwnerCallbacks,
  ) {
    this.#world = world
    this.#context = context
    this.#key = key
    this.#name = name
    this.#target = target
    this.#callbacks = callbacks
    this.#shared = { free: 0, reserve: target.reserve, surplus: 0, gaps: emptyState().gaps }
    const update: Update = (change) => this.#update(change)
    const notify = () => this.#notify()
    this.#claims = new Claims(world, context, target, name, update, () => {
      // The authority may have granted less than was asked for.
      if (!this.#claims.failure) this.#topUp()
      notify()
    })
    this.#checkIns = new CheckIns(
      world,
      context,
      target,
      `offline-hilo ${name} check-in`,
      update,
      notify,
    )
  }

  exchange(request: Exchange): Promise<Answer<Exchanged>> {
    return this.#answer(async () => {
      const { store: opened, tabs } = this.#context
      const store = await opened
      // What a busy page sets aside its busy neighbours would have to ask it for. When it rests it
      // comes again.
      const offer = request.offer && (request.want === 0 || !tabs || tabs.isAlone())
      const { pages, isDue, ...given } = await this.#update((state, reserve) => {
        const { state: next, ...answer } = exchange(
          state,
          { ...request, offer },
          this.#keep(store, state, reserve),
        )
        return [
          next,
          { ...answer, pages: pagesOf(next), isDue: isCheckInDue(next, this.#world.date()) },
        ]
      })
      if (request.want > 0) this.#isReleased = false
      const unmet = request.want - total(given.leases.map(({ range }) => range))
      if (unmet > 0) this.#topUp(unmet)
      this.#checkIns.start(isDue)
      this.#findDeadPages(pages, request.page)
      if (unmet <= 0) this.#topUpInAdvance()
      return given
    })
  }

  claim(want: number): Promise<Answer<object>> {
    return this.#answer(async () => {
      const failure = await this.#claims.ask(want)
      return failure && !(await this.#gather()) ? { failure } : {}
    })
  }

  parkExcess(): Promise<void> {
    return this.#callbacks.parkExcess(this.#target)
  }

  reserve({ page, takeBack: ids, count }: Reserve): Promise<Answer<object>> {
    return this.#answer(async () => {
      await this.#update((state) => [{ ...takeBack(state, page, ids), reserve: count }, undefined])
      while (this.#shared.free < count) {
        const failure = await this.#claims.ask(count)
        if (failure) return { failure }
      }
      return {}
    })
  }

  release({ page, id, notes, takeBack: ids }: Release): Promise<Answer<object>> {
    return this.#answer(async () => {
      if (!this.#context.isOnline()) return { failure: SWITCHED_OFF }
      this.#isReleased = true
      await this.#claims.finish()
      const { source } = this.#context
      await this.#checkIns.apart(async () => {
        const offers = await this.#update((state) => {
          const { reserve: _, ...settled } = takeBack(settle(state, notes), page, ids)
          const aside = setAside(settled, page, id, source.giveBack ? 0 : Number.POSITIVE_INFINITY)
          // Sent from here on, as far as anyone can know (H8).
          const sent = aside.offers.map((offer) => ({
            lease: offer.id,
            next: offer.range.from,
            givenBack: true as const,
          }))
          return [settle(aside.state, sent), aside.offers]
        })
        // Highest first: the server's counter can only step back from its end. One that fails is
        // not sent again.
        for (const { range } of offers.reverse())
          await source.giveBack!(this.#target, range).catch(() => {})
      })
      this.#checkIns.retryNow()
      return {}
    })
  }

  /** Another tab's transaction changed what this device holds. */
  onChangeElsewhere(shared: SharedView): void {
    this.#shared = shared
    this.#notify()
    this.refresh()
  }

  /** One read for whoever looks on: what the next transaction would find. */
  inspect(): Promise<Answer<{ state: DeviceState }>> {
    return this.#answer(async () => {
      const store = await this.#context.store
      const { stored, notes } = await store.read(this.#key)
      return { state: settle(usable(readState(stored)), notes) }
    })
  }

  /**
   * Tells how things stand, if that is watched; one look after the other, so that an older state
   * never comes after a newer one.
   */
  refresh(): void {
    if (!this.#context.isWatched()) return
    this.#refreshing = this.#refreshing.then(async () => {
      const answer = await this.inspect()
      if ('state' in answer) this.#callbacks.stored(this.#target, answer.state, answer.state)
    })
  }

  /** Connectivity may be back: try what waits. */
  retryNow(): void {
    this.#claims.resume()
    this.#checkIns.retryNow()
    this.#topUpInAdvance()
    this.#notify()
  }

  close(): void {
    this.#cancelPageSearch?.()
    this.#claims.stop()
    this.#checkIns.stop()
  }

  view(): DeviceView {
    const failure = this.#claims.failure ?? this.#notice
    const { isReachable, isUnderWay } = this.#claims
    return {
      ...this.#shared,
      isClaiming: isUnderWay,
      storage: this.#context.storageKind(),
      ...(failure && { failure }),
      ...(isReachable !== undefined && { isReachable }),
    }
  }

  /** How many numbers are kept when the surplus is set aside to go back. */
  #keep(store: DeviceStore, { ranges }: DeviceState, reserve: number): number {
    const mayGoBack = this.#isHeard(store) || ranges.every(({ token }) => token !== undefined)
    if (!this.#context.source.giveBack || !mayGoBack) return Number.POSITIVE_INFINITY
    return store.isDurable ? reserve : 0
  }

  /**
   * Will this page hear that another node has answered another page? If not, it gives nothing back
   * without a token: it could be the wrong node's (H9).
   */
  #isHeard({ isDurable }: DeviceStore): boolean {
    return this.#context.tabs !== undefined || !isDurable
  }

  async #answer<T>(work: () => Promise<T | { failure: Failure }>): Promise<Answer<T>> {
    try {
      const result = await work()
      return { view: this.view(), ...(result as T) }
    } catch (error) {
      return { failure: toFailure(error, 'storage-failed') }
    }
  }

  /**
   * Claims in the background when the reserve runs low, or a page got `unmet` numbers too few.
   * Failing, it tries again later by itself.
   */
  #topUp(unmet = 0): void {
    const { free, reserve } = this.#shared
    if (!this.#isReleased && isLow(free + this.#inMemory, reserve) && !this.#claims.isPaused)
      this.#claims.askInBackground(Math.max(unmet, Math.ceil(reserve / 2)))
  }

  /** Nobody waits: what comes back by a check-in, or from pages that were killed, may be enough. */
  async #topUpInAdvance(): Promise<void> {
    await this.#pageSearch
    await this.#checkIns.idle()
    this.#topUp()
  }

  /**
   * Has the device's other pages park what they can spare. @returns whether there is something to
   * lease now
   */
  async #gather(): Promise<boolean> {
    const holders = await this.#update((state) => [state, pagesOf(state)])
    const wasAnyoneAsked = await this.#context.tabs?.askToPark(this.#name, holders)
    return wasAnyoneAsked ? this.#update((state) => [state, state.ranges.length > 0]) : false
  }

  #notify(): void {
    this.#callbacks.changed(this.#target, this.view())
  }

  /**
   * Once: pages that this device thinks live, but that do not answer when they are called, were
   * killed.
   */
  #findDeadPages(pages: Set<string>, own: string): void {
    const { tabs } = this.#context
    if (this.#hasSearched || !tabs) return
    this.#hasSearched = true
    pages.delete(own)
    if (pages.size === 0) return
    const called = new Promise<void>((resolve) => {
      this.#cancelPageSearch = this.#world.after(PAGE_ANSWER_MS, resolve)
    })
    this.#pageSearch = called
      .then(() => this.#writeOffPages(new Set([...pages].filter((each) => !tabs.isAlive(each)))))
      .catch(() => {})
  }

  async #writeOffPages(dead: Set<string>): Promise<void> {
    if (dead.size === 0) return
    await this.#update((state) => [writeOffPages(state, dead), undefined])
    this.#notify()
    this.#checkIns.retryNow()
  }

  /**
   * Notes that pages left are settled first; a record that cannot be used is set aside and
   * replaced.
   */
  async #update<T>(change: (state: DeviceState, reserve: number) => [DeviceState, T]): Promise<T> {
    const store = await this.#context.store
    const { result, shared, inMemory, stages } = await store.update(this.#key, (stored, notes) => {
      const read = readState(stored)
      if ('refused' in read) this.#notice = unusable(read.refused)
      const before = settle(usable(read), notes)
      const [state, result] = change(before, before.reserve ?? this.#target.reserve)
      if (state.gaps.fork > before.gaps.fork) this.#notice = FORKED
      const { ranges, reserve = this.#target.reserve, gaps, checkedIn, serverTag, nodes } = state
      const shared: SharedView = {
        free: total(ranges),
        reserve,
        surplus: store.isDurable ? surplus(state, this.#keep(store, state, reserve)) : 0,
        gaps,
        ...(checkedIn !== undefined && { checkedIn }),
        ...(serverTag !== undefined && this.#isHeard(store) && { serverTag }),
        ...(nodes && nodes.length > 1 && { mixedNodes: nodes }),
      }
      const inMemory = store.isDurable ? 0 : total(state.offers.map(({ range }) => range))
      const stages = this.#context.isWatched() ? ([before, state] as const) : undefined
      return {
        state,
        result: { result, shared, inMemory, stages },
        ...('refused' in read && { setAside: stored }),
      }
    })
    this.#shared = shared
    this.#inMemory = inMemory
    if (store.isDurable) this.#context.tabs?.notify(this.#name, shared)
    if (stages) this.#callbacks.stored(this.#target, ...stages)
    return result
  }
}

const usable = (read: ReturnType<typeof readState>): DeviceState =>
  'refused' in read ? emptyState() : read.state

const unusable = (why: string): Failure => ({
  code: 'storage-failed',
  message:
    `The stored ranges could not be used: ${why}. They were set aside in the object store ` +
    '"set-aside" and new ones are claimed; their numbers are a gap.',
})

const FORKED: Failure = {
  code: 'forked',
  message:
    'The storage of this device is a copy of one that went on elsewhere. Its ranges were dropped and new ones are claimed. ' +
    'Ids made here since the copy was taken may exist twice: compare them.',
}
