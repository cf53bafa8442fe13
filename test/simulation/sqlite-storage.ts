/** Keeps the ledger of one node in SQLite, as a server without PostgreSQL does. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../server/src/index.js'
import { openLedger } from '../../server/src/open-ledger.js'
import { SQLITE_FILE } from '../../server/src/sql/schema.js'
import { backUp } from '../../server/src/sqlite/backup.js'
import type { Copy, LedgerStorage } from './ledger-storage.js'

export class SqliteStorage implements LedgerStorage {
  readonly #folder = makeFolder()
  #copies = 0

  open(): Promise<Ledger> {
    return openLedger({ create: true, dataDir: this.#folder })
  }

  backUp(): Copy {
    const copy = join(this.#folder, `backup-${++this.#copies}.db`)
    backUp(this.#folder, copy)
    return copy
  }

  restore(copy: Copy): void {
    const file = join(this.#folder, SQLITE_FILE)
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    copyFileSync(copy as string, file)
  }

  forget(): void {}

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A folder for databases, in memory where the system has such a place. */
export function makeFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hilo-simulation-'))
}
