/**
 * One transaction of SQLite, and what its failures mean. Guarantees that only the disk or another
 * process in the way counts as unavailable. A mistake in this program does not.
 */
import type { DatabaseSync } from '@photostructure/sqlite'
import { LedgerUnavailable } from '../ledger/errors.js'
import type { Run } from '../sql/sqlite.js'

export type Sqlite = InstanceType<typeof DatabaseSync>

/** SQLite's result codes (sqlite.org/rescode.html); an extended code has more bits above these. */
const BUSY = 5
const IN_THE_WAY: Record<number, string> = {
  [BUSY]: 'database is locked',
  6: 'database table is locked',
  8: 'attempt to write a readonly database',
  10: 'disk I/O error',
  13: 'database or disk is full',
  14: 'unable to open database file',
}

/** @photostructure/sqlite 1.2.1 forgets the code where `all` fails; SQLite's text is as exact. */
function resultCode(error: unknown): number {
  const { errcode, message } = (error ?? {}) as { errcode?: number; message?: string }
  if (errcode !== undefined) return errcode & 0xff
  return Number(Object.keys(IN_THE_WAY).find((code) => IN_THE_WAY[Number(code)] === message))
}

/** Has SQLite waited in vain for the lock of another program? */
export const isLocked = (cause: unknown): boolean => resultCode(cause) === BUSY

/**
 * Runs statements.
 * @param prepare may remember what it has prepared
 */
export const runIn =
  (db: Sqlite, prepare = (text: string) => db.prepare(text)): Run =>
  ({ text, parameters }) =>
    // `all` reads to the end, which resets the statement.
    prepare(text).all(named(parameters))

/** To SQLite, `$1` is a name. */
const named = (parameters: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(parameters.map((parameter, i) => [`$${i + 1}`, parameter]))

/** A statement that is run with its parameters and returns its rows. */
export function reader<Row>(db: Sqlite, sql: string): (...parameters: unknown[]) => Row[] {
  const statement = db.prepare(sql)
  // `all` reads to the end, which resets the statement.
  return (...parameters) => statement.all(...parameters) as Row[]
}

/** A statement that is run with its parameters and has no rows. */
export function runner(db: Sqlite, sql: string): (...parameters: unknown[]) => void {
  const statement = db.prepare(sql)
  return (...parameters) => {
    statement.run(...parameters)
  }
}

/**
 * One transaction. It takes the write lock first, so that what it reads is still true when it
 * writes.
 */
export function write<T>(db: Sqlite, step: () => T): T {
  return guard(() => {
    db.exec('BEGIN IMMEDIATE')
    try {
      const result = step()
      db.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite has rolled back by itself after some errors of the disk.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  })
}

/** @throws LedgerUnavailable when the disk or another process is in the way */
export function guard<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (resultCode(error) in IN_THE_WAY)
      throw new LedgerUnavailable(
        `The ledger's file cannot be used: ${(error as Error).message}.`,
        { cause: error },
      )
    throw error
  }
}
