/**
 * Keeps the ledger of one node in SQLite, as a server without PostgreSQL does. Other files and
 * other rows can take the ledger's place while servers use it.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Ledger } from '../../server/src/index.js'
import { type LedgerOptions, openLedger } from '../../server/src/open-ledger.js'
import { SQLITE_FILE } from '../../server/src/sql/schema.js'
import { backUp } from '../../server/src/sqlite/backup.js'
import { connectTo } from '../../server/src/sqlite/sqlite-connection.js'
import type { Copy, LedgerStorage } from './ledger-storage.js'

/** Higher than any ledger of a schedule comes. */
const HIGH_MARK = 1_000_000

/** What a commit throws in the process that dies of it. */
export class ProcessDied extends Error {}

export class SqliteStorage implements LedgerStorage {
  readonly #place = makeFolder()
  readonly #folder = join(this.#place, 'data')
  readonly #file = join(this.#folder, SQLITE_FILE)
  #files = 0
  #isMade = false
  readonly #options: LedgerOptions

  /** @param options of its ledger, besides the place */
  constructor(options: LedgerOptions = {}) {
    this.#options = options
  }

  async open(): Promise<Ledger> {
    const ledger = await openLedger({
      ...this.#options,
      create: !this.#isMade,
      dataDir: this.#folder,
    })
    this.#isMade = true
    return ledger
  }

  backUp(): string {
    const copy = this.#newFile()
    backUp(this.#folder, copy)
    return copy
  }

  restore(copy: Copy): void {
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.#file}${end}`, { force: true })
    copyFileSync(copy as string, this.#file)
  }

  /** How many commits a copy has. */
  markIn(copy: string): number {
    return inFile(copy, (db) =>
      Number(db.prepare("SELECT value FROM hilo_meta WHERE key = 'mark'").get()?.value ?? 0),
    )
  }

  /**
   * All rows of the ledger give way to those of a copy, beneath those who have it open, as by the
   * command `.restore` of SQLite's shell.
   */
  replaceRows(copy: string): void {
    inFile(this.#file, (db) => {
      db.prepare('ATTACH $1 AS other').all({ $1: copy })
      db.exec('BEGIN IMMEDIATE')
      const tables = db.prepare("SELECT name FROM other.sqlite_master WHERE type = 'table'").all()
      for (const { name } of tables)
        db.exec(
          `DELETE FROM main."${name}"; INSERT INTO main."${name}" SELECT * FROM other."${name}"`,
        )
      db.exec('COMMIT')
    })
  }

  async begunAnew(): Promise<string> {
    const dataDir = this.#newFile()
    await (await openLedger({ create: true, dataDir })).close()
    return join(dataDir, SQLITE_FILE)
  }

  beside(): SqliteStorage {
    return new SqliteStorage()
  }

  /** The ledger of somebody else, with a secret of its own, in which much has happened. */
  async anotherLedger(): Promise<string> {
    const file = await this.begunAnew()
    inFile(file, (db) =>
      db.exec(`INSERT OR REPLACE INTO hilo_meta (key, value) VALUES ('mark', '${HIGH_MARK}')`),
    )
    return file
  }

  /**
   * In the middle of the next commit, a copy of the file takes its place: what is committed from
   * then on is lost for whoever opens the ledger later.
   * @param moved told when it has happened
   */
  moveAtCommit(moved: () => void): void {
    const copy = this.backUp()
    this.#atCommit(1, () => {
      const aside = this.#newFile()
      for (const end of ['', '-wal', '-shm']) renameSync(`${this.#file}${end}`, `${aside}${end}`)
      copyFileSync(copy, this.#file)
      moved()
    })
  }

  /** This commit from now on is not made. @param failed told when it has happened */
  failAtCommit(nth: number, failed: () => void): void {
    this.#atCommit(nth, () => {
      failed()
      throw new ProcessDied('The simulated process was killed.')
    })
  }

  /** @param act in the middle of this commit from now on */
  #atCommit(nth: number, act: () => void): void {
    // The connection that the servers have.
    const { db, close } = connectTo(this.#file, () => {})
    close()
    let left = nth
    const exec = (sql: string) => {
      if (sql === 'COMMIT' && --left === 0) {
        Reflect.deleteProperty(db, 'exec')
        act()
      }
      DatabaseSync.prototype.exec.call(db, sql)
    }
    Object.defineProperty(db, 'exec', { value: exec, configurable: true })
  }

  /** A copy is written into the file itself, which servers have open. */
  writeOver(copy: string): void {
    copyFileSync(copy, this.#file)
  }

  /** The volume is not mounted. No process may have the ledger open. */
  unmount(): void {
    renameSync(this.#folder, join(this.#place, 'unmounted'))
    mkdirSync(this.#folder)
  }

  /** What was made in its place meanwhile is gone. No process may have the ledger open. */
  mount(): void {
    rmSync(this.#folder, { recursive: true })
    renameSync(join(this.#place, 'unmounted'), this.#folder)
  }

  forget(): void {
    inFile(this.#file, (db) => {
      const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
      for (const { name } of tables) if (name !== 'hilo_meta') db.exec(`DELETE FROM "${name}"`)
    })
  }

  remove(): void {
    rmSync(this.#place, { recursive: true, force: true })
  }

  #newFile(): string {
    return join(this.#place, `${++this.#files}.db`)
  }
}

function inFile<T>(file: string, use: (db: InstanceType<typeof DatabaseSync>) => T): T {
  const db = new DatabaseSync(file)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** A folder for databases, in memory where the system has such a place. */
export function makeFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hilo-simulation-'))
}
