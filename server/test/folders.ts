/** Folders for tests, removed at the end of the test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { atFileEnd } from '../../test/support/file-end.js'

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'offline-hilo-'))
  atFileEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs a statement in the ledger of a folder, behind the ledger's back. */
export function runIn(dataDir: string, sql: string): void {
  const db = new DatabaseSync(join(dataDir, 'hilo.db'))
  db.exec(sql)
  db.close()
}

/** Of the grant tokens of the ledger in a folder. */
export function secretIn(dataDir: string): string {
  const db = new DatabaseSync(join(dataDir, 'hilo.db'))
  const [row] = db.prepare("SELECT value FROM hilo_meta WHERE key = 'secret'").all()
  db.close()
  return (row as { value: string }).value
}
