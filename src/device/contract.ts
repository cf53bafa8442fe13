/**
 * The messages between a page and the owner of this device's ranges. Plain data only, so that it
 * crosses to a worker; expected failures are values. Every method is safe to lose: an answer that
 * never arrives costs a gap, not a duplicate.
 */
import type { Failure } from '../core/errors.js'
import type { LedgerNames } from '../core/wire.js'
import type {
  DeviceClaim,
  DeviceState,
  Exchange,
  Exchanged,
  Gaps,
  GrantedRange,
  Stop,
} from './state.js'

/** One collection of one database, with the separator its ids are made with. */
export interface Target {
  database: string
  collection: string
  separator: string
  /** Ids to keep for offline work, unless this device has another target. */
  reserve: number
  /** The app says so by an option. */
  isDeclared?: true
}

export interface OwnerConfig {
  /**
   * Absolute URL of the HiLo server, without a slash at its end; or the key of the app's own
   * source.
   */
  url: string
  /** The app brought a source of its own: the page is asked for ranges, and nothing goes back. */
  isAsked?: true
  /** Name of the IndexedDB database. */
  name: string
  /** Id of the page instance that is asking (H7). */
  page: string
  /** Its name, for people. */
  device?: string
  /** Sent with every request; `'ask'`: the page is asked each time. */
  headers: Record<string, string> | 'ask'
  credentials?: RequestCredentials
  /** Milliseconds one request may take. */
  timeout: number
  /**
   * By the name of a collection: the last check-in that was answered in this run of the page, also
   * before its reload. Absent: no page, or it was not reloaded.
   */
  answers?: Readonly<Record<string, string>>
}

/**
 * Another authority than a HiLo server: `nextHiSource` or `documentSource` of
 * `offline-hilo/source`. It runs in the page, which may use any function of the app's, and it takes
 * nothing back.
 */
export interface HiloSource {
  /**
   * Names the counter. Its ranges are stored under this key, as those of a server are under its
   * URL. Two counters with one key would share ranges, and make the same ids.
   */
  readonly key: string
  /**
   * The prefix of a grant begins with the collection and its separator, as `orders/` does. A grant
   * has no token: nobody checks in with a source.
   * @param timeout milliseconds it may take
   */
  claim(target: Target, claim: DeviceClaim, timeout: number): Promise<SourceAnswer>
}

export type SourceAnswer = { grant: GrantedRange } | { failure: Failure }

/** The calls of the owner to the page. */
export interface OwnerCallbacks {
  /** Headers of the next request (tokens). */
  headers(): Promise<{ headers: Record<string, string> } | { failure: Failure }>
  /** A range of the app's own source, where there is one. */
  claim?(target: Target, claim: DeviceClaim): Promise<SourceAnswer>
  /** Something changed that this page did not do itself. */
  changed(target: Target, view: DeviceView): void
  /**
   * While watched: the stored state was `before`, and is `after`. Twice the same one: the state at
   * the begin of the watch.
   */
  stored(target: Target, before: DeviceState, after: DeviceState): void
  /**
   * Parks numbers that this page does not need, because another page of this device has none left.
   */
  parkExcess(target: Target): Promise<void>
}

/** The device's side of a collection's status. */
export interface DeviceView {
  /**
   * Which of two views is newer. They reach the page by two ways, with answers and on their own, so
   * the older one may come last.
   */
  order: number
  /** Numbers neither leased nor offered. */
  free: number
  reserve: number
  /** How many free numbers exceed the reserve and could be offered to a page. */
  surplus: number
  gaps: Gaps
  /** When this device last checked in, and got new tokens. */
  checkedIn?: number
  /** The last check-in that was answered to this page's owner. */
  answered?: string | undefined
  /**
   * The node that answered last. Absent where a page cannot hear of answers that other pages get:
   * another node may have answered since.
   */
  serverTag?: string | undefined
  /** The nodes of {@link DeviceState.nodes}, once they are two. */
  mixedNodes?: readonly string[] | undefined
  /** As in the {@link DeviceState}. */
  isReleased?: true
  stopped?: Stop
  followed?: Stop
  ledgers?: LedgerNames
  isClaiming: boolean
  /** The last claim's failure; gone with the next success. */
  failure?: Failure | undefined
  /** A failure of the stored ranges. The device claims new ones, so no caller is refused for it. */
  notice?: Failure | undefined
  /** No, if the last claim or check-in got no answer. */
  isReachable: boolean
  storage: StorageKind
  /** It is in this package's bucket: notes go there, too. */
  isInBucket?: boolean | undefined
}

/**
 * `memory`: nothing survives the page; where IndexedDB only does not open, it is tried again, and
 * used when it does. `best-effort`: the browser may evict it when space is short.
 */
export type StorageKind = 'opening' | 'persistent' | 'best-effort' | 'memory'

/** The messages between tabs about a collection. */
export type SharedView = Pick<
  DeviceView,
  | 'free'
  | 'reserve'
  | 'surplus'
  | 'gaps'
  | 'checkedIn'
  | 'serverTag'
  | 'mixedNodes'
  | 'isReleased'
  | 'stopped'
  | 'followed'
  | 'ledgers'
>

export type Answer<T> = { view: DeviceView } & (T | { failure: Failure })

export interface Owner {
  /**
   * First call. Starts opening the storage; does not wait for it.
   * @param firstView the `order` of its first view. Default: 0
   * @returns the version of the owner's code
   */
  open(config: OwnerConfig, callbacks: OwnerCallbacks, firstView?: number): string
  /** The answer shows that the owner runs. */
  ping(): void
  /** One strict transaction: settles, leases and offers. Never waits for the network. */
  exchange(target: Target, request: Exchange): Promise<Answer<Exchanged>>
  /**
   * Asks the server once, unless `want` numbers are free; callers share one request.
   * @param request an exchange for which `want` were missing. The transaction that stores the grant
   * also leases the page its numbers
   */
  claim(target: Target, want: number, request?: Exchange): Promise<Answer<Exchanged>>
  /**
   * Fills the device up to each `count`, and keeps the count as the target if it is reached. All
   * targets are of one database: one request asks for all of them, if the source can do that.
   * @param call names this call, for `cancel`
   * @returns one answer for each, in their order
   */
  reserve(call: string, wanted: readonly Wanted[]): Promise<Answer<object>[]>
  /**
   * Sends every free number of these collections back to the server. When it cannot be reached, all
   * stay. `request.id` names this call, for `cancel`.
   * @param isClosing the page closes: what the device keeps stays
   * @returns one answer for each, in their order
   */
  release(
    targets: readonly Target[],
    request: Pick<Exchange, 'page' | 'id'>,
    isClosing?: boolean,
  ): Promise<Answer<object>[]>
  /** Drops the grants of the first of two ledgers, and goes on with the second (H34). */
  startOver(target: Target): Promise<Answer<object>>
  /** Nobody waits for this `reserve` or `release` any more: it begins nothing new. */
  cancel(call: string): void
  /** The collections of this authority that this device has stored something of. */
  collections(): Promise<{ collections: HeldCollection[] } | { failure: Failure }>
  /**
   * The stored state, with the notes that wait to be settled. One read: it changes nothing and
   * blocks nobody.
   */
  inspect(target: Target): Promise<Answer<{ state: DeviceState }>>
  /** Whether the page is told of every stored change, those of other tabs too. */
  watch(isWatched: boolean): void
  /**
   * A number of RavenDB's identity `name`: one request, never tried again by itself. The same `key`
   * brings the same number, for 30 days.
   */
  nextIdentity(
    database: string,
    name: string,
    key: string,
  ): Promise<{ number: number } | { failure: Failure }>
  /** `false`: no request until `true` again (an app's own offline switch). */
  setOnline(isOnline: boolean): void
  /** The network, or the kind of storage, may have changed: failed requests are sent again now. */
  retryNow(): void
  /** The page may be gone soon, so the server hears of its use now instead of later. */
  reportNow(): void
  /**
   * Begins nothing new. Resolves when all work under way is stored, and the storage is closed: a
   * grant that comes meanwhile would be lost with the owner.
   */
  close(): Promise<void>
}

/** How many free numbers of a collection the device shall have. */
export interface Wanted {
  target: Target
  count: number
}

export type HeldCollection = Pick<Target, 'database' | 'collection' | 'separator'>
