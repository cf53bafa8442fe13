/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The façade: what an app calls. It starts the owner in the background, sends every call to its
 * collection's issuer, and turns what the owner reports into a status and events.
 */
import type { Owner, OwnerConfig, Target } from '../core/contract.js'
import type { DeviceStore } from '../core/device-store.js'
import { fromFailure, HiloError } from '../core/errors.js'
import { type CollectionRef, collectionOf } from '../core/names.js'
import {
  type CheckedOptions,
  checkCount,
  checkDatabase,
  checkOptions,
  checkTimeout,
  type HiloOptions,
} from '../core/options.js'
import { uuid } from '../core/uuid.js'
import type { Counts, ReleaseArgs, ReserveArgs, ReserveOptions } from './call-args.js'
import { Holdings, type PageState } from './holdings.js'
import { countInstance } from './instances.js'
import { Issuer, type IssuerContext } from './issuer.js'
import { watchLifecycle } from './lifecycle.js'
import type { Activity, Inspection, Observer } from './observer.js'
import type { Caller, IdentityOptions } from './online-calls.js'
import { type LinkOptions, OwnerLink } from './owner-link.js'
import { PageExit } from './page-exit.js'
import { type CollectionStatus, type HiloStatus, statusOf, statusOfAll } from './status.js'
import type { CallOptions, WaitLimits } from './waiters.js'

export interface IdOptions extends CallOptions {
  /** Another database than the `database` option's. */
  database?: string
}

/** The options as they were checked, and what `close()` aborts. */
export interface HiloAccess {
  options: CheckedOptions
  signal: AbortSignal
}

/** How this page or worker reaches its owner. */
interface Realm extends Pick<LinkOptions, 'spawn'> {
  ownerHere(store: DeviceStore | undefined): Promise<Owner>
}

/** What each event's `detail` holds. */
export interface HiloEvents {
  /** Something of the status changed. */
  status: HiloStatus
  /** Less than half of a collection's reserve is left. */
  low: { collection: string; available: number }
  /** A call was refused because no id is left. */
  exhausted: { collection: string; error: HiloError }
  /** This device's storage is a copy, and another copy has checked in: its ranges were dropped. */
  fork: { collection: string }
  /** A claim failed; ids go on while there are some. */
  error: { collection: string; error: HiloError }
}

type HiloListener<K extends keyof HiloEvents> =
  | ((event: CustomEvent<HiloEvents[K]>) => void)
  | { handleEvent(event: CustomEvent<HiloEvents[K]>): void }

/**
 * Final, short, numeric ids, online and offline. Made by {@link createHilo}.
 * @typeParam Name the collections that the options list; any string when they list none
 */
export class Hilo<Name extends string = string> extends EventTarget implements AsyncDisposable {
  /**
   * Resolves when the page has ids of the listed collections; on an empty device that is offline,
   * it waits for the network. Rejects when the server refuses for good, or when you close it
   * before.
   */
  readonly ready: Promise<void>

  readonly #options: CheckedOptions
  /** By database, then by collection. */
  readonly #issuers = new Map<string, Map<string, Issuer>>()
  /** The `database` option's. */
  readonly #home: Map<string, Issuer>
  readonly #reported = new Map<
    Issuer,
    { state: CollectionStatus['state']; error: string | undefined }
  >()
  // guard: H7 every page has a fresh id
  readonly #page = newId()
  readonly #link: OwnerLink
  readonly #pageExit: PageExit
  readonly #observers = new Set<Promise<Observer>>()
  /** Aborted by `close()`: from then on nothing is issued. */
  readonly #closing = new AbortController()
  /** Aborted when all is parked: from then on nothing is stored or sent. */
  readonly #ended = new AbortController()
  /** The collection of the last call. A burst asks for it again, and a look-up doubles the cost. */
  #recent: { name: string; issuer: Issuer } | undefined
  #isSwitchedOn = true
  #closed: Promise<void> | undefined

  /** @internal */
  constructor(options: HiloOptions, realm: Realm) {
    super()
    this.#options = checkOptions(options, globalThis.location?.href)
    this.#home = this.#issuersOf(this.#options.database)
    const listed = Object.keys(this.#options.collections).map((each) =>
      collectionOf(each, this.#options),
    )
    const { url, name, timeout, credentials, headers, worker, source, store } = this.#options
    const config: OwnerConfig = {
      url: source?.key ?? url,
      ...(source && { isAsked: true }),
      name,
      page: this.#page,
      timeout,
      headers: typeof headers === 'function' ? 'ask' : (headers ?? {}),
      ...(credentials && { credentials }),
    }
    countInstance(config, this.#closing.signal)
    this.#pageExit = new PageExit(config, this.#ended.signal, store)
    this.#link = new OwnerLink({
      // A store is an object of this realm, so its owner is here, too.
      spawn: store ? undefined : realm.spawn && (worker ?? realm.spawn),
      ownerHere: () => realm.ownerHere(store),
      config,
      callbacks: {
        headers: async () => {
          this.#pageExit.headers = typeof headers === 'function' ? await headers() : {}
          return this.#pageExit.headers
        },
        stored: (...change) => {
          for (const observer of this.#observers) observer.then((observe) => observe(...change))
        },
        claim: (target, claim) => source!.claim(target, claim, timeout),
        changed: (target, view) => this.#known(target)?.onChange(view),
        parkExcess: async (target) => this.#known(target)?.parkExcess(),
      },
      signal: this.#ended.signal,
    })
    const lifecycle = {
      // guard: H4 a hidden page parks
      hidden: () => this.#each((issuer) => issuer.park()),
      exit: () => this.#each((issuer) => issuer.exit()),
      shown: () => {
        this.#each((issuer) => issuer.wake())
        this.#link.retryNow()
      },
      online: () => this.#retryNow(),
      offline: () => this.#each((issuer) => issuer.keepSurplus()),
    }
    watchLifecycle(lifecycle, this.#closing.signal)
    const leased = listed.map((name) =>
      this.#issuerOf(name, this.#options.database).hold(1, {
        timeout: Number.POSITIVE_INFINITY,
      }),
    )
    this.ready = Promise.all(leased).then(() => {})
    // Loaded while there is a network, and the files of this page's build are still deployed.
    this.ready.then(() => this.#loadOnlineCalls()).catch(() => {})
  }

  /** @internal What `offline-hilo/consecutive` needs of this instance. */
  get access(): HiloAccess {
    return { options: this.#options, signal: this.#closing.signal }
  }

  /**
   * The next id, final and unique: `'orders/33-A'`. Works offline while the device has some.
   * @throws HiloError `exhausted`, `timeout`, `aborted`, `closed`, `invalid-collection`,
   * `server-refused`, `storage-failed`
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
   * @throws HiloError `not-leased` when the page holds none right now: {@link warm} first
   */
  nextIdSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): string {
    return this.#resolve(collection, options).nextIdSync()
  }

  /** The bare number of {@link nextIdSync}. */
  nextNumberSync(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): number {
    return this.#resolve(collection, options).nextNumberSync()
  }

  /** `count` ids, all or none. Errors as {@link nextId}. */
  async nextIds(
    collection: CollectionRef<Name>,
    count: number,
    options?: IdOptions,
  ): Promise<string[]> {
    checkCount('count', count, 0)
    return this.#serve(
      collection,
      count,
      (issuer) => Array.from({ length: count }, () => issuer.nextIdSync()),
      options,
    )
  }

  /**
   * Leases until this page holds `count` ids for the …Sync calls, and keeps them until they are
   * used or the page is hidden.
   */
  async warm(collection: CollectionRef<Name>, count: number, options?: IdOptions): Promise<void> {
    checkCount('count', count, 0)
    return this.#resolve(collection, options).warm(count, this.#limits(options))
  }

  /**
   * Fills this device up to `count` ids for offline work, and keeps that as its reserve from now
   * on. One call can fill up several collections, by one request where the server can do that. If
   * not all get their ids, the call rejects and says how many each has; a collection that did not
   * get its ids keeps its old reserve.
   *
   * @example
   * await hilo.reserve({ orders: 500, customers: 100 }, { timeout: 30_000 })
   *
   * @throws HiloError as {@link nextId}, and `server-unreachable` when the server cannot be asked
   */
  reserve(collection: CollectionRef<Name>, count: number, options?: ReserveOptions): Promise<void>
  reserve(counts: Counts<Name>, options?: ReserveOptions): Promise<void>
  async reserve(...args: unknown[]): Promise<void> {
    const { reserve } = await this.#loadOnlineCalls()
    return reserve(this.#caller(), args as ReserveArgs)
  }

  /**
   * The next number of RavenDB's identity of that name (`orders|`), online only. Use it for numbers
   * without gaps, such as those of legal invoices, and take the number when the invoice is final. A
   * number that you do not use is a gap after all. Each costs the server a commit.
   * @throws HiloError `server-unreachable` (at once when offline), `server-refused`,
   * `invalid-response`, `aborted`; try again with the same `key`
   */
  async nextIdentity(collection: CollectionRef, options?: IdentityOptions): Promise<number> {
    const { nextIdentity } = await this.#loadOnlineCalls()
    return nextIdentity(this.#caller(), collection, options)
  }

  status(): HiloStatus
  /** @throws HiloError `invalid-collection` */
  status(collection: CollectionRef<Name>, options?: Pick<IdOptions, 'database'>): CollectionStatus
  status(
    collection?: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): HiloStatus | CollectionStatus {
    if (collection !== undefined)
      return statusOf(this.#resolve(collection, options), this.#isOnline())
    return statusOfAll(this.#all(), this.#options.database, this.#isOnline())
  }

  /**
   * What this device holds of a collection, number by number. One read of its storage: it changes
   * nothing and holds nobody up. What another page has issued is seen at that page's next exchange
   * with the device.
   * @throws HiloError `invalid-collection`, `storage-failed`, `outdated`, `closed`
   */
  async inspect(
    collection: CollectionRef<Name>,
    options?: Pick<IdOptions, 'database'>,
  ): Promise<Inspection> {
    const { holdings } = this.#resolve(collection, options)
    this.#throwIfClosed()
    const { inspect } = await import('./observer.js')
    return inspect(this.#link, this.#page, holdings, fromFailure)
  }

  /**
   * Reports what happens to numbers, in every tab of this device, for all collections that this
   * instance has used: claims, leases, give-backs and so on, as they reach the storage. It compares
   * what is stored before and after, so it costs nothing while nobody watches. Issued ids are
   * reported when their page settles them, not one by one.
   * @returns stops watching
   */
  watch(listener: (activity: Activity) => void): () => void {
    const observer = import('./observer.js').then(({ observe }) => observe(this.#page, listener))
    this.#observers.add(observer)
    this.#link.watch(true)
    return () => {
      this.#observers.delete(observer)
      if (this.#observers.size === 0) this.#link.watch(false)
    }
  }

  /**
   * Asks the browser to keep this site's storage when space is short
   * (`navigator.storage.persist()`); some browsers ask the user.
   * @returns whether it will; `status().storage` then says `persistent`
   */
  async persist(): Promise<boolean> {
    const isGranted = (await globalThis.navigator?.storage?.persist?.()) ?? false
    this.#link.retryNow()
    return isGranted
  }

  /**
   * Sends nothing to the server until {@link goOnline}: an app's own offline switch. Ids go on
   * while the device has some.
   */
  goOffline(): void {
    this.#isSwitchedOn = false
    this.#link.setOnline(false)
    this.#each((issuer) => issuer.keepSurplus())
    this.#dispatch('status', this.status())
  }

  goOnline(): void {
    this.#isSwitchedOn = true
    this.#link.setOnline(true)
    this.#each((issuer) => issuer.retryNow())
    this.#dispatch('status', this.status())
  }

  /**
   * Gives back what this page and the device hold: of one collection that the app does not need any
   * more, or of every collection, at sign-out. Other pages keep what they hold.
   * @throws HiloError `server-unreachable`: the device keeps what it holds. `server-refused`,
   * `invalid-collection`, `aborted`: it keeps what was not sent yet
   */
  release(options?: Pick<CallOptions, 'signal'>): Promise<void>
  release(
    collection: CollectionRef<Name> | undefined,
    options?: Omit<IdOptions, 'timeout'>,
  ): Promise<void>
  async release(...args: unknown[]): Promise<void> {
    const { release } = await this.#loadOnlineCalls()
    return release(this.#caller(), args as ReleaseArgs)
  }

  /**
   * Parks this page's leases on the device and stops. Calls that wait are rejected with `closed`.
   * With a reserve of 0 everything goes back to the server.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  declare addEventListener: <K extends keyof HiloEvents>(
    type: K,
    listener: HiloListener<K> | null,
    options?: AddEventListenerOptions | boolean,
  ) => void

  declare removeEventListener: <K extends keyof HiloEvents>(
    type: K,
    listener: HiloListener<K> | null,
    options?: EventListenerOptions | boolean,
  ) => void

  async #close(): Promise<void> {
    this.#closing.abort(closed())
    if (!this.#link.wasOpened) this.#ended.abort(closed())
    await Promise.all(this.#all().map((issuer) => issuer.close()))
    this.#ended.abort(closed())
  }

  /**
   * Serves a caller in turn. Rejects and never throws, without the second promise that an `async`
   * function would add to every id. A call without options makes no object of its own.
   */
  #serve<T>(
    collection: CollectionRef,
    count: number,
    take: (issuer: Issuer) => T,
    options: IdOptions | undefined,
  ): Promise<T> {
    try {
      return this.#resolve(collection, options).when(count, take, this.#limits(options))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** The issuer of a collection; for a string that was asked for just before, one comparison. */
  #resolve(collection: CollectionRef, options: Pick<IdOptions, 'database'> | undefined): Issuer {
    if (options?.database === undefined && typeof collection === 'string') {
      if (collection === this.#recent?.name) return this.#recent.issuer
      const issuer = this.#home.get(collection)
      if (issuer) {
        this.#recent = { name: collection, issuer }
        return issuer
      }
    }
    const { name, database } = this.#find(collection, options?.database)
    return this.#issuerOf(name, database)
  }

  /** @throws HiloError `invalid-collection`, `invalid-argument` */
  #find(ref: CollectionRef, database = this.#options.database): { name: string; database: string } {
    return {
      name: collectionOf(ref, this.#options),
      database: checkDatabase(database, this.#options),
    }
  }

  #issuersOf(database: string): Map<string, Issuer> {
    const issuers = this.#issuers.get(database) ?? new Map()
    this.#issuers.set(database, issuers)
    return issuers
  }

  #issuerOf(collection: string, database: string): Issuer {
    const issuers = this.#issuersOf(database)
    const known = issuers.get(collection)
    if (known) return known
    const issuer = new Issuer(this.#targetOf(collection, database), {
      ...this.#context(),
      changed: (changed) => this.#report(changed),
      forked: (of) => this.#dispatch('fork', { collection: of.holdings.target.collection }),
      exhausted: (of, error) =>
        this.#dispatch('exhausted', { collection: of.holdings.target.collection, error }),
    })
    issuers.set(collection, issuer)
    return issuer
  }

  #known({ database, collection }: Target): Issuer | undefined {
    return this.#issuers.get(database)?.get(collection)
  }

  #targetOf(
    collection: string,
    database: string,
    separator = this.#options.identityPartsSeparator,
  ): Target {
    const { collections, reserve } = this.#options
    const ownReserve = collections[collection]?.reserve ?? reserve
    return { database, collection, separator, reserve: ownReserve }
  }

  #context(): Omit<IssuerContext, 'changed' | 'forked' | 'exhausted'> {
    return {
      page: this.#page,
      link: this.#link,
      pageExit: this.#pageExit,
      signal: this.#closing.signal,
      formatId: this.#options.formatId,
      state: () => this.#state(),
      isOnline: () => this.#isOnline(),
    }
  }

  /** @throws HiloError `closed`, `server-unreachable` */
  async #loadOnlineCalls(): Promise<typeof import('./online-calls.js')> {
    this.#throwIfClosed()
    try {
      return await import('./online-calls.js')
    } catch (cause) {
      throw new HiloError('server-unreachable', NOT_LOADED, { cause })
    } finally {
      this.#throwIfClosed()
    }
  }

  #caller(): Caller {
    return {
      link: this.#link,
      HiloError,
      fromFailure,
      checkCount,
      checkTimeout,
      find: (...ref) => this.#find(...ref),
      issuerOf: (...ref) => this.#resolve(...ref),
      used: () => this.#all(),
      unused: ({ collection, database, separator }) =>
        new Holdings(this.#targetOf(collection, database, separator), {
          ...this.#context(),
          changed() {},
          forked() {},
        }),
      newId,
    }
  }

  #limits(options: CallOptions | undefined): WaitLimits {
    if (!options) return this.#options
    const { timeout = this.#options.timeout, signal } = options
    checkTimeout(timeout)
    return { timeout, signal }
  }

  #state(): PageState {
    if (this.#closing.signal.aborted) return 'closed'
    return globalThis.document?.visibilityState === 'visible' ? 'visible' : 'hidden'
  }

  #throwIfClosed(): void {
    this.#closing.signal.throwIfAborted()
  }

  /** The network may be back. */
  #retryNow(): void {
    this.#link.retryNow()
    this.#each((issuer) => issuer.retryNow())
  }

  #isOnline(): boolean {
    return this.#isSwitchedOn && globalThis.navigator?.onLine !== false
  }

  #all(): Issuer[] {
    return [...this.#issuers.values()].flatMap((issuers) => [...issuers.values()])
  }

  #each(act: (issuer: Issuer) => void): void {
    for (const issuer of this.#all()) act(issuer)
  }

  #report(issuer: Issuer): void {
    const { state, available, lastError } = statusOf(issuer, this.#isOnline())
    const before = this.#reported.get(issuer)
    this.#reported.set(issuer, { state, error: lastError?.message })
    const collection = issuer.holdings.target.collection
    if (state === 'low' && before?.state !== 'low') this.#dispatch('low', { collection, available })
    if (lastError && before?.error !== lastError.message)
      this.#dispatch('error', { collection, error: lastError })
    this.#dispatch('status', this.status())
  }

  #dispatch<K extends keyof HiloEvents>(type: K, detail: HiloEvents[K]): void {
    this.dispatchEvent(new CustomEvent(type, { detail }))
  }
}

const NOT_LOADED =
  'A part of offline-hilo could not be loaded: there is no network, or a newer build of the app ' +
  'was deployed since this page was loaded. Reload the page when there is a network.'

const takeId = (issuer: Issuer): string => issuer.nextIdSync()
const takeNumber = (issuer: Issuer): number => issuer.nextNumberSync()

const newId = (): string => uuid(crypto.getRandomValues(new Uint8Array(16)))

const closed = (): HiloError =>
  new HiloError(
    'closed',
    'This Hilo was closed with `close()`; it makes no more ids. Create another one.',
  )
