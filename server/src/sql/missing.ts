/**
 * Adds collections and identities that are asked for the first time, and counts those of each
 * database. A step is tried as if they were there. Only those that it changes are added, as far as
 * the quota allows: a claim that is refused leaves no name. They are added in transactions of their
 * own, so that a step holds no lock while it waits for a row that another step adds.
 */
import { identityText, keyText } from '../ledger/collections.js'
import {
  type Quota,
  type RowChanges,
  type Rows,
  type Selection,
  withinQuota,
} from '../ledger/row-store.js'
import { type CollectionRow, type IdentityRow, newCollection, newIdentity } from '../ledger/rows.js'
import {
  adding,
  type Dialect,
  keysIn,
  type SqlConnection,
  type Statement,
  statement,
} from './statements.js'
import { COLLECTIONS, encoded, fieldsOf, IDENTITIES, NAMES, type Table } from './tables.js'

export type Names = 'collections' | 'identities'

/** One of them, by `keyText` or `identityText`, and its row if it is new. */
type MissingName = { text: string } & (
  | { names: 'collections'; row: CollectionRow }
  | { names: 'identities'; row: IdentityRow }
)
export type Missing = readonly MissingName[]

/**
 * Those that are not there.
 * @param full there was no room for these
 */
export function missingFrom(rows: Rows, select: Selection, full: Missing): Missing {
  const { collections = [], identities = [], quota } = select
  if (!quota) return []
  return [
    ...collections.map((key): MissingName => {
      return { names: 'collections', text: keyText(key), row: newCollection(key) }
    }),
    ...identities.map((key): MissingName => {
      return { names: 'identities', text: identityText(key), row: newIdentity(key) }
    }),
  ].filter(
    ({ names, text }) =>
      !rows[names].has(text) && !full.some((each) => each.names === names && each.text === text),
  )
}

/** The rows as if the missing ones were there. Dropped collections go on from where they were. */
export function withMissing({ dropped, ...rows }: LoadedRows, missing: Missing): Rows {
  const collections = new Map(rows.collections)
  const identities = new Map(rows.identities)
  for (const { names, text, row } of missing)
    if (names === 'identities')
      identities.set(text, { ...row, ...dropped.identities.get(text), droppedAt: null })
    else
      collections.set(text, {
        ...{ ...row, binding: undefined },
        ...{ ...dropped.collections.get(text), droppedAt: null },
      })
  return { ...rows, collections, identities }
}

/** Those that a step has changed. */
export function changedOf(missing: Missing, changes: RowChanges): Missing {
  const changed = {
    collections: new Set(changes.collections?.map(keyText)),
    identities: new Set(changes.identities?.map(identityText)),
  }
  return missing.filter(({ names, text }) => changed[names].has(text))
}

/** Resolves with those for which there was no room. */
export async function addMissing(
  connection: SqlConnection,
  missing: Missing,
  quota: Quota,
): Promise<Missing> {
  const collections = missing.flatMap(({ names, row }) => (names === 'collections' ? row : []))
  const identities = missing.flatMap(({ names, row }) => (names === 'identities' ? row : []))
  const allowed: readonly object[] = [
    ...(await add(connection, COLLECTIONS, 'collections', collections, quota)),
    ...(await add(connection, IDENTITIES, 'identities', identities, quota)),
  ]
  return missing.filter(({ row }) => !allowed.includes(row))
}

/** Resolves with those for which there was room. */
async function add<Row extends { database: string }>(
  { dialect, transaction }: SqlConnection,
  table: Table<Row>,
  names: Names,
  rows: readonly Row[],
  quota: Quota,
): Promise<Row[]> {
  if (rows.length === 0) return []
  const databases = [...new Set(rows.map(({ database }) => database))]
  const allowed = await transaction({
    reads: namesIn(dialect, names, databases),
    step([perDatabase, all]) {
      const found = perDatabase as { database: string; count: number }[]
      const [used] = all as { count: number }[]
      const usage = {
        perDatabase: new Map(found.map(({ database, count }) => [database, count])),
        databases: used!.count,
      }
      return { answer: withinQuota(rows, usage, quota), writes: [] }
    },
  })
  if (allowed.length === 0) return []
  const given = dialect.given(allowed.map((row) => encoded(table, row)))
  await transaction({
    reads: [statement(reviving(dialect, table), ...given)],
    // Another server may have added some of them meanwhile.
    step: ([added]) => ({
      answer: undefined,
      writes: counting(dialect, { [names]: added as { database: string }[] }, 1),
    }),
  })
  return allowed
}

/**
 * Adds rows in one order, so that two servers which add the same rows do not block each other. A
 * dropped collection or identity goes on above all that was ever granted.
 */
function reviving<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  return `${adding(dialect, table)} ORDER BY ${keys.map((field) => `n."${field}"`)}
    ON CONFLICT (${keys.map((field) => table.columns[field][0])})
    DO UPDATE SET dropped_at = NULL WHERE ${table.name}.dropped_at IS NOT NULL
    RETURNING database AS "database"`
}

/**
 * Finds how many each of these databases has (`database`, `count`), and how many databases have
 * any (`count`).
 */
const namesIn = (dialect: Dialect, names: Names, databases: readonly string[]): Statement[] => [
  statement(
    `SELECT t.database AS "database", t.${names} AS "count"
     FROM ${keysIn(dialect, NAMES, ['database'])} CROSS JOIN ${dialect.schema}.hilo_names t
     WHERE t.database = k."database"`,
    ...dialect.given(databases.map((database) => ({ database }))),
  ),
  statement(`SELECT count(*) AS "count" FROM ${dialect.schema}.hilo_names WHERE ${names} > 0`),
]

/** Counts those that were added (1) or dropped (-1). */
export function counting(
  dialect: Dialect,
  changed: Partial<Record<Names, readonly { database: string }[] | undefined>>,
  by: 1 | -1,
): Statement[] {
  const { collections = [], identities = [] } = changed
  const count = (rows: readonly { database: string }[], name: string) =>
    by * rows.filter(({ database }) => database === name).length
  const names = new Set([...collections, ...identities].map(({ database }) => database))
  const rows = [...names].map((database) => ({
    database,
    collections: count(collections, database),
    identities: count(identities, database),
  }))
  return rows.length > 0 ? [statement(addingCounts(dialect), ...dialect.given(rows))] : []
}

const addingCounts = (dialect: Dialect): string => `
  ${adding(dialect, NAMES)} ORDER BY n."database" ON CONFLICT (database) DO UPDATE SET
    collections = hilo_names.collections + excluded.collections,
    identities = hilo_names.identities + excluded.identities`

export interface LoadedRows extends Rows {
  /** Collections and identities that were dropped: for a step they are not there. */
  dropped: Pick<Rows, 'collections' | 'identities'>
}
