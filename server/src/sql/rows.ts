/**
 * Finds the rows that a step works on, and writes what it changed: one statement per table.
 * Guarantees one order of locks, so that two transactions do not wait for each other; what is read
 * after the locks is as it is once they are held.
 */
import {
  BINDING_PREFIX,
  byClaim,
  distinct,
  identityText,
  keyText,
  serialText,
} from '../ledger/collections.js'
import type { CollectionKey } from '../ledger/ledger.js'
import type {
  LoadedCollection,
  RowChanges,
  Rows,
  Selection,
  SeriesNameKey,
} from '../ledger/row-store.js'
import type { CollectionRow, SerialRow } from '../ledger/rows.js'
import { type Setting, settingKeysOf, settingsFrom, toDatabases } from './meta.js'
import { counting, type LoadedRows } from './missing.js'
import {
  adding,
  changing,
  type Dialect,
  decoded,
  deleting,
  encoded,
  finding,
  keysIn,
  putting,
  type Statement,
  selected,
  statement,
} from './statements.js'
import {
  COLLECTIONS,
  GRANTS,
  IDENTITIES,
  IDENTITY_CLAIMS,
  RETURNS,
  SERIES,
  TOMBSTONES,
} from './tables.js'

export interface Loader {
  /** The statements that find the selected rows, to be run in this order. */
  statements(select: Selection): Statement[]
  /** @param found what each of these statements found */
  rows(select: Selection, found: readonly unknown[][]): LoadedRows
  /** Also one that was dropped, and without a lock. */
  collection(key: CollectionKey): Statement
}

export const toCollection = (row: unknown): LoadedCollection => {
  const { binding } = row as { binding: string | null }
  return { ...decoded<CollectionRow>(COLLECTIONS, [row])[0]!, binding: binding ?? undefined }
}

type Part = { text: string; rows: readonly object[] } | Statement | undefined

export function loader(dialect: Dialect): Loader {
  const texts = loadingTexts(dialect)

  /** In the order of locks; undefined: nothing is to be found there. */
  const parts = (select: Selection): Part[] => {
    const { collections = [], known = [], identities = [], grants = [], returned } = select
    const { claims = [], identityClaims = [], serials = [], series = [], databases = [] } = select
    const { withHeld, seriesOf, seriesNamed } = select
    const ids = grants.map((id) => ({ id }))
    const end = returned && [returned.database, returned.collection, returned.end]
    return [
      {
        text: texts.collections,
        rows: distinct([...collections, ...known].map(keyIn), keyText),
      },
      {
        text: texts.identities,
        rows: identities.map(({ database, name }) => ({ database, name })),
      },
      { text: texts.grants, rows: ids },
      end && statement(texts.returnedOf, ...end),
      { text: texts.claimed, rows: claims.map((claim) => ({ ...keyIn(claim), claim: claim.id })) },
      {
        text: texts.answered,
        rows: identityClaims.map(({ database, name, id: claim }) => ({ database, name, claim })),
      },
      returned && statement(texts.returns, ...end!, returned.last),
      { text: texts.held, rows: withHeld ? collections.map(keyIn) : [] },
      { text: texts.serials, rows: serials },
      { text: texts.series, rows: series.map((grant) => ({ grant })) },
      { text: texts.seriesOf, rows: seriesOf ? [keyIn(seriesOf)] : [] },
      { text: texts.seriesNamed, rows: seriesNamed ? [nameKeyIn(seriesNamed)] : [] },
      { text: texts.settings, rows: settingKeysOf(databases).map((key) => ({ key })) },
      { text: texts.tombstones, rows: ids },
    ]
  }

  const isAsked = (part: Part): part is Exclude<Part, undefined> =>
    part !== undefined && ('parameters' in part || part.rows.length > 0)

  return {
    statements: (select) =>
      parts(select)
        .filter(isAsked)
        .map((part) =>
          'parameters' in part ? part : statement(part.text, ...dialect.given(part.rows)),
        ),
    collection: (key) => statement(texts.collection, ...dialect.given([keyIn(key)])),
    rows(select, found) {
      const left = [...found]
      const [collections, identities, grants, returnedOf, claimed, answered, ...others] = parts(
        select,
      ).map((part) => (isAsked(part) ? left.shift()! : []))
      const [returns, held, serials, series, seriesOf, namedSeries, settings, tombstones] = others
      const named = {
        collections: collections!.map(toCollection),
        identities: decoded(IDENTITIES, identities!),
      }
      const chosen = (isChosen: (row: { droppedAt: number | null }) => boolean) => ({
        collections: byText(named.collections.filter(isChosen), keyText),
        identities: byText(named.identities.filter(isChosen), identityText),
      })
      return {
        selected: select,
        databases: toDatabases(settings as Setting[]),
        ...chosen(({ droppedAt }) => droppedAt === null),
        dropped: chosen(({ droppedAt }) => droppedAt !== null),
        grants: byText(decoded(GRANTS, grants!), ({ id }) => id),
        tombstones: byText(decoded(TOMBSTONES, tombstones!), ({ id }) => id),
        serials: byText(serials as SerialRow[], serialText),
        series: byText(decoded(SERIES, [...series!, ...seriesOf!]), ({ grant }) => grant),
        seriesNamed: decoded(SERIES, namedSeries!)[0],
        returnedOf: decoded(GRANTS, returnedOf!)[0],
        claimed: byClaim(decoded(GRANTS, claimed!), keyText),
        answered: byClaim(decoded(IDENTITY_CLAIMS, answered!), identityText),
        isReturned: returns!.length > 0,
        held: new Map(
          (held as (CollectionKey & { high: number | null })[]).flatMap(
            (row): [string, number][] => (row.high === null ? [] : [[keyText(row), row.high]]),
          ),
        ),
      }
    },
  }
}

function loadingTexts(dialect: Dialect) {
  const collection = `SELECT ${selected(COLLECTIONS)}, m.value AS "binding"
    FROM ${keysIn(dialect, COLLECTIONS, ['database', 'collection'])}
    CROSS JOIN hilo_counters t LEFT JOIN hilo_meta m
      ON m.key = '${BINDING_PREFIX}' || t.database || '/' || t.tag
    WHERE t.database = k."database" AND t.tag = k."collection"`
  const isLocked = true
  const serial = keysIn(dialect, GRANTS, ['database', 'collection', 'serial'])
  return {
    collection,
    collections: `${collection} ORDER BY t.database, t.tag ${dialect.lock('t')}`,
    identities: finding(dialect, IDENTITIES, ['database', 'name'], { isLocked }),
    grants: finding(dialect, GRANTS, ['id'], { isLocked }),
    returnedOf: `SELECT ${selected(GRANTS)} FROM hilo_grants t
      WHERE t.database = $1 AND t.tag = $2 AND t.low <= $3 AND t.high >= t.low
      ORDER BY t.low DESC LIMIT 1 ${dialect.lock('t')}`,
    // Not by database and collection: PostgreSQL knows nothing of a new table, and would as soon
    // look through all grants of the collection.
    claimed: `SELECT ${selected(GRANTS)}
      FROM ${keysIn(dialect, GRANTS, ['database', 'collection', 'claim'])}
      CROSS JOIN hilo_grants t WHERE t.claim = k."claim"
        AND t.database = k."database" AND t.tag || '' = k."collection"`,
    answered: finding(dialect, IDENTITY_CLAIMS, ['database', 'name', 'claim']),
    returns: `SELECT ${selected(RETURNS)} FROM hilo_returns t
      WHERE t.database = $1 AND t.tag = $2 AND t.range_end = $3 AND t.range_last = $4`,
    held: `SELECT k."database", k."collection",
        (SELECT g.high FROM hilo_grants g
         WHERE g.database = k."database" AND g.tag = k."collection" AND g.high >= g.low
         ORDER BY g.low DESC LIMIT 1) AS "high"
      FROM ${keysIn(dialect, GRANTS, ['database', 'collection'])}`,
    // What is known of a place among a collection's grants.
    serials: `SELECT c.database AS "database", c.tag AS "collection", k."serial" AS "serial",
        c.serial AS "newest", c.floor AS "floor",
        (SELECT g.id FROM hilo_grants g
         WHERE g.database = c.database AND g.tag = c.tag AND g.serial = k."serial") AS "grant"
      FROM ${serial} CROSS JOIN hilo_counters c
      WHERE c.database = k."database" AND c.tag = k."collection"`,
    series: finding(dialect, SERIES, ['grant'], { isLocked }),
    seriesOf: finding(dialect, SERIES, ['database', 'collection'], { isLocked }),
    seriesNamed: finding(dialect, SERIES, ['database', 'collection', 'name']),
    settings: `SELECT m.key AS "key", m.value AS "value"
      FROM ${dialect.rows('k', [['key', 'TEXT']])} CROSS JOIN hilo_meta m WHERE m.key = k."key"`,
    // After the grants: a grant that is pruned meanwhile is here.
    tombstones: finding(dialect, TOMBSTONES, ['id'], { isLocked }),
  }
}

const nameKeyIn = ({ database, collection, name }: SeriesNameKey): SeriesNameKey => ({
  database,
  collection,
  name,
})

const keyIn = ({ database, collection }: CollectionKey): CollectionKey => ({ database, collection })

const byText = <Row>(rows: readonly Row[], textOf: (row: Row) => string): Map<string, Row> =>
  new Map(rows.map((row) => [textOf(row), row]))

const SAVE_SETTING = `INSERT INTO hilo_meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

/** @returns the statements that save changes of rows as they were found */
export function saver(dialect: Dialect): (rows: Rows, changes: RowChanges) => Statement[] {
  const saveCollections = changing(dialect, COLLECTIONS)
  const addGrants = adding(dialect, GRANTS)
  const saveGrants = changing(dialect, GRANTS)
  const deleteGrants = deleting(dialect, GRANTS)
  const addUnheard = adding(dialect, TOMBSTONES)
  const saveTombstones = changing(dialect, TOMBSTONES)
  const addReturns = adding(dialect, RETURNS)
  const saveIdentities = changing(dialect, IDENTITIES)
  const addIdentityClaims = adding(dialect, IDENTITY_CLAIMS)
  const putSeries = putting(dialect, SERIES)

  const all = (text: string, rows: readonly object[] = []): Statement[] =>
    rows.length > 0 ? [statement(text, ...dialect.given(rows))] : []

  return (rows, changes) => [
    ...settingsFrom(changes).map(({ key, value }) => statement(SAVE_SETTING, key, value)),
    ...all(
      saveCollections,
      changes.collections?.map((row) =>
        encoded(COLLECTIONS, row, rows.collections.get(keyText(row))),
      ),
    ),
    ...all(addGrants, changes.newGrants),
    ...all(saveGrants, changes.grants),
    ...all(
      deleteGrants,
      changes.prunedGrants?.map((id) => ({ id })),
    ),
    ...all(addUnheard, changes.newTombstones),
    ...all(saveTombstones, changes.tombstones),
    ...all(addReturns, changes.returns),
    ...all(saveIdentities, changes.identities),
    ...all(addIdentityClaims, changes.identityClaims),
    ...all(putSeries, changes.series),
    // What was dropped before is not among the rows of a step.
    ...counting(
      dialect,
      {
        collections: changes.collections?.filter(isDropped),
        identities: changes.identities?.filter(isDropped),
      },
      -1,
    ),
  ]
}

const isDropped = ({ droppedAt }: { droppedAt: number | null }): boolean => droppedAt !== null
