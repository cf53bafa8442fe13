/**
 * SQLite drivers for tests: those that run here, and stand-ins with exactly the documented
 * interface of those that do not (they need a phone), each over @photostructure/sqlite.
 */
import { DatabaseSync } from '@photostructure/sqlite'
import libsql from 'libsql'
import type {
  CapacitorDatabase,
  ExpoDatabase,
  OpDatabase,
  SqliteDatabase,
} from '../../../src/addons/sqlite/driver.js'

/** Opens one connection to a file. */
export type OpenDatabase = (file: string) => SqliteDatabase

type Opened = Extract<SqliteDatabase, { prepare: unknown }>

const openPhotostructure = (file: string) => new DatabaseSync(file) as unknown as Opened
const openLibsql = (file: string) => new libsql(file) as unknown as Opened

/**
 * One statement, answered a turn of the event loop later, as a bridge to native code does. Such a
 * bridge waits for a lock on a thread of its own; here the statement is tried again.
 */
function later(file: string) {
  const database = openPhotostructure(file)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return async (sql: string, parameters: readonly string[]): Promise<Record<string, unknown>[]> => {
    if (sql.startsWith('PRAGMA busy_timeout')) return []
    // The same statement each time: one that was refused counts as in progress, and no transaction
    // commits beside it.
    let statement: ReturnType<typeof database.prepare> | undefined
    for (;;) {
      await turn()
      try {
        statement ??= database.prepare(sql)
        return statement.all(...parameters) as Record<string, unknown>[]
      } catch (error) {
        if ((error as Error).message !== 'database is locked') throw error
      }
    }
  }
}

function openExpo(file: string): ExpoDatabase {
  const run = later(file)
  return { getAllAsync: run }
}

function openOp(file: string): OpDatabase {
  const run = later(file)
  return { execute: async (sql, parameters) => ({ rows: await run(sql, parameters) }) }
}

/**
 * It reads by `query` only, and writes inside a transaction of its own unless it is told not to.
 */
function openCapacitor(file: string): CapacitorDatabase {
  const run = later(file)
  const inTransaction = async (isAsked: boolean, sql: string, parameters: string[]) => {
    if (isAsked) throw new Error('cannot start a transaction within a transaction')
    await run(sql, parameters)
    return { changes: { changes: 1 } }
  }
  return {
    async query(sql, parameters) {
      if (!/^(SELECT|PRAGMA)/.test(sql)) throw new Error('query: only SELECT and PRAGMA')
      return { values: await run(sql, parameters) }
    },
    run: (sql, parameters, transaction = true) => inTransaction(transaction, sql, parameters),
    execute: (sql, transaction = true) => inTransaction(transaction, sql, []),
  }
}

const nodeSqlite = process.getBuiltinModule?.('node:sqlite' as never) as
  | { DatabaseSync: new (file: string) => SqliteDatabase }
  | undefined

export const DRIVERS: [name: string, open: OpenDatabase][] = [
  ['@photostructure/sqlite', openPhotostructure],
  ['libsql', openLibsql],
  ['a function', (file) => later(file)],
  ['expo-sqlite (a stand-in)', openExpo],
  ['op-sqlite (a stand-in)', openOp],
  ['Capacitor (a stand-in)', openCapacitor],
  ...(nodeSqlite
    ? [['node:sqlite', (file) => new nodeSqlite.DatabaseSync(file)] as [string, OpenDatabase]]
    : []),
]
