/**
 * The columns that rows are stored in, and what is read from them. Guarantees that a statement
 * names every column that it reads or writes: a version that adds a column leaves the statements of
 * the one before as they are.
 */
import type { CollectionCounts, CollectionKey } from './ledger.js'
import { type NumberLine, type Span, sizeOf } from './number-line.js'
import type {
  CollectionRow,
  GrantRow,
  IdentityClaimRow,
  IdentityRow,
  ReturnRow,
  SeriesRow,
  UnheardRow,
} from './rows.js'

/** A collection as it is stored: its lists of spans are JSON, `[[low, high], …]`. */
export type StoredCollection = Omit<CollectionRow, List> & StoredLists

type List = 'free' | 'fresh'

export type StoredLists = Readonly<Record<List, string>>

/** Of each field of a row: its column, and the column's type. */
export type Columns<Row> = {
  readonly [Field in keyof Row & string]-?: readonly [column: string, type: 'TEXT' | 'BIGINT']
}

export const COLLECTION_COLUMNS: Columns<StoredCollection> = {
  database: ['database', 'TEXT'],
  collection: ['tag', 'TEXT'],
  max: ['max', 'BIGINT'],
  peak: ['peak', 'BIGINT'],
  floor: ['floor', 'BIGINT'],
  free: ['free', 'TEXT'],
  fresh: ['fresh', 'TEXT'],
  version: ['version', 'BIGINT'],
  serial: ['serial', 'BIGINT'],
  forgotten: ['forgotten', 'BIGINT'],
  grants: ['grants', 'BIGINT'],
  outstanding: ['outstanding', 'BIGINT'],
  lastClaim: ['last_claim', 'BIGINT'],
  droppedAt: ['dropped_at', 'BIGINT'],
}
export const GRANT_COLUMNS: Columns<GrantRow> = {
  id: ['id', 'TEXT'],
  database: ['database', 'TEXT'],
  collection: ['tag', 'TEXT'],
  claim: ['claim', 'TEXT'],
  low: ['low', 'BIGINT'],
  high: ['high', 'BIGINT'],
  firstHigh: ['first_high', 'BIGINT'],
  issued: ['issued', 'BIGINT'],
  count: ['count', 'BIGINT'],
  serverTag: ['server_tag', 'TEXT'],
  grantedAt: ['granted_at', 'BIGINT'],
  rotation: ['rotation', 'BIGINT'],
  serial: ['serial', 'BIGINT'],
  checkIn: ['check_in', 'TEXT'],
  heardAt: ['heard_at', 'BIGINT'],
}
export const UNHEARD_COLUMNS: Columns<UnheardRow> = {
  id: ['id', 'TEXT'],
  database: ['database', 'TEXT'],
  collection: ['tag', 'TEXT'],
  high: ['high', 'BIGINT'],
  serial: ['serial', 'BIGINT'],
  rotation: ['rotation', 'BIGINT'],
  checkIn: ['check_in', 'TEXT'],
}
export const RETURN_COLUMNS: Columns<ReturnRow> = {
  database: ['database', 'TEXT'],
  collection: ['tag', 'TEXT'],
  end: ['range_end', 'BIGINT'],
  last: ['range_last', 'BIGINT'],
  returnedAt: ['returned_at', 'BIGINT'],
}
export const IDENTITY_COLUMNS: Columns<IdentityRow> = {
  database: ['database', 'TEXT'],
  name: ['name', 'TEXT'],
  value: ['value', 'BIGINT'],
  peak: ['peak', 'BIGINT'],
  droppedAt: ['dropped_at', 'BIGINT'],
}
export const IDENTITY_CLAIM_COLUMNS: Columns<IdentityClaimRow> = {
  database: ['database', 'TEXT'],
  name: ['name', 'TEXT'],
  claim: ['claim', 'TEXT'],
  value: ['value', 'BIGINT'],
  claimedAt: ['claimed_at', 'BIGINT'],
}

export const SERIES_COLUMNS: Columns<SeriesRow> = {
  grant: ['grant_id', 'TEXT'],
  database: ['database', 'TEXT'],
  collection: ['tag', 'TEXT'],
  letter: ['letter', 'BIGINT'],
  device: ['device', 'TEXT'],
  last: ['last', 'BIGINT'],
  registeredAt: ['registered_at', 'BIGINT'],
  seenAt: ['seen_at', 'BIGINT'],
  closedAt: ['closed_at', 'BIGINT'],
  closedBy: ['closed_by', 'TEXT'],
  reason: ['reason', 'TEXT'],
  doubtfulFrom: ['doubtful_from', 'BIGINT'],
  doubtfulTo: ['doubtful_to', 'BIGINT'],
}

export const readSpans = (spans: string): Span[] => (spans === '[]' ? [] : JSON.parse(spans))
export const writeSpans = (spans: readonly Span[]): string => JSON.stringify(spans)

export const readLists = ({ free, fresh }: StoredLists): Pick<NumberLine, List> => ({
  free: readSpans(free),
  fresh: readSpans(fresh),
})

/** Numbers that are not granted, whoever may get them. */
export const spansOf = (lists: StoredLists): Span[] => Object.values(readLists(lists)).flat()

export interface StatusRow extends CollectionKey, StoredLists {
  max: number
  outstanding: number
  grants: number
  lastClaim: number | null
}

export const toStatus = ({ free, fresh, lastClaim, ...row }: StatusRow): CollectionCounts => ({
  ...row,
  free: sizeOf(spansOf({ free, fresh })),
  lastClaim: lastClaim ?? undefined,
})
