/** What only the SQLite ledger has to stand: its folder, its syncs, its upgrades. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import { LedgerUnavailable, openLedger } from '../src/index.js'
import { openSqliteFile, reader, write } from '../src/sqlite/file.js'
import { openSqliteStore } from '../src/sqlite/store.js'
import { newFolder, secretIn } from './folders.js'
import { describeLedger } from './ledger-contract.js'
import { describeUpgrades } from './ledger-upgrades.js'

describeLedger('SQLite ledger', async () => {
  const dataDir = newFolder()
  return {
    open: (limits) => openLedger({ dataDir, limits }),
    secret: async () => secretIn(dataDir),
  }
})

const wish = {
  database: 'Shop',
  collection: 'orders',
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
}

test('a missing folder is made; an application may keep its own tables in the file', async () => {
  const dataDir = join(newFolder(), 'a', 'b')
  const ledger = await openLedger({ dataDir })
  expect(readdirSync(dataDir)).toContain('hilo.db')
  const own = new DatabaseSync(join(dataDir, 'hilo.db'))
  own.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  own.prepare('INSERT INTO orders VALUES (?)').run('orders/1-A')
  await ledger.claim([wish])
  expect(own.prepare('SELECT max FROM hilo_counters').all()).toEqual([{ max: 32 }])
  own.close()
  await ledger.close()
})

test('only its owner may read a new file and its secret, in any folder', async () => {
  const dataDir = newFolder()
  chmodSync(dataDir, 0o755)
  const ledger = await openLedger({ dataDir })
  await ledger.claim([wish])
  expect(readdirSync(dataDir).sort()).toEqual(['hilo.db', 'hilo.db-shm', 'hilo.db-wal'])
  for (const name of readdirSync(dataDir))
    expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0])
  await ledger.close()
})

test.each([
  ['no folder', (dataDir: string) => writeFileSync(dataDir, '')],
  [
    'a folder with another file of that name',
    (dataDir: string) => {
      mkdirSync(dataDir)
      writeFileSync(
        join(dataDir, 'hilo.db'),
        'no database at all, but a text that is longer than a header'.repeat(10),
      )
    },
  ],
  [
    'a folder with a folder of that name',
    (dataDir: string) => mkdirSync(join(dataDir, 'hilo.db'), { recursive: true }),
  ],
])('what cannot be a ledger is named: %s', async (_, make) => {
  const dataDir = join(newFolder(), 'data')
  make(dataDir)
  await expect(openLedger({ dataDir })).rejects.toThrow(
    `The ledger in ${dataDir} cannot be opened: `,
  )
})

test('a second handle in one process leaves the locks of the first', async () => {
  const dataDir = newFolder()
  const ledgers = [await openLedger({ dataDir }), await openLedger({ dataDir })]
  const log = () => statSync(join(dataDir, 'hilo.db-wal'), { throwIfNoEntry: false })?.ino
  const before = log()
  // A process that finds no lock takes itself for the last user, and removes the log at its end.
  const visit = `const db = new (require('libsql'))(${JSON.stringify(join(dataDir, 'hilo.db'))})
    db.exec('SELECT max FROM hilo_counters')
    db.close()`
  execFileSync(process.execPath, ['--eval', visit])
  expect(log()).toBe(before)
  for (const ledger of ledgers) await ledger.close()
})

test('a SQLite that loses commits is refused, and nothing is written', () => {
  const dataDir = newFolder()
  const connect = (file: string) => {
    const db = new DatabaseSync(file)
    db.function('sqlite_version', () => '3.45.1')
    return db
  }
  const open = () => openSqliteFile(dataDir, undefined, connect)
  expect(open).toThrow('SQLite 3.45.1 can lose commits')
  const db = new DatabaseSync(join(dataDir, 'hilo.db'))
  expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([])
  db.close()
})

test('a full disk is no fault of the request, also where a statement returns rows', () => {
  const { db } = openSqliteFile(newFolder())
  db.exec('CREATE TABLE own (text TEXT); PRAGMA max_page_count = 1')
  const add = reader(db, 'INSERT INTO own VALUES (?) RETURNING text')
  expect(() => write(db, () => add('x'.repeat(100_000)))).toThrow(LedgerUnavailable)
  db.close()
})

test('every commit is synced to the disk: a power cut takes no grant back', () => {
  const { db } = openSqliteFile(newFolder())
  const FULL = 2
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: FULL })
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  db.close()
})

test.each([
  ['is empty', (file: string) => truncateSync(file)],
  ['is gone', (file: string) => rmSync(file)],
])('a file that %s while its log has commits is not begun anew', async (_, lose) => {
  const running = newFolder()
  const ledger = await openLedger({ dataDir: running })
  await ledger.claim([wish])
  const dataDir = newFolder()
  cpSync(running, dataDir, { recursive: true })
  await ledger.close()
  lose(join(dataDir, 'hilo.db'))
  await expect(openLedger({ dataDir })).rejects.toThrow(
    'hilo.db is empty or missing, but hilo.db-wal has commits of it. Nothing was changed.',
  )
  expect(statSync(join(dataDir, 'hilo.db-wal')).size).toBeGreaterThan(0)
})

test.each(['hilo.db', 'hilo.db-wal'])(
  'while %s is not in its place, nothing is granted: a restart would know nothing of it',
  async (name) => {
    const dataDir = newFolder()
    const ledger = await openLedger({ dataDir })
    await ledger.claim([wish])
    const [file, aside] = [join(dataDir, name), join(newFolder(), name)]
    renameSync(file, aside)
    const gone = /hilo\.db.* was moved, replaced or deleted while the server runs/
    await expect(ledger.claim([wish])).rejects.toThrow(gone)
    await expect(ledger.ping()).rejects.toThrow(LedgerUnavailable)
    copyFileSync(aside, file)
    await expect(ledger.claim([wish])).rejects.toThrow(gone)
    renameSync(aside, file)
    expect(await ledger.claim([wish])).toMatchObject([{ grant: { low: 33, high: 64 } }])
    await ledger.close()
  },
)

describeUpgrades(async () => {
  const dataDir = newFolder()
  return {
    open: async (schema) => openSqliteStore(dataDir, new Map(), schema),
    async run(sql) {
      const db = new DatabaseSync(join(dataDir, 'hilo.db'))
      db.exec(sql)
      db.close()
    },
  }
})
