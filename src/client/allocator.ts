/**
 * Issues the ids of one collection from this page's leases. Guarantees that a call takes all it
 * asked for or nothing, and that after the page was closed nothing is issued.
 */
import type { HiloError } from '../core/errors.js'
import { type FormatId, type IdOf, idFormat } from '../core/id-format.js'
import type { Target } from '../device/contract.js'
import type { LeaseQueue } from '../device/page/lease-queue.js'
import { handOn, takeOver } from '../device/page/page.js'
import { ambiguous, notLeased } from '../device/page/page-refusals.js'
import type { Stop } from '../device/state.js'
import { Batch } from './batch.js'
import { PageLeases, type PageLeasesContext } from './page-leases.js'
import type { PageWorld } from './page-world.js'
import { Stock } from './stock.js'
import { type WaitLimits, withinLimits } from './waiters.js'

export interface AllocatorContext
  extends Omit<PageLeasesContext, 'changed' | 'dropped' | 'otherLedger'> {
  /** Aborted when the page is closed, with the error for callers. */
  signal: AbortSignal
  world: PageWorld
  formatId: FormatId | undefined
  /** Why no id can be made here at all. */
  missing?: HiloError | undefined
  changed(allocator: Allocator): void
  exhausted(allocator: Allocator, error: HiloError): void
  dropped(allocator: Allocator, cause: 'fork' | 'drop'): void
  otherLedger(allocator: Allocator, change: Stop, isStopped: boolean): void
}

/** Listeners are told of a burst of issued ids at most this often. */
const NOTIFY_MS = 50

export class Allocator {
  readonly pageLeases: PageLeases
  readonly stock: Stock
  readonly #queue: LeaseQueue
  readonly #context: AllocatorContext
  /** Undefined: ids have the default form. */
  readonly #format: IdOf | undefined
  /** Leases of the batches that callers have. */
  readonly #batches = new Set<PageLeases>()
  /** Batches that have ended, while the device does not know of all of them. */
  #ended = 0
  #isNotifying = false

  constructor(target: Target, context: AllocatorContext) {
    this.#context = context
    this.#format =
      context.formatId &&
      idFormat(context.formatId, target.collection, () => this.pageLeases.mixedNodes)
    this.pageLeases = new PageLeases(target, {
      ...context,
      changed: () => {
        const { view } = this.pageLeases
        // guard: H13 a batch hears what its page hears
        if (view) for (const batch of this.#batches) batch.observe(view)
        context.changed(this)
      },
      otherLedger: (...change) => context.otherLedger(this, ...change),
      dropped: (cause) => {
        context.dropped(this, cause)
        this.stock.fetchLeases(true)
      },
    })
    this.#queue = this.pageLeases.queue
    this.stock = new Stock(this.pageLeases, {
      ...context,
      changed: () => this.#notify(),
      exhausted: (error) => context.exhausted(this, error),
    })
  }

  /** @throws HiloError `not-leased`, `closed`, or `invalid-argument` when numbers are ambiguous */
  nextNumberSync(): number {
    const { mixedNodes } = this.pageLeases
    // guard: H10 a bare number is refused once two nodes have granted
    if (mixedNodes) throw ambiguous(this.#collection, mixedNodes)
    return this.#take()
  }

  #take(): number {
    const number = this.#queue.take()
    if (number < 0) throw this.#notLeased()
    if (this.stock.isLow) this.stock.fetchLeases()
    if (!this.#isNotifying) this.#notify()
    return number
  }

  /** @throws HiloError `not-leased`, `closed`, or `invalid-argument` when `formatId` makes none */
  nextIdSync(): string {
    return this.#queue.id(this.#take(), this.#format)
  }

  /** Are there `count` numbers, and is it the next caller's turn? */
  canServe(count: number): boolean {
    const { held } = this.#queue
    // A closed page holds nothing; to ask its signal each time would slow every id down.
    if (held === 0 && this.#context.signal.aborted) return false
    return held >= count && (!this.stock.waiters.isTakeWaiting || this.stock.isDry)
  }

  /**
   * Runs `take` at once when `count` numbers are held and it is this caller's turn; otherwise as
   * soon as it is.
   */
  when<T>(count: number, take: (allocator: this) => T, limits: WaitLimits): Promise<T> {
    if (this.canServe(count) && !limits.signal?.aborted) return Promise.resolve(take(this))
    const { signal } = this.#context
    if (signal.aborted) return Promise.reject(signal.reason)
    const taken = this.stock.waiters.add(count, () => take(this), limits)
    this.stock.fetchLeases()
    return taken
  }

  /** `count` ids for one caller. Ids that come after the caller has given up go back. */
  take(count: number, limits: WaitLimits): Promise<Batch> {
    const ended = new AbortController()
    const lease = this.#lease(count, { ...limits, signal: ended.signal })
    const taken = withinLimits(lease, limits, (batch) => batch.end())
    // guard: H25 nobody waits behind a call that has ended
    taken.catch(() => ended.abort())
    return taken
  }

  /** From the device's free ones, or from the page's leases when it is this caller's turn. */
  async #lease(count: number, limits: WaitLimits): Promise<Batch> {
    this.#context.signal.throwIfAborted()
    const { target } = this.pageLeases
    const leases = new PageLeases(target, { ...this.#context, ...QUIET })
    this.#batches.add(leases)
    const { queue } = leases
    try {
      if (!this.stock.waiters.isTakeWaiting) await leases.exchange(count, false)
      while (queue.held < count) {
        takeOver(this.pageLeases.page, leases.page)
        const lease = () => {
          handOn(this.pageLeases.page, leases.page, count)
          return leases.exchange(count, false)
        }
        await this.when(count, lease, limits)
      }
    } catch (error) {
      this.#endBatch(leases)
      throw error
    }
    const { formatId } = this.#context
    const mixedNodes = () => leases.mixedNodes ?? this.pageLeases.mixedNodes
    return new Batch({
      collection: target.collection,
      count,
      queue,
      idOf: formatId && idFormat(formatId, target.collection, mixedNodes),
      mixedNodes,
      closed: () => this.#context.signal.reason,
      giveBack: () => this.#endBatch(leases),
    })
  }

  #endBatch(leases: PageLeases): void {
    // guard: H4 what an ended batch has left goes to the device
    takeOver(this.pageLeases.page, leases.page)
    this.#batches.delete(leases)
    if (this.#ended++ === 0) void this.#parkEnded()
  }

  /** One exchange at a time, for all batches that have ended meanwhile. */
  async #parkEnded(): Promise<void> {
    let told: number
    do {
      told = this.#ended
      await this.pageLeases.exchange(0, false)
    } while (told < this.#ended)
    this.#ended = 0
  }

  /** The page goes. */
  exit(): void {
    this.stock.exit()
    // guard: H4 what a batch has left is noted when the page goes
    for (const batch of this.#batches) batch.exit()
  }

  /** As its page leases do. */
  close(): Promise<boolean> {
    for (const batch of this.#batches) takeOver(this.pageLeases.page, batch.page)
    return this.stock.close()
  }

  /** Keeps `count` ids in this page until they are issued or the page is left. */
  async warm(count: number, limits: WaitLimits): Promise<void> {
    await this.hold(count, limits)
    this.stock.warm(count)
  }

  /** Resolves once the page holds `count` ids. Nobody waits for it. */
  async hold(count: number, limits: WaitLimits): Promise<void> {
    this.#context.signal.throwIfAborted()
    if (this.#queue.held >= count && !limits.signal?.aborted) return
    const held = this.stock.waiters.keep(count, limits)
    this.stock.fetchLeases()
    await held
  }

  /** Tells the façade, once for all ids that are issued in the meantime. */
  #notify(): void {
    this.#isNotifying = true
    this.#context.world.later(() => {
      this.#isNotifying = false
      this.#context.changed(this)
    }, NOTIFY_MS)
  }

  #notLeased(): Error {
    const { signal, missing } = this.#context
    if (signal.aborted) return signal.reason
    if (missing) return missing
    this.stock.fetchLeases()
    return notLeased(this.#collection)
  }

  get #collection(): string {
    return this.pageLeases.target.collection
  }
}

/** The page's own leases tell of these. */
const QUIET = { changed() {}, dropped() {}, otherLedger() {} }
