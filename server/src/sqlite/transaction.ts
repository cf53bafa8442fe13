/**
 * The transactions of a SQLite file, and the meaning of their failures. Every commit is on disk
 * before it is answered. While another program holds the lock, a step waits without stopping the
 * process, as SQLite's own waiting would. Guarantees that a step is tried again only if it did
 * nothing, and that only the disk or another process in the way counts as unavailable.
 */
import { realpathSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import type { DatabaseSync } from '@photostructure/sqlite'
import { LedgerFileChanged, LedgerUnavailable } from '../ledger/ledger-errors.js'
import type { Identity } from '../sql/schema.js'
import { writeHealth } from '../sql/schema.js'
import { refuseLacking } from '../sql/shape.js'
import type { SqlConnection } from '../sql/statements.js'
import { type Run, runWork, SQLITE } from '../sql/statements.js'
import { type FileHeader, isLater } from './file-header.js'

export type Sqlite = InstanceType<typeof DatabaseSync>

/** SQLite's result codes (sqlite.org/rescode.html); an extended code has more bits above these. */
const BUSY = 5
const IO_ERROR = 10
const FULL = 13
const IN_THE_WAY: Record<number, string> = {
  [BUSY]: 'database is locked',
  6: 'database table is locked',
  8: 'attempt to write a readonly database',
  [IO_ERROR]: 'disk I/O error',
  [FULL]: 'database or disk is full',
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

const NO_ROOM = ['ENOSPC', 'EDQUOT'] as const

/**
 * Has the disk, or the user on it, no room left? Where that leaves none for the shared memory,
 * SQLite says `disk I/O error`, and only the system's number tells.
 */
export function isFull(cause: unknown): boolean {
  const { code, systemErrno } = cause as { code?: string; systemErrno?: number }
  const isNoRoom = (name: (typeof NO_ROOM)[number]) =>
    code === name || systemErrno === constants.errno[name]
  return resultCode(cause) === FULL || NO_ROOM.some(isNoRoom)
}

/**
 * Runs statements.
 * @param prepare may remember prepared statements
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

/**
 * One transaction. It takes the write lock first, so that its reads are still true when it writes.
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

/** `disk I/O error` has many causes, which the system's number tells: EROFS, a read-only disk. */
function textOf(error: unknown): string {
  const { message, systemErrno } = error as Error & { systemErrno?: number }
  const name = Object.entries(constants.errno).find(([, number]) => number === systemErrno)?.[0]
  return name && resultCode(error) === IO_ERROR ? `${message} (${name})` : message
}

/** SQLite's texts of the codes 11 and 26. */
const DAMAGED = ['database disk image is malformed', 'file is not a database']

export const isDamaged = (error: unknown): boolean =>
  DAMAGED.includes((error as Error | undefined)?.message ?? '')

/** @throws LedgerUnavailable when the disk or another process is in the way */
function guard<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (isDamaged(error))
      throw new LedgerFileChanged('damaged', 'The file of the ledger', { cause: error })
    if (resultCode(error) in IN_THE_WAY)
      throw new LedgerUnavailable(`The ledger's file cannot be used: ${textOf(error)}.`, {
        cause: error,
      })
    refuseLacking(error)
    throw error
  }
}

interface BusyRetry {
  /** Resolves with the step's result. It rejects like the step when the lock stays away. */
  run<T>(step: () => T): Promise<T>
  /** Resolves when no step waits. */
  end(): Promise<void>
}

const LONGEST_PAUSE_MS = 20

/** @param timeoutMs another process may hold the lock for one commit; longer means trouble */
function createBusyRetry(timeoutMs: number): BusyRetry {
  const waiting = new Set<Promise<unknown>>()

  async function retry<T>(step: () => T, error: unknown): Promise<T> {
    const deadline = performance.now() + timeoutMs
    for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (performance.now() >= deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
      try {
        return step()
      } catch (again) {
        if (!isBusy(again)) throw again
      }
    }
  }

  return {
    async run(step) {
      try {
        return step()
      } catch (error) {
        if (!isBusy(error)) throw error
        const done = retry(step, error)
        waiting.add(done)
        return await done.finally(() => waiting.delete(done))
      }
    },
    async end() {
      await Promise.allSettled(waiting)
    },
  }
}

/** SQLite has undone the transaction, or has not begun it. */
const isBusy = (error: unknown): boolean =>
  error instanceof LedgerUnavailable && isLocked(error.cause)

/**
 * SQLite goes on writing to a file that was moved or deleted, and the next start reads another. It
 * also goes on with a shared memory, `-shm`, that was: the next process makes another one, knows
 * nothing of the locks in this one, and both give the same numbers.
 * @param memory the identity of the shared memory that the connection has
 * @returns throws LedgerFileChanged when another file stands in its place, or none, or somebody has
 * written over it
 */
export function placeOf(
  file: string,
  memory: string,
  readHeader: () => FileHeader | undefined,
): () => void {
  const path = realpathSync(file)
  let seen = readHeader()!
  const overwritten = (): never => {
    throw new LedgerFileChanged('overwritten', file)
  }
  /** The file as it is. Another process may be writing it just now: then a second look tells. */
  const laterHeader = () => {
    const found = readHeader()
    return isLater(found, seen) ? found : [readHeader()].find((again) => isLater(again, seen))
  }
  const look = () =>
    [file, `${path}-wal`, `${path}-shm`]
      .map((name) => statSync(name, { bigint: true, throwIfNoEntry: false }))
      .map((found) => (found ? `${found.dev}/${found.ino}` : 'none'))
  const [data, log] = look()
  return () => {
    const [foundData, foundLog, foundMemory] = look()
    if (foundData !== data || foundLog !== log) throw new LedgerFileChanged('moved', file)
    // guard: H30 a process whose shared memory no other one finds commits nothing
    if (foundMemory !== memory) throw new LedgerFileChanged('alone', file)
    // guard: H30 a file that was written over takes no commit
    seen = laterHeader() ?? overwritten()
  }
}

/** How long to wait while another process holds the write lock. A commit takes less. */
export const BUSY_TIMEOUT_MS = 5_000

export interface SqliteFile {
  db: Sqlite
  identity: Identity
  /**
   * One transaction.
   * @throws LedgerUnavailable when another file stands in its place, or none. It may have happened
   */
  commit<T>(step: () => T): T
  close(): void
}

export const commitsTo =
  (db: Sqlite, requireInPlace: () => void): SqliteFile['commit'] =>
  (step) => {
    /** What another process has written to a file that is not shared any more looks damaged. */
    function read<T>(look: () => T): T {
      try {
        return look()
      } catch (error) {
        if (isDamaged(error)) requireInPlace()
        throw error
      }
    }
    const result = write(db, () => {
      const done = read(step)
      // guard: H21 a file that the next start will not find takes no commit
      requireInPlace()
      return done
    })
    // guard: H30 a commit to a file that was moved meanwhile has an unknown outcome
    requireInPlace()
    return result
  }

export function connectionTo({ db, commit, close }: SqliteFile): SqlConnection {
  const retry = createBusyRetry(BUSY_TIMEOUT_MS)
  const prepared = new Map<string, ReturnType<Sqlite['prepare']>>()

  function prepare(text: string) {
    const known = prepared.get(text) ?? db.prepare(text)
    prepared.set(text, known)
    return known
  }

  const run = runIn(db, prepare)

  return {
    dialect: SQLITE,
    transaction: (work) => retry.run(() => commit(() => runWork(run, work))),
    read: (statement) => retry.run(() => guard(() => run(statement))),
    ping: async (work) => {
      try {
        commit(() => {
          runWork(run, work)
          writeHealth(run)
        })
      } catch (error) {
        // Another program is writing just now, so the file can be written.
        if (!isBusy(error)) throw error
      }
    },
    close: async () => {
      await retry.end()
      close()
    },
  }
}
