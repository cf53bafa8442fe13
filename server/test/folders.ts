/** Folders for tests, removed at the end of the test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'offline-hilo-'))
  made.push(folder)
  return folder
}

afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})
