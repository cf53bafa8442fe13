/**
 * Somebody writes over the file of a ledger in its place, as `cp backup hilo.db` does, while a
 * server uses it. The folder still has a file of the same inode.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createHiloHandler, openLedger } from '../src/index.js'
import { backUp } from '../src/sqlite/backup.js'
import { openSqliteFile } from '../src/sqlite/sqlite-store.js'
import { newFolder } from './folders.js'
import { json } from './handlers.js'
import { spawnCli } from './processes.js'

const NEXT = '/databases/Shop/hilo/next'
/** Makes, in this process, no handle to the file: to close one would drop SQLite's locks. */
const copy = (from: string, to: string) => execFileSync('cp', [from, to])

async function running() {
  const dataDir = newFolder()
  const file = join(dataDir, 'hilo.db')
  const ledger = await openLedger({ create: true, dataDir })
  const log = { info: vi.fn(), error: vi.fn() }
  const handler = createHiloHandler({ ledger, log, open: true })
  const ask = async (path: string, init?: RequestInit) => {
    const response = await handler(new Request(`http://ids.test${path}`, init))
    return { status: response.status, body: await response.json() }
  }
  const claim = (tag = 'orders') => ask(`${NEXT}?tag=${tag}`)
  return { dataDir, file, ledger, log, ask, claim }
}

/** Everything is refused, with one message; the log says what to do. */
async function expectRefused(server: Awaited<ReturnType<typeof running>>, what: string) {
  const { ask, claim, log } = server
  const checkIn = json({ id: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10', grants: [], spent: ['t'] })
  for (const answer of [
    await ask('/healthz'),
    await claim(),
    await claim('lines'),
    await ask('/healthz'),
  ])
    expect(answer).toMatchObject({
      status: 503,
      body: { Message: expect.stringContaining(`file of this server's ledger ${what}`) },
    })
  expect((await ask('/databases/Shop/hilo/checkin', checkIn)).status).toBe(503)
  const lines = log.error.mock.calls.map(([{ reason }]) => reason)
  expect(lines).toEqual([expect.stringContaining('raise-floor')])
  expect(lines[0]).not.toMatch(/begin|delete (it|the file)|start the server again\. /)
}

test('by a backup: nothing is granted, and the next start does not mix the two', async () => {
  const server = await running()
  const { dataDir, file, ledger, claim } = server
  await claim()
  const kept = join(newFolder(), 'backup.db')
  backUp(dataDir, kept)
  expect([(await claim()).body.Low, (await claim()).body.Low]).toEqual([33, 65])
  copy(kept, file)
  await expectRefused(server, 'was written over')
  await ledger.close()
  expect(readFileSync(file).equals(readFileSync(kept))).toBe(true)
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
  await expect(openLedger({ dataDir })).rejects.toThrow(/hilo\.db-wal.*raise-floor/)
  expect(readFileSync(file).equals(readFileSync(kept))).toBe(true)
  // As the message says.
  for (const end of ['-wal', '-shm']) renameSync(`${file}${end}`, join(newFolder(), end))
  const { code, stdout } = await spawnCli(['status', '--data', dataDir])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/orders +32/)])
})

test('by an older copy of itself', async () => {
  const server = await running()
  const { dataDir, file, claim, ledger } = server
  await claim()
  // The first who uses the file alone moves all commits into it.
  await ledger.close()
  const kept = join(newFolder(), 'copy.db')
  copy(file, kept)
  const again = await openLedger({ dataDir })
  const handler = createHiloHandler({ ledger: again, log: server.log, open: true })
  const ask = async (path: string, init?: RequestInit) => {
    const response = await handler(new Request(`http://ids.test${path}`, init))
    return { status: response.status, body: await response.json() }
  }
  await ask(`${NEXT}?tag=orders`)
  copy(kept, file)
  await expectRefused(
    { ...server, ask, claim: (tag = 'orders') => ask(`${NEXT}?tag=${tag}`) },
    'was written over',
  )
  await again.close()
})

test('by something that is no ledger, or by nothing', async () => {
  for (const text of ['', 'no ledger at all '.repeat(1_000)]) {
    const server = await running()
    await server.claim()
    const other = join(newFolder(), 'other')
    writeFileSync(other, text)
    copy(other, server.file)
    await expectRefused(server, 'was written over')
    await server.ledger.close()
  }
})

test('by garbage behind its first bytes: it is damaged', () => {
  const dataDir = newFolder()
  const { db, commit, close } = openSqliteFile(dataDir, { create: true })
  const garble = `const file = require('fs').openSync(process.argv[1], 'r+')
    require('fs').writeSync(file, Buffer.alloc(20 * 4096), 0, 20 * 4096, 4096)`
  execFileSync(process.execPath, ['--eval', garble, join(dataDir, 'hilo.db')])
  db.exec('PRAGMA shrink_memory')
  const read = () => db.prepare('SELECT * FROM main.hilo_meta').all()
  expect(() => commit(read)).toThrow(/is damaged.*raise-floor/)
  close()
})

test('what is no ledger does not start, and nobody is told to begin a new one', async () => {
  const dataDir = newFolder()
  writeFileSync(join(dataDir, 'hilo.db'), 'no ledger at all '.repeat(1_000))
  const error = await openLedger({ dataDir }).catch((thrown) => thrown)
  expect(error.message).toContain('file is not a database')
  expect(error.message).toMatch(/Keep the file.*backup.*raise-floor/s)
  expect(error.message).not.toContain('or none')
})
