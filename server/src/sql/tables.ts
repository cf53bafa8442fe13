/**
 * The ledger's tables, each described once: its columns, their types, and which of them change. All
 * statements are made of these descriptions, and rows are read and written by them. Guarantees that
 * no number of a `count` passes 2^53−1, by any writer.
 */
import { shown } from '../../../src/core/brief.js'
import { LedgerTablesChanged } from '../ledger/ledger-errors.js'
import { MAX_NUMBER, type Span } from '../ledger/number-line.js'
import type {
  CollectionRow,
  GrantRow,
  IdentityClaimRow,
  IdentityRow,
  ReturnRow,
  SeriesRow,
  Tombstone,
} from '../ledger/rows.js'

/**
 * `count` is 0 to 2^53−1. `spans` is JSON: `[[low, high], …]`. `list` is the JSON of a list, and
 * `json?` of an object, which the ledger's rules read. A type with `?` may be null.
 */
type Type = 'text' | 'text?' | 'count' | 'number' | 'number?' | 'spans' | 'list' | 'json?'

/** A row is found by its `key`. A `fixed` column is written once. */
type Role = 'key' | 'fixed' | 'changes'

export type Column = readonly [name: string, type: Type, role: Role]

export interface Table<Row> {
  name: string
  /** By the field of the row. */
  columns: { readonly [Field in keyof Row & string]-?: Column }
  /** Fields that no two rows have alike, besides the key. */
  unique?: readonly (keyof Row & string)[][]
  /** `name`, columns and condition of each index. */
  indexes?: Readonly<Record<string, string>>
}

export const COLLECTIONS: Table<CollectionRow> = {
  name: 'hilo_collections',
  columns: {
    database: ['database', 'text', 'key'],
    collection: ['collection', 'text', 'key'],
    max: ['max', 'count', 'changes'],
    highWater: ['high_water', 'count', 'changes'],
    floor: ['floor', 'count', 'changes'],
    // Before the lists, which may be so long that SQLite keeps them, and all columns after them,
    // elsewhere.
    freeCount: ['free_count', 'count', 'changes'],
    free: ['free', 'spans', 'changes'],
    fresh: ['fresh', 'spans', 'changes'],
    version: ['version', 'number', 'changes'],
    serial: ['serial', 'count', 'changes'],
    forgotten: ['forgotten', 'count', 'changes'],
    grants: ['grants', 'count', 'changes'],
    outstanding: ['outstanding', 'count', 'changes'],
    lastClaim: ['last_claim', 'number?', 'changes'],
    droppedAt: ['dropped_at', 'number?', 'changes'],
    droppedSerial: ['dropped_serial', 'count', 'changes'],
  },
  indexes: { hilo_collections_free: '(free_count) WHERE free_count > 0' },
}

/** How many collections and identities a database has that were not dropped. */
export interface NamesRow {
  database: string
  collections: number
  identities: number
}

export const NAMES: Table<NamesRow> = {
  name: 'hilo_names',
  columns: {
    database: ['database', 'text', 'key'],
    collections: ['collections', 'number', 'changes'],
    identities: ['identities', 'number', 'changes'],
  },
}

export const GRANTS: Table<GrantRow> = {
  name: 'hilo_grants',
  columns: {
    id: ['id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['collection', 'text', 'fixed'],
    claim: ['claim', 'text?', 'fixed'],
    claimedBy: ['claimed_by', 'text?', 'fixed'],
    device: ['device', 'text', 'fixed'],
    low: ['low', 'count', 'fixed'],
    high: ['high', 'count', 'changes'],
    firstHigh: ['first_high', 'count', 'fixed'],
    issued: ['issued', 'count', 'changes'],
    count: ['count', 'count', 'fixed'],
    serverTag: ['server_tag', 'text', 'fixed'],
    grantedAt: ['granted_at', 'number', 'fixed'],
    tokenVersion: ['token_version', 'number', 'changes'],
    serial: ['serial', 'count', 'fixed'],
    checkIn: ['check_in', 'text?', 'changes'],
    heardAt: ['heard_at', 'number', 'changes'],
  },
  unique: [
    ['claim', 'database', 'collection'],
    ['database', 'collection', 'serial'],
  ],
  indexes: {
    hilo_grants_held: '(database, collection, low) WHERE high >= low',
    hilo_grants_done: '(heard_at) WHERE issued >= high',
    hilo_grants_open: '(heard_at) WHERE issued < high',
  },
}

/** The rest of a grant that was silent for so long that it counts as issued. */
export const TOMBSTONES: Table<Tombstone> = {
  name: 'hilo_tombstones',
  columns: {
    id: ['id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['collection', 'text', 'fixed'],
    high: ['high', 'count', 'fixed'],
    serial: ['serial', 'count', 'fixed'],
    tokenVersion: ['token_version', 'number', 'changes'],
    checkIn: ['check_in', 'text?', 'changes'],
  },
}

/** Returns without a token, each honoured once. */
export const RETURNS: Table<ReturnRow> = {
  name: 'hilo_returns',
  columns: {
    database: ['database', 'text', 'key'],
    collection: ['collection', 'text', 'key'],
    end: ['range_end', 'count', 'key'],
    last: ['range_last', 'count', 'key'],
    returnedAt: ['returned_at', 'number', 'fixed'],
  },
  indexes: { hilo_returns_returned_at: '(returned_at)' },
}

export const IDENTITIES: Table<IdentityRow> = {
  name: 'hilo_identities',
  columns: {
    database: ['database', 'text', 'key'],
    name: ['name', 'text', 'key'],
    value: ['value', 'count', 'changes'],
    highWater: ['high_water', 'count', 'changes'],
    droppedAt: ['dropped_at', 'number?', 'changes'],
  },
}

export const IDENTITY_CLAIMS: Table<IdentityClaimRow> = {
  name: 'hilo_identity_claims',
  columns: {
    database: ['database', 'text', 'key'],
    name: ['name', 'text', 'key'],
    claim: ['claim', 'text', 'key'],
    value: ['value', 'count', 'fixed'],
    claimedAt: ['claimed_at', 'number', 'fixed'],
  },
  indexes: {
    hilo_identity_claims_claimed_at: '(claimed_at)',
    hilo_identity_claims_value: '(database, name, value)',
  },
}

export const SERIES: Table<SeriesRow> = {
  name: 'hilo_series',
  columns: {
    grant: ['grant_id', 'text', 'key'],
    database: ['database', 'text', 'fixed'],
    collection: ['collection', 'text', 'fixed'],
    ordinal: ['letter', 'count', 'fixed'],
    name: ['name', 'text', 'fixed'],
    nameKey: ['name_key', 'text', 'fixed'],
    device: ['device', 'text', 'changes'],
    last: ['last', 'count', 'changes'],
    periods: ['periods', 'list', 'changes'],
    toldByOthers: ['told_by_others', 'list', 'changes'],
    toldAfter: ['told_after', 'number', 'changes'],
    firstShown: ['first_shown', 'list', 'changes'],
    registeredAt: ['registered_at', 'number', 'fixed'],
    seenAt: ['seen_at', 'number', 'changes'],
    closedAt: ['closed_at', 'number?', 'changes'],
    closedBy: ['closed_by', 'text?', 'changes'],
    reason: ['reason', 'text?', 'changes'],
    doubtfulFrom: ['doubtful_from', 'number?', 'changes'],
    doubtfulTo: ['doubtful_to', 'number?', 'changes'],
    link: ['link', 'json?', 'changes'],
    register: ['register', 'json?', 'changes'],
    handOvers: ['hand_overs', 'list', 'changes'],
    ranges: ['ranges', 'list', 'changes'],
  },
  unique: [
    ['database', 'collection', 'ordinal'],
    ['database', 'collection', 'nameKey'],
  ],
}

/** Of a region: its numbers from the root. `setAside` is a record that could not be read. */
export interface DeviceRow {
  key: string
  state: string
  setAside: string | null
}

export const DEVICES: Table<DeviceRow> = {
  name: 'hilo_devices',
  columns: {
    key: ['key', 'text', 'key'],
    state: ['state', 'text', 'changes'],
    setAside: ['set_aside', 'text?', 'changes'],
  },
}

/**
 * How a database names the ledger's tables. Each statement names the schema, so that no path leads
 * it to a table of the same name.
 */
export interface Naming {
  /** As SQL has it: `main`, `"public"`. */
  schema: string
  /** The name of an index and its table, as `CREATE INDEX` wants them. */
  index(index: string, table: string): string
}

/** A table as statements name it. */
export const nameIn = <Row>({ schema }: Naming, { name }: Table<Row>): string =>
  // guard: H31 a statement names the schema of its table
  `${schema}.${name}`

/** Settings. It is made before any other. */
export const META: Table<{ key: string; value: string }> = {
  name: 'hilo_meta',
  columns: { key: ['key', 'text?', 'key'], value: ['value', 'text', 'changes'] },
}

/** In the order in which they are made, after `META`. */
export const TABLES: readonly Table<never>[] = [
  COLLECTIONS,
  NAMES,
  GRANTS,
  TOMBSTONES,
  RETURNS,
  IDENTITIES,
  IDENTITY_CLAIMS,
  SERIES,
  DEVICES,
]

const SQL_TYPE: Record<Type, string> = {
  text: 'TEXT NOT NULL',
  'text?': 'TEXT',
  count: 'BIGINT NOT NULL',
  number: 'BIGINT NOT NULL',
  'number?': 'BIGINT',
  spans: 'TEXT NOT NULL',
  list: 'TEXT NOT NULL',
  'json?': 'TEXT',
}

const checkOf = (column: string): string => ` CHECK (${column} BETWEEN 0 AND ${MAX_NUMBER})`

/** The columns of the primary key, and then those of the other keys. */
const keysOf = <Row>(table: Table<Row>): [primary: string[], ...others: string[][]] => {
  const named = (fields: readonly (keyof Row & string)[]) =>
    fields.map((field) => table.columns[field][0])
  return [named(fieldsOf(table, 'key')), ...(table.unique ?? []).map(named)]
}

/** The statements that make a table. */
export function creationOf<Row>(naming: Naming, table: Table<Row>): string[] {
  const { name, indexes = {} } = table
  const [primary, ...others] = keysOf(table)
  const lines = [
    ...columnsOf(table).map(
      ([, [column, type]]) =>
        `${column} ${SQL_TYPE[type]}${type === 'count' ? checkOf(column) : ''}`,
    ),
    `PRIMARY KEY (${primary})`,
    ...others.map((columns) => `UNIQUE (${columns})`),
  ]
  return [
    `CREATE TABLE ${nameIn(naming, table)} (${lines.join(', ')})`,
    ...Object.entries(indexes).map(
      ([index, what]) => `CREATE INDEX ${naming.index(index, name)} ${what}`,
    ),
  ]
}

/** The parts of a whole table: `max BIGINT NOT NULL`, `CHECK (max)`, `UNIQUE (a, b)` by the ABC. */
export const partsOf = <Row>(table: Table<Row>): string[] => [
  ...columnsOf(table).map(([, [column, type]]) => `${column} ${SQL_TYPE[type]}`),
  ...columnsOf(table).flatMap(([, [column, type]]) =>
    type === 'count' ? `CHECK (${column})` : [],
  ),
  ...keysOf(table).map((columns) => `UNIQUE (${columns.toSorted().join(', ')})`),
]

export const columnsOf = <Row>({ columns }: Table<Row>): [keyof Row & string, Column][] =>
  Object.entries(columns) as [keyof Row & string, Column][]

export const fieldsOf = <Row>(table: Table<Row>, role: Role): (keyof Row & string)[] =>
  columnsOf(table).flatMap(([field, [, , its]]) => (its === role ? [field] : []))

const isText = (value: unknown): boolean => typeof value === 'string'
const parsed = (value: unknown): unknown => {
  try {
    return JSON.parse(value as string)
  } catch {
    return undefined
  }
}
const isList = (value: unknown): boolean => value === '[]' || Array.isArray(parsed(value))
/** Numbers of an upstream have the node tag behind them. */
const isSpan = (value: unknown): boolean => {
  const [low, high, node = ''] = Array.isArray(value) ? value : []
  return Number.isSafeInteger(low) && Number.isSafeInteger(high) && isText(node)
}
const isSpans = (value: unknown): boolean => {
  const list = value === '[]' ? [] : parsed(value)
  return Array.isArray(list) && list.every(isSpan)
}

/** Of values that are not null. */
const IS_OF: Record<Type, (value: unknown) => boolean> = {
  text: isText,
  'text?': isText,
  count: Number.isSafeInteger,
  number: Number.isSafeInteger,
  'number?': Number.isSafeInteger,
  spans: isSpans,
  list: isList,
  'json?': (value) => typeof parsed(value) === 'object' && value !== 'null',
}

/**
 * Somebody may have changed a row by hand.
 * @throws LedgerTablesChanged
 */
function requireSound<Row>(table: Table<Row>, rows: readonly Row[]): void {
  const columns = columnsOf(table)
  for (const row of rows)
    for (const [field, [column, type]] of columns) {
      const value = row[field]
      // guard: H22 a row that makes no sense is not read
      if (value === null ? !type.endsWith('?') : !IS_OF[type](value))
        throw new LedgerTablesChanged(
          `a row of ${table.name} has ${shown(value)} in its column ${column}: ` +
            JSON.stringify(row),
        )
    }
}

/** Rows as the database gives them. */
export function decoded<Row>(table: Table<Row>, rows: readonly unknown[]): Row[] {
  if (rows.length === 0) return []
  requireSound(table, rows as Row[])
  const lists = listsOf(table)
  if (lists.length === 0) return rows as Row[]
  return (rows as Record<string, string>[]).map(
    (row) =>
      ({
        ...row,
        ...Object.fromEntries(lists.map((field) => [field, readSpans(row[field]!)])),
      }) as Row,
  )
}

/**
 * A row as it is given to a statement.
 * @param before a list that is the same in it is not sent: a long one would be compressed again
 */
export function encoded<Row extends object>(
  table: Table<Row>,
  row: Row,
  before?: Partial<Row>,
): object {
  const lists = listsOf(table)
  if (lists.length === 0) return row
  const written = lists.map((field) => [
    field,
    row[field] === before?.[field] ? null : writeSpans(row[field] as never),
  ])
  return { ...row, ...Object.fromEntries(written) }
}

const listsOf = <Row>(table: Table<Row>): (keyof Row & string)[] =>
  columnsOf(table).flatMap(([field, [, type]]) => (type === 'spans' ? [field] : []))

export const readSpans = (spans: string): Span[] => (spans === '[]' ? [] : JSON.parse(spans))
export const writeSpans = (spans: readonly Span[]): string => JSON.stringify(spans)
