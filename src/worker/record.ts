/**
 * The stored record of one collection: every transaction on it, and the view after the last one. It
 * keeps no number in memory: everything that a page gets is stored first (order law), so losing
 * this memory costs a gap at most.
 */
import type { Failure } from '../core/errors.js'
import { isNoAnswer } from '../core/failures.js'
import { total } from '../core/range.js'
import { asksFirst, reportIn, withUse } from '../device/check-in.js'
import type { DeviceView, OwnerCallbacks, SharedView, Target } from '../device/contract.js'
import type { Surroundings } from '../device/owner/lease.js'
import { heardElsewhere, noticeOf, show } from '../device/owner/shown.js'
import { found, type Start } from '../device/owner/start.js'
import { type Waiter, Waiting } from '../device/owner/waiting.js'
import { nameOf } from '../device/page-notes.js'
import { declare, reserveOf } from '../device/reserve.js'
import { type DeviceState, emptyState } from '../device/state.js'
import { step } from '../device/stored.js'
import type { StoreKey } from '../store/store.js'
import type { OwnerContext } from './context.js'

/** Happens inside one transaction. */
type Event<T> = (state: DeviceState, around: Surroundings) => [DeviceState, T]

export class CollectionRecord {
  /** Names the collection in locks and messages of this device. */
  readonly name: string
  readonly waiting = new Waiting()
  /** Up to these numbers a `reserve` that is under way fills the device. */
  readonly fillings: number[] = []
  start: Start = 'open'
  /** The id of the claim that this owner has begun: no copy of the storage repeats it. */
  ownClaim: string | undefined
  isClaiming = false
  /** Why the last claim failed, as the status shows it. */
  failure: Failure | undefined
  /** The last state that was read, as a status shows it. */
  shared: SharedView
  /**
   * How many numbers a storage in memory offers. No other page sees that storage, so everything
   * in it is offered, and counts as free: its 40 numbers are 40 offered and 40 free.
   */
  inMemory = 0
  /** In how many milliseconds the server should hear of new leases; undefined: it has. */
  reportIn: number | undefined
  /** The last check-in that was answered to this owner. */
  #answered: string | undefined
  /** The failure of the stored state while this owner ran. */
  #notice: Failure | undefined
  #refreshing: Promise<void> = Promise.resolve()
  readonly owner: OwnerContext
  readonly target: Target
  readonly callbacks: OwnerCallbacks
  readonly #key: StoreKey
  /** Of the collection's database. */
  readonly #server: { readonly isAnswered: boolean }

  constructor(
    owner: OwnerContext,
    key: StoreKey,
    target: Target,
    callbacks: OwnerCallbacks,
    server: { readonly isAnswered: boolean },
  ) {
    this.owner = owner
    this.target = target
    this.name = nameOf(key)
    this.#key = key
    this.callbacks = callbacks
    this.#server = server
    this.shared = { free: 0, reserve: target.reserve, surplus: 0, gaps: emptyState().gaps }
  }

  filledTo(reserve: number): number {
    return Math.max(reserve, ...this.fillings)
  }

  /** Has the server to be asked at this start whether the device is a copy, and was it not yet? */
  asks(state: DeviceState): boolean {
    return this.start !== 'over' && this.#hasToAsk(state)
  }

  /**
   * One transaction. It settles the notes that pages left, and sets a record that cannot be used
   * aside. It tells other tabs only if something changed.
   */
  async update<T>(event: Event<T>): Promise<T> {
    const { owner, target } = this
    const { source, tabs, world } = owner
    const store = await owner.store
    const { result, seen, stages, isChanged } = await store.update(this.#key, (stored, notes) => {
      this.waiting.cancel(notes)
      const date = world.date()
      const around = (state: DeviceState): Surroundings => {
        const reserve = reserveOf(state, target.reserve)
        const most = store.isDurable ? this.filledTo(reserve) : 0
        return {
          date,
          reserve,
          keep: source.giveBack ? most : Number.POSITIVE_INFINITY,
          isHeard: tabs !== undefined || !store.isDurable,
          isAlone: !tabs || tabs.isAlone(),
        }
      }
      const { before, refused, ...done } = step(this.#key[2], stored, notes, (settled) => {
        const before = declare(settled, target, date)
        this.start = found(this.start, this.#hasToAsk(before))
        const [changed, result] = event(before, around(before))
        return [withUse(before, changed), result]
      })
      const { state, result } = done
      owner.served ??= state.nodes
      if (state.isPlain) source.wasPlain?.(target.database)
      if (state.answered !== before.answered) {
        // Only an owner whose own check-in was answered stores that.
        this.#answered = state.answered
        this.start = found(this.start, false)
      }
      this.#notice = noticeOf(before, state, refused) ?? this.#notice
      const seen = {
        shared: show(state, around(state)),
        inMemory: store.isDurable ? 0 : total(state.offers.map(({ range }) => range)),
        reportIn: reportIn(state, date),
      }
      const stages = [before, state] as const
      return { ...done, result: { result, seen, stages, isChanged: state !== stored } }
    })
    Object.assign(this, seen)
    if (!isChanged) return result
    if (store.isDurable) tabs?.notify(this.name, seen.shared)
    if (owner.isWatched()) this.callbacks.stored(target, ...stages)
    return result
  }

  /** As `update`, and leases to the pages that wait for this, if enough is free then. */
  async updateAndServe<T>(what: Waiter['for'], event: Event<T>): Promise<T> {
    const [result, served] = await this.update((before, around) => {
      const [changed, result] = event(before, around)
      const [state, served] = this.waiting.serve(what, changed, around)
      return [state, [result, served] as const]
    })
    served()
    return result
  }

  /** One read of the state that the next transaction would find. */
  async read(): Promise<DeviceState> {
    const store = await this.owner.store
    const { stored, notes } = await store.read(this.#key)
    return step(this.#key[2], stored, notes, (state) => [state, undefined]).state
  }

  onChangeElsewhere(shared: unknown): void {
    this.shared = heardElsewhere(this.shared, shared)
    this.notify()
    this.refresh()
  }

  /**
   * Tells the page how things stand, if it watches. One read after the other, so that an older
   * state never comes after a newer one.
   */
  refresh(): void {
    if (!this.owner.isWatched()) return
    const refreshed = this.#refreshing.then(async () => {
      const state = await this.owner.run(this.read()).catch(() => undefined)
      if (state) this.callbacks.stored(this.target, state, state)
    })
    this.#refreshing = this.owner.run(refreshed)
  }

  /** The status of the collection has changed. */
  notify(): void {
    if (!this.owner.signal.aborted) this.callbacks.changed(this.target, this.view())
  }

  view(): DeviceView {
    const { failure } = this
    return {
      // A newer page may show more: all that it does not decide stands below.
      ...this.shared,
      order: this.owner.nextView(),
      isClaiming: this.isClaiming,
      isReachable: this.#server.isAnswered && !(failure && isNoAnswer(failure)),
      storage: this.owner.storageKind(),
      isInBucket: this.owner.world.isInBucket?.(),
      failure,
      notice: this.#notice,
      answered: this.#answered,
    }
  }

  #hasToAsk(state: DeviceState): boolean {
    return asksFirst(state, this.owner.answers[this.name], this.ownClaim)
  }
}
