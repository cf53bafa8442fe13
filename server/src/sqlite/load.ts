/** Reads the rows that a step works on, inside the transaction that keeps others from them. */
import { BINDING_PREFIX, bindingKey } from '../ledger/bound-collections.js'
import {
  COLLECTION_COLUMNS,
  GRANT_COLUMNS,
  IDENTITY_CLAIM_COLUMNS,
  IDENTITY_COLUMNS,
  readLists,
  SERIES_COLUMNS,
  type StoredCollection,
  UNHEARD_COLUMNS,
} from '../ledger/columns.js'
import { type Setting, settingKeysOf, toDatabases } from '../ledger/database-rows.js'
import { byClaim, identityText, keyText, serialText } from '../ledger/keys.js'
import type { CollectionKey, IdentityKey } from '../ledger/ledger.js'
import { withinQuota } from '../ledger/quota.js'
import type { LoadedCollection, Quota, Rows, Selection } from '../ledger/row-store.js'
import {
  type GrantRow,
  type IdentityClaimRow,
  type IdentityRow,
  newCollection,
  newIdentity,
  type SerialRow,
  type SeriesRow,
  type UnheardRow,
} from '../ledger/rows.js'
import { countDatabases, fields, type NamedTable, serialsOf } from '../ledger/sql.js'
import { reader, type Sqlite } from './file.js'

export function loader(db: Sqlite): (select: Selection) => Rows {
  const loadCollections = collectionLoader(db)
  const loadIdentities = identityLoader(db)
  const grantFields = fields(GRANT_COLUMNS, 'g.')
  // CROSS JOIN keeps the order: a search for each claim, and no scan of all grants.
  const readClaimed = reader<GrantRow>(
    db,
    `SELECT ${grantFields} FROM json_each(?) k CROSS JOIN hilo_grants g
     ON g.database = k.value->>0 AND g.tag = k.value->>1 AND g.claim = k.value->>2`,
  )
  const readAnswered = reader<IdentityClaimRow>(
    db,
    `SELECT ${fields(IDENTITY_CLAIM_COLUMNS, 'c.')}
     FROM json_each(?) k CROSS JOIN hilo_identity_claims c
     ON c.database = k.value->>0 AND c.name = k.value->>1 AND c.claim = k.value->>2`,
  )
  const readGrants = reader<GrantRow>(
    db,
    `SELECT ${grantFields} FROM json_each(?) k CROSS JOIN hilo_grants g ON g.id = k.value`,
  )
  const readUnheard = reader<UnheardRow>(
    db,
    `SELECT ${fields(UNHEARD_COLUMNS, 'u.')}
     FROM json_each(?) k CROSS JOIN hilo_unheard u ON u.id = k.value`,
  )
  const readSerials = reader<SerialRow>(
    db,
    serialsOf(
      `(SELECT value->>0 AS database, value->>1 AS tag, value->>2 AS serial FROM json_each(?)) k`,
    ),
  )
  const readSeries = reader<SeriesRow>(
    db,
    `SELECT ${fields(SERIES_COLUMNS, 's.')}
     FROM json_each(?) k CROSS JOIN hilo_series s ON s.grant_id = k.value`,
  )
  const readReturnedOf = reader<GrantRow>(
    db,
    `SELECT ${grantFields} FROM hilo_grants g
     WHERE database = ? AND tag = ? AND low <= ? AND high >= low ORDER BY low DESC LIMIT 1`,
  )
  const readReturn = reader(
    db,
    `SELECT 1 FROM hilo_returns
     WHERE database = ? AND tag = ? AND range_end = ? AND range_last = ?`,
  )
  const readSettings = reader<Setting>(
    db,
    `SELECT m.key AS "key", m.value AS "value" FROM json_each(?) k CROSS JOIN hilo_meta m
     ON m.key = k.value`,
  )
  const readHeld = reader<{ high: number }>(
    db,
    `SELECT high FROM hilo_grants WHERE database = ? AND tag = ? AND high >= low
     ORDER BY low DESC LIMIT 1`,
  )

  return (selected) => {
    const { collections = [], identities = [], quota, returned, withHeld } = selected
    const { claims = [], identityClaims = [], grants = [], serials = [], series = [] } = selected
    const { databases = [] } = selected
    const claimed =
      claims.length === 0
        ? []
        : readClaimed(
            JSON.stringify(
              claims.map(({ database, collection, id }) => [database, collection, id]),
            ),
          )
    const answered =
      identityClaims.length === 0
        ? []
        : readAnswered(
            JSON.stringify(identityClaims.map(({ database, name, id }) => [database, name, id])),
          )
    const held = new Map<string, number>()
    if (withHeld)
      for (const key of collections)
        for (const { high } of readHeld(key.database, key.collection)) held.set(keyText(key), high)
    const found = new Map(
      grants.length === 0 ? [] : readGrants(JSON.stringify(grants)).map((row) => [row.id, row]),
    )
    const gone = grants.filter((id) => !found.has(id))
    return {
      selected,
      databases: toDatabases(readSettings(JSON.stringify(settingKeysOf(databases)))),
      collections: loadCollections(collections, quota),
      identities: loadIdentities(identities, quota),
      claimed: byClaim(claimed, keyText),
      answered: byClaim(answered, identityText),
      grants: found,
      unheard: new Map(
        gone.length === 0 ? [] : readUnheard(JSON.stringify(gone)).map((row) => [row.id, row]),
      ),
      serials: new Map(
        serials.length === 0
          ? []
          : readSerials(
              JSON.stringify(
                serials.map(({ database, collection, serial }) => [database, collection, serial]),
              ),
            ).map((row) => [serialText(row), row]),
      ),
      series: new Map(
        series.length === 0
          ? []
          : readSeries(JSON.stringify(series)).map((row) => [row.grant, row]),
      ),
      held,
      returnedOf:
        returned && readReturnedOf(returned.database, returned.collection, returned.end)[0],
      isReturned:
        returned !== undefined &&
        readReturn(returned.database, returned.collection, returned.end, returned.last).length > 0,
    }
  }
}

export function collectionReader(db: Sqlite): (key: CollectionKey) => LoadedCollection | undefined {
  const read = reader<StoredCollection & { binding: string | null }>(
    db,
    `SELECT ${fields(COLLECTION_COLUMNS, 'c.')}, m.value AS "binding"
     FROM hilo_counters c LEFT JOIN hilo_meta m
     ON m.key = '${BINDING_PREFIX}' || c.database || '/' || c.tag
     WHERE c.database = ? AND c.tag = ?`,
  )
  return ({ database, collection }) => {
    const [row] = read(database, collection)
    return row && { ...row, ...readLists(row), binding: row.binding ?? undefined }
  }
}

function collectionLoader(db: Sqlite) {
  const read = collectionReader(db)
  const readBinding = reader<{ value: string }>(db, 'SELECT value FROM hilo_meta WHERE key = ?')
  const addNew = quotaOf(db, 'hilo_counters')
  return (keys: readonly CollectionKey[], quota: Quota | undefined) => {
    const found = new Map<string, LoadedCollection>()
    const missing: CollectionKey[] = []
    for (const key of keys) {
      const row = read(key)
      if (row && row.droppedAt === null) found.set(keyText(key), row)
      else missing.push(key)
    }
    for (const key of addNew(missing, quota)) {
      const mark = read(key)
      if (mark) {
        found.set(keyText(key), { ...mark, droppedAt: null })
        continue
      }
      const binding = readBinding(BINDING_PREFIX + bindingKey(key))[0]?.value
      found.set(keyText(key), { ...newCollection(key), binding })
    }
    return found
  }
}

function identityLoader(db: Sqlite) {
  const read = reader<IdentityRow>(
    db,
    `SELECT ${fields(IDENTITY_COLUMNS)} FROM hilo_identities WHERE database = ? AND name = ?`,
  )
  const addNew = quotaOf(db, 'hilo_identities')
  return (keys: readonly IdentityKey[], quota: Quota | undefined) => {
    const found = new Map<string, IdentityRow>()
    const missing: IdentityKey[] = []
    for (const key of keys) {
      const [row] = read(key.database, key.name)
      if (row && row.droppedAt === null) found.set(identityText(key), row)
      else missing.push(key)
    }
    for (const key of addNew(missing, quota)) {
      const [mark] = read(key.database, key.name)
      found.set(identityText(key), { ...newIdentity(key), ...mark, droppedAt: null })
    }
    return found
  }
}

/** @returns those of new keys that the quota allows */
function quotaOf(db: Sqlite, table: NamedTable) {
  const count = reader<{ count: number }>(
    db,
    `SELECT count(*) AS "count" FROM ${table} WHERE database = ? AND dropped_at IS NULL`,
  )
  const countAll = reader<{ count: number }>(db, countDatabases(table))
  return <K extends { database: string }>(missing: readonly K[], quota: Quota | undefined): K[] => {
    if (!quota || missing.length === 0) return []
    const perDatabase = new Map(
      missing.map(({ database }) => [database, count(database)[0]!.count]),
    )
    return withinQuota(missing, { perDatabase, databases: countAll()[0]!.count }, quota)
  }
}
