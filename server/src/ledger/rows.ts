/**
 * What the two stores share: the rows as they read them, and what follows from a row without asking
 * the database again.
 */
import type { Authority } from '../bound/bindings.js'
import type { LeaseTokens } from './grant-token.js'
import type {
  CheckInFate,
  ClaimOutcome,
  ClaimRequest,
  CollectionKey,
  CollectionStatus,
  Grant,
  LedgerLimits,
  Mark,
  MarkRefusal,
  MarkWrite,
} from './ledger.js'
import {
  type Allocation,
  type Counter,
  move,
  NEW_COUNTER,
  raise,
  release,
  sizeOf,
} from './number-line.js'
import { restock } from './stock.js'

export interface CounterRow extends CollectionKey {
  tag: string
  max: number
  peak: number
  floor: number
  /** JSON of `Counter.free`. */
  free: string
  version: number
}

export interface GrantRow {
  id: string
  database: string
  collection: string
  tag: string
  claim: string | null
  low: number
  high: number
  first_high: number
  /** The highest number that is known to be issued; `low - 1`: none. */
  issued: number
  count: number
  server_tag: string
  granted_at: number
  rotation: number
  check_in: string | null
}

export interface StatusRow extends CollectionKey {
  max: number
  free: string
  outstanding: number
  grants: number
  last_claim: number | null
}

export const STATUS_QUERY = `
  SELECT c.database, c.tag AS collection, c.max, c.free, CAST(coalesce(sum(g.high - g.low + 1), 0) AS BIGINT) AS outstanding,
    count(g.id) AS grants, max(g.granted_at) AS last_claim
  FROM hilo_counters c LEFT JOIN hilo_grants g ON g.database = c.database AND g.tag = c.tag
  GROUP BY c.database, c.tag, c.max, c.free ORDER BY c.database, c.tag`

const PRUNE_STEP = 1_000

/**
 * Each is repeated until it returns no row.
 * @param time a parameter
 */
export const pruneQueries = (time: '?' | '$1'): readonly string[] => [
  'DELETE FROM hilo_grants WHERE id IN (SELECT id FROM hilo_grants WHERE high < low AND ' +
    `granted_at < ${time} LIMIT ${PRUNE_STEP}) RETURNING id`,
  `DELETE FROM hilo_returns WHERE (database, tag, range_end, range_last) IN
    (SELECT database, tag, range_end, range_last FROM hilo_returns WHERE returned_at < ${time} LIMIT ${PRUNE_STEP}) RETURNING tag`,
  `DELETE FROM hilo_identity_claims WHERE (database, name, claim) IN
    (SELECT database, name, claim FROM hilo_identity_claims WHERE claimed_at < ${time} LIMIT ${PRUNE_STEP}) RETURNING name`,
]

export const FREE_QUERY = "SELECT free FROM hilo_counters WHERE free <> '[]'"

export const countFree = (rows: readonly Pick<CounterRow, 'free'>[]): number =>
  rows.reduce((sum, { free }) => sum + sizeOf(JSON.parse(free)), 0)

export const toStatus = ({ free, last_claim, ...row }: StatusRow): CollectionStatus => ({
  ...row,
  free: sizeOf(JSON.parse(free)),
  lastClaim: last_claim ?? undefined,
})

export const normalized = <K extends CollectionKey>(key: K): K => ({
  ...key,
  database: key.database.toLowerCase(),
  collection: key.collection.toLowerCase(),
})

export const isSame = (a: CollectionKey, b: CollectionKey): boolean =>
  a.database === b.database && a.collection === b.collection

export const newCounterRow = ({ database, collection }: CollectionKey): CounterRow => ({
  database,
  collection,
  tag: collection,
  ...toColumns(NEW_COUNTER),
  version: 0,
})

export const toCounter = ({ max, peak, floor, free }: CounterRow): Counter => ({
  max,
  peak,
  floor,
  free: JSON.parse(free),
})

/** The row after a step. */
export const withCounter = (row: CounterRow, counter: Counter): CounterRow => ({
  ...row,
  ...toColumns(counter),
  version: row.version + (counter.max === row.max ? 0 : 1),
})

const toColumns = ({ max, peak, floor, free }: Counter) => ({
  max,
  peak,
  floor,
  free: JSON.stringify(free),
})

export function newGrantRow(
  claim: ClaimRequest,
  id: string,
  { low, high, node }: Omit<Allocation, 'counter'>,
): GrantRow {
  return {
    id,
    database: claim.database,
    collection: claim.collection,
    tag: claim.collection,
    claim: claim.id ?? null,
    low,
    high,
    first_high: high,
    issued: low - 1,
    count: claim.count,
    server_tag: node ?? claim.serverTag,
    granted_at: claim.at,
    rotation: 0,
    check_in: null,
  }
}

export function toGrant(row: GrantRow, tokens: LeaseTokens): Grant {
  const { low, high, count, server_tag: serverTag, granted_at: at } = row
  return { low, high, count, serverTag, at, token: tokens.write(row) }
}

/** A claim that was answered before. */
export function repeatOutcome(row: GrantRow, max: number, tokens: LeaseTokens): ClaimOutcome {
  if (row.rotation > 0 || row.high !== row.first_high) return { refused: 'spent', max }
  return { grant: toGrant(row, tokens), isRepeat: true }
}

/** May the tail after `last` of a grant that ends at `end` come back? */
export const isTail = (row: GrantRow, { end, last }: { end: number; last: number }): boolean =>
  row.high === end && last < end && last >= row.issued

/**
 * May a return without a lease shorten it? RavenDB's clients claim without an id, never check in,
 * and return a range once.
 */
export const isPlain = (row: GrantRow): boolean =>
  row.claim === null && row.rotation === 0 && row.high === row.first_high

/**
 * May a return without a lease free what ends at `end`? Who counts elsewhere has more than one
 * range that ends there.
 */
export const mayReturn = (row: CounterRow, end: number, authority: Authority): boolean =>
  authority === 'ledger' ? row.max === end : authority === 'counter'

/** The counter when the grant's numbers above `last` came back. */
export function cameBack(
  row: CounterRow,
  { high, server_tag }: GrantRow,
  last: number,
  authority: Authority,
): CounterRow {
  const counter = toCounter(row)
  if (authority === 'ledger') return withCounter(row, release(counter, last + 1, high))
  return withCounter(
    row,
    restock(counter, authority === 'counter' ? [last + 1, high] : [last + 1, high, server_tag]),
  )
}

/** The grant without what comes after `last`. */
export const shortened = (row: GrantRow, last: number): GrantRow => ({ ...row, high: last })

/** The grant when it is known that its numbers below `next` were issued. */
export const withIssued = (row: GrantRow, next: number): GrantRow => ({
  ...row,
  issued: Math.min(Math.max(row.issued, next - 1), row.high),
})

/** A step of `Ledger.write`: the row after it, or why not. */
export function moved(
  row: CounterRow | undefined,
  write: MarkWrite,
  held: number,
  limits: Pick<LedgerLimits, 'maxJump'>,
  authority: Authority,
): CounterRow | MarkRefusal {
  if (authority !== 'ledger') return { refused: 'bound', write, mark: toMark(row) }
  if (!row) return { refused: 'full', write, mark: toMark(row) }
  if (write.version !== undefined && write.version !== row.version)
    return { refused: 'conflict', write, mark: toMark(row) }
  if (write.max > row.max + limits.maxJump) return { refused: 'jump', write, mark: toMark(row) }
  const counter = move(toCounter(row), write.max, held)
  // A document that is written has a version, be it {"Max": 0}.
  return {
    ...row,
    ...toColumns(counter),
    version: row.version + (counter.max === row.max && row.version > 0 ? 0 : 1),
  }
}

export const toMark = (row: CounterRow | undefined): Mark => ({
  max: row?.max ?? 0,
  version: row?.version ?? 0,
})

/**
 * Did this ledger write the token, but does not know so much any more? Then it is an older copy of
 * itself, and what it thinks free may have been granted since (H20). A row that was pruned looks
 * the same, which costs free numbers, nothing else.
 */
export const provesOlderCopy = (row: GrantRow | undefined, rotation: number): boolean =>
  row === undefined || row.rotation < rotation

/**
 * Nothing that was ever granted is granted again in the database, whose name is the one parameter.
 */
export const distrustQuery = (parameter: '?' | '$1'): string =>
  `UPDATE hilo_counters SET max = peak, floor = peak, free = '[]', version = version + 1 ` +
  `WHERE database = ${parameter} AND floor < peak`

/**
 * The counter after a copy of the grant's device was found: what either gave back, the other may
 * have issued, so nobody is granted it (H13).
 */
export const withoutCopied = (counter: CounterRow, { first_high: high }: GrantRow): CounterRow =>
  high > counter.floor ? withCounter(counter, raise(toCounter(counter), high)) : counter

/**
 * The grant after check-in `id` has shown it at `rotation`: with the next rotation, or as it is
 * when the same check-in came before.
 */
export function checkedIn(
  row: GrantRow | undefined,
  rotation: number,
  next: number,
  id: string,
): GrantRow | 'superseded' {
  if (row?.rotation === rotation)
    return { ...withIssued(row, next), rotation: rotation + 1, check_in: id }
  return row && row.rotation === rotation + 1 && row.check_in === id ? row : 'superseded'
}

export const toFate = (row: GrantRow, tokens: LeaseTokens): CheckInFate => ({
  token: tokens.write(row),
  high: row.high,
})
