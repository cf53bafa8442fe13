/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The façade: the methods that an app calls. It checks the arguments, sends each call to its
 * collection's allocator, and loads the calls that are rare when they are made.
 */
import { baseUrl } from '../core/base-url.js'
import { bindMethods } from '../core/bound.js'
import { isPlain } from '../core/check-keys.js'
import { fromFailure, HiloError } from '../core/errors.js'
import { type CollectionRef, collectionOf } from '../core/names.js'
import { isSignal, onAbort } from '../core/on-abort.js'
import { openBucket } from '../device/bucket.js'
import type { OwnerCallbacks } from '../device/contract.js'
import {
  type CallLimits,
  type CheckedOptions,
  checkCall,
  checkCount,
  checkDatabase,
  checkListener,
  checkOptions,
  type HiloOptions,
} from '../device/hilo-options.js'
import type { Allocator } from './allocator.js'
import type { Batch } from './batch.js'
import type { Counts, IdentityOptions, ReserveArgs, ReserveOptions } from './call-args.js'
import { EVENTS, Events, type HiloEvents, type HiloListener } from './events.js'
import { Instance, newId, type Realm } from './instance.js'
import type { Activity, Inspection, Observer } from './observer.js'
import type { Caller } from './online-calls.js'
import { PageLeases } from './page-leases.js'
import {
  type CollectionStatus,
  changeIn,
  type Degraded,
  type HiloStatus,
  statusOf,
  statusOfAll,
} from './status.js'
import { type CallOptions, type WaitLimits, withinLimits } from './waiters.js'
import { warn } from './warn.js'

export type { HiloEvents } from './events.js'

export interface IdOptions extends CallOptions {
  /** Another database than the `database` option's. */
  database?: string
}

/** @internal Where a Hilo runs: a page, or a worker of the app. */
export interface HiloRealm extends Realm {
  /** Rejects when the file cannot be loaded. */
  onlineCalls(): Promise<OnlineCalls>
}

type OnlineCalls = typeof import('./online-calls.js')
type RareCall = 'reserve' | 'release' | 'nextIdentity' | 'startOver'

/** The checked options, and the signal that `close()` aborts. */
export interface HiloAccess {
  options: CheckedOptions
  signal: AbortSignal
  /** False while the app's own offline switch is on. */
  isSwitchedOn(): boolean
  /** The functions that `startOver` calls, with its option `database`. */
  startOvers: ((database?: string) => Promise<void>)[]
  /** @throws HiloError `invalid-collection`, `invalid-argument` */
  find(collection: CollectionRef, database?: string): { name: string; database: string }
}

/**
 * Final, short, numeric ids, online and offline. Made by {@link createHilo}.
 * @typeParam Name the collections that the options list; any string when they list none
 */
export class Hilo<Name extends string = string> extends EventTarget implements AsyncDisposable {
  /**
   * Resolves when the page has ids of the listed collections; on an empty device that is offline,
   * it waits for the network. Rejects when the server refuses for good, or when you close it
   * before. On a server without a `store`, nothing is leased until you ask for it here.
   */
  get ready(): Promise<void> {
    this.#ready ??= this.#start()
    return this.#ready
  }

  #ready: Promise<void> | undefined
  readonly #listed: readonly string[]
  readonly #instance: Instance
  readonly #realm: HiloRealm
  readonly #events: Events
  readonly #observers = new Set<Promise<Observer | undefined>>()
  /** The warnings that were given. */
  readonly #degraded = new Set<Degraded>()

  /** @internal */
  constructor(options: HiloOptions, realm: HiloRealm) {
    super()
    this.#realm = realm
    bindMethods(this)
    const checked = checkOptions(options, baseUrl(globalThis.location))
    this.#listed = Object.keys(checked.collections).map((each) => collectionOf(each, checked))
    this.#events = new Events(this)
    this.#instance = new Instance(checked, realm, {
      inPage: (cause) => this.#degrade('no-worker', cause, checked.worker ?? realm.spawn),
      changed: ({ pageLeases }) => {
        if (pageLeases.view?.storage === 'memory' && !checked.store) this.#degrade('memory')
        this.#events.changed(pageLeases, statusOf(pageLeases, this.#instance.isOnline()))
        this.#events.status()
      },
      dropped: ({ pageLeases: { target } }, cause) =>
        this.#events.dispatch(cause, { collection: target.collection }),
      otherLedger: ({ pageLeases: { target } }, change, isStopped) =>
        this.#events.dispatch('ledger', {
          collection: target.collection,
          ...changeIn(change),
          isStopped,
        }),
      exhausted: ({ pageLeases: { target } }, error) =>
        this.#events.dispatch('exhausted', { collection: target.collection, error }),
      stored: (...change) => this.#observed(...change),
    })
    // A server that renders pages imports this file, too, and would claim at each start.
    // In Deno, `location` is there without a value.
    const isServer = !(globalThis.document || globalThis.location || checked.store)
    if (!isServer) this.#ready = this.#start()
  }

  /** @internal The parts of this instance that `offline-hilo/consecutive` needs. */
  get access(): HiloAccess {
    return this.#instance
  }

  /**
   * The next id, final and unique: `'orders/33-A'`. Works offline while the device has some.
   * @throws HiloError `exhausted`, `no-hilo-server`, `timeout`, `aborted`, `closed`,
   * `invalid-collection`, `invalid-argument`, `server-refused`, `invalid-response`, `unsafe-range`,
   * `storage-failed`, `outdated`
   */
  nextId(collection: CollectionRef<Name>, options?: IdOptions): Promise<string> {
    return this.#serve(collection, 1, takeId, options)
  }

  /**
   * The bare number of the next id: `34` (RavenDB's `generateNextIdFor`). Errors as {@link nextId},
   * and `invalid-argument` once two nodes of a cluster have granted ranges to this device: both may
   * grant the same number.
   */
  nextNumber(collection: CollectionRef<Name>, options?: IdOptions): Promise<number> {
    return this.#serve(collection, 1, takeNumber, options)
  }

  /**
   * The next id from this page's lease, at once.
   * @throws HiloError `not-leased` when the page holds none right now: any other call may
   * have used them. {@link take} ids that are yours.
   * `closed`, `invalid-collection`, and `invalid-argument` when `formatId` makes no id
   */
  nextIdSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): string {
    return this.#allocatorOf(collection, options).nextIdSync()
  }

  /** The bare number of {@link nextIdSync}. Errors as there, and as {@link nextNumber}. */
  nextNumberSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): number {
    return this.#allocatorOf(collection, options).nextNumberSync()
  }

  /** `count` ids, at most ten million: all or none. Errors as {@link nextId}. */
  async nextIds(
    collection: CollectionRef<Name>,
    count: number,
    options?: IdOptions,
  ): Promise<string[]> {
    checkCount('count', count)
    return this.#serve(
      collection,
      count,
      (allocator) => Array.from({ length: count }, () => allocator.nextIdSync()),
      options,
    )
  }

  /**
   * `count` ids that are the caller's alone: for code that needs ids without `await`. All or none.
   * At the end of `using`, or with `end()`, the rest goes back to the device. If the page is left,
   * it goes back, too; a page that is killed loses it.
   *
   * @example
   * using lines = await hilo.take('lines', 25)
   * for (const product of products) add({ id: lines.next(), product })
   *
   * @throws HiloError as {@link nextId}
   */
  async take(collection: CollectionRef<Name>, count: number, options?: IdOptions): Promise<Batch> {
    checkCount('count', count)
    const limits = this.#limits(options)
    return this.#instance.allocatorOf(collection, limits.database).take(count, limits)
  }

  /**
   * For speed only: leases until this page holds `count` ids for the …Sync calls, and keeps them
   * until they are used or the page is left, also while it is hidden. Any call of this page may use
   * them: {@link take} ids that are yours.
   */
  async warm(collection: CollectionRef<Name>, count: number, options?: IdOptions): Promise<void> {
    checkCount('count', count)
    const limits = this.#limits(options)
    return this.#instance.allocatorOf(collection, limits.database).warm(count, limits)
  }

  /**
   * Fills this device up to `count` ids for offline work, at most ten million, and keeps that as
   * its reserve from now on. One call can fill up several collections, by one request where the
   * server can do that. If not all get their ids, the call rejects and says how many each has; a
   * collection that did not get its ids keeps its old reserve.
   *
   * @example
   * await hilo.reserve({ orders: 500, customers: 100 }, { timeout: 30_000 })
   *
   * @throws HiloError as {@link nextId}, and `server-unreachable` when the server cannot be asked
   */
  reserve(collection: CollectionRef<Name>, count: number, options?: ReserveOptions): Promise<void>
  /** The same for several collections: `{ orders: 500, customers: 100 }`. */
  reserve(counts: Counts<Name>, options?: ReserveOptions): Promise<void>
  async reserve(...args: unknown[]): Promise<void> {
    const [first, second, third] = args
    const isOne = typeof second === 'number' || !isPlain(first)
    const of = isOne ? [first, second] : [{ ...first }]
    const options = isOne ? third : second
    return this.#online('reserve', of as ReserveArgs, options, 'timeout', 'signal', 'database')
  }

  /**
   * The next number of RavenDB's identity of that name (`orders|`), online only. Use it for numbers
   * without gaps, such as those of legal invoices, and take the number when the invoice is final. A
   * number that you do not use is a gap after all. Each costs the server a commit.
   * @throws HiloError `server-unreachable` (at once when offline), `server-refused`,
   * `invalid-response`, `aborted`; try again with the same `key`. `other-ledger` where another
   * ledger answers than the one of this device's ids
   */
  async nextIdentity(collection: CollectionRef, options?: IdentityOptions): Promise<number> {
    return this.#online('nextIdentity', [collection], options, 'key', 'signal', 'database')
  }

  /** How things stand now, for a UI. It waits for nothing. */
  status(): HiloStatus
  /**
   * The same for one collection.
   * @throws HiloError `invalid-collection`
   */
  status(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): CollectionStatus
  status(
    collection?: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): HiloStatus | CollectionStatus {
    const { allocators, options: of } = this.#instance
    const isOnline = this.#instance.isOnline()
    if (collection !== undefined)
      return statusOf(this.#allocatorOf(collection, options).pageLeases, isOnline)
    const pages = allocators.map(({ pageLeases }) => pageLeases)
    return statusOfAll(pages, of.database, isOnline, this.#degraded.has('no-worker'))
  }

  /**
   * The numbers of a collection on this device, one by one. One read of its storage: it changes
   * nothing and holds nobody up. Numbers that another page has issued show after that page's next
   * exchange with the device.
   * @throws HiloError `invalid-collection`, `storage-failed`, `outdated`, `closed`, and
   * `server-unreachable` when a part of the package cannot be loaded
   */
  async inspect(
    collection: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): Promise<Inspection> {
    const { link, page } = this.#instance
    const { pageLeases } = this.#allocatorOf(collection, options)
    const { inspect } = await import('./observer.js').catch(notLoaded)
    return inspect(link, page, pageLeases, fromFailure)
  }

  /**
   * Reports each change of numbers, in every tab of this device, for all collections that this
   * instance has used: claims, leases, give-backs and so on, as they reach the storage. It compares
   * the stored states before and after, so it costs nothing while nobody watches. Issued ids are
   * reported when their page settles them, not one by one.
   * @returns stops watching
   */
  watch(listener: (activity: Activity) => void): () => void {
    checkListener(listener)
    const { link, page } = this.#instance
    const observer = import('./observer.js').then(
      ({ observe }) => observe(page, listener),
      () => console.warn(NOT_LOADED) as undefined,
    )
    this.#observers.add(observer)
    link.watch(true)
    return () => {
      this.#observers.delete(observer)
      if (this.#observers.size === 0) link.watch(false)
    }
  }

  /**
   * Asks the browser to keep this site's storage (`navigator.storage.persist()`) and this package's
   * own bucket when space is short; some browsers ask the user.
   * @returns whether it will; `status().storage` then says `persistent`
   */
  async persist(): Promise<boolean> {
    const asked = [
      globalThis.navigator?.storage?.persist?.(),
      openBucket()?.then((bucket) => bucket.persist()),
    ].filter((each) => each !== undefined)
    // A sandboxed frame has the methods, and they reject.
    const answers = await Promise.all(asked).catch(() => [false])
    const isGranted = answers.length > 0 && answers.every(Boolean)
    this.#instance.link.retryNow()
    return isGranted
  }

  /**
   * Sends nothing to the server until {@link goOnline}: an app's own offline switch. Ids go on
   * while the device has some.
   */
  goOffline(): void {
    this.#switchOnline(false)
  }

  /** Ends {@link goOffline}, and sends all waiting requests at once. */
  goOnline(): void {
    this.#switchOnline(true)
  }

  /**
   * Gives back the numbers of this page and of the device, of every collection: at sign-out, say.
   * Other pages keep theirs. With `database`, every collection of that database.
   * @throws HiloError `server-unreachable`: the device keeps its numbers. `server-refused`,
   * `invalid-collection`, `aborted`: it keeps the numbers that were not sent yet
   */
  release(options?: Omit<IdOptions, 'timeout'>): Promise<void>
  /** The same for one collection that the app does not need any more. */
  release(
    collection: CollectionRef<Name> | undefined,
    options?: Omit<IdOptions, 'timeout'>,
  ): Promise<void>
  async release(...args: unknown[]): Promise<void> {
    const [first, second] = args
    // A plain object, or a bare signal, is no collection, and must not give everything back.
    const isOptions = isPlain(first) || isSignal(first)
    const [of, options] = isOptions ? [undefined, first] : [first, second]
    return this.#online('release', [of as CollectionRef], options, 'signal', 'database')
  }

  /**
   * Goes on with the ledger that answers now, after another one has stopped this device (the event
   * `ledger`). The device drops its numbers of the first ledger: a gap. Call it only when nobody
   * uses ids of the first one any more, or the second begins above them: both grant the same
   * numbers. Without a second ledger it changes nothing. A series of `consecutive` that this page
   * uses has ended, and may begin another letter now.
   * @param options of one database; default: of all
   * @throws HiloError `storage-failed`, `outdated`, `closed`
   */
  async startOver(options?: Pick<IdOptions, 'database'>): Promise<void> {
    return this.#online('startOver', undefined, options, 'database')
  }

  /**
   * Parks this page's leases on the device and stops. Calls that wait are rejected with `closed`.
   * With a reserve of 0 everything goes back to the server. The promise resolves when all is
   * stored, also the grant of a request under way. It waits for each as long as `timeout` allows.
   */
  close(): Promise<void> {
    return this.#instance.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  override addEventListener<K extends keyof HiloEvents>(
    type: K,
    listener: HiloListener<K> | null,
    options?: AddEventListenerOptions | boolean,
  ): void {
    if (!EVENTS.includes(type)) warn(({ noEvent }) => noEvent(type, EVENTS))
    super.addEventListener(type, listener as EventListener, options)
  }

  declare removeEventListener: <K extends keyof HiloEvents>(
    type: K,
    listener: HiloListener<K> | null,
    options?: EventListenerOptions | boolean,
  ) => void

  #start(): Promise<void> {
    const leased = this.#listed.map((name) =>
      this.#allocatorOf(name).hold(1, { timeout: Number.POSITIVE_INFINITY }),
    )
    const ready = Promise.all(leased).then(() => {})
    // Loaded while there is a network, and the files of this page's build are still deployed.
    const load = () => this.#loadOnlineCalls()
    ready.then(load, load).catch(() => {})
    return ready
  }

  /**
   * Serves a caller in turn. Rejects and never throws, without the second promise that an `async`
   * function would add to every id. A call without options makes no object of its own.
   */
  #serve<T>(
    collection: CollectionRef,
    count: number,
    take: (allocator: Allocator) => T,
    options: IdOptions | undefined,
  ): Promise<T> {
    try {
      if (options === undefined) {
        const allocator = this.#instance.allocatorOf(collection, options)
        // Nearly every call ends here: nothing is made but the promise.
        if (allocator.canServe(count)) return Promise.resolve(take(allocator))
      }
      const limits = this.#limits(options)
      return this.#instance.allocatorOf(collection, limits.database).when(count, take, limits)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #allocatorOf(collection: CollectionRef, options?: CallLimits): Allocator {
    const of = options === undefined ? options : checkCall(options, 'database').database
    return this.#instance.allocatorOf(collection, of)
  }

  /** The options of a call are read here, and nowhere else. */
  #limits(options?: IdOptions): WaitLimits & IdOptions {
    const known = ['timeout', 'signal', 'database'] as const
    const { timeout = this.#instance.options.timeout, ...of } = checkCall(options, ...known)
    return { timeout, ...of }
  }

  #switchOnline(isOn: boolean): void {
    this.#instance.switchOnline(isOn)
    this.#events.status()
  }

  #degrade(reason: Degraded, cause?: unknown, spawn?: () => Worker): void {
    if (this.#degraded.has(reason)) return
    this.#degraded.add(reason)
    this.#events.dispatch('degraded', { reason })
    warn(({ degraded }) => degraded(reason, cause, spawn))
  }

  #observed(...change: Parameters<OwnerCallbacks['stored']>): void {
    for (const observer of this.#observers) observer.then((observe) => observe?.(...change))
  }

  /**
   * Makes a rare call. Its limits begin before its file is loaded.
   * @param args of the call
   * @param known the options that it has
   */
  async #online<M extends RareCall>(
    name: M,
    args: Parameters<OnlineCalls[M]>[1],
    options: unknown,
    ...known: (keyof CallLimits)[]
  ): Promise<Awaited<ReturnType<OnlineCalls[M]>>> {
    const startedAt = performance.now()
    const checked = checkCall(options, ...known)
    const { timeout = Number.POSITIVE_INFINITY, signal, database } = checked
    if (database !== undefined) checkDatabase(database, this.#instance.options)
    const call = `\`hilo.${name}()\``
    const calls = await withinLimits(this.#loadOnlineCalls(), { timeout, signal, call })
    const make = calls[name] as (...all: [Caller, typeof args]) => ReturnType<OnlineCalls[M]>
    return await make(this.#caller(startedAt, checked), args)
  }

  /** @throws HiloError `closed`, `server-unreachable` */
  async #loadOnlineCalls(): ReturnType<HiloRealm['onlineCalls']> {
    const { signal, context } = this.#instance
    signal.throwIfAborted()
    let ignoreClose = () => {}
    const closed = new Promise<never>((_, reject) => {
      ignoreClose = onAbort(signal, () => reject(signal.reason))
    })
    try {
      const calls = await Promise.race([this.#realm.onlineCalls(), closed])
      context.pageExit.sender = calls.giveBack
      // guard: H4 what a page could not give back before it could send goes back after all
      for (const { stock } of this.#instance.allocators) stock.watchSurplus()
      return calls
    } catch (cause) {
      return notLoaded(cause)
    } finally {
      ignoreClose()
      signal.throwIfAborted()
    }
  }

  #caller(startedAt: number, options: CallLimits): Caller {
    return {
      startedAt,
      options,
      instance: this.#instance,
      PageLeases,
      HiloError,
      fromFailure,
      checkCount,
      newId,
      onAbort,
    }
  }
}

const NOT_LOADED =
  'A part of offline-hilo could not be loaded: there is no network, or the app has a newer ' +
  'build. Reload when there is a network.'

/** @throws HiloError `server-unreachable` */
function notLoaded(cause: unknown): never {
  throw new HiloError('server-unreachable', NOT_LOADED, { cause })
}

const takeId = (allocator: Allocator): string => allocator.nextIdSync()
const takeNumber = (allocator: Allocator): number => allocator.nextNumberSync()
