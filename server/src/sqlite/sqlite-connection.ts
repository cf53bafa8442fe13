/**
 * The connection to a SQLite file, one for the whole process, however many ledgers it opens there.
 * SQLite's locks are lost where a process opens and closes the file by another SQLite library, or
 * by a second copy of this one.
 */
import { existsSync, realpathSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { type HeaderReader, headerReader } from './file-header.js'
import { identityOf, refuseOtherLog } from './file-place.js'
import type { Sqlite } from './transaction.js'

export interface Connection {
  db: Sqlite
  header: HeaderReader['read']
  /** The identity of its shared memory, once there was a transaction. */
  memory(): string
  /**
   * The last one to close it copies the log into the file, and leaves it empty.
   * @param isLost the log is of another file: then it stays as it is
   */
  close(isLost?: boolean): void
}

export type Connect = (file: string) => Sqlite

/** Writes nothing. */
export const connectToRead = (file: string): Sqlite => new DatabaseSync(file, { readOnly: true })

interface Shared {
  db: Sqlite
  header: HeaderReader
  users: number
  memory?: string
  /** SQLite keeps what it knows of the file in this process, also for a new connection. */
  isLost?: boolean
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
  // guard: H30 a process does not open again what it has lost
  if (found && (found.isLost || isAlone(file, found))) refuseAgain(file, found)
  const used: Shared = found ?? { ...opened(file, prepare, connect), users: 0 }
  shared.set(identity, used)
  used.users++
  let isClosed = false
  return {
    db: used.db,
    header: used.header.read,
    memory() {
      used.memory ??= memoryOf(file) ?? refuseAgain(file, used)
      return used.memory
    },
    close(isLost = false) {
      if (isClosed) return
      isClosed = true
      if (--used.users > 0) return
      // guard: H30 the log of a lost file is not written into what stands in its place
      if (isLost) return abandon(used)
      shared.delete(identity)
      closeLast(used.db)
      used.header.close()
    },
  }
}

function memoryOf(file: string): string | undefined {
  const path = `${realpathSync(file)}-shm`
  return existsSync(path) ? identityOf(path) : undefined
}

const isAlone = (file: string, { memory }: Shared): boolean =>
  memory !== undefined && memoryOf(file) !== memory

function refuseAgain(file: string, { header }: Shared): never {
  refuseOtherLog(file, header.read())
  throw new Error(
    `${file} was moved or replaced, or lost its -shm, while this process used it, and SQLite ` +
      'would go on with what it knew before. Nothing was changed. End this process, and start it ' +
      'again.',
  )
}

function opened(
  file: string,
  prepare: (db: Sqlite) => void,
  connect: Connect,
): Pick<Shared, 'db' | 'header'> {
  const header = headerReader(file)
  let db: Sqlite | undefined
  try {
    refuseOtherLog(file, header.read())
    db = connect(file)
    prepare(db)
    return { db, header }
  } catch (error) {
    db?.close()
    header.close()
    throw error
  }
}

/** SQLite cannot be told to close a file and leave its log alone. */
const abandoned: Shared[] = []

/** Nobody closes the connection, not even the end of the process. */
function abandon(used: Shared): void {
  used.isLost = true
  if (abandoned.push(used) > 1) return
  // Node closes open files when it ends by itself, and not when it is told to.
  process.on('exit', (code) => process.exit(code))
}

function closeLast(db: Sqlite): void {
  try {
    // A log that stays could be taken for the log of a file that is put in its place.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {} // With a full disk the commits stay in the log, where the next start finds them.
  db.close()
}
