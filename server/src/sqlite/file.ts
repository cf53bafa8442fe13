/**
 * The SQLite file: opened, brought up to date, written to. Every commit is on disk before it is
 * answered: WAL with `synchronous = FULL` calls fsync once per commit. Processes on the same
 * machine may share the file, and an application may keep its own tables in it.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { losesCommits } from '../../../src/core/sqlite-version.js'
import { LedgerUnavailable, reasonOf } from '../ledger/errors.js'
import {
  META_TABLE,
  SCHEMA,
  type Schema,
  SQLITE_FILE,
  secretFrom,
  stepsFrom,
  versionOf,
} from '../sql/schema.js'

/** How long to wait while another process holds the write lock. A commit takes less. */
export const BUSY_TIMEOUT_MS = 5_000

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

interface SqliteFile {
  db: Sqlite
  /** Of its grant tokens. */
  secret: string
  /** @throws LedgerUnavailable when another file stands in its place, or none */
  requireInPlace(): void
}

/** @throws Error that names the folder, or what is wrong with the file in it */
export function openSqliteFile(
  dataDir: string,
  schema = SCHEMA,
  connect = (file: string): Sqlite => new DatabaseSync(file),
): SqliteFile {
  const folder = resolve(dataDir)
  return naming(folder, () => openIn(folder, schema, connect))
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
 * @returns the version of its tables
 * @throws Error when the file has no ledger
 */
export function readSqliteVersion(dataDir: string): number {
  const folder = resolve(dataDir)
  return naming(folder, () => {
    refuseLost(folder)
    const db = new DatabaseSync(join(folder, SQLITE_FILE))
    try {
      const tables = reader(db, "SELECT 1 FROM sqlite_master WHERE name = 'hilo_meta'")()
      if (tables.length === 0)
        throw new Error(`There is no ledger in ${dataDir}: ${SQLITE_FILE} has no tables of one.`)
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

/** Has SQLite waited in vain for the lock of another program? */
export const isLocked = (cause: unknown): boolean => resultCode(cause) === BUSY

/** @throws Error where SQLite would begin a new file, and remove the log of the lost one */
function refuseLost(folder: string): void {
  const sizeOf = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size
  // The log first: another process may be making both, the file before its log.
  const hasLog = Boolean(sizeOf(`${SQLITE_FILE}-wal`))
  // guard: H20 a log without its file is not begun anew
  if (hasLog && !sizeOf(SQLITE_FILE))
    throw new Error(
      `${join(folder, SQLITE_FILE)} is empty or missing, but ${SQLITE_FILE}-wal has commits of ` +
        'it. Nothing was changed. Put the file back, or restore a backup and raise its floors. ' +
        'For a new ledger, name another folder.',
    )
}

function openIn(folder: string, schema: Schema, connect: (file: string) => Sqlite): SqliteFile {
  refuseLost(folder)
  // Only its owner may read it: the secret of the grant tokens is in the file.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, SQLITE_FILE)
  createMissing(file)
  const db = connect(file)
  try {
    requireMended(db)
    // guard: H21 SQLite syncs each commit to the disk
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA synchronous = FULL`)
    const [mode] = reader<{ journal_mode: string }>(db, 'PRAGMA journal_mode = WAL')()
    if (mode?.journal_mode !== 'wal')
      throw new Error(
        `SQLite cannot use its write-ahead log in ${folder}: put the data folder on a local ` +
          'disk, or use PostgreSQL.',
      )
    const secret = upgrade(db, schema)
    // A copy of the file alone, without its log, then knows the tokens that prove it a copy.
    // guard: H20 a copy of the file alone has the secret
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    // SQLite syncs the file, not the entries that lead to it: a power cut could lose a new folder
    // with everything in it.
    for (const parent of [folder, dirname(folder)]) syncFolder(parent)
    return { db, secret, requireInPlace: placeOf(file) }
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * SQLite itself would make a file that everybody may read. One that is there is not opened: where
 * this process has it open in SQLite, too, a `close` would drop all locks that SQLite holds on it.
 */
function createMissing(file: string): void {
  try {
    // guard: H30 nobody opens the file but SQLite
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
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

/** SQLite goes on writing to a file that was moved or deleted, and the next start reads another. */
function placeOf(file: string): () => void {
  const look = () =>
    [file, `${file}-wal`]
      .map((name) => statSync(name, { bigint: true, throwIfNoEntry: false }))
      .map((found) => found && `${found.dev}/${found.ino}`)
      .join()
  const opened = look()
  return () => {
    // guard: H21 a file that the next start will not find takes no commit
    if (look() !== opened)
      throw new LedgerUnavailable(
        `${file}, or its -wal, was moved, replaced or deleted while the server runs. Nothing was ` +
          'granted. Put it back, or start the server again.',
      )
  }
}

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

function upgrade(db: Sqlite, schema: Schema): string {
  return write(db, () => {
    db.exec(META_TABLE)
    const read = db.prepare('SELECT value FROM hilo_meta WHERE key = ?')
    const put = db.prepare(
      'INSERT INTO hilo_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET ' +
        'value = excluded.value',
    )
    const meta = (key: string) => (read.all(key)[0] as { value: string } | undefined)?.value
    const version = Number(meta('version') ?? 0)
    for (const statement of stepsFrom(version, schema)) db.exec(statement)
    put.run('version', String(versionOf(schema)))
    const secret = secretFrom(version, meta('secret'))
    put.run('secret', secret)
    return secret
  })
}

export function syncFolder(folder: string): void {
  // Windows cannot open a folder; NTFS journals its entries.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
