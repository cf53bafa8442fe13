/**
 * Copies a SQLite ledger that servers may be using. Guarantees that the copy is whole, of one
 * moment, on disk and readable for its owner only before it gets its name, and that it overwrites
 * no file.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { reasonOf } from '../ledger/ledger-errors.js'
import { refuseMissing, SQLITE_FILE } from '../sql/schema.js'
import { syncFolder } from './file-place.js'
import { connectToRead } from './sqlite-connection.js'
import { readSqliteVersion } from './sqlite-store.js'
import { BUSY_TIMEOUT_MS } from './transaction.js'

/** @throws Error when there is no ledger, or the file is there already, or cannot be written */
export function backUp(dataDir: string, file: string): void {
  refuseMissing(readSqliteVersion(dataDir), dataDir)
  const target = resolve(file)
  const partial = `${target}.partial`
  try {
    // Only its owner may read it: the secret of the grant tokens is in it.
    closeSync(openSync(partial, 'wx', 0o600))
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw unwritten(
      error,
      isThere
        ? 'A backup was cut off, or another one is running: if none is, remove that file.'
        : 'Name a file in a folder that this process may write to.',
    )
  }
  // Not before: another backup of that name may have been under way, and ended.
  if (existsSync(target)) {
    rmSync(partial)
    throw new Error(`${file} is there already, and is not overwritten. Name a new file.`)
  }
  try {
    copyInto(dataDir, partial)
    sync(partial)
    renameSync(partial, target)
  } catch (error) {
    rmSync(partial, { force: true })
    throw unwritten(error, 'Nothing is left of it.')
  }
  syncFolder(dirname(target))
}

const unwritten = (error: unknown, what: string): Error =>
  new Error(`The backup cannot be written: ${reasonOf(error)}. ${what}`, { cause: error })

function copyInto(dataDir: string, file: string): void {
  const db = connectToRead(join(dataDir, SQLITE_FILE))
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    // Pages that are in the write-ahead log only are in the copy, too.
    db.exec(`VACUUM INTO '${file.replaceAll("'", "''")}'`)
  } finally {
    db.close()
  }
}

function sync(file: string): void {
  const handle = openSync(file, 'r+')
  fsyncSync(handle)
  closeSync(handle)
}
