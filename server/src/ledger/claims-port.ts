/** The part of the ledger that devices and upstreams use: claims, give-backs and check-ins. */
import type { LedgerNames } from '../../../src/core/wire.js'
import type { CollectionKey } from './keys.js'

export type { LedgerNames }

export interface ClaimRequest extends CollectionKey {
  /**
   * A claim that is repeated with the same id gets the same grant. A claim without an id may not be
   * repeated.
   */
  id?: string | undefined
  /** The claimant. A repetition by another one is refused. Undefined: nobody knows. */
  by?: string | undefined
  /** The device's name, for people. Absent: it has none. */
  device?: string | undefined
  /** How many numbers it asks for. */
  count: number
  /** The highest number that the client has seen (H20). */
  lastMax: number
  /** The tag of the node that grants. It is stored with the grant. */
  serverTag: string
  /** Milliseconds since the epoch. */
  at: number
  /**
   * Tokens that the device shows: checked in, in the step that grants, under the id of the claim. A
   * claim that is refused replaces no token.
   */
  shown?: readonly ShownGrant[] | undefined
  /** Names of the ledgers that the device holds numbers of, by server tag. */
  ledgers?: LedgerNames | undefined
}

/** Numbers `low` to `high`, which a device may hand out. */
export interface Grant {
  low: number
  /**
   * A claim with an id may get fewer numbers than it asked for: a smaller range that came back.
   */
  high: number
  /** How many were asked for. */
  count: number
  serverTag: string
  at: number
  /** Opaque and unguessable. A request that shows it may give numbers of the grant back. */
  token: string
  /** The name of the ledger, or of where its numbers come from. Undefined: that has none. */
  ledger?: string | undefined
}

/**
 * Why nothing was granted.
 *
 * - `jump`: `lastMax` is absurdly far above `max`.
 * - `overflow`: the numbers would pass 2^53−1, or the end of the id column.
 * - `spent`: somebody has given numbers of this claim's grant back, or has checked it in, so a
 *   repetition of the claim comes from a copy of that device. Or somebody else made the claim.
 * - `full`: the database has as many collections as are allowed.
 * - `short`: the ranges come from an upstream, which has to be asked for some first.
 * - `restored`: this database is an older copy of itself, and grants nothing before `raiseFloors`.
 * - `other-ledger`: the device holds numbers of another ledger.
 */
export type ClaimRefusal =
  | { refused: 'jump' | 'overflow' | 'spent' | 'full' | 'short' | 'restored'; max: number }
  | { refused: 'other-ledger'; max: number; other: OtherLedger }

/** The device holds numbers of another ledger than this one. Nothing was granted. */
export interface OtherLedger {
  /** The name of the ledger that the device holds numbers of. */
  held: string
  /** The name of this one. */
  name: string
  /** The database of it that was asked, which may be another one than the device's. */
  database: string
  /** The server tag under which both grant. */
  serverTag: string
  /**
   * An operator has said that this one follows that one, which granted nothing above this number.
   */
  above?: number | undefined
}

/** `results`: one for each token that the claim has shown, in their order. */
export type ClaimOutcome =
  | { grant: Grant; isRepeat: boolean; results: readonly CheckInResult[] }
  | ClaimRefusal

export interface GiveBack extends CollectionKey {
  /** The last number of the range. */
  end: number
  /** The last number in use: `last + 1` to `end` come back. */
  last: number
  /** The grant's token. Undefined: RavenDB's return, which has none. */
  token?: string | undefined
  at: number
}

export interface CheckIn {
  database: string
  /** A check-in that is repeated with the same id is answered the same way. */
  id: string
  /** Milliseconds since the epoch. */
  at: number
  /** Grants that the device still has numbers of. */
  grants: readonly ShownGrant[]
  /** Tokens of grants of which every number was issued. They are void from then on. */
  spent?: readonly string[] | undefined
  /** As in a `ClaimRequest`. */
  ledgers?: LedgerNames | undefined
  /** With them: the tag of the node that answers. */
  serverTag?: string | undefined
}

export interface ShownGrant {
  token: string
  /** Every number below it may be issued, and never comes back. */
  next: number
}

/**
 * The outcome for a grant: its new token, and the highest number that it still holds.
 *
 * - `superseded`: another copy of the device showed this token before, or the grant is gone.
 * - `dropped`: the collection was dropped since, and its grants with it.
 * - `unknown`: this ledger never wrote the token. Another ledger may have.
 */
export type CheckInResult = { token: string; high: number } | 'superseded' | 'dropped' | 'unknown'

/** A range that the upstream of a collection granted to this ledger. */
export interface UpstreamRange extends CollectionKey {
  low: number
  high: number
  /**
   * The node that granted it: numbers of different nodes are different numbers. Undefined: the
   * upstream has no nodes.
   */
  node?: string | undefined
}

/** The end of such a range, to be given back to its node. */
export interface UpstreamPiece extends CollectionKey {
  end: number
  node: string
}

/** Claims, give-backs and check-ins. */
export interface Claims {
  /**
   * Grants claims, all of them in one commit. Resolves with an outcome per claim, in their order.
   *
   * The numbers of a bound collection come from another authority: from the counter of a back end's
   * ORM, which this step moves, or from an upstream. Then a claim may get fewer than it asks for.
   * Numbers that come back are granted again, but never go back into that counter.
   * @param received new ranges from upstreams, for these claims. They are kept also if a claim is
   * refused
   * @throws CounterUnusable, CounterWentBack
   */
  claim(
    claims: readonly ClaimRequest[],
    received?: readonly UpstreamRange[],
  ): Promise<ClaimOutcome[]>

  isBound(key: CollectionKey): boolean

  /** Is a number from `low` to `high` held by a grant, or free to be granted? */
  holds(key: CollectionKey, low: number, high: number): Promise<boolean>

  /**
   * Takes free numbers out of the ledger for good, so that they can be given back upstream: the
   * range of one node that ends at `end`. Resolves with its first number. Undefined: no free range
   * ends there, and nothing was changed.
   */
  withdraw(piece: UpstreamPiece): Promise<number | undefined>

  /**
   * Resolves with how many numbers came back. It is 0, and nothing was changed, unless an
   * outstanding grant ends at `end`, and `last` is in it or just before it (H22). A number that a
   * check-in called issued does not come back.
   *
   * With a token: only of that grant, and only the latest token of it counts. Numbers that do not
   * end at `max` go to the free list. Without a token: only of a grant that was claimed without an
   * id and not shortened yet, and only when it ends at `max`. An identical return is honoured once
   * (H8).
   */
  giveBack(giveBack: GiveBack): Promise<number>

  /**
   * Replaces the token of each grant: the old one has no effect from then on (H12, H13). Resolves
   * with a result per grant, in their order.
   * @throws HeldOfAnother when the device holds numbers of another ledger. Nothing was changed
   */
  checkIn(checkIn: CheckIn): Promise<CheckInResult[]>
}
