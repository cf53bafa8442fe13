/**
 * A snapshot for an app's own display, made from this page's numbers and the device's last view of
 * itself.
 */
import { fromFailure, type HiloError } from '../core/errors.js'
import type { StorageKind } from '../device/contract.js'
import { isLow } from '../device/sizes.js'
import type { Gaps, Stop } from '../device/state.js'
import { VIEWS_OF_OWNER } from './owner-link.js'
import type { PageLeases } from './page-leases.js'

export interface CollectionStatus {
  /**
   * Ids this page can still make without the network: the device's free ones, and the page's own.
   */
  available: number
  /** How many of these are leased to this page, for the …Sync calls. */
  leased: number
  /** How many this device keeps for offline work. */
  reserve: number
  /**
   * `ready`: at least half of the reserve is left. `low`: less than half is, or nobody has asked
   * yet. `claiming`: the same, and a request for more is under way. `exhausted`: nothing is left,
   * and the server gave none.
   */
  state: 'ready' | 'low' | 'claiming' | 'exhausted'
  /** Numbers nobody will ever issue, as far as this device knows: an upper bound. */
  gaps: number
  /** Another ledger has answered than the one that granted the ids: none is made. */
  stopped?: LedgerChange
  /** Why the last claim failed; gone after the next success. */
  lastError?: HiloError
}

export interface LedgerChange {
  /** The ledger that granted the ids, by its public name and the database: `k3m9…/shop`. */
  before: string
  /** Of the one that answers now. */
  after: string
  /** By this device's clock. */
  since: Date
  /** How many numbers of the first ledger wait on this device, or were dropped. */
  numbers: number
}

/**
 * `no-worker`: no worker started, or two were lost, so the page makes ids itself. `memory`: nothing
 * survives this page.
 */
export type Degraded = 'no-worker' | 'memory'

export interface HiloStatus {
  /** Does the server answer, as far as is known? */
  online: boolean
  /**
   * `opening`: this page has not opened it yet. `persistent`: the browser keeps it. `best-effort`:
   * the browser may evict it when space is short. `memory`: nothing survives this page; if
   * IndexedDB only did not open, it is tried again, and the numbers in memory move there when it
   * does.
   */
  storage: StorageKind
  /** The missing parts, though ids go on. Empty: none. */
  degraded: Degraded[]
  /** By collection; of a database that is not the option's, by `collection|database`. */
  collections: Record<string, CollectionStatus>
  /** How many numbers nobody will issue, by cause. */
  gaps: Gaps
}

/**
 * @internal
 * The source of a status: a page's numbers of a collection, and its device's last view.
 */
export type Counted = Pick<
  PageLeases,
  'target' | 'queue' | 'offered' | 'view' | 'failure' | 'isAsked'
> &
  Partial<Pick<PageLeases, 'onTheWay'>>

/** @internal */
export function statusOfAll(
  pages: readonly Counted[],
  home: string,
  isOnline: boolean,
  inPage = false,
): HiloStatus {
  const views = pages.flatMap(({ view }) => view ?? [])
  const newest = Math.max(0, ...views.map(({ order }) => order))
  // guard: H16 what a lost owner said of storage and network counts no more
  const current = views.filter(({ order }) => order >= newest - (newest % VIEWS_OF_OWNER))
  const sum = (key: keyof Gaps) => views.reduce((all, view) => all + (view.gaps[key] ?? 0), 0)
  const storage = current[0]?.storage ?? 'opening'
  return {
    online: isOnline && current.every(({ isReachable }) => isReachable),
    storage,
    degraded: [
      ...(inPage ? (['no-worker'] as const) : []),
      ...(storage === 'memory' ? (['memory'] as const) : []),
    ],
    collections: Object.fromEntries(
      pages.map((page) => [nameOf(page, home), statusOf(page, isOnline)]),
    ),
    gaps: {
      crash: sum('crash'),
      giveBack: sum('giveBack'),
      fork: sum('fork'),
      drop: sum('drop'),
      ...(sum('ledger') > 0 && { ledger: sum('ledger') }),
    },
  }
}

/** @internal */
export function statusOf(page: Counted, isOnline: boolean): CollectionStatus {
  const { view, failure = view?.failure ?? view?.notice, queue, offered, target, isAsked } = page
  const free = (view?.free ?? 0) + offered
  const available = free + queue.held + (page.onTheWay ?? 0)
  const reserve = view?.reserve ?? target.reserve
  const isClaiming = view ? view.isClaiming : isAsked && !failure
  return {
    available,
    leased: queue.held,
    reserve,
    state: stateOf(
      available,
      isLow(available, reserve),
      isClaiming,
      failure !== undefined || !isOnline,
    ),
    gaps: view ? Object.values(view.gaps).reduce((all, each) => all + each, 0) : 0,
    ...(view?.stopped && { stopped: changeIn(view.stopped) }),
    ...(failure && { lastError: fromFailure(failure) }),
  }
}

/** @internal */
export const changeIn = ({ of, by, at, numbers }: Stop): LedgerChange => ({
  before: of,
  after: by,
  since: new Date(at),
  numbers,
})

function stateOf(
  available: number,
  isLow: boolean,
  isClaiming: boolean,
  hasFailed: boolean,
): CollectionStatus['state'] {
  if (available > 0) return isLow ? (isClaiming ? 'claiming' : 'low') : 'ready'
  if (isClaiming) return 'claiming'
  return hasFailed ? 'exhausted' : 'low'
}

function nameOf({ target }: Counted, home: string): string {
  return target.database === home ? target.collection : `${target.collection}|${target.database}`
}
