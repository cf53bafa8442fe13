/**
 * The connection to a SQLite file, one for the whole process, however many ledgers it opens there.
 * SQLite's locks are lost where a process opens and closes the file by another SQLite library, or
 * by a second copy of this one.
 */
import { DatabaseSync } from '@photostructure/sqlite'
import { identityOf } from './place.js'
import type { Sqlite } from './transaction.js'

export interface Connection {
  db: Sqlite
  /** The last who closes it copies the log into the file, and leaves it empty. */
  close(): void
}

export type Connect = (file: string) => Sqlite

/** Writes nothing. */
export const connectToRead = (file: string): Sqlite => new DatabaseSync(file, { readOnly: true })

interface Shared {
  db: Sqlite
  users: number
}

/** Also a second copy of this module finds it, as hot reloads make. */
const SHARED = Symbol.for('offline-hilo-server/sqlite')
const registry = globalThis as { [SHARED]?: Map<string, Shared> }
registry[SHARED] ??= new Map()
const shared = registry[SHARED]

/**
 * @param file is there
 * @param prepare makes a new connection ready, in WAL mode
 */
export function connectTo(
  file: string,
  prepare: (db: Sqlite) => void,
  connect: Connect = (path) => new DatabaseSync(path),
): Connection {
  const identity = identityOf(file)
  // guard: H30 a process has one connection to a file
  const found = shared.get(identity)
  const used = found ?? { db: opened(file, prepare, connect), users: 0 }
  shared.set(identity, used)
  used.users++
  let isClosed = false
  return {
    db: used.db,
    close() {
      if (isClosed) return
      isClosed = true
      if (--used.users > 0) return
      shared.delete(identity)
      closeLast(used.db)
    },
  }
}

function opened(file: string, prepare: (db: Sqlite) => void, connect: Connect): Sqlite {
  const db = connect(file)
  try {
    prepare(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function closeLast(db: Sqlite): void {
  try {
    // A log that stays could be taken for the log of a file that is put in its place.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {} // With a full disk the commits stay in the log, where the next start finds them.
  db.close()
}
