/**
 * The stored state of one collection on this device, and the answers of its transitions. Types and
 * the empty state only.
 */
import type { Range } from '../core/range.js'
import type { CheckInAnswer, CheckInRequest, LedgerNames } from '../core/wire.js'

/** Numbers that one page holds. Only that page issues them. */
export interface Lease {
  id: string
  page: string
  range: Range
}

/**
 * Surplus set aside so that one page may give it back at `pagehide`. Nobody uses it until its fate
 * is known (H12).
 */
export interface Offer {
  id: string
  page: string
  range: Range
  /** The request is on its way or was lost; only the server can tell. */
  isSent?: true
}

/**
 * A claim that was or will be sent. Kept until its answer is stored, so that a retry asks for the
 * same grant (H11).
 */
export interface DeviceClaim {
  id: string
  /** How many numbers it asks for, by the wire's name. */
  lastBatchSize: number
  lastMax: number
  /** The newest token: of two copies of this device, the second one to show it is found (H13). */
  shown?: CheckInRequest['grants']
  /** As the device knows them: a server of another name refuses (H34). */
  ledgers?: LedgerNames
}

/**
 * How many numbers nobody will ever issue, by cause. Upper bounds, counted when numbers are written
 * off.
 */
export interface Gaps {
  /** Leased to a page that was killed. */
  crash: number
  /** Offered or given back, and lost on the way. */
  giveBack: number
  /** Dropped because this device turned out to be a copy. */
  fork: number
  /** Dropped because the server has dropped their collection. */
  drop: number
  /** Dropped because another ledger took the place of the one that granted them. Absent: none. */
  ledger?: number
}

/** Another ledger has answered than the one that granted these ranges. */
export interface Stop {
  /** The first one's name. */
  of: string
  /** Its own. */
  by: string
  /** The server tag of both. */
  tag: string
  /** By this device's clock. */
  at: number
  /** How many numbers wait, or were dropped. */
  numbers: number
}

/** A `reserve` option, and the last day on which a page had it, by this device's clock. */
export interface Declared {
  reserve: number
  /** Since 1970. */
  day: number
}

export interface DeviceState {
  version: typeof STATE_VERSION
  /** Free numbers, sorted. */
  ranges: Range[]
  leases: Lease[]
  offers: Offer[]
  claim?: DeviceClaim
  /** Target set by `reserve(n)`. */
  reserve?: number
  /** The reserves that pages have asked for lately. The largest is the target otherwise. */
  declared?: Declared[]
  /**
   * When the last grant came, by this device's clock, and how many numbers were issued since: the
   * size of the next claim follows them.
   */
  sinceGrant?: { at: number; issued: number }
  /** The node that answered last. */
  serverTag?: string
  /**
   * The nodes that granted ranges, as their ids look: `orders/…-A`. At most two: from the second
   * on, a number alone does not say which id it is.
   */
  nodes?: readonly string[]
  /** Highest number a page may have issued. */
  issued: number
  gaps: Gaps
  /** Tokens of the newest grants, until the server has heard that all their numbers were issued. */
  grants: string[]
  /** The check-in that was or will be sent, kept until its answer is stored. */
  checkIn?: CheckInRequest
  /** When the last one was answered, by this device's clock. It paces, and proves nothing (H19). */
  checkedIn?: number
  /** The last one that was answered in the session that began it. */
  answered?: string
  /** Tokens whose numbers were leased since a request that shows them was begun last (H32). */
  unheard?: readonly string[]
  /** The ledgers that granted these ranges (H34). A ledger without a name is not among them. */
  ledgers?: LedgerNames
  /** Another one has answered: nothing is leased or claimed. */
  stopped?: Stop
  /** The last time that the device has gone on with another one. */
  followed?: Stop
  /** Ledgers whose numbers were dropped: the device has gone on with another one. */
  former?: readonly string[]
  /** In memory, because the storage did not open in time: no token is shown (H35). */
  isApart?: true
  /** The last grant was a RavenDB's: the next page asks in the same way. */
  isPlain?: true
  /** Everything was given back: nothing is claimed before an app asks for numbers again. */
  isReleased?: true
}

/** Numbers that a page will never use again. */
export type Note = LeaseNote | ExchangeNote

/**
 * The numbers below `next` are used up, and the rest comes back to the device. With `givenBack`,
 * the page sent the rest to the server instead, or the numbers up to `sentTo`.
 */
export interface LeaseNote {
  /** Id of the lease or offer. */
  lease: string
  next: number
  givenBack?: true
  sentTo?: number
}

/** The page closed before the answer came: all that the exchange gave it comes back. */
export interface ExchangeNote {
  exchange: string
  /** Offers that the page had cancelled for it. */
  takeBack: readonly string[]
}

/** A page settles its numbers and asks for new ones, in a single transaction. */
export interface Exchange {
  page: string
  /** Unique among all exchanges; the new leases and offers are named after it. */
  id: string
  /** Numbers that the page needs. */
  want: number
  /** As many more to look ahead, if the device can spare them: it claims nothing for them. */
  ahead?: number
  /** Nobody asked for the numbers: the page is seen again, say. */
  isIdle?: boolean
  /** Who asks holds nothing, as a new batch: of a thousand, each would hear of all the others. */
  isEmpty?: boolean
  notes: readonly Note[]
  /** Leases the page goes on using, but only up to `to`. */
  cuts: readonly { lease: string; to: number }[]
  /** Offers that the page cancelled: it will not send them. */
  takeBack: readonly string[]
  /** Set the surplus above `reserve` aside for this page to give back. */
  offer: boolean
}

export interface Exchanged {
  leases: Lease[]
  offers: Offer[]
  /** All leases of this page, with their newest tokens, unless it holds nothing. */
  outstanding: Lease[]
}

export interface GrantedRange {
  range: Range
  /** One result for each token that the claim has shown. */
  results?: CheckInAnswer['grants']
  /** The name of the ledger that grants. Absent: it has none. */
  ledger?: string
  /** By a RavenDB, which knows claims by GET only. */
  isPlain?: true
}

export const STATE_VERSION = 1

export const emptyState = (): DeviceState => ({
  version: STATE_VERSION,
  ranges: [],
  leases: [],
  offers: [],
  issued: 0,
  gaps: { crash: 0, giveBack: 0, fork: 0, drop: 0 },
  grants: [],
})
