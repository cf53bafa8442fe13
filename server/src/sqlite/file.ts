/**
 * The SQLite file: opened, brought up to date, written to. Every commit is on disk before it is
 * answered: WAL with `synchronous = FULL` calls fsync once per commit. Processes on the same
 * machine may share the file.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { losesCommits } from '../../../src/core/sqlite-version.js'
import { LedgerUnavailable, reasonOf } from '../ledger/errors.js'
import type { Secrets } from '../ledger/secrets.js'
import { type Opening, refuseMissing, SQLITE_FILE } from '../sql/schema.js'
import { upgradeSqlite } from '../sql/sqlite.js'
import { type Connect, connectTo, connectToRead } from './connection.js'
import { createMissing, placeOf, refuseLost, requireOneName, syncEntries } from './place.js'
import { isLocked, reader, runIn, type Sqlite, write } from './transaction.js'

/** How long to wait while another process holds the write lock. A commit takes less. */
export const BUSY_TIMEOUT_MS = 5_000

export interface SqliteFile {
  db: Sqlite
  /** Of its grant tokens. */
  secrets: Secrets
  /**
   * One transaction.
   * @throws LedgerUnavailable when another file stands in its place, or none. It may have happened
   */
  commit<T>(step: () => T): T
  close(): void
}

/** @throws Error that names the folder, or what is wrong with the file in it */
export function openSqliteFile(
  dataDir: string,
  opening: Opening = {},
  connect?: Connect,
): SqliteFile {
  const folder = resolve(dataDir)
  return naming(folder, () => openIn(folder, opening, connect))
}

/** Errors of SQLite and the file system have a code, and do not say which folder they are about. */
function naming<T>(folder: string, step: () => T): T {
  try {
    return step()
  } catch (error) {
    const cause = error instanceof LedgerUnavailable ? error.cause : error
    if (!('code' in (cause as Error))) throw error
    const advice = isLocked(cause)
      ? 'Another program keeps it locked, as a shell in an open transaction does: end that one.'
      : 'It has to be a folder that this process may write to, with a ' +
        `${SQLITE_FILE} of its own or none.`
    throw new LedgerUnavailable(
      `The ledger in ${folder} cannot be opened: ${reasonOf(cause)}. ${advice}`,
      { cause },
    )
  }
}

/**
 * Writes nothing.
 * @returns the version of its tables; undefined where there is no ledger
 */
export function readSqliteVersion(dataDir: string): number | undefined {
  const folder = resolve(dataDir)
  return naming(folder, () => {
    refuseLost(folder)
    const file = join(folder, SQLITE_FILE)
    if (!existsSync(file)) return undefined
    const db = connectToRead(file)
    try {
      db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
      const tables = reader(db, "SELECT 1 FROM sqlite_master WHERE name = 'hilo_meta'")()
      if (tables.length === 0) return undefined
      const version = reader<{ value: string }>(
        db,
        "SELECT value FROM hilo_meta WHERE key = 'version'",
      )
      return Number(version()[0]?.value ?? 0)
    } finally {
      db.close()
    }
  })
}

function openIn(folder: string, opening: Opening, connect: Connect | undefined): SqliteFile {
  refuseLost(folder)
  if (!existsSync(join(folder, SQLITE_FILE))) refuseMissing(undefined, folder, opening.create)
  // Only its owner may read it: the secret of the grant tokens is in the file.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, SQLITE_FILE)
  createMissing(file)
  requireOneName(file)
  const { db, close } = connectTo(file, (opened) => prepare(opened, folder), connect)
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const secrets = write(db, () => upgradeSqlite(runIn(db), folder, opening))
    // A copy of the file alone, without its log, then knows the tokens that prove it a copy.
    // guard: H20 a copy of the file alone has the secret
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    syncEntries(folder)
    return { db, secrets, commit: commitsTo(db, placeOf(file)), close }
  } catch (error) {
    close()
    throw error
  }
}

function prepare(db: Sqlite, folder: string): void {
  // Before anything is read: another server may make the file at this moment.
  db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  requireMended(db)
  // guard: H21 SQLite syncs each commit to the disk
  db.exec('PRAGMA synchronous = FULL')
  const [mode] = reader<{ journal_mode: string }>(db, 'PRAGMA journal_mode = WAL')()
  if (mode?.journal_mode !== 'wal')
    throw new Error(
      `SQLite cannot use its write-ahead log in ${folder}: put the data folder on a local ` +
        'disk, or use PostgreSQL.',
    )
}

const commitsTo =
  (db: Sqlite, requireInPlace: () => void): SqliteFile['commit'] =>
  (step) => {
    const result = write(db, () => {
      const done = step()
      // guard: H21 a file that the next start will not find takes no commit
      requireInPlace()
      return done
    })
    // guard: H30 a commit to a file that was moved meanwhile has an unknown outcome
    requireInPlace()
    return result
  }

function requireMended(db: Sqlite): void {
  const [row] = reader<{ version: string }>(db, 'SELECT sqlite_version() AS version')()
  // guard: H30 a SQLite that loses commits has no ledger
  if (losesCommits(row!.version))
    throw new Error(
      `SQLite ${row!.version} can lose commits while another process checkpoints the file ` +
        '(sqlite.org/wal.html, "the WAL-reset bug"). Nothing was changed. Install ' +
        '@photostructure/sqlite 1.2.1 or newer, which brings SQLite 3.51.3 or newer.',
    )
}
