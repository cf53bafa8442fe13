/**
 * Opens the ledger in a SQLite file, for a single machine, and brings it up to date: WAL with
 * `synchronous = FULL` calls fsync once per commit. Processes on the same machine may share the
 * file: a transaction takes the write lock first, and others wait for it.
 */
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { losesCommits } from '../../../src/core/sqlite-version.js'
import {
  BINDING_PREFIX,
  type BoundCollections,
  changedBindings,
  refuseBindings,
} from '../ledger/collections.js'
import { LedgerFileChanged, LedgerUnavailable, RESTORE, reasonOf } from '../ledger/ledger-errors.js'
import type { RowStore } from '../ledger/row-store.js'
import {
  type Opening,
  readVersion,
  refuseMissing,
  SQLITE_FILE,
  upgradeSqlite,
} from '../sql/schema.js'
import { sqlStore } from '../sql/sql-store.js'
import { COLLECTIONS, IDENTITIES, META, NAMES, type Table } from '../sql/tables.js'
import {
  createMissing,
  makeFolder,
  refuseLost,
  requireOneName,
  requireWritable,
  syncEntries,
} from './file-place.js'
import { type Connect, connectTo, connectToRead } from './sqlite-connection.js'
import {
  BUSY_TIMEOUT_MS,
  commitsTo,
  connectionTo,
  isDamaged,
  isFull,
  isLocked,
  placeOf,
  reader,
  runIn,
  type Sqlite,
  type SqliteFile,
  write,
} from './transaction.js'

/** @throws Error that names the folder, or the fault of the file in it */
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
    const cause = (error instanceof LedgerUnavailable && error.cause) || error
    if (!('code' in (cause as Error))) throw error
    const advice = isLocked(cause)
      ? 'Another program keeps it locked, as a shell in an open transaction does: end that one.'
      : isDamaged(cause)
        ? `${SQLITE_FILE} is damaged, or no ledger. Nothing was changed. Keep the file and what ` +
          `is beside it, and ${RESTORE}`
        : isFull(cause)
          ? 'Make room on its disk: nothing is lost.'
          : 'It has to be a folder that this process may write to, with all files in it.'
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
      return readVersion(runIn(db))
    } finally {
      db.close()
    }
  })
}

function openIn(folder: string, opening: Opening, connect: Connect | undefined): SqliteFile {
  refuseLost(folder)
  if (!existsSync(join(folder, SQLITE_FILE))) refuseMissing(undefined, folder, opening.create)
  makeFolder(folder)
  const file = join(folder, SQLITE_FILE)
  createMissing(file)
  requireOneName(file)
  requireWritable(file)
  const { db, header, memory, close } = connectTo(
    file,
    (opened) => prepare(opened, folder),
    connect,
  )
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const identity = write(db, () => {
      const known = upgradeSqlite(runIn(db), folder, opening)
      // guard: H20 a ledger with damaged counters does not start
      requireWhole(db, file)
      countStart(db)
      return known
    })
    // A copy of the file alone, without its log, then knows the tokens that prove it a copy.
    // guard: H20 a copy of the file alone has the secret
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    syncEntries(folder)
    const requireInPlace = placeOf(file, memory(), header)
    return {
      db,
      identity,
      commit: commitsTo(db, requireInPlace),
      close: () => close(isLost(requireInPlace)),
    }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * The tables that say which numbers are granted. Ten thousand counters take 20 milliseconds. The
 * grants would take two seconds for each half a million: a page of theirs that is damaged lets no
 * number out twice, and `backup` reads them all.
 */
const COUNTED: readonly Table<never>[] = [META, COLLECTIONS, NAMES, IDENTITIES]

/** @throws LedgerFileChanged */
function requireWhole(db: Sqlite, file: string): void {
  for (const { name } of COUNTED) {
    const [found] = reader<{ quick_check: string }>(db, `PRAGMA main.quick_check(${name})`)()
    if (found?.quick_check !== 'ok') throw new LedgerFileChanged('damaged', file)
  }
}

/** In the header of the file, where each process finds it without SQLite. */
function countStart(db: Sqlite): void {
  const [state] = reader<{ starts: number; ledger: number }>(
    db,
    `SELECT user_version AS "starts", application_id AS "ledger"
      FROM pragma_user_version, pragma_application_id`,
  )()
  const { starts, ledger } = state!
  db.exec(`PRAGMA user_version = ${starts + 1}`)
  if (ledger === 0) db.exec(`PRAGMA application_id = ${randomInt(1, 2 ** 31)}`)
}

function isLost(requireInPlace: () => void): boolean {
  try {
    requireInPlace()
    return false
  } catch (error) {
    return error instanceof LedgerFileChanged && error.what !== 'moved'
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

/** @throws CounterUnusable when the ledger remembers another binding */
function rememberBindings(db: Sqlite, bound: BoundCollections): void {
  if (bound.size === 0) return
  const read = reader<{ value: string }>(db, 'SELECT value FROM main.hilo_meta WHERE key = ?')
  const remember = reader(
    db,
    'INSERT INTO main.hilo_meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  write(db, () => {
    const remembered = new Map(
      [...bound.keys()].flatMap((key) =>
        read(BINDING_PREFIX + key).map(({ value }): [string, string] => [key, value]),
      ),
    )
    refuseBindings(changedBindings(bound, remembered))
    for (const [key, { description }] of bound) remember(BINDING_PREFIX + key, description)
  })
}

/** @param bound to upstreams only: the counters of ORMs are in PostgreSQL */
export function openSqliteStore(
  dataDir: string,
  bound: BoundCollections,
  opening: Opening = {},
): RowStore {
  const file = openSqliteFile(dataDir, opening)
  try {
    rememberBindings(file.db, bound)
  } catch (error) {
    file.close()
    throw error
  }
  // From here on, waiting for another program's lock does not stop the process.
  file.db.exec('PRAGMA busy_timeout = 0')
  return sqlStore(connectionTo(file), file.identity)
}
