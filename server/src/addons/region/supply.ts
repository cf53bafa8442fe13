/**
 * One collection of a region: takes numbers from the region's device for its ledger. Guarantees
 * that a number leaves the device for good, in a transaction of its own, before the ledger gets it.
 * After a crash in between, the numbers that were just taken are a gap.
 */
import { type Failure, toFailure } from '../../../../src/core/errors.js'
import type { CheckInAnswer, CheckInRequest } from '../../../../src/core/wire.js'
import { applyCheckIn, beginCheckIn } from '../../../../src/device/check-in.js'
import type { Owner, Target } from '../../../../src/device/contract.js'
import { settle } from '../../../../src/device/device.js'
import type { DeviceStore, StoreKey } from '../../../../src/device/device-store.js'
import {
  answered,
  ask,
  cancel,
  exit,
  newPage,
  type Page,
  takeAll,
  usedUp,
} from '../../../../src/device/page/page.js'
import { nameOf } from '../../../../src/device/page-notes.js'
import type { DeviceState } from '../../../../src/device/state.js'
import { readState, step } from '../../../../src/device/stored.js'
import { hear } from '../../../../src/device/which-ledger.js'
import type { Source } from '../../../../src/source/source.js'
import type { CollectionKey, LedgerNames, UpstreamRange } from '../../ledger/ledger.js'
import { UpstreamUnavailable } from '../../ledger/ledger-errors.js'
import { turns } from '../../ledger/turns.js'
import { Pacer, upstreamFailure } from '../upstream/authority.js'
import { betweenTwoRoots, heldState, ledBack } from './root-names.js'

/** The pause after an answer that cannot be used. */
const PAUSE_MS = 10_000
/** While numbers go fast, the device keeps this many times the last demand. */
const SECONDS_AHEAD = 10

export interface SupplyContext {
  owner: Owner
  devices: DeviceStore
  source: Source
  /** The ledger grants nothing of it: another copy of this region may have it, too. */
  copied(key: CollectionKey): Promise<void>
  /** Of which ledgers the region's numbers of a database are. Undefined: it has no numbers. */
  ledgers(database: string): Promise<LedgerNames | undefined>
  /** Of this process. */
  page: string
  /** By the name of a collection: the check-in of this process's start. The owner asks no more. */
  answers: Record<string, string>
  newId(): string
}

export class Supply {
  readonly #context: SupplyContext
  readonly #target: Target
  readonly #key: StoreKey
  #ready: Promise<void> | undefined
  /** Of the numbers that the ledger got, or knows. */
  #highest = 0
  #failedAt = Number.POSITIVE_INFINITY
  #exchanges = 0
  /** One after the other, so that no call takes numbers that another one has just claimed. */
  readonly #inTurn = turns()
  /** Holds nothing between two calls: its leases go to the ledger at once. */
  readonly #page: Page
  readonly #pacer = new Pacer()
  /** The device's reserve. */
  #reserve: number

  constructor(context: SupplyContext, target: Target, key: StoreKey) {
    this.#context = context
    this.#target = target
    this.#key = key
    this.#reserve = target.reserve
    this.#page = newPage(context.page)
  }

  /** Has it taken nothing from the device yet? */
  isUnused = (): boolean => this.#exchanges === 0

  /**
   * Checks in with the root before anything is granted, so that a copy of this region is found. A
   * root that does not answer is not waited for.
   * @throws CounterUnusable when the root is not the one that it was
   */
  ready(): Promise<void> {
    if (performance.now() - this.#failedAt > PAUSE_MS) {
      this.#ready = undefined
      this.#failedAt = Number.POSITIVE_INFINITY
    }
    this.#ready ??= this.#start().catch((error) => {
      this.#failedAt = performance.now()
      throw error
    })
    return this.#ready
  }

  /**
   * `count` numbers or more; fewer where the root does not grant so many.
   * @param max how far the ledger has come. A floor may have been raised above all that came
   * @throws UpstreamUnavailable when there are none, and the root does not answer
   * @throws CounterUnusable when there are none, and the root's answer cannot be used
   */
  take(count: number, max: number): Promise<UpstreamRange[]> {
    return this.#inTurn('', () => this.#take(count, max))
  }

  async #take(count: number, max: number): Promise<UpstreamRange[]> {
    if (this.isUnused()) await this.#nameRoot()
    if (max > this.#highest) await this.#goOnAbove(max)
    const wanted = this.#pace(count)
    const ranges = await this.#lease(wanted)
    let missing = count - sizeOf(ranges)
    while (missing > 0) {
      const answer = await this.#context.owner.claim(this.#target, missing)
      if ('failure' in answer) {
        if (ranges.length > 0) break
        throw this.#unusable(answer.failure)
      }
      const more = await this.#lease(missing)
      if (more.length === 0) break
      ranges.push(...more)
      missing -= sizeOf(more)
    }
    this.#pacer.came(sizeOf(ranges), performance.now())
    return ranges
  }

  /** Gives back the numbers above the reserve. If the root does not answer, they stay here. */
  async close(): Promise<void> {
    const { source } = this.#context
    if (!source.giveBack) return
    if (this.#reserve !== this.#target.reserve) await this.#fillUp(this.#target.reserve)
    const failure = await this.#exchange(0, true)
    if (failure) return
    const offered = exit(this.#page, this.#newExchange(), true, undefined, false)
    if (offered.length === 0) return
    await this.#exchange(0)
    for (const range of offered.toReversed()) await source.giveBack(this.#target, range)
  }

  async #start(): Promise<void> {
    const { owner, devices, source, newId, answers } = this.#context
    const { stored } = await devices.read(this.#key)
    // The device sets a record that cannot be read aside.
    if (stored === undefined || 'refused' in readState(stored)) return
    // Nobody can tell which of a killed process's numbers reached the ledger.
    await this.#update((state) => [settle(state, state.leases.map(usedUp)), undefined])
    let isClaimSent = false
    for (let isNew = source.checkIn === undefined; !isNew; ) {
      const id = newId()
      const { request, isLater } = await this.#update((state) => {
        const { state: next, ...begun } = beginCheckIn(state, id)
        return [next, begun as Omit<ReturnType<typeof beginCheckIn>, 'state'>]
      })
      // A copy may send a claim that has no answer, too, and get the same: check in after it.
      // guard: H13 a region with a claim under way checks in, too
      if (isLater && !isClaimSent) {
        isClaimSent = true
        await owner.claim(this.#target, 0)
        continue
      }
      if (isLater) return
      if (request) {
        const answer = await this.#checkIn(request)
        if (answer === 'followed') continue
        if (!answer) return
        await this.#update((state) => [
          ledBack(applyCheckIn(state, request.id, answer, Date.now()), answer.ledger),
          undefined,
        ])
      }
      // A check-in of an earlier process may have been sent by a copy of it, too.
      isNew = !request || request.id === id
      if (request && isNew) answers[nameOf(this.#key)] = id
      // If the device holds no number, it shows nothing: a copy cannot be told from it.
      // guard: H13 a region that shows nothing grants nothing of what came back to it
      if (isNew && !request?.grants.length) await this.#context.copied(this.#target)
    }
  }

  /** @returns undefined when the root does not answer */
  async #checkIn(request: CheckInRequest): Promise<CheckInAnswer | 'followed' | undefined> {
    try {
      return await this.#context.source.checkIn!(this.#target, request)
    } catch (error) {
      const { ledger, ...told } = toFailure(error, 'server-unreachable')
      const { isStopped, isFollowed } = await this.#update((state) => {
        const follows = ledger && request.ledgers?.[ledger.tag]
        const heard = ledger ? hear(state, { ...ledger, follows }, Date.now()) : state
        const isStopped = heard.stopped !== undefined
        return [heard, { isStopped, isFollowed: heard !== state && !isStopped }]
      })
      if (isFollowed) return 'followed'
      const failure = upstreamFailure(told)
      // Between two roots it waits for the answer, which says whether it is led back.
      if (failure instanceof UpstreamUnavailable && !isStopped) return undefined
      throw failure
    }
  }

  /** A collection that is new here has the root of the others. */
  async #nameRoot(): Promise<void> {
    const { devices, source, ledgers } = this.#context
    // An etcd has no name.
    if (!source.checkIn || (await heldState(devices, this.#key)).ledgers) return
    const names = await ledgers(this.#target.database)
    // guard: H34 a region takes no number of a second root
    if (names) await this.#update((state) => [{ ...state, ledgers: names }, undefined])
  }

  /** The root is told so with the next claim, and grants above. */
  async #goOnAbove(max: number): Promise<void> {
    // etcd has floors of its own.
    if (this.#context.source.checkIn)
      await this.#update((state) => [
        state.issued >= max ? state : { ...state, issued: max },
        undefined,
      ])
    this.#highest = max
  }

  /** How many numbers to take at once. While they go fast, the device keeps more at hand. */
  #pace(count: number): number {
    const wanted = this.#pacer.take(count, performance.now())
    const keep = this.#pacer.isFast ? SECONDS_AHEAD * wanted : 0
    if (keep > this.#reserve || keep < this.#reserve / 4) this.#keep(keep)
    return wanted
  }

  #keep(count: number): void {
    const reserve = Math.max(count, this.#target.reserve)
    if (reserve === this.#reserve) return
    this.#reserve = reserve
    // In the background: waiting callers take the numbers that are there.
    this.#fillUp(reserve).catch(() => {})
  }

  #fillUp(count: number): Promise<unknown> {
    const { owner, page } = this.#context
    return owner.reserve(page, [{ target: this.#target, count }])
  }

  async #lease(want: number): Promise<UpstreamRange[]> {
    const failure = await this.#exchange(want)
    if (failure) throw this.#unusable(failure)
    const taken = takeAll(this.#page)
    this.#highest = Math.max(this.#highest, ...taken.map(({ to }) => to))
    const { database, collection } = this.#target
    return taken.map(({ from: low, to: high, serverTag: node }) => {
      return { database, collection, low, high, node }
    })
  }

  async #exchange(want: number, offer = false): Promise<Failure | undefined> {
    const request = ask(this.#page, { id: this.#newExchange(), want, offer })
    const answer = await this.#context.owner.exchange(this.#target, request)
    if ('failure' in answer) {
      cancel(this.#page, request.id)
      return answer.failure
    }
    const [isUnused] = answered(this.#page, request, answer)
    return isUnused ? this.#exchange(0) : undefined
  }

  #newExchange = (): string => `${this.#context.page}.${++this.#exchanges}`

  #update<T>(change: (state: DeviceState) => [DeviceState, T]): Promise<T> {
    const key = this.#key
    return this.#context.devices.update(key, (...of) => step(key[2], ...of, change))
  }

  #unusable(failure: Failure): Error {
    const { collection } = this.#target
    if (failure.code === 'other-ledger') return betweenTwoRoots(collection)
    return upstreamFailure(failure, `No numbers of '${collection}' are left here.`)
  }
}

const sizeOf = (ranges: readonly UpstreamRange[]): number =>
  ranges.reduce((sum, { low, high }) => sum + high - low + 1, 0)
