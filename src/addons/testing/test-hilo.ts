/**
 * A `Hilo` for the app's own tests: the real one, with its owner in the same realm, over a server
 * and a storage in memory. Guarantees that the same calls make the same ids in every run. It waits
 * for no timer and no network, only for microtasks.
 */
import type { Allocator } from '../../client/allocator.js'
import { Hilo, type HiloAccess, type HiloRealm } from '../../client/hilo.js'
import type { Instance } from '../../client/instance.js'
import * as onlineCalls from '../../client/online-calls.js'
import { insert, takeHighest, total } from '../../core/range.js'
import { dropClaim, heldRanges, highest } from '../../device/claim.js'
import { checkOptions, type HiloOptions, type NamesOf } from '../../device/hilo-options.js'
import { PAGE_AT_REST } from '../../device/page/stock-rules.js'
import type { DeviceState } from '../../device/state.js'
import type { StoreKey } from '../../store/store.js'
import { createOwner } from '../../worker/owner.js'
import type { SeriesAccess } from '../consecutive/index.js'
import { type TestDevice, TestSeries } from './test-series.js'
import { TEST_URL, TestServer } from './test-server.js'
import { TestStore } from './test-store.js'
import { testOwner, testPage } from './worlds.js'

/** The switches of a test. */
export interface TestSwitches {
  /** The server cannot be reached any more. Ids go on while the device has some: its reserve. */
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
 * As `createHilo`, with the same options; of these, `url`, `headers`, `source`, `store`, `worker`
 * and `name` do nothing. Each instance is a device of its own with a server of its own, so its ids
 * begin at 1: `orders/1-A`. When the test cuts the server off, the device has as many ids as its
 * `reserve` says.
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
  checkOptions(options as HiloOptions, TEST_URL)
  const { headers: _, source: _source, worker: _worker, ...known } = options as HiloOptions
  const [server, store] = [new TestServer(), new TestStore()]
  // Two of one name would be two for one device, of which a page warns.
  const own = { url: TEST_URL, name: `test ${++instances}`, store }
  return new TestInstance<NamesOf<Name>>({ ...known, ...own }, server, store, {
    spawn: undefined,
    ownerHere: async () => createOwner(testOwner(server, store)),
    // A page that goes sends nothing: its server goes with it.
    onlineCalls: async () => ({ ...onlineCalls, giveBack: undefined as never }),
    world: testPage(server),
  })
}

let instances = 0

class TestInstance<Name extends string> extends Hilo<Name> implements TestSwitches {
  readonly #server: TestServer
  readonly #store: TestStore
  /** By database and collection, of those that `consecutive` was asked for. */
  readonly #series = new Map<string, { collection: string; series: TestSeries }>()
  /** By database. */
  readonly #devices = new Map<string, TestDevice>()

  constructor(options: HiloOptions, server: TestServer, store: TestStore, realm: HiloRealm) {
    super(options, realm)
    this.#server = server
    this.#store = store
  }

  override get access(): HiloAccess & SeriesAccess {
    const { options, signal, startOvers } = this.#instance
    return {
      options,
      signal,
      startOvers,
      isSwitchedOn: () => this.#instance.isOnline(),
      find: (ref, database) => this.#instance.find(ref, database),
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

  get #instance(): Instance {
    return super.access as Instance
  }

  /** Of collections that have got numbers; none after `close()`. */
  get #used(): Allocator[] {
    const { signal, allocators } = this.#instance
    const isUsed = (each: Allocator) => this.#store.get(keyOf(each)).nodes && each.pageLeases.view
    return signal.aborted ? [] : allocators.filter(isUsed)
  }

  override async persist(): Promise<boolean> {
    this.#store.kind = 'persistent'
    for (const each of this.#used) this.#change(each, (state) => state)
    await super.persist()
    return true
  }

  disconnect(): void {
    this.#server.isUp = false
    for (const each of this.#used) this.#fillUp(each)
    this.#tell()
  }

  connect(): void {
    const { link, allocators } = this.#instance
    this.#server.isUp = true
    link.retryNow()
    for (const each of this.#used) this.#fillUp(each)
    for (const { stock } of allocators) stock.retryNow()
    this.#tell()
  }

  exhaust(): void {
    this.disconnect()
    this.#server.isKnown = true
    for (const each of this.#used) {
      each.pageLeases.park()
      this.#change(each, (state) => ({ ...state, issued: highest(state), ranges: [] }))
    }
    this.#tell()
  }

  fork(): void {
    for (const each of this.#used) {
      this.#fillUp(each)
      each.pageLeases.park()
      this.#change(each, dropAll)
      if (this.#server.isUp) this.#fillUp(each)
    }
    for (const { collection, series } of this.#series.values())
      if (series.fork()) this.dispatchEvent(new CustomEvent('fork', { detail: { collection } }))
  }

  /**
   * The device has as many numbers as it keeps, however many it has claimed and used by now: so a
   * test need not know the sizes of claims and leases. Numbers that the app has warmed stay.
   */
  #fillUp(allocator: Allocator): void {
    const { target, queue, view } = allocator.pageLeases
    const { reserve } = view!
    if (queue.held > reserve && queue.held <= PAGE_AT_REST) allocator.pageLeases.park()
    this.#change(allocator, (before) => {
      // The grant of a claim under way is a gap.
      const state = before.claim ? dropClaim(before, before.claim.id) : before
      const free = total(state.ranges)
      const keep = Math.max(0, reserve - queue.held)
      if (free < keep) {
        const range = this.#server.grant(target, keep - free, highest(state))
        return { ...state, ranges: insert(state.ranges, range) }
      }
      const { taken, rest } = takeHighest(state.ranges, free - keep)
      for (const range of taken) this.#server.takeBack(target, range)
      return { ...state, ranges: rest }
    })
  }

  /** One transaction, of which the page hears at once. */
  #change(allocator: Allocator, change: (state: DeviceState) => DeviceState): void {
    const key = keyOf(allocator)
    const state = change(this.#store.get(key))
    this.#store.put(key, state)
    const { pageLeases, stock } = allocator
    const { failure, ...view } = pageLeases.view!
    const { isUp } = this.#server
    stock.onChange({
      ...view,
      storage: this.#store.kind,
      ...(failure && !isUp && { failure }),
      free: total(state.ranges),
      gaps: state.gaps,
      isClaiming: false,
      isReachable: isUp,
    })
    // Nothing is on its way: the change is done.
    pageLeases.most = 0
    // The owner hears of it, too.
    void pageLeases.exchange(0)
  }

  #tell(): void {
    this.dispatchEvent(new CustomEvent('status', { detail: this.status() }))
  }
}

const keyOf = ({ pageLeases: { target } }: Allocator): StoreKey => [
  TEST_URL,
  target.database,
  target.collection + target.separator,
]

/** As a device that turns out to be a copy. */
const dropAll = (state: DeviceState): DeviceState => ({
  ...state,
  issued: highest(state),
  ranges: [],
  leases: [],
  gaps: { ...state.gaps, fork: state.gaps.fork + total(heldRanges(state)) },
})
