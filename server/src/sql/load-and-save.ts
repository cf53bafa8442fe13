/**
 * Finds the rows that a step works on, and writes its changes: one statement per table. Guarantees
 * one order of locks, so that two transactions do not wait for each other; rows that are read after
 * the locks cannot change while they are held.
 */
import {
  BINDING_PREFIX,
  byClaim,
  distinct,
  identityText,
  keyOf,
  keyText,
  serialText,
} from '../ledger/collections.js'
import type { CollectionKey } from '../ledger/ledger.js'
import type {
  Held,
  LoadedCollection,
  LoadedIdentity,
  RowChanges,
  Rows,
  Selection,
} from '../ledger/row-store.js'
import type { CollectionRow, SerialRow } from '../ledger/rows.js'
import { putSetting, type Setting, settingKeysOf, settingsFrom, toDatabases } from './meta.js'
import { counting, type LoadedRows } from './missing.js'
import { granting } from './overlaps.js'
import {
  adding,
  changing,
  type Dialect,
  deleting,
  finding,
  keysIn,
  putting,
  type Statement,
  selected,
  statement,
} from './statements.js'
import {
  COLLECTIONS,
  decoded,
  encoded,
  GRANTS,
  IDENTITIES,
  IDENTITY_CLAIMS,
  RETURNS,
  SERIES,
  TOMBSTONES,
} from './tables.js'

export interface Loader {
  selected(select: Selection): Loading
  /** Also those that were dropped, and without a lock. */
  collections(keys: readonly CollectionKey[]): Statement
}

interface Loading {
  /** The statements that find the selected rows, to be run in this order. */
  reads: Statement[]
  /** @param found the rows of each of these statements */
  rows(found: readonly unknown[][]): LoadedRows
}

export const toCollection = (row: unknown): LoadedCollection => {
  const { binding } = row as { binding: string | null }
  return { ...decoded<CollectionRow>(COLLECTIONS, [row])[0]!, binding: binding ?? undefined }
}

export function loader(dialect: Dialect): Loader {
  const lookups = lookupsIn(dialect)
  const names = Object.keys(lookups) as (keyof typeof lookups)[]
  return {
    selected(select) {
      const given = names.map((name) => lookups[name].given(select))
      return {
        reads: names.flatMap((name, i) =>
          given[i] ? statement(lookups[name].text, ...given[i]) : [],
        ),
        rows(found) {
          const left = [...found]
          const each = names.map((name, i) => [name, given[i] ? left.shift() : []])
          return rowsFrom(select, Object.fromEntries(each))
        },
      }
    },
    collections: (keys) => statement(collectionsIn(dialect), ...dialect.given(keys.map(keyOf))),
  }
}

/** The rows that each lookup has found. */
type Found = Readonly<Record<keyof ReturnType<typeof lookupsIn>, readonly unknown[]>>

function rowsFrom(select: Selection, found: Found): LoadedRows {
  const named = {
    collections: found.collections.map(toCollection),
    identities: decoded(IDENTITIES, found.identities) as LoadedIdentity[],
  }
  const chosen = (isChosen: (row: { droppedAt: number | null }) => boolean) => ({
    collections: byText(named.collections.filter(isChosen), keyText),
    identities: byText(named.identities.filter(isChosen), identityText),
  })
  return {
    selected: select,
    databases: toDatabases(found.settings as Setting[]),
    ...chosen(({ droppedAt }) => droppedAt === null),
    dropped: chosen(({ droppedAt }) => droppedAt !== null),
    grants: byText(decoded(GRANTS, found.grants), ({ id }) => id),
    tombstones: byText(decoded(TOMBSTONES, found.tombstones), ({ id }) => id),
    serials: byText(found.serials as SerialRow[], serialText),
    series: byText(decoded(SERIES, [...found.series, ...found.seriesOpen]), ({ grant }) => grant),
    seriesNamed: decoded(SERIES, found.seriesNamed)[0],
    returnedOf: decoded(GRANTS, found.returnedOf)[0],
    claimed: byClaim(decoded(GRANTS, found.claimed), keyText),
    answered: byClaim(decoded(IDENTITY_CLAIMS, found.answered), identityText),
    isReturned: found.returns.length > 0,
    held: new Map(
      (found.held as (CollectionKey & Held)[]).map(({ high, serial, ...key }) => [
        keyText(key),
        { high, serial },
      ]),
    ),
  }
}

/** Finds rows of one table that a step works on. */
interface Lookup {
  text: string
  /** The parameters. Undefined: nothing is to be found. */
  given(select: Selection): unknown[] | undefined
}

/** In the order of locks. */
function lookupsIn(dialect: Dialect) {
  const { schema } = dialect
  const isLocked = true
  const each = (text: string, keysOf: (select: Selection) => readonly object[]): Lookup => ({
    text,
    given(select) {
      const keys = keysOf(select)
      return keys.length > 0 ? dialect.given(keys) : undefined
    },
  })
  const ids = ({ grants = [] }: Selection) => grants.map((id) => ({ id }))
  return {
    collections: each(
      `${collectionsIn(dialect)} ORDER BY t.database, t.collection ${dialect.lock('t')}`,
      ({ collections = [], known = [] }) =>
        distinct([...collections, ...known].map(keyOf), keyText),
    ),
    identities: each(
      finding(dialect, IDENTITIES, ['database', 'name'], {
        isLocked,
        more: `, coalesce((SELECT c.value FROM ${schema}.hilo_identity_claims c
          WHERE c.database = t.database AND c.name = t.name
          ORDER BY c.value DESC LIMIT 1), 0) AS "answered"`,
      }),
      ({ identities = [] }) => identities.map(({ database, name }) => ({ database, name })),
    ),
    grants: each(finding(dialect, GRANTS, ['id'], { isLocked }), ids),
    // After the grants: a grant that is pruned meanwhile is here. Before the serials: they tell of
    // a row that is missing because its collection is dropped meanwhile.
    tombstones: each(finding(dialect, TOMBSTONES, ['id'], { isLocked }), ids),
    returnedOf: {
      text: `SELECT ${selected(GRANTS)} FROM ${schema}.hilo_grants t
        WHERE t.database = $1 AND t.collection = $2 AND t.low <= $3 AND t.high >= t.low
        ORDER BY t.low DESC LIMIT 1 ${dialect.lock('t')}`,
      given: ({ returned }) => returned && [returned.database, returned.collection, returned.end],
    },
    // Not by database and collection: PostgreSQL knows nothing of a new table, and would as soon
    // look through all grants of the collection.
    claimed: each(
      `SELECT ${selected(GRANTS)}
        FROM ${keysIn(dialect, GRANTS, ['database', 'collection', 'claim'])}
        CROSS JOIN ${schema}.hilo_grants t WHERE t.claim = k."claim"
          AND t.database = k."database" AND t.collection || '' = k."collection"`,
      ({ claims = [] }) => claims.map((claim) => ({ ...keyOf(claim), claim: claim.id })),
    ),
    answered: each(
      finding(dialect, IDENTITY_CLAIMS, ['database', 'name', 'claim']),
      ({ identityClaims = [] }) =>
        identityClaims.map(({ database, name, id: claim }) => ({ database, name, claim })),
    ),
    returns: each(
      finding(dialect, RETURNS, ['database', 'collection', 'end', 'last']),
      ({ returned }) => (returned ? [returned] : []),
    ),
    held: each(
      `SELECT k."database", k."collection",
          coalesce((SELECT g.high FROM ${schema}.hilo_grants g
           WHERE g.database = k."database" AND g.collection = k."collection" AND g.high >= g.low
           ORDER BY g.low DESC LIMIT 1), 0) AS "high",
          coalesce((SELECT g.serial FROM ${schema}.hilo_grants g
           WHERE g.database = k."database" AND g.collection = k."collection"
           ORDER BY g.serial DESC LIMIT 1), 0) AS "serial"
        FROM ${keysIn(dialect, GRANTS, ['database', 'collection'])}`,
      ({ withHeld, collections = [] }) => (withHeld ? collections.map(keyOf) : []),
    ),
    // The record of a place among a collection's grants.
    serials: each(
      `SELECT c.database AS "database", c.collection AS "collection", k."serial" AS "serial",
          c.serial AS "newest", c.floor AS "floor", c.dropped_serial AS "dropped",
          (SELECT g.id FROM ${schema}.hilo_grants g
           WHERE g.database = c.database AND g.collection = c.collection
             AND g.serial = k."serial") AS "grant"
        FROM ${keysIn(dialect, GRANTS, ['database', 'collection', 'serial'])}
        CROSS JOIN ${schema}.hilo_collections c
        WHERE c.database = k."database" AND c.collection = k."collection"`,
      ({ serials = [] }) => serials,
    ),
    series: each(finding(dialect, SERIES, ['grant'], { isLocked }), ({ series = [] }) =>
      series.map((grant) => ({ grant })),
    ),
    seriesOpen: each(
      `${finding(dialect, SERIES, ['database', 'collection', 'device'])}
        AND t.closed_at IS NULL`,
      ({ seriesOpen }) => (seriesOpen ? [seriesOpen] : []),
    ),
    seriesNamed: each(
      finding(dialect, SERIES, ['database', 'collection', 'nameKey']),
      ({ seriesNamed }) => (seriesNamed ? [seriesNamed] : []),
    ),
    settings: each(
      `SELECT m.key AS "key", m.value AS "value" FROM ${dialect.rows('k', [['key', 'TEXT']])}
        CROSS JOIN ${schema}.hilo_meta m WHERE m.key = k."key"`,
      ({ databases = [] }) => settingKeysOf(databases).map((key) => ({ key })),
    ),
  } satisfies Record<string, Lookup>
}

const collectionsIn = (dialect: Dialect): string => `
  SELECT ${selected(COLLECTIONS)}, m.value AS "binding"
  FROM ${keysIn(dialect, COLLECTIONS, ['database', 'collection'])}
  CROSS JOIN ${dialect.schema}.hilo_collections t LEFT JOIN ${dialect.schema}.hilo_meta m
    ON m.key = '${BINDING_PREFIX}' || t.database || '/' || t.collection
  WHERE t.database = k."database" AND t.collection = k."collection"`

const byText = <Row>(rows: readonly Row[], textOf: (row: Row) => string): Map<string, Row> =>
  new Map(rows.map((row) => [textOf(row), row]))

/** @returns the statements that save changes of rows as they were found */
export function saver(dialect: Dialect): (rows: Rows, changes: RowChanges) => Statement[] {
  /** In the order in which they run. */
  const texts = {
    collections: changing(dialect, COLLECTIONS),
    newGrants: granting(dialect),
    grants: changing(dialect, GRANTS),
    prunedGrants: deleting(dialect, GRANTS),
    tombstones: putting(dialect, TOMBSTONES),
    returns: adding(dialect, RETURNS),
    identities: changing(dialect, IDENTITIES),
    identityClaims: adding(dialect, IDENTITY_CLAIMS),
    series: putting(dialect, SERIES),
  }
  const put = putSetting(dialect.schema)

  return (rows, changes) => {
    const { collections, identities, prunedGrants } = changes
    const given: Partial<Record<keyof typeof texts, readonly object[] | undefined>> = {
      ...changes,
      collections: collections?.map((row) =>
        encoded(COLLECTIONS, row, rows.collections.get(keyText(row))),
      ),
      prunedGrants: prunedGrants?.map((id) => ({ id })),
    }
    // Rows that were dropped before are not among those of a step.
    const dropped = {
      collections: collections?.filter(isDropped),
      identities: identities?.filter(isDropped),
    }
    return [
      ...settingsFrom(changes).map(({ key, value }) => statement(put, key, value)),
      ...(Object.keys(texts) as (keyof typeof texts)[]).flatMap((what) =>
        given[what]?.length ? [statement(texts[what], ...dialect.given(given[what]))] : [],
      ),
      ...counting(dialect, dropped, -1),
    ]
  }
}

const isDropped = ({ droppedAt }: { droppedAt: number | null }): boolean => droppedAt !== null
