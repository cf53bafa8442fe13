/**
 * Tells of each statement that a ledger's database is sent, on the connection itself. Restored with
 * Vitest's mocks.
 */
import { join } from 'node:path'
import pg from 'pg'
import { vi } from 'vitest'
import { SQLITE_FILE } from '../src/sql/schema.js'
import { connectTo } from '../src/sqlite/sqlite-connection.js'
import type { Sqlite } from '../src/sqlite/transaction.js'

/** @param saw told of each statement that the one connection to the file runs */
export function watchSqlite(dataDir: string, saw: (text: string) => void): void {
  const { db, close } = connectTo(join(dataDir, SQLITE_FILE), () => {})
  // The ledger has it, too.
  close()
  const { exec, prepare } = db
  vi.spyOn(db, 'exec').mockImplementation((text) => {
    saw(text)
    exec.call(db, text)
  })
  vi.spyOn(db, 'prepare').mockImplementation((...args) => {
    const statement: ReturnType<Sqlite['prepare']> = prepare.apply(db, args)
    for (const method of ['all', 'get', 'run'] as const) {
      const run = statement[method] as (...parameters: unknown[]) => never
      vi.spyOn(statement, method).mockImplementation((...parameters: unknown[]) => {
        saw(args[0])
        return run.apply(statement, parameters)
      })
    }
    return statement
  })
}

/** @param saw told of each statement that any connection of this process sends */
export function watchPostgres(saw: (text: string) => void): void {
  const { query } = pg.Client.prototype
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    saw((args[0] as { text?: string }).text ?? (args[0] as string))
    return query.apply(this, args as never)
  } as never)
}
