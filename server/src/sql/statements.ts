/**
 * The port of a database that speaks SQL; and the statements that find and write rows, each made of
 * the description of a table. For another database, write a `SqlConnection` with its `Dialect`.
 */
import type { CounterAnswers, CounterAsk } from '../ledger/counter-port.js'
import type { Connections } from '../ledger/ledger.js'
import { type Column, columnsOf, fieldsOf, type Naming, nameIn, type Table } from './tables.js'

/** A statement with parameters, which are `$1`, `$2` and so on in the order of their first use. */
export interface Statement {
  text: string
  parameters: readonly unknown[]
}

/** The differences between databases. */
export interface Dialect extends Naming {
  /**
   * Rows `name` of a statement, with these columns, which its parameters give.
   * @param columns types are `TEXT` or `BIGINT`
   */
  rows(name: string, columns: NamedTypes): string
  /** The parameters that give rows. */
  given(rows: readonly object[]): unknown[]
  /** The timeline of the database, as an expression. It rises at each fail-over; 0: it has none. */
  timeline: string
  /** The end of a SELECT that locks the rows it finds in `table` until the commit. */
  lock(table: string): string
}

/**
 * Reads, then a step on the rows, then writes: all in one transaction. A database whose driver is
 * synchronous awaits nothing in it.
 */
export interface Work<T> {
  /** Called at each attempt, once it has its connection. */
  begins?: (() => void) | undefined
  /** Run one after another. */
  reads: readonly Statement[]
  /** The step's demands on the ORMs' counters, which only PostgreSQL has. */
  ask?: ((found: readonly unknown[][]) => readonly CounterAsk[]) | undefined
  /** Pure: it may run more than once. */
  step(found: readonly unknown[][], answers: CounterAnswers): Outcome<T>
  /** If a row is locked, the transaction fails soon, with `RowLocked`. */
  hasShortLockTimeout?: boolean | undefined
}

interface Outcome<T> {
  answer: T
  writes: readonly Statement[]
}

export interface SqlConnection {
  dialect: Dialect
  /** On disk before it resolves. Rejected with `LedgerUnavailable`, nobody knows if it happened. */
  transaction<T>(work: Work<T>): Promise<T>
  /** One statement that writes nothing. */
  read<Row>(statement: Statement): Promise<Row[]>
  connections?(): Connections
  /** Runs the work, writes something, and waits for no other writer. */
  ping(work: Work<void>): Promise<void>
  close(): Promise<void>
}

export const statement = (text: string, ...parameters: readonly unknown[]): Statement => ({
  text,
  parameters,
})

/** SQLite as the ledger speaks it, wherever it runs: in a file, or in a Durable Object. */
export const SQLITE: Dialect = {
  schema: 'main',
  index: (index, table) => `main.${index} ON ${table}`,
  rows: (name, columns) => {
    const values = columns.map(([column]) => `item->>'${column}' AS "${column}"`)
    // With a limit, SQLite makes each row once. Otherwise it reads its JSON again for each column.
    const items = 'SELECT jsonb(value) AS item FROM json_each($1) LIMIT -1'
    return `(SELECT ${values} FROM (${items})) ${name}`
  },
  given: (rows) => [JSON.stringify(rows)],
  timeline: '0',
  // A transaction has the lock of the whole file.
  lock: () => '',
}

/** Runs a statement to its end, and returns its rows. */
export type Run = <Row>(statement: Statement) => Row[]

/** The work of a synchronous driver, in the caller's transaction. */
export function runWork<T>(run: Run, { begins, reads, step }: Work<T>): T {
  begins?.()
  const { answer, writes } = step(
    reads.map((each) => run(each)),
    new Map(),
  )
  for (const each of writes) run(each)
  return answer
}

type Field<Row> = keyof Row & string

/** The columns as fields of a row: `t.high_water AS "highWater", …`. */
export const selected = <Row>(table: Table<Row>): string => fieldsFrom(columnsOf(table))

/** The same without the lists, which may be long. */
export const selectedShort = <Row>(table: Table<Row>): string =>
  fieldsFrom(columnsOf(table).filter(([, [, type]]) => type !== 'spans'))

const fieldsFrom = (columns: readonly (readonly [field: string, column: Column])[]): string =>
  columns.map(([field, [column]]) => `t.${column} AS "${field}"`).join(', ')

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
 * @param more further columns: `, …`
 */
export function finding<Row>(
  dialect: Dialect,
  table: Table<Row>,
  fields: readonly Field<Row>[],
  { isLocked = false, more = '' } = {},
): string {
  const columns = fields.map((field) => `t.${table.columns[field][0]}`)
  const same = fields.map((field, i) => `${columns[i]} = k."${field}"`).join(' AND ')
  return `SELECT ${selected(table)} ${more} FROM ${keysIn(dialect, table, fields)}
    CROSS JOIN ${nameIn(dialect, table)} t WHERE ${same}
    ${isLocked ? `ORDER BY ${columns} ${dialect.lock('t')}` : ''}`
}

type NamedTypes = readonly (readonly [name: string, type: string])[]

interface Adding<Row> {
  /** Values besides the columns of the table. */
  more?: NamedTypes
  /** The expression that is written instead of the value. */
  instead?: { readonly [Each in Field<Row>]?: string }
}

/** Adds the rows `n` that are given. */
export function adding<Row>(
  dialect: Dialect,
  table: Table<Row>,
  { more, instead = {} }: Adding<Row> = {},
): string {
  const columns = columnsOf(table)
  return `INSERT INTO ${nameIn(dialect, table)} (${columns.map(([, [column]]) => column)})
    SELECT ${columns.map(([field]) => instead[field] ?? `n."${field}"`)}
    FROM ${givenRows(dialect, table, more)} WHERE true`
}

/** Adds the rows that are given, in the order of their keys. Those that are there change. */
export function putting<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  const changes = fieldsOf(table, 'changes').map((field) => table.columns[field][0])
  return `${adding(dialect, table)} ORDER BY ${keys.map((field) => `n."${field}"`)}
    ON CONFLICT (${keys.map((field) => table.columns[field][0])})
    DO UPDATE SET ${changes.map((column) => `${column} = excluded.${column}`)}`
}

/** Writes the columns that may change. A list that is null stays as it is. */
export function changing<Row>(dialect: Dialect, table: Table<Row>): string {
  const sets = fieldsOf(table, 'changes').map((field) => {
    const [column, type] = table.columns[field]
    const given = `n."${field}"`
    return `${column} = ${type === 'spans' ? `coalesce(${given}, t.${column})` : given}`
  })
  const keys = fieldsOf(table, 'key')
  const same = keys.map((field) => `t.${table.columns[field][0]} = n."${field}"`)
  return `UPDATE ${nameIn(dialect, table)} AS t SET ${sets} FROM ${givenRows(dialect, table)}
    WHERE ${same.join(' AND ')}`
}

/** Deletes the rows of which the keys are given. */
export function deleting<Row>(dialect: Dialect, table: Table<Row>): string {
  const keys = fieldsOf(table, 'key')
  const columns = keys.map((field) => table.columns[field][0])
  const given = `SELECT ${keys.map((field) => `k."${field}"`)} FROM ${keysIn(dialect, table, keys)}`
  return `DELETE FROM ${nameIn(dialect, table)} WHERE (${columns}) IN (${given})`
}

/** Rows `n` of a statement, with all columns of the table, and more. */
export const givenRows = <Row>(
  { rows }: Dialect,
  table: Table<Row>,
  more: NamedTypes = [],
): string =>
  rows('n', [
    ...columnsOf(table).map(([field, column]) => [field, sqlType(column)] as const),
    ...more,
  ])

const sqlType = ([, type]: Column): string => (/^(count|number)/.test(type) ? 'BIGINT' : 'TEXT')
