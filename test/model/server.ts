/**
 * The server of the model: the ledger's own steps over rows that are plain data. One collection,
 * and tokens that can be read by a person: `~4.1` is grant `~4` after one check-in.
 */
import { checkIn, readCheckIn } from '../../server/src/ledger/check-in.js'
import { grantClaims } from '../../server/src/ledger/claim.js'
import { keyText, serialText } from '../../server/src/ledger/collections.js'
import {
  databaseIn,
  type LedgerContext,
  withDatabases,
  withFloors,
} from '../../server/src/ledger/core.js'
import { giveBack } from '../../server/src/ledger/give-back.js'
import type { GrantTokens } from '../../server/src/ledger/grant-token.js'
import type { CheckInResult, ClaimOutcome } from '../../server/src/ledger/ledger.js'
import { raiseFloors, writeMarks } from '../../server/src/ledger/marks.js'
import { grantedBefore, meets } from '../../server/src/ledger/overlap.js'
import { prune } from '../../server/src/ledger/prune.js'
import type { RowChanges, Rows } from '../../server/src/ledger/row-store.js'
import {
  type CollectionRow,
  type DatabaseRow,
  type GrantRow,
  newCollection,
  newDatabase,
  type ReturnRow,
  type Tombstone,
} from '../../server/src/ledger/rows.js'

export interface Server {
  database: DatabaseRow
  collection: CollectionRow
  grants: GrantRow[]
  returns: ReturnRow[]
  /** Grants that were forgotten because nothing was heard of them. */
  tombstones: Tombstone[]
}

const KEY = { database: 'shop', collection: 'orders' }

export const newServer = (): Server => ({
  database: newDatabase(KEY.database),
  collection: newCollection(KEY),
  grants: [],
  returns: [],
  tombstones: [],
})

export const TOKENS: GrantTokens = {
  // One collection, whose name needs not be in a token.
  write: ({ id, tokenVersion, serial, high }) => `${id}.${tokenVersion}.${serial}.${high}`,
  read(token) {
    const [id, ...numbers] = token.split('.')
    const [tokenVersion, serial, high] = numbers.map(Number) as [number, number, number]
    const { collection } = KEY
    return { id: id!, tokenVersion, serial, high, collection }
  },
}

/** No collection is bound to a counter of an ORM. */
const BOUND = new Map()

const context = (newGrantId: () => string): LedgerContext => ({
  limits: { maxJump: 1_000, maxId: Number.MAX_SAFE_INTEGER, collections: 10, databases: 10 },
  bound: BOUND,
  tokens: TOKENS,
  newGrantId,
  name: 'a',
  nameOf: () => undefined,
})

export interface ClaimMessage {
  /** Undefined: a client of RavenDB's protocol alone. */
  id: string | undefined
  count: number
  lastMax: number
  shown?: readonly { token: string; next: number }[]
}

export function serverClaims(
  server: Server,
  { id, count, lastMax, shown }: ClaimMessage,
  newGrantId: () => string,
): { server: Server; outcome: ClaimOutcome } {
  const claim = { ...KEY, id, count, lastMax, shown, serverTag: 'A', at: 0 }
  const claims = id === undefined ? [] : server.grants.filter((grant) => grant.claim === id)
  const claimed = new Map([[keyText(KEY), new Map(claims.map((grant) => [grant.claim!, grant]))]])
  const places = placesOf(server, shown ?? [])
  const rows = withFloors(rowsOf(server, { claimed, ...places }), BOUND)
  const { answer, changes } = grantClaims(rows, [claim], new Map(), undefined, context(newGrantId))
  return { server: saved(server, changes), outcome: answer[0]! }
}

export function serverTakesBack(
  server: Server,
  { end, last, token }: { end: number; last: number; token: string | undefined },
): { server: Server; count: number } {
  const request = { ...KEY, end, last, token, at: 0 }
  const below = server.grants
    .filter((grant) => grant.low <= end && grant.high >= grant.low)
    .sort((a, b) => b.low - a.low)
  const rows = rowsOf(server, {
    seriesNamed: undefined,
    returnedOf: below[0],
    isReturned: server.returns.some((each) => each.end === end && each.last === last),
  })
  const content = token === undefined ? undefined : TOKENS.read(token, KEY.database)
  const { answer, changes } = giveBack(
    rows,
    request,
    content,
    context(() => ''),
  )
  return { server: saved(server, changes), count: answer }
}

export function serverChecksIn(
  server: Server,
  id: string,
  grants: readonly { token: string; next: number }[],
  spent: readonly string[],
): { server: Server; results: CheckInResult[] } {
  const request = readCheckIn({ database: KEY.database, id, at: 0, grants, spent }, TOKENS)
  const step = checkIn(rowsOf(server, placesOf(server, grants)), request, {
    tokens: TOKENS,
    bound: BOUND,
  })
  if ('select' in step) throw new Error('The step wants rows that it has.')
  return { server: saved(server, step.changes), results: step.answer }
}

/** The operator says how many numbers may have been granted since the backup. */
export function serverRaisesFloors(server: Server, by: number): Server {
  // A collection that was never written is not there: raised floors are to hold for it, too.
  const rows = rowsOf(server, server.collection.version === 0 ? { collections: new Map() } : {})
  const { changes } = raiseFloors(rows, { database: KEY.database, by }, new Map())
  return saved(server, changes)
}

/**
 * Sets the collection's document.
 * @param version that it must have; undefined: any
 * @returns the server that has done it; undefined: it was refused
 */
export function serverWrites(
  server: Server,
  { max, version }: { max: number; version: number | undefined },
): Server | undefined {
  const held = server.grants.filter(({ low, high }) => high >= low).map(({ high }) => high)
  const high = Math.max(0, ...held)
  const rows = rowsOf(server, {
    held: new Map([[keyText(KEY), { high, serial: server.collection.serial }]]),
  })
  const { answer, changes } = writeMarks(
    withFloors(rows, BOUND),
    [{ ...KEY, max, version }],
    context(() => ''),
  )
  return 'refused' in answer ? undefined : saved(server, changes)
}

/**
 * Time has passed, and old grants are forgotten.
 * @param alsoUnheard also those of which the device said nothing any more
 */
export function serverPrunes(server: Server, alsoUnheard: boolean): Server {
  const pruning = { settledBefore: 1, heardBefore: alsoUnheard ? 1 : 0 }
  const step = prune(rowsOf(server, {}), pruning)
  if ('select' in step) throw new Error('The step wants rows that it has.')
  return { ...saved(server, step.changes), returns: [] }
}

const rowsByServer = new WeakMap<Server, Rows>()

function rowsOf(server: Server, found: Partial<Rows>): Rows {
  let rows = rowsByServer.get(server)
  if (!rows) {
    rows = allRowsOf(server)
    rowsByServer.set(server, rows)
  }
  return { ...rows, ...found }
}

/** The places of the grants whose tokens are shown. A grant that was forgotten leaves its place. */
function placesOf(
  { collection, grants }: Server,
  shown: readonly { token: string }[],
): Pick<Rows, 'serials'> {
  const places = shown.map(({ token }) => {
    const { serial } = TOKENS.read(token, KEY.database)!
    const grant = grants.find((each) => each.serial === serial)?.id ?? null
    return { ...KEY, serial, newest: collection.serial, grant, floor: collection.floor, dropped: 0 }
  })
  return { serials: new Map(places.map((place) => [serialText(place), place])) }
}

function allRowsOf(server: Server): Rows {
  return {
    selected: { collections: [KEY] },
    databases: new Map([[KEY.database, server.database]]),
    collections: new Map([[keyText(KEY), { ...server.collection, binding: undefined }]]),
    claimed: new Map(),
    grants: new Map(server.grants.map((grant) => [grant.id, grant])),
    serials: new Map(),
    series: new Map(),
    tombstones: new Map(server.tombstones.map((row) => [row.id, row])),
    seriesNamed: undefined,
    returnedOf: undefined,
    isReturned: false,
    held: new Map(),
    identities: new Map(),
    answered: new Map(),
  }
}

function saved(server: Server, changes: RowChanges): Server {
  const { collections = [], grants = [], returns = [] } = changes
  const newGrants = (changes.newGrants ?? []).map((grant): GrantRow => {
    const { clearTo: _, node: __, ...row } = grant
    const other = server.grants.find((each) => meets(grant, each))
    if (other) throw grantedBefore(row, row, other, other.high)
    return row
  })
  const { prunedGrants = [], tombstones = [] } = changes
  const rested = new Map([...server.tombstones, ...tombstones].map((row) => [row.id, row]))
  const changed = new Map(grants.map((grant) => [grant.id, grant]))
  const { binding: _, ...collection } = {
    binding: undefined,
    ...(collections[0] ?? server.collection),
  }
  return {
    database: databaseIn(withDatabases(rowsOf(server, {}), changes.databases), KEY.database),
    collection,
    grants: [
      ...server.grants
        .filter(({ id }) => !prunedGrants.includes(id))
        .map((grant) => changed.get(grant.id) ?? grant),
      ...newGrants,
    ],
    tombstones: [...rested.values()],
    returns: [...server.returns, ...returns],
  }
}
