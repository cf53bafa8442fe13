/** Rows and settings for tests of single steps. What a step is given is frozen: it must be pure. */
import {
  type BoundCollection,
  bindingKey,
  byClaim,
  identityText,
  keyText,
  serialText,
} from '../../src/ledger/collections.js'
import type { LedgerContext } from '../../src/ledger/core.js'
import { grantTokens } from '../../src/ledger/grant-token.js'
import type { ClaimRequest } from '../../src/ledger/ledger.js'
import type { LoadedCollection, Rows } from '../../src/ledger/row-store.js'
import {
  type DatabaseRow,
  type GrantRow,
  type IdentityClaimRow,
  type IdentityRow,
  newCollection,
  type SerialRow,
  type SeriesRow,
  type Tombstone,
} from '../../src/ledger/rows.js'

export const ORDERS = { database: 'shop', collection: 'orders' }
export const TOKENS = grantTokens(['a secret of tests'])
/** As long as a grant's id is. */
export const grantId = (n: number): string => `grant-${n}`.padEnd(16, '_')

/** @param bound bindings of collections of `shop` */
export function contextOf(...bound: BoundCollection[]): LedgerContext {
  let grants = 0
  return {
    limits: { maxJump: 1_000, maxId: Number.MAX_SAFE_INTEGER, collections: 10, databases: 10 },
    bound: new Map(bound.map((one) => [bindingKey(one), one])),
    tokens: TOKENS,
    newGrantId: () => grantId(++grants),
    name: 'a',
    nameOf: () => 'a',
  }
}

export const collectionOf = (change: Partial<LoadedCollection> = {}): LoadedCollection => ({
  ...newCollection(ORDERS),
  binding: undefined,
  ...change,
})

/** 1 to 32, claimed with the id `a`, unless changed. */
export const grantOf = (change: Partial<GrantRow> = {}): GrantRow => ({
  id: grantId(0),
  ...ORDERS,
  claim: 'a',
  claimedBy: null,
  device: '',
  low: 1,
  high: 32,
  firstHigh: 32,
  issued: 0,
  count: 32,
  serverTag: 'A',
  grantedAt: 0,
  tokenVersion: 0,
  serial: 1,
  checkIn: null,
  heardAt: 0,
  ...change,
})

export const claimOf = (change: Partial<ClaimRequest> = {}): ClaimRequest => ({
  ...ORDERS,
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 5,
  ...change,
})

interface Given {
  databases?: DatabaseRow[]
  collections?: LoadedCollection[]
  grants?: GrantRow[]
  returnedOf?: GrantRow
  isReturned?: boolean
  serials?: SerialRow[]
  tombstones?: Tombstone[]
  held?: number
  identities?: IdentityRow[]
  answered?: IdentityClaimRow[]
  series?: SeriesRow[]
  seriesNamed?: SeriesRow
}

/** As a store would load them for any step. */
export function rowsOf(given: Given): Rows {
  const { collections = [], grants = [], identities = [], answered = [] } = given
  for (const row of [...collections, ...grants, ...identities, ...answered]) Object.freeze(row)
  for (const { free } of collections) Object.freeze(free)
  return {
    selected: given.collections ? { collections: given.collections } : {},
    databases: new Map((given.databases ?? []).map((row) => [row.database, row])),
    collections: new Map(collections.map((row) => [keyText(row), row])),
    claimed: byClaim(
      grants.filter(({ claim }) => claim !== null),
      keyText,
    ),
    grants: new Map(grants.map((row) => [row.id, row])),
    serials: new Map((given.serials ?? []).map((row) => [serialText(row), row])),
    seriesNamed: given.seriesNamed,
    series: new Map((given.series ?? []).map((row) => [row.grant, Object.freeze(row)])),
    tombstones: new Map((given.tombstones ?? []).map((row) => [row.id, row])),
    returnedOf: given.returnedOf,
    isReturned: given.isReturned ?? false,
    held: new Map([[keyText(ORDERS), { high: given.held ?? 0, serial: 0 }]]),
    identities: new Map(identities.map((row) => [identityText(row), row])),
    answered: byClaim(answered, identityText),
  }
}
