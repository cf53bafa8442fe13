/**
 * The parts of one Hilo: the link to the owner, the page's exit, and an allocator for each
 * collection that was used. Starts all of it, tells it how the page and the network are, and ends
 * it with `close()`.
 */
import { nearest } from '../core/check-keys.js'
import { HiloError, toFailure } from '../core/errors.js'
import { plainHeaders } from '../core/headers.js'
import { type CollectionRef, collectionOf } from '../core/names.js'
import type { Owner, OwnerCallbacks, OwnerConfig, Target } from '../device/contract.js'
import type { DeviceStore } from '../device/device-store.js'
import { type CheckedOptions, checkDatabase } from '../device/hilo-options.js'
import type { Stop } from '../device/state.js'
import { Allocator, type AllocatorContext } from './allocator.js'
import { countInstance } from './count-instances.js'
import { watchLifecycle } from './lifecycle.js'
import { type LinkOptions, OwnerLink } from './owner-link.js'
import { PageExit } from './page-exit.js'
import type { PageState } from './page-leases.js'
import { type PageWorld, pageWorld } from './page-world.js'
import { warn } from './warn.js'

/** How this page or worker reaches its owner. */
export interface Realm extends Pick<LinkOptions, 'spawn'> {
  ownerHere(store: DeviceStore | undefined): Promise<Owner>
  /** Default: the browser's. */
  world?: PageWorld
}

/** The reports of an instance. */
export interface InstanceListener extends Pick<OwnerCallbacks, 'stored'> {
  changed(allocator: Allocator): void
  exhausted(allocator: Allocator, error: HiloError): void
  inPage(cause: unknown): void
  dropped(allocator: Allocator, cause: 'fork' | 'drop'): void
  otherLedger(allocator: Allocator, change: Stop, isStopped: boolean): void
}

export class Instance {
  readonly options: CheckedOptions
  // guard: H7 every page has a fresh id
  readonly page = newId()
  readonly link: OwnerLink
  readonly startOvers: ((database?: string) => Promise<void>)[] = []
  /** For allocators, and for leases of a page without one. */
  readonly context: AllocatorContext
  /** By database, then by collection. */
  readonly #allocators = new Map<string, Map<string, Allocator>>()
  /** The `database` option's. */
  readonly #home: Map<string, Allocator>
  /** Aborted by `close()`: from then on nothing is issued. */
  readonly #closing = new AbortController()
  /** The collection of the last call. A burst asks for it again, and a look-up doubles the cost. */
  #recent: { name: string; allocator: Allocator } | undefined
  #exchanges = 0
  #isSwitchedOn = true
  #closed: Promise<void> | undefined

  constructor(options: CheckedOptions, realm: Realm, listener: InstanceListener) {
    this.options = options
    this.#home = this.#allocatorsOf(options.database)
    const { url, name, timeout, credentials, device, headers, worker, source, store } = options
    const missing = source || url ? undefined : noPage()
    const config: OwnerConfig = {
      url: source?.key ?? url,
      ...(source && { isAsked: true }),
      name,
      page: this.page,
      timeout,
      headers: typeof headers === 'function' ? 'ask' : plainHeaders(headers),
      ...(credentials && { credentials }),
      ...(device && { device }),
    }
    countInstance(config, this.signal)
    const pageExit = new PageExit(config, store)
    config.answers = pageExit.answers
    this.link = new OwnerLink({
      // A store is an object of this realm, so its owner is here, too.
      spawn: store ? undefined : realm.spawn && (worker ?? realm.spawn),
      ownerHere: async () => {
        if (missing) throw missing
        return realm.ownerHere(store)
      },
      config,
      inPage: listener.inPage,
      callbacks: {
        headers: async () => {
          const given = await (headers as () => HeadersInit)()
          try {
            pageExit.headers = plainHeaders(given)
            return { headers: pageExit.headers }
          } catch (error) {
            return { failure: toFailure(error, 'invalid-argument') }
          }
        },
        stored: listener.stored,
        claim: async (target, claim) => source!.claim({ ...target }, { ...claim }, timeout),
        changed: (target, view) => this.#known(target)?.stock.onChange(view),
        parkExcess: async (target) => this.#known(target)?.stock.parkExcess(),
      },
    })
    this.context = {
      ...listener,
      page: this.page,
      // guard: H8 each exchange has an id of its own
      newExchange: () => `${this.page}:${this.#exchanges++}`,
      link: this.link,
      pageExit,
      signal: this.signal,
      formatId: options.formatId,
      missing,
      world: realm.world ?? pageWorld,
      state: () => this.#state(),
      isOnline: () => this.isOnline(),
    }
    let isLeft = false
    const lifecycle = {
      // guard: H4 a hidden page parks
      hidden: () => {
        pageExit.together(() => this.#each(({ stock }) => stock.park()))
        // It may be frozen in the middle of a transaction, which blocks those of all others.
        // guard: H18 a page that is left begins no transaction
        if (!isLeft) this.link.reportNow()
      },
      exit: () => {
        isLeft = true
        pageExit.together(() => this.#each((allocator) => allocator.exit()))
        pageExit.leaveAnswers()
      },
      shown: () => {
        isLeft = false
        this.#each(({ stock }) => stock.wake())
        this.link.retryNow()
      },
      online: () => {
        this.link.retryNow()
        this.#each(({ stock }) => stock.retryNow())
      },
      offline: () => this.#each(({ stock }) => stock.keepSurplus()),
    }
    watchLifecycle(lifecycle, this.signal)
  }

  /** Aborted by `close()`, with the error for callers. */
  get signal(): AbortSignal {
    return this.#closing.signal
  }

  /** The collections that were used. */
  get allocators(): Allocator[] {
    return [...this.#allocators.values()].flatMap((allocators) => [...allocators.values()])
  }

  isOnline(): boolean {
    return this.#isSwitchedOn && this.context.world.isOnline()
  }

  /** False while the app's own offline switch is on. */
  isSwitchedOn(): boolean {
    return this.#isSwitchedOn
  }

  /** The app's own offline switch. */
  switchOnline(isOn: boolean): void {
    this.#isSwitchedOn = isOn
    this.link.setOnline(isOn)
    this.#each(({ stock }) => (isOn ? stock.retryNow() : stock.keepSurplus()))
  }

  /** The allocator of a collection; for a string that was asked for just before, one comparison. */
  allocatorOf(collection: CollectionRef, database: string | undefined): Allocator {
    if (database === undefined && typeof collection === 'string') {
      if (collection === this.#recent?.name) return this.#recent.allocator
      const allocator = this.#home.get(collection)
      if (allocator) {
        this.#recent = { name: collection, allocator }
        return allocator
      }
    }
    const { name, database: checked } = this.find(collection, database)
    const allocators = this.#allocatorsOf(checked)
    let allocator = allocators.get(name)
    if (!allocator) {
      const { collections } = this.options
      const near = name in collections || nearest(name, Object.keys(collections))
      if (typeof near === 'string') warn(({ notListed }) => notListed(name, near))
      allocator = new Allocator(this.targetOf(name, checked), this.context)
      allocators.set(name, allocator)
    }
    return allocator
  }

  /** @throws HiloError `invalid-collection`, `invalid-argument` */
  find(ref: CollectionRef, database = this.options.database): { name: string; database: string } {
    return {
      name: collectionOf(ref, this.options),
      database: checkDatabase(database, this.options),
    }
  }

  targetOf(
    collection: string,
    database: string,
    separator = this.options.identityPartsSeparator,
  ): Target {
    const { collections, reserve, isReserveDeclared } = this.options
    const own = collections[collection]?.reserve
    return {
      database,
      collection,
      separator,
      reserve: own ?? reserve,
      ...((own !== undefined || isReserveDeclared) && { isDeclared: true }),
    }
  }

  /** Parks all leases, then ends the owner, which first stores its grants. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort(closed())
    const { wasOpened } = this.link
    // A page that has no owner yet holds nothing, and does not wait for one.
    const ended = wasOpened ? undefined : this.#end()
    const { allocators } = this
    const areReleased = await Promise.all(allocators.map((allocator) => allocator.close()))
    const released = allocators.filter((_, i) => areReleased[i])
    if (released.length > 0) await this.#release(released).catch(() => {})
    if (!ended) await this.#end()
  }

  async #release(allocators: readonly Allocator[]): Promise<void> {
    const targets = allocators.map(({ pageLeases: { target } }) => target)
    const { page, newExchange } = this.context
    await this.link.call('release', [targets, { page, id: newExchange() }, true])
  }

  /** All is parked: no call stores or sends anything any more. */
  #end(): Promise<void> {
    this.context.pageExit.close()
    return this.link.end(this.signal.reason)
  }

  #allocatorsOf(database: string): Map<string, Allocator> {
    const allocators = this.#allocators.get(database) ?? new Map()
    this.#allocators.set(database, allocators)
    return allocators
  }

  #known({ database, collection }: Target): Allocator | undefined {
    return this.#allocators.get(database)?.get(collection)
  }

  #each(act: (allocator: Allocator) => void): void {
    for (const allocator of this.allocators) act(allocator)
  }

  #state(): PageState {
    if (this.signal.aborted) return 'closed'
    return this.context.world.isVisible() ? 'visible' : 'hidden'
  }
}

/** 128 random bits. (`crypto.randomUUID` is missing on pages served over plain http, H18.) */
export const newId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

const closed = (): HiloError =>
  new HiloError('closed', 'This Hilo was closed with `close()`. Create another one.')

const noPage = (): HiloError =>
  new HiloError(
    'invalid-argument',
    'No id was made: there is no page here. Is this a server? Call it in the browser only, ' +
      'or give `createHilo` a whole `url` and a `store`.',
  )
