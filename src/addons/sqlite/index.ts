/**
 * `offline-hilo/sqlite`: the device's ranges in a SQLite file, for apps outside of a browser page.
 * Guarantees the same as the store in IndexedDB: each change is one `BEGIN IMMEDIATE` transaction,
 * which keeps other processes out from its read to its write, and which is on the disk
 * (`journal_mode = WAL`, `synchronous = FULL`) before anybody acts on it.
 */
import { brief, messageOf, shown } from '../../core/brief.js'
import { HiloError } from '../../core/errors.js'
import { losesCommits } from '../../core/sqlite-version.js'
import { idOf, isNote } from '../../device/page-notes.js'
import type { SeriesStore } from '../../device/series-store.js'
import type { Note } from '../../device/state.js'
import type { Change, DeviceStore, StoreKey } from '../../store/store.js'
import { type RunStatement, runStatementOf, type SqliteDatabase, type SqliteRow } from './driver.js'
import { placeOf } from './file-place.js'
import { type Run, SERIES_TABLES, seriesSteps } from './series-in-sqlite.js'

export type {
  CapacitorDatabase,
  ExpoDatabase,
  OpDatabase,
  RunStatement,
  SqliteDatabase,
  SqliteRow,
  StatementDatabase,
} from './driver.js'

export interface SqliteStoreOptions {
  /**
   * An open connection to a file, both for this store alone. In the app's file, each transaction
   * that the app has open would hold up every id. On its connection, a statement of the app would
   * become part of the store's transaction. The app closes it, after `hilo.close()`.
   */
  database: SqliteDatabase
}

/** How long to wait while another process holds the write lock. */
const BUSY_TIMEOUT_MS = 5_000

/** SQLite's number for `synchronous = FULL`. */
const FULL = 2

const TABLES = [
  'CREATE TABLE IF NOT EXISTS offline_hilo (key TEXT PRIMARY KEY, state TEXT NOT NULL)',
  `CREATE TABLE IF NOT EXISTS offline_hilo_notes (
    key TEXT NOT NULL, id TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (key, id))`,
  `CREATE TABLE IF NOT EXISTS offline_hilo_set_aside (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, record TEXT NOT NULL)`,
]
/** The tables of somebody else. SQLite makes some by itself, and so does Android. */
const OTHERS = `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'android_metadata'
  AND name NOT LIKE 'offline\\_hilo%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
const READ_STATE = 'SELECT state FROM offline_hilo WHERE key = ?'
const READ_KEYS = 'SELECT key FROM offline_hilo'
const READ_NOTES = 'SELECT note FROM offline_hilo_notes WHERE key = ? ORDER BY id'
/** It fails where the table has lost its key, which would let two states of a key stand there. */
const SAVE_STATE = `INSERT INTO offline_hilo (key, state) VALUES (?, ?)
  ON CONFLICT (key) DO UPDATE SET state = excluded.state`
const SET_ASIDE = 'INSERT INTO offline_hilo_set_aside (key, record) VALUES (?, ?)'
const SAVE_NOTE = 'INSERT OR REPLACE INTO offline_hilo_notes (key, id, note) VALUES (?, ?, ?)'
const DELETE_NOTE = 'DELETE FROM offline_hilo_notes WHERE key = ? AND id = ?'

/**
 * @example
 * import { DatabaseSync } from 'node:sqlite'
 *
 * const hilo = createHilo({
 *   url: 'https://api.example.com',
 *   store: sqliteStore({ database: new DatabaseSync('ids.db') }),
 * })
 *
 * @throws HiloError `invalid-argument` when `database` is no connection that is known. Ids reject
 * with it, too, if the file has tables of the app.
 */
export function sqliteStore(options: SqliteStoreOptions): DeviceStore {
  return new SqliteStore(runStatementOf(options?.database))
}

interface Stored {
  stored: unknown
  notes: Note[]
}

/** Another connection has the lock: it may soon be free. */
const RETRY_AFTER_MS = 1_000

/** Yields the answer of each statement, a promise or not, and gets its rows. */
type Steps<T> = Generator<ReturnType<RunStatement>, T, readonly SqliteRow[]>

/**
 * The last transaction of each file in this process. One runs at a time: a synchronous driver that
 * waits for the lock of another connection would hold up that one, too.
 */
const lastOf = new Map<string, Promise<unknown>>()

class SqliteStore implements DeviceStore {
  readonly isDurable = true
  readonly #driver: RunStatement
  /** Set once it is open. */
  #file: Promise<string> | undefined
  #requireInPlace = () => {}

  constructor(driver: RunStatement) {
    this.#driver = driver
  }

  update<T>(key: StoreKey, change: (stored: unknown, notes: Note[]) => Change<T>): Promise<T> {
    return this.#inSteps('BEGIN IMMEDIATE', () => this.#change(keyOf(key), change))
  }

  read(key: StoreKey): Promise<Stored> {
    return this.#inSteps('BEGIN', () => this.#look(keyOf(key)))
  }

  async keys(): Promise<StoreKey[]> {
    const rows = await this.#inSteps('BEGIN', () => this.#all(READ_KEYS))
    return rows.map(({ key }) => parse(key) as StoreKey)
  }

  leaveNotes(key: StoreKey, notes: readonly Note[]): void {
    for (const note of notes) {
      attempt(() => this.#driver(SAVE_NOTE, [keyOf(key), idOf(note), JSON.stringify(note)]))
    }
  }

  series(key: StoreKey): SeriesStore {
    const [of, ofDevice] = [keyOf(key), JSON.stringify(key.slice(0, 2))]
    return {
      transact: (mode, work) => {
        const begin = mode === 'readonly' ? 'BEGIN' : 'BEGIN IMMEDIATE'
        return this.#inTurn(() =>
          this.#transactionOf(begin, (run) => seriesSteps(run, of, ofDevice, work)),
        )
      },
      close() {},
    }
  }

  close(): void {}

  async #inTurn<T>(transaction: () => Promise<T>): Promise<T> {
    this.#file ??= drive(this.#open()).catch((error) => {
      this.#file = undefined
      throw error
    })
    const file = await this.#file
    const turn = (lastOf.get(file) ?? Promise.resolve()).then(transaction)
    lastOf.set(
      file,
      turn.catch(() => {}),
    )
    return turn
  }

  #inSteps<T>(begin: string, steps: () => Steps<T>): Promise<T> {
    return this.#inTurn(() => drive(this.#transaction(begin, steps)))
  }

  *#open(): Steps<string> {
    yield this.#run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    yield this.#run('PRAGMA journal_mode = WAL')
    const [mode] = yield this.#run('PRAGMA journal_mode')
    if (firstColumn(mode) !== 'wal')
      throw storageFailed(
        'it cannot use its write-ahead log, without which a power cut can undo a commit. ' +
          'Open a local file (not :memory:)',
      )
    const [version] = yield this.#run('SELECT sqlite_version()')
    warnOf(String(firstColumn(version)))
    yield this.#run('PRAGMA synchronous = FULL')
    // A Mac's disk needs to be told to empty its cache; elsewhere this changes nothing.
    yield this.#run('PRAGMA fullfsync = 1')
    const [synchronous] = yield this.#run('PRAGMA synchronous')
    if (Number(firstColumn(synchronous)) < FULL)
      throw storageFailed(
        'it does not wait for the disk: `PRAGMA synchronous = FULL` has no effect',
      )
    const [other] = yield this.#run(OTHERS)
    // guard: H18 the app's transactions hold no id up
    if (other) throw notAlone(String(firstColumn(other)))
    for (const table of [...TABLES, ...SERIES_TABLES]) yield this.#run(table)
    const [main] = yield this.#run('PRAGMA database_list')
    const file = String(main?.file)
    this.#requireInPlace = placeOf(file, (why) => {
      throw storageFailed(why)
    })
    this.#requireInPlace()
    return file
  }

  *#transaction<T>(begin: string, steps: () => Steps<T>): Steps<T> {
    yield this.#run(begin)
    try {
      const result = yield* steps()
      this.#requireInPlace()
      // guard: H2 an app's own store commits before it resolves
      yield this.#run('COMMIT')
      this.#requireInPlace()
      return result
    } catch (error) {
      try {
        yield this.#run('ROLLBACK')
      } catch {} // SQLite has rolled back already.
      throw error
    }
  }

  /** As above, for work that waits for each answer. */
  async #transactionOf<T>(begin: string, work: (run: Run) => Promise<T>): Promise<T> {
    const run: Run = async (sql, ...parameters) => this.#run(sql, ...parameters)
    await run(begin)
    try {
      const result = await work(run)
      this.#requireInPlace()
      // guard: H2 a series in an app's own store is committed before it resolves
      await run('COMMIT')
      this.#requireInPlace()
      return result
    } catch (error) {
      await run('ROLLBACK').catch(() => {}) // SQLite has rolled back already.
      throw error
    }
  }

  *#look(key: string): Steps<Stored> {
    const [row] = yield this.#run(READ_STATE, key)
    const notes = (yield this.#run(READ_NOTES, key)).map(({ note }) => parse(note) as Note)
    return { stored: row && parse(row.state), notes: notes.filter(isNote) }
  }

  *#all(sql: string): Steps<readonly SqliteRow[]> {
    return yield this.#run(sql)
  }

  *#change<T>(key: string, change: (stored: unknown, notes: Note[]) => Change<T>): Steps<T> {
    const { stored, notes } = yield* this.#look(key)
    const { state, setAside, result } = change(stored, notes)
    if (state !== stored) yield this.#run(SAVE_STATE, key, JSON.stringify(state))
    // Only the notes that were read: with an asynchronous driver a page may have left another one
    // since.
    for (const note of notes) yield this.#run(DELETE_NOTE, key, idOf(note))
    if (setAside !== undefined) yield this.#run(SET_ASIDE, key, JSON.stringify(setAside))
    return result
  }

  /** @throws HiloError `storage-failed`, at once or as a promise's rejection */
  #run(sql: string, ...parameters: string[]): ReturnType<RunStatement> {
    try {
      const rows = this.#driver(sql, parameters)
      return rows instanceof Promise
        ? rows.then(rowsOf).catch((error: unknown) => {
            throw storageFailed(messageOf(error), error)
          })
        : rowsOf(rows)
    } catch (error) {
      throw storageFailed(messageOf(error), error)
    }
  }
}

/**
 * Runs the steps to their end. With a synchronous driver nothing else runs in between, since there
 * is nothing to wait for.
 */
async function drive<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const answer = step.value
    if (!(answer instanceof Promise)) {
      step = steps.next(answer)
      continue
    }
    const outcome = await answer.then(
      (rows) => ({ rows }),
      (error: unknown) => ({ error }),
    )
    step = 'rows' in outcome ? steps.next(outcome.rows) : steps.throw(outcome.error)
  }
  return step.value
}

function warnOf(version: string): void {
  // guard: H30 an app hears that its SQLite can lose commits
  if (losesCommits(version))
    console.warn(
      `offline-hilo: SQLite ${version} can lose commits when several processes use one file ` +
        '(sqlite.org/wal.html, "the WAL-reset bug"), and then ids come twice. Use a driver with ' +
        'SQLite 3.51.3 or newer, or let only one process use this file.',
    )
}

/** The app's own function has no type at run time. */
function rowsOf(rows: readonly SqliteRow[]): readonly SqliteRow[] {
  if (Array.isArray(rows)) return rows
  throw new TypeError(`\`database\` made ${shown(rows)} in place of an array of rows`)
}

const keyOf = (key: StoreKey): string => JSON.stringify(key)

const firstColumn = (row: SqliteRow | undefined): unknown => row && Object.values(row)[0]

/** Text that is no JSON is returned as it is: like any unusable record, it is set aside. */
function parse(text: unknown): unknown {
  try {
    return JSON.parse(text as string)
  } catch {
    return text
  }
}

/** A process that ends can only try; a failure here costs a gap. */
function attempt(act: () => unknown): void {
  try {
    const done = act()
    if (done instanceof Promise) done.catch(() => {})
  } catch {}
}

/** What SQLite says of a file that was cut short, or that something else was written into. */
const DAMAGED = /malformed|not a database/

const storageFailed = (what: string, cause?: unknown): HiloError =>
  new HiloError(
    'storage-failed',
    `SQLite failed: ${brief(what, 23).replace(/\.$/, '')}. No id was handed out. ` +
      (DAMAGED.test(what)
        ? 'See docs/processes.md#a-damaged-file.'
        : 'Nothing was lost: mend it and try again.'),
    { cause, ...(what.includes('is locked') && { retryAfter: RETRY_AFTER_MS }) },
  )

const notAlone = (table: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `sqliteStore did nothing: its file has the table "${table}", which is not its own. A ` +
      "transaction of the app on this file would hold up every id. Open a file of the store's own.",
  )
