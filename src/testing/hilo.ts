/**
 * A `Hilo` for the app's own tests. Guarantees that the same calls make the same ids in every run:
 * it has no worker, no storage, no network and no timers. What a real one does in the background
 * is done at once, or in a microtask.
 */

import type { Batch } from '../client/batch.js'
import {
  type Counts,
  type IdentityOptions,
  type ReleaseArgs,
  type ReserveArgs,
  type ReserveOptions,
  readIdentity,
  readRelease,
  readReserve,
} from '../client/call-args.js'
import { Events } from '../client/events.js'
import type { Hilo, IdOptions } from '../client/hilo.js'
import { aborted } from '../client/limited.js'
import {
  type Activity,
  type Inspection,
  inspectionOf,
  type Observer,
  observe,
} from '../client/observer.js'
import { type CollectionStatus, type HiloStatus, statusOf, statusOfAll } from '../client/status.js'
import type { WaitLimits } from '../client/waiters.js'
import type { SeriesAccess } from '../consecutive/index.js'
import { bindMethods } from '../core/bound.js'
import { fromFailure, HiloError, toFailure } from '../core/errors.js'
import { type CollectionRef, collectionOf } from '../core/names.js'
import {
  type CallLimits,
  type CheckedOptions,
  checkCall,
  checkCount,
  checkDatabase,
  checkListener,
  checkOptions,
  type HiloOptions,
  isPlain,
  type NamesOf,
} from '../core/options.js'
import { notReserved } from '../core/reserved.js'
import { PAGE, TestCollection, unreachable } from './collection.js'
import { type TestDevice, TestSeries } from './series.js'
import { TestServer } from './server.js'

/** What a test can make happen, besides what an app can. */
export interface TestSwitches {
  /** The server cannot be reached any more. Ids go on while the device has some. */
  disconnect(): void
  /** The server can be reached again, after {@link disconnect} and {@link exhaust}. */
  connect(): void
  /** The server cannot be reached, and no id is left on the device in any collection. */
  exhaust(): void
  /**
   * This device turns out to be a copy of another one: its ids are dropped, its series of
   * consecutive numbers end, and a `fork` event tells the app for each collection.
   */
  fork(): void
}

export type TestHilo<Name extends string = string> = Hilo<Name> & TestSwitches

/**
 * As `createHilo`, with the same options; of these, `url`, `headers`, `source`, `worker` and `name`
 * do nothing. Each instance is a device of its own with a server of its own, so its ids begin at 1:
 * `orders/1-A`. While it is online, the device always holds as many ids as its `reserve` says.
 *
 * @example
 * const hilo = createTestHilo({ collections: { orders: { reserve: 2 } } })
 * await hilo.nextId('orders') // 'orders/1-A'
 * hilo.disconnect()
 * await hilo.nextIds('orders', 2) // 'orders/2-A' and 'orders/3-A'; the next call is `exhausted`
 *
 * @throws HiloError `invalid-argument` when an option is wrong
 */
export function createTestHilo<Name extends string = string>(
  options: HiloOptions<Name> = {},
): TestHilo<NamesOf<Name>> {
  // Hilo is a class with private fields, and this is another one with the same methods.
  return new Instance<NamesOf<Name>>(options as HiloOptions) as unknown as TestHilo<NamesOf<Name>>
}

class Instance<Name extends string>
  extends EventTarget
  implements Pick<Hilo<Name>, keyof Hilo<Name>>, TestSwitches
{
  declare addEventListener: Hilo['addEventListener']
  declare removeEventListener: Hilo['removeEventListener']
  readonly ready: Promise<void>
  readonly #options: CheckedOptions
  readonly #server = new TestServer()
  readonly #collections = new Map<string, TestCollection>()
  /** By database and collection, of those that `consecutive` was asked for. */
  readonly #series = new Map<string, { collection: string; series: TestSeries }>()
  /** By database. */
  readonly #devices = new Map<string, TestDevice>()
  readonly #closing = new AbortController()
  readonly #observers = new Set<Observer>()
  readonly #events = new Events(this)
  readonly #changed = new Set<TestCollection>()
  #storage: HiloStatus['storage'] = 'best-effort'
  #isSwitchedOn = true
  #isConnected = true
  #identities = 0
  #closed: HiloError | undefined

  constructor(options: HiloOptions) {
    super()
    bindMethods(this)
    this.#options = checkOptions({ ...options, url: 'https://test.invalid' }, undefined)
    const listed = Object.keys(this.#options.collections).map((each) => this.#find(each))
    const untilLeased = { timeout: Number.POSITIVE_INFINITY }
    // In a microtask, so that a test can cut the server off before.
    this.ready = Promise.resolve()
      .then(() => Promise.all(listed.map((each) => each.when(1, () => {}, untilLeased))))
      .then(() => {})
    this.ready.catch(() => {})
  }

  get access(): SeriesAccess {
    return {
      options: this.#options,
      signal: this.#closing.signal,
      isSwitchedOn: () => this.#isOnline(),
      startOvers: [],
      find: (ref, database) => this.#named(ref, database),
      series: (database, collection) => {
        const name = JSON.stringify([database, collection])
        const device = this.#devices.get(database) ?? { links: [], last: Promise.resolve() }
        this.#devices.set(database, device)
        const known = this.#series.get(name) ?? { collection, series: new TestSeries(device) }
        this.#series.set(name, known)
        return known.series
      },
    }
  }

  async nextId(collection: CollectionRef<Name>, options?: IdOptions): Promise<string> {
    const found = this.#find(collection, options, 'timeout', 'signal')
    return found.when(1, () => found.nextId(), this.#limits(options))
  }

  async nextNumber(collection: CollectionRef<Name>, options?: IdOptions): Promise<number> {
    const found = this.#find(collection, options, 'timeout', 'signal')
    return found.when(1, () => found.nextNumber(), this.#limits(options))
  }

  nextIdSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): string {
    return this.#find(collection, options).nextId()
  }

  nextNumberSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): number {
    return this.#find(collection, options).nextNumber()
  }

  async nextIds(
    collection: CollectionRef<Name>,
    count: number,
    options?: IdOptions,
  ): Promise<string[]> {
    checkCount('count', count)
    const found = this.#find(collection, options, 'timeout', 'signal')
    const take = () => Array.from({ length: count }, () => found.nextId())
    return found.when(count, take, this.#limits(options))
  }

  async take(collection: CollectionRef<Name>, count: number, options?: IdOptions): Promise<Batch> {
    checkCount('count', count)
    const found = this.#find(collection, options, 'timeout', 'signal')
    return found.take(count, this.#limits(options))
  }

  async warm(collection: CollectionRef<Name>, count: number, options?: IdOptions): Promise<void> {
    checkCount('count', count)
    const found = this.#find(collection, options, 'timeout', 'signal')
    await found.when(count, () => {}, this.#limits(options))
  }

  reserve(collection: CollectionRef<Name>, count: number, options?: ReserveOptions): Promise<void>
  reserve(counts: Counts<Name>, options?: ReserveOptions): Promise<void>
  async reserve(...args: unknown[]): Promise<void> {
    const { counts, options } = readReserve(args as ReserveArgs, CHECKS)
    const found = counts.map(({ ref, count }) => ({
      of: this.#find(ref, options, 'timeout', 'signal'),
      count,
    }))
    this.#throwIfClosed()
    throwIfAborted(options.signal)
    const outcomes = found.map(({ of, count }) => {
      const error = of.fill(count)
      return { free: of.available, ...(error && { failure: toFailure(error, error.code) }) }
    })
    const targets = found.map(({ of: { target }, count }) => ({ target, count }))
    const failure = notReserved(targets, outcomes)
    if (failure) throw fromFailure(failure)
  }

  async nextIdentity(collection: CollectionRef, given?: IdentityOptions): Promise<number> {
    this.#throwIfClosed()
    const options = readIdentity(given, CHECKS)
    // No app can give a key with a control character.
    const { database = this.#options.database, key = `\n${++this.#identities}` } = options
    const name = collectionOf(collection, this.#options)
    checkDatabase(database, this.#options)
    throwIfAborted(options.signal)
    if (!this.#isOnline()) throw unreachable()
    return this.#server.nextIdentity(database, name, key)
  }

  status(): HiloStatus
  status(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): CollectionStatus
  status(
    collection?: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): HiloStatus | CollectionStatus {
    const isOnline = this.#isOnline()
    if (collection !== undefined) return statusOf(this.#find(collection, options).counted, isOnline)
    const all = Array.from(this.#collections.values(), ({ counted }) => counted)
    const { database } = this.#options
    return { ...statusOfAll(all, database, isOnline), storage: this.#storage }
  }

  async inspect(
    collection: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): Promise<Inspection> {
    const { state, target, queue } = this.#find(collection, options)
    this.#throwIfClosed()
    return inspectionOf(state, PAGE, target, queue)
  }

  watch(listener: (activity: Activity) => void): () => void {
    checkListener(listener)
    const observer = observe(PAGE, listener)
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  /** There is one server, and it stays the same. */
  async startOver(options?: Pick<IdOptions, 'database'>): Promise<void> {
    checkCall(options, 'database')
  }

  async persist(): Promise<boolean> {
    this.#storage = 'persistent'
    this.#events.status()
    return true
  }

  goOffline(): void {
    this.#isSwitchedOn = false
    this.#connectivityChanged()
  }

  goOnline(): void {
    this.#isSwitchedOn = true
    this.#connectivityChanged()
  }

  release(options?: Pick<IdOptions, 'signal'>): Promise<void>
  release(
    collection: CollectionRef<Name> | undefined,
    options?: Omit<IdOptions, 'timeout'>,
  ): Promise<void>
  async release(...args: unknown[]): Promise<void> {
    this.#throwIfClosed()
    const { ref, options } = readRelease(args as ReleaseArgs, CHECKS)
    const { database } = options
    const isMeant = ({ target }: TestCollection) =>
      (database ?? target.database) === target.database
    const released =
      ref === undefined
        ? [...this.#collections.values()].filter(isMeant)
        : [this.#find(ref, database === undefined ? undefined : { database })]
    throwIfAborted(options.signal)
    if (!this.#isOnline()) throw unreachable()
    for (const each of released) each.giveBack()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = new HiloError(
      'closed',
      'This Hilo was closed with `close()`; it makes no more ids. Create another one.',
    )
    this.#closing.abort(this.#closed)
    for (const each of this.#collections.values()) each.close(this.#closed)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  disconnect(): void {
    this.#isConnected = false
    this.#connectivityChanged()
  }

  connect(): void {
    this.#isConnected = true
    this.#connectivityChanged()
  }

  exhaust(): void {
    this.#server.isKnown = true
    this.#isConnected = false
    for (const each of this.#collections.values()) each.exhaust()
    this.#connectivityChanged()
  }

  fork(): void {
    for (const each of this.#collections.values()) {
      each.drop()
      this.#events.dispatch('fork', { collection: each.target.collection })
    }
    for (const { collection, series } of this.#series.values())
      if (series.fork()) this.#events.dispatch('fork', { collection })
  }

  #named(ref: CollectionRef, database = this.#options.database) {
    return {
      name: collectionOf(ref, this.#options),
      database: checkDatabase(database, this.#options),
    }
  }

  /** @param known what the call may be told, besides the database */
  #find(ref: CollectionRef, options?: CallLimits, ...known: (keyof CallLimits)[]): TestCollection {
    checkCall(options, ...known, 'database')
    const { collections, identityPartsSeparator: separator, formatId } = this.#options
    const { name: collection, database } = this.#named(ref, options?.database)
    const name = JSON.stringify([database, collection])
    const existing = this.#collections.get(name)
    if (existing) return existing
    const reserve = collections[collection]?.reserve ?? this.#options.reserve
    const found = new TestCollection(
      { database, collection, separator, reserve },
      {
        server: this.#server,
        formatId,
        isOnline: () => this.#isOnline(),
        unreachable: () => unreachable(this.#server.isKnown || !this.#isSwitchedOn),
        changed: (of) => this.#tellSoon(of),
        exhausted: (of, error) =>
          this.#events.dispatch('exhausted', { collection: of.target.collection, error }),
        stored: ({ target }, before, after) => {
          for (const observer of this.#observers) observer(target, before, after)
        },
      },
    )
    if (this.#closed) found.close(this.#closed)
    this.#collections.set(name, found)
    return found
  }

  #limits(options: IdOptions | undefined): WaitLimits {
    const { timeout = this.#options.timeout, signal } = options ?? {}
    return { timeout, signal }
  }

  #isOnline(): boolean {
    return this.#isSwitchedOn && this.#isConnected
  }

  #throwIfClosed(): void {
    if (this.#closed) throw this.#closed
  }

  #connectivityChanged(): void {
    if (this.#isOnline() && !this.#closed)
      for (const each of this.#collections.values()) each.reconnect()
    this.#events.status()
  }

  /** Once for everything that happens until the running code ends. */
  #tellSoon(changed: TestCollection): void {
    if (this.#changed.size === 0)
      queueMicrotask(() => {
        const all = [...this.#changed]
        this.#changed.clear()
        for (const each of all) this.#events.changed(each, statusOf(each.counted, this.#isOnline()))
        this.#events.status()
      })
    this.#changed.add(changed)
  }
}

const CHECKS = { checkCall, checkCount, isPlain, HiloError }

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(HiloError, signal, 'Nothing was done.')
}
