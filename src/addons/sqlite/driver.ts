/**
 * One way to talk to every SQLite driver: a statement goes in, its rows come out. Synchronous
 * drivers answer at once, asynchronous ones with a promise.
 */
import { HiloError } from '../../core/errors.js'

export type SqliteRow = Record<string, unknown>

/** Runs one statement. For a driver that is not listed here, write this function yourself. */
export type RunStatement = (
  sql: string,
  parameters: readonly string[],
) => readonly SqliteRow[] | Promise<readonly SqliteRow[]>

/** `node:sqlite` (Node and Deno), `bun:sqlite`, better-sqlite3, libsql. */
export interface StatementDatabase {
  prepare(sql: string): {
    all(...parameters: string[]): unknown
    run(...parameters: string[]): unknown
    /** better-sqlite3 and libsql: does the statement return rows? */
    reader?: boolean
  }
  exec?(sql: string): unknown
}

/** expo-sqlite. */
export interface ExpoDatabase {
  getAllAsync(sql: string, parameters: string[]): Promise<unknown[]>
}

/** @op-engineering/op-sqlite. */
export interface OpDatabase {
  execute(sql: string, parameters: string[]): Promise<{ rows: unknown[] }>
}

/** The connection of @capacitor-community/sqlite. */
export interface CapacitorDatabase {
  query(sql: string, parameters: string[]): Promise<{ values?: unknown[] }>
  run(sql: string, parameters: string[], transaction: boolean): Promise<unknown>
  execute(sql: string, transaction: boolean): Promise<unknown>
}

export type SqliteDatabase =
  | StatementDatabase
  | ExpoDatabase
  | OpDatabase
  | CapacitorDatabase
  | RunStatement

/** @throws HiloError `invalid-argument` when no driver looks like this */
export function runStatementOf(database: SqliteDatabase): RunStatement {
  if (typeof database === 'function') return database
  const has = (...methods: string[]) =>
    methods.every((method) => typeof (database as never)?.[method] === 'function')
  if (has('getAllAsync')) return runWithExpo(database as ExpoDatabase)
  if (has('prepare')) return runWithStatements(database as StatementDatabase)
  if (has('query', 'run', 'execute')) return runWithCapacitor(database as CapacitorDatabase)
  if (has('execute')) return runWithOp(database as OpDatabase)
  throw new HiloError(
    'invalid-argument',
    'sqliteStore did nothing: `database` is not an open SQLite connection that it knows. Pass ' +
      'one of node:sqlite, bun:sqlite, better-sqlite3, libsql, expo-sqlite, op-sqlite or ' +
      'Capacitor, or a function (sql, parameters) => rows.',
  )
}

/** Statements without rows and parameters. Another process can have the file locked for these. */
const WITHOUT_ROWS = /^(BEGIN|COMMIT|ROLLBACK|CREATE|PRAGMA \w+ =)/

function runWithStatements(database: StatementDatabase): RunStatement {
  return (sql, parameters) => {
    // In libsql, a prepared statement that the lock refused stays in progress: nothing commits
    // beside it any more.
    if (database.exec && WITHOUT_ROWS.test(sql)) {
      database.exec(sql)
      return []
    }
    const statement = database.prepare(sql)
    if (statement.reader !== false) return statement.all(...parameters) as SqliteRow[]
    statement.run(...parameters)
    return []
  }
}

function runWithExpo(database: ExpoDatabase): RunStatement {
  return async (sql, parameters) =>
    (await database.getAllAsync(sql, [...parameters])) as SqliteRow[]
}

function runWithOp(database: OpDatabase): RunStatement {
  return async (sql, parameters) => {
    const { rows } = await database.execute(sql, [...parameters])
    return rows as SqliteRow[]
  }
}

/** Its `run` and `execute` begin a transaction of their own unless they are told not to. */
function runWithCapacitor(database: CapacitorDatabase): RunStatement {
  return async (sql, parameters) => {
    if (/^(SELECT|PRAGMA)/.test(sql)) {
      const { values = [] } = await database.query(sql, [...parameters])
      return values as SqliteRow[]
    }
    if (parameters.length > 0) await database.run(sql, [...parameters], false)
    else await database.execute(sql, false)
    return []
  }
}
