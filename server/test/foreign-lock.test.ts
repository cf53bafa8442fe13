/** Another program holds the lock of the SQLite file, as a backup or a shell does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test, vi } from 'vitest'
import { openLedger } from '../src/index.js'
import { readSqliteVersion } from '../src/sqlite/sqlite-store.js'
import { newFolder } from './folders.js'
import { newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'

async function lockedServer() {
  const dataDir = newFolder()
  const log = { info: vi.fn(), error: vi.fn() }
  const server = await newHandler({ log }, { dataDir })
  const other = new DatabaseSync(join(dataDir, 'hilo.db'))
  other.exec('BEGIN IMMEDIATE')
  return { ...server, other }
}

/** The claim has reached the ledger. */
async function turn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve))
}

test('meanwhile everything else is answered, and claims follow when the lock is free', async () => {
  const { ask, ledger, other } = await lockedServer()
  let isAnswered = false
  const claim = ask(NEXT).finally(() => {
    isAnswered = true
  })
  await turn()
  for (const path of ['/healthz', '/topology?name=Shop', '/healthz'])
    expect((await ask(path)).status).toBe(200)
  expect(await ledger.read({ database: 'Shop', collection: 'orders' })).toEqual({
    max: 0,
    version: 0,
  })
  expect(isAnswered).toBe(false)
  other.exec('COMMIT')
  expect((await claim).body.Low).toBe(1)
  other.close()
})

test('a lock that is not freed: 503 after a while, and the ledger goes on afterwards', async () => {
  const { ask, ledger, other } = await lockedServer()
  expect(await ask(NEXT)).toMatchObject({
    status: 503,
    body: { Message: expect.stringContaining('does not answer') },
  })
  const claim = ask(NEXT)
  await turn()
  const closed = ledger.close()
  other.exec('COMMIT')
  expect((await claim).body.Low).toBe(1)
  await closed
  other.close()
})

test('a server that finds it locked at the start says so, and blames no folder', async () => {
  const dataDir = newFolder()
  await (await openLedger({ create: true, dataDir })).close()
  const other = new DatabaseSync(join(dataDir, 'hilo.db'))
  other.exec('BEGIN IMMEDIATE')
  await expect(openLedger({ create: true, dataDir })).rejects.toThrow(
    /cannot be opened: database is locked\. Another program keeps it locked/,
  )
  other.close()
})

/** As the process of another server that makes the same ledger at this moment. */
const LOCKING = `
  import { DatabaseSync } from '@photostructure/sqlite'
  const db = new DatabaseSync(process.argv[1])
  db.exec('BEGIN EXCLUSIVE; CREATE TABLE hilo_meta (key TEXT, value TEXT)')
  db.exec("INSERT INTO hilo_meta VALUES ('version', '1')")
  process.stdout.write('locked')
  setTimeout(() => db.exec('COMMIT'), 300)`

test('a command waits for a server that makes the ledger at the same moment', async () => {
  const dataDir = newFolder()
  const args = ['--input-type=module', '--eval', LOCKING, join(dataDir, 'hilo.db')]
  const other = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(other, 'close')
  await once(other.stdout, 'data')
  expect(readSqliteVersion(dataDir)).toBe(1)
  await ended
})

const HOLDING = `
  import { DatabaseSync } from '@photostructure/sqlite'
  const db = new DatabaseSync(process.argv[1])
  db.exec('BEGIN EXCLUSIVE')
  process.stdout.write('locked')
  setTimeout(() => db.exec('COMMIT'), 300)`

test('a server waits for another one that makes the ledger at the same moment', async () => {
  const dataDir = newFolder()
  const args = ['--input-type=module', '--eval', HOLDING, join(dataDir, 'hilo.db')]
  const other = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(other, 'close')
  await once(other.stdout, 'data')
  const ledger = await openLedger({ create: true, dataDir })
  expect(await ledger.read({ database: 'Shop', collection: 'orders' })).toMatchObject({ max: 0 })
  await ledger.close()
  await ended
})
