/**
 * The ledger: who was granted which numbers. This port's comments are the contract that every store
 * keeps.
 *
 * - Each method is one atomic step, on disk before its promise resolves. Rejected with
 *   `LedgerUnavailable`, the step happened as a whole or not at all, and nobody knows which: the
 *   caller may repeat it.
 * - Methods may run at the same time, from several processes on one database; steps on one
 *   collection happen one after another.
 * - Two grants never hold the same number at the same time. What a grant holds only shrinks.
 * - Time decides nothing: it is passed in and only stored.
 */

/** A collection of a database. Both are compared lower-cased. */
export interface CollectionKey {
  database: string
  collection: string
}

export interface ClaimRequest extends CollectionKey {
  /**
   * Repeated with the same id, the claim is answered with the same grant. A claim without one may
   * not be repeated.
   */
  id?: string | undefined
  count: number
  /** Highest number the client saw (H20). */
  lastMax: number
  /** Tag of the node that grants; it is stored with the grant. */
  serverTag: string
  /** Milliseconds since the epoch. */
  at: number
}

export interface Grant {
  low: number
  /**
   * `high - low + 1` is `count`, or less: a claim with an id may be given a smaller range that came
   * back.
   */
  high: number
  /** The `count` asked for. */
  count: number
  serverTag: string
  at: number
  /** Opaque, unguessable. */
  token: string
}

/**
 * Why nothing was granted. `jump`: `lastMax` is absurdly far above `max`. `overflow`: the numbers
 * would pass 2^53−1.
 * `spent`: the device acted on this claim's answer before (gave back, checked in), so whoever repeats it is a copy of it.
 * `full`: the database has as many collections as are allowed.
 * `short`: the collection's ranges come from an upstream, and first some have to be claimed there.
 */
export type ClaimRefusal = {
  refused: 'jump' | 'overflow' | 'spent' | 'full' | 'short'
  max: number
}
export type ClaimOutcome = { grant: Grant; isRepeat: boolean } | ClaimRefusal

export interface GiveBack extends CollectionKey {
  /** The last number of the range. */
  end: number
  /** The last number in use: `[last + 1, end]` comes back. */
  last: number
  /** The grant's token. Without: RavenDB's return. */
  token?: string | undefined
  at: number
}

export interface CheckIn {
  database: string
  /** Sent again with the same id, it is answered the same way. */
  id: string
  grants: readonly ShownGrant[]
  /**
   * Tokens of leases of which every number was issued. They stay as they are, and nothing is
   * answered.
   */
  spent?: readonly string[] | undefined
}

export interface ShownGrant {
  token: string
  /** The lowest number that is not known to be issued: those below never come back. */
  next: number
}

/**
 * Of a lease: its new token and the highest number it still holds. `superseded`: another copy of
 * the device was first, or the grant is gone.
 * `unknown`: this ledger never wrote the token; another one may have.
 */
export type CheckInFate = { token: string; high: number } | 'superseded' | 'unknown'

export interface Floor extends CollectionKey {
  floor: number
}

/** How far a collection's numbers have gone. */
export interface Mark {
  max: number
  /** Changes whenever `max` does; 0: nothing is known of the collection. */
  version: number
}

export interface MarkWrite extends CollectionKey {
  max: number
  /** The version it must have. Undefined: any. */
  version?: number | undefined
}

/**
 * Why nothing was written: the first write that could not be, and what is there. `bound`: another
 * authority counts the collection.
 */
export type MarkRefusal = {
  refused: 'conflict' | 'jump' | 'full' | 'bound'
  write: MarkWrite
  mark: Mark
}

/** A range that a collection's upstream granted to this ledger. */
export interface UpstreamRange extends CollectionKey {
  low: number
  high: number
  /** The node that granted it: numbers of different nodes are different numbers. */
  node: string
}

/** What is free at the end of such a range, to be given back there. */
export interface UpstreamPiece extends CollectionKey {
  end: number
  node: string
}

/**
 * An identity: RavenDB's counter without ranges, each number of which is taken alone. Compared
 * lower-cased.
 */
export interface IdentityKey {
  database: string
  /** `orders|` */
  name: string
}

export interface IdentityClaim extends IdentityKey {
  /** Repeated with the same id, the claim is answered with the same number, until it is pruned. */
  id?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
}

export interface IdentitySeed extends IdentityKey {
  /** The next number is the one after. */
  value: number
  /** Also down, but never below a number that was handed out. */
  isForced: boolean
}

/**
 * Why there is no number, or the seed was not taken, and where the identity is. `overflow`, `jump`,
 * `full` as for a claim.
 */
export type IdentityOutcome =
  | { value: number }
  | { refused: 'overflow' | 'jump' | 'full'; value: number }

export interface CollectionStatus extends CollectionKey {
  max: number
  /** Numbers given back that will be granted again first. */
  free: number
  /** Numbers held by grants, issued ones included. */
  outstanding: number
  grants: number
  /** Milliseconds since the epoch; undefined when nothing was ever granted. */
  lastClaim: number | undefined
}

export interface Connections {
  open: number
  idle: number
  /** Steps that wait for a connection. */
  waiting: number
}

export interface Ledger {
  /**
   * One outcome per claim, in their order; all of them in one commit.
   *
   * A bound collection's numbers come from another authority: from the counter of a back end's ORM,
   * which this step moves, or from an upstream. What it grants may be less than was asked for, and
   * what comes back is granted again, but never given to that counter.
   * @param received what the upstream has just granted for these claims; it is kept whatever
   * becomes of them
   * @throws CounterUnusable
   */
  claim(
    claims: readonly ClaimRequest[],
    received?: readonly UpstreamRange[],
  ): Promise<ClaimOutcome[]>

  /** Is the collection bound? */
  isBound(key: CollectionKey): boolean

  /**
   * Takes what is free and ends at `end`, of one node, out of the ledger for good, so that it may
   * be given back upstream. Resolves with its first number; undefined, and nothing changed: nothing
   * free ends there.
   */
  withdraw(piece: UpstreamPiece): Promise<number | undefined>

  /**
   * How many numbers came back. 0, and nothing changed, unless `end` is where an outstanding grant
   * ends and `last` lies in it or just before it, but not below a number that a check-in said was
   * issued (H22). With a lease: that grant, under its latest token; what does not end at `max` goes
   * to the free list. Without: a grant that was claimed without an id and not shortened yet, and
   * only if it ends at `max`; an identical return is honoured once (H8).
   */
  giveBack(giveBack: GiveBack): Promise<number>

  /**
   * Replaces each lease's token; the replaced one is void from then on (H12, H13). One fate per
   * lease, in their order.
   */
  checkIn(checkIn: CheckIn): Promise<CheckInFate[]>

  read(key: CollectionKey): Promise<Mark>

  /**
   * Sets `max` of collections, of all or of none: up, for numbers that somebody hands out who keeps
   * no grant (RavenDB's client-side HiLo); down, but never below a number that a grant holds.
   */
  write(writes: readonly MarkWrite[]): Promise<Mark[] | MarkRefusal>

  /**
   * Grants nothing at or below `floor` any more. Resolves with the `max` that holds now: never less
   * than before.
   */
  raiseFloor(floor: Floor): Promise<number>

  /**
   * The next number of each identity, without a gap, in the order of the claims; all of them in one
   * commit.
   */
  nextIdentities(claims: readonly IdentityClaim[]): Promise<IdentityOutcome[]>

  /** Resolves with where the identity is then. */
  seedIdentity(seed: IdentitySeed): Promise<IdentityOutcome>

  status(): Promise<CollectionStatus[]>

  /** Numbers of all collections that were given back and will be granted again first. */
  countFree(): Promise<number>

  /**
   * Forgets what was settled before a time (milliseconds since the epoch): grants that came back
   * whole, returns and claims of identities that will not be repeated any more. In small steps, so
   * that claims need not wait.
   */
  prune(before: number): Promise<void>

  /** The connections to the database. Undefined where it has none: SQLite. */
  connections(): Connections | undefined

  /** Resolves when the database answers. */
  ping(): Promise<void>

  /** Waits for what is under way. */
  close(): Promise<void>
}

export interface LedgerLimits {
  /** A `lastMax` further above `max` is refused. */
  maxJump: number
  /** Collections, and identities, per database. */
  collections: number
  /** Databases with collections, and databases with identities: names come from requests. */
  databases: number
}

/** The database did not answer or gave up: try again later. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable'
}

/**
 * What a failure says, to be ended with a dot. Where several addresses were tried, each has an
 * error of its own.
 */
export function reasonOf(error: unknown): string {
  const errors: Error[] = error instanceof AggregateError ? error.errors : [error]
  return errors.map(({ message }) => message.replace(/\.$/, '')).join('; ')
}

/**
 * What a collection is bound to is not as configured, went backwards, or does not answer. Nothing
 * was granted.
 */
export class CounterUnusable extends Error {
  override name = 'CounterUnusable'
}
