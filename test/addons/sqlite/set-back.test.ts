/** One device that goes back to a backup of its SQLite file, and is online all the time. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHiloHandler, type Ledger, openLedger } from '../../../server/src/index.js'
import { sqliteStore } from '../../../src/addons/sqlite/index.js'
import { createHilo } from '../../../src/index.js'
import { DRIVERS } from './drivers.js'

const [, open] = DRIVERS[0]!
let folder: string
let ledger: Ledger
let checkIns: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hilo-set-back-'))
  ledger = await openLedger({ create: true, dataDir: join(folder, 'server') })
  const handle = createHiloHandler({ ledger, open: true })
  checkIns = 0
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
  vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
    if (input.endsWith('/checkin')) checkIns++
    return handle(new Request(input, init))
  })
})
afterEach(async () => {
  vi.useRealTimers()
  await ledger.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The app, on the file as it is now. It keeps so many ids that it claims none meanwhile. */
function start() {
  const database = open(join(folder, 'till.db')) as ReturnType<typeof open> & { close(): void }
  const options = { url: 'https://shop.example.com', reserve: 300 }
  const hilo = createHilo({ ...options, store: sqliteStore({ database }) })
  let forks = 0
  hilo.addEventListener('fork', () => forks++)
  return {
    /** One id a second: a busy till. */
    async make(count: number): Promise<string[]> {
      const made: string[] = []
      for (let i = 0; i < count; i++) {
        made.push(await hilo.nextId('orders'))
        await vi.advanceTimersByTimeAsync(1_000)
      }
      return made
    },
    forks: () => forks,
    async stop() {
      await hilo.close()
      database.close()
    },
  }
}

const file = (name: string) => join(folder, name)

test('makes no id twice that it made after the backup', async () => {
  const day = start()
  await day.make(40)
  await day.stop()
  const night = start()
  await night.make(1)
  await vi.advanceTimersByTimeAsync(20_000)
  await night.stop()
  // A backup that was made while the app ran, after it had checked in.
  const running = start()
  await running.make(20)
  for (const end of ['', '-wal']) copyFileSync(file(`till.db${end}`), file(`backup.db${end}`))
  const made = await running.make(80)
  await running.stop()
  for (const end of ['', '-wal']) rmSync(file(`till.db${end}`), { force: true })
  rmSync(file('till.db-shm'), { force: true })
  for (const end of ['', '-wal']) copyFileSync(file(`backup.db${end}`), file(`till.db${end}`))
  await vi.advanceTimersByTimeAsync(3_600_000)
  const again = start()
  const twice = (await again.make(80)).filter((id) => made.includes(id))
  await again.stop()
  expect(twice).toEqual([])
  expect(again.forks()).toBe(1)
})

test('the server hears of use once in ten seconds, and of a device at rest nothing', async () => {
  const till = start()
  await till.make(200)
  const busy = checkIns
  expect(busy).toBeGreaterThan(10)
  expect(busy).toBeLessThanOrEqual(21)
  await vi.advanceTimersByTimeAsync(20_000)
  const rest = checkIns
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(checkIns).toBe(rest)
  await till.stop()
})
