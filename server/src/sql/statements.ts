/**
 * How a table is described, and the statements that find and write its rows, for every database.
 * They name columns by their place in the description alone. Guarantees that no number of a `count`
 * passes 2^53−1, whoever writes it.
 */
import { MAX_NUMBER, type Span } from '../ledger/number-line.js'

/** A statement, whose parameters are `$1`, `$2` and so on, in the order of their first use. */
export interface Statement {
  text: string
  parameters: readonly unknown[]
}

/** What differs between databases. */
export interface Dialect {
  /**
   * Rows `name` of a statement, with these columns, which its parameters give.
   * @param columns types are `TEXT` or `BIGINT`
   */
  rows(name: string, columns: readonly (readonly [name: string, type: string])[]): string
  /** The parameters that give rows. */
  given(rows: readonly object[]): unknown[]
  /** The timeline of the database, as an expression. It rises at each fail-over; 0: it has none. */
  timeline: string
  /** What ends a SELECT, so that the rows it finds in `table` are locked until the commit. */
  lock(table: string): string
}

export const statement = (text: string, ...parameters: readonly unknown[]): Statement => ({
  text,
  parameters,
})

type Field<Row> = keyof Row & string

/** The columns as fields of a row: `t.tag AS "collection", …`. */
export const selected = <Row>(table: Table<Row>): string => fieldsFrom(columnsOf(table))

/** The same without the lists, which may be long. */
export const selectedShort = <Row>(table: Table<Row>): string =>
  fieldsFrom(columnsOf(table).filter(([, [, type]]) => type !== 'spans'))

const fieldsFrom = (columns: readonly (readonly [field: string, column: Column])[]): string =>
  columns.map(([field, [column]]) => `t.${column} AS "${field}"`).join(', ')

/** Rows as the database gives them. */
export function decoded<Row>(table: Table<Row>, rows: readonly unknown[]): Row[] {
  const lists = columnsOf(table).flatMap(([field, [, type]]) => (type === 'spans' ? [field] : []))
  if (lists.length === 0) return rows as Row[]
  return (rows as Record<string, string>[]).map(
    (row) =>
      ({
        ...row,
        ...Object.fromEntries(lists.map((field) => [field, readSpans(row[field]!)])),
      }) as Row,
  )
}

/** The given keys, as rows `k` of a statement. */
export const keysIn = <Row>(
  { rows }: Dialect,
  { columns }: Table<Row>,
  fields: readonly Field<Row>[],
): string =>
  rows(
    'k',
    fields.map((field) => [field, sqlType(columns[field])]),
  )

/**
 * Finds the rows of which these fields are given. Rows that are locked are so in the order of these
 * fields. The keys come first: the database searches for each, and never scans the table.
 */
export function finding<Row>(
  dialect: Dialect,
  table: Table<Row>,
  fields: readonly Field<Row>[],
  { isLocked = false } = {},
): string {
  const columns = fields.map((field) => `t.${table.columns[field][0]}`)
  const same = fields.map((field, i) => `${columns[i]} = k."${field}"`).join(' AND ')
  return `SELECT ${selected(table)} FROM ${keysIn(dialect, table, fields)}
    CROSS JOIN ${table.name} t WHERE ${same}
    ${isLocked ? `ORDER BY ${columns} ${dialect.lock('t')}` : ''}`
}

/** Adds the rows that are given. */
export function adding<Row>(dialect: Dialect, table: Table<Row>): string {
  const columns = columnsOf(table)
  return `INSERT INTO ${table.name} (${columns.map(([, [column]]) => column)})
    SELECT ${columns.map(([field]) => `n."${field}"`)} FROM ${rowsOf(dialect, table)} WHERE true`
}

/** Adds the rows that are given, in the order of their keys. Those that are there change. */
export function putting<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  const changes = fieldsOf(table, 'changes').map((field) => table.columns[field][0])
  return `${adding(dialect, table)} ORDER BY ${keys.map((field) => `n."${field}"`)}
    ON CONFLICT (${keys.map((field) => table.columns[field][0])})
    DO UPDATE SET ${changes.map((column) => `${column} = excluded.${column}`)}`
}

/** Writes what may change of the rows that are given. A list that is null stays as it is. */
export function changing<Row>(dialect: Dialect, table: Table<Row>): string {
  const sets = fieldsOf(table, 'changes').map((field) => {
    const [column, type] = table.columns[field]
    const given = `n."${field}"`
    return `${column} = ${type === 'spans' ? `coalesce(${given}, t.${column})` : given}`
  })
  const keys = fieldsOf(table, 'key')
  const same = keys.map((field) => `t.${table.columns[field][0]} = n."${field}"`)
  return `UPDATE ${table.name} AS t SET ${sets} FROM ${rowsOf(dialect, table)}
    WHERE ${same.join(' AND ')}`
}

/** Deletes the rows of which the keys are given. */
export function deleting<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  const columns = keys.map((field) => table.columns[field][0])
  const given = `SELECT ${keys.map((field) => `k."${field}"`)} FROM ${keysIn(dialect, table, keys)}`
  return `DELETE FROM ${table.name} WHERE (${columns}) IN (${given})`
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
  const lists = columnsOf(table).flatMap(([field, [, type]]) => (type === 'spans' ? [field] : []))
  if (lists.length === 0) return row
  const written = lists.map((field) => [
    field,
    row[field] === before?.[field] ? null : writeSpans(row[field] as never),
  ])
  return { ...row, ...Object.fromEntries(written) }
}

/** Rows `n` of a statement, with all columns of the table. */
const rowsOf = <Row>({ rows }: Dialect, table: Table<Row>): string =>
  rows(
    'n',
    columnsOf(table).map(([field, column]) => [field, sqlType(column)]),
  )

const sqlType = ([, type]: Column): string =>
  type.startsWith('text') || type === 'spans' ? 'TEXT' : 'BIGINT'

/** `count` is 0 to 2^53−1, `spans` is JSON: `[[low, high], …]`. What ends in `?` may be null. */
type Type = 'text' | 'text?' | 'count' | 'number' | 'number?' | 'spans'

/** A row is found by its `key`. What is `fixed` is written once. */
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

const SQL_TYPE: Record<Type, (column: string) => string> = {
  text: () => 'TEXT NOT NULL',
  'text?': () => 'TEXT',
  count: (column) => `BIGINT NOT NULL CHECK (${column} BETWEEN 0 AND ${MAX_NUMBER})`,
  number: () => 'BIGINT NOT NULL',
  'number?': () => 'BIGINT',
  spans: () => 'TEXT NOT NULL',
}

/** The statements that make a table. */
export function creationOf<Row>(table: Table<Row>): string[] {
  const { name, unique = [], indexes = {} } = table
  const lines = [
    ...columnsOf(table).map(([, [column, type]]) => `${column} ${SQL_TYPE[type](column)}`),
    `PRIMARY KEY (${fieldsOf(table, 'key').map((field) => table.columns[field][0])})`,
    ...unique.map((fields) => `UNIQUE (${fields.map((field) => table.columns[field][0])})`),
  ]
  return [
    `CREATE TABLE ${name} (${lines.join(', ')})`,
    ...Object.entries(indexes).map(([index, what]) => `CREATE INDEX ${index} ON ${name} ${what}`),
  ]
}

const columnsOf = <Row>({ columns }: Table<Row>): [keyof Row & string, Column][] =>
  Object.entries(columns) as [keyof Row & string, Column][]

export const fieldsOf = <Row>(table: Table<Row>, role: Role): (keyof Row & string)[] =>
  columnsOf(table).flatMap(([field, [, , its]]) => (its === role ? [field] : []))

export const readSpans = (spans: string): Span[] => (spans === '[]' ? [] : JSON.parse(spans))
export const writeSpans = (spans: readonly Span[]): string => JSON.stringify(spans)
