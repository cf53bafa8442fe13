/** What only the SQLite ledger has to stand: its folder, its syncs, its upgrades. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { LedgerUnavailable, openLedger } from '../src/index.js'
import { backUp } from '../src/sqlite/backup.js'
import { connectTo } from '../src/sqlite/sqlite-connection.js'
import { openSqliteFile, openSqliteStore, readSqliteVersion } from '../src/sqlite/sqlite-store.js'
import { reader, write } from '../src/sqlite/transaction.js'
import { newFolder, runIn, secretIn } from './folders.js'
import { editing, expectClosed } from './ledger-bench.js'
import { describeLedger } from './ledger-contract.js'
import { describeUpgrades } from './ledger-upgrades.js'
import { cliFile, type ServerProcess, spawnCli, startProcess } from './processes.js'
import { watchSqlite } from './watched-statements.js'

describeLedger('SQLite ledger', async () => {
  const dataDir = newFolder()
  return {
    open: (limits) => openLedger({ create: true, dataDir, limits }),
    secret: async () => secretIn(dataDir),
    edit: async (...row) => runIn(dataDir, editing(...row)),
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

test('once closed it is unavailable, also while another one has the same file', async () => {
  const options = { create: true, dataDir: newFolder() }
  const other = await openLedger(options)
  await expectClosed(await openLedger(options))
  expect(await other.claim([wish])).toMatchObject([{ grant: { low: 1 } }])
  await expectClosed(other)
})

test('names that are refused, and free numbers, are looked up and not counted', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir, limits: { collections: 2 } })
  onTestFinished(() => ledger.close())
  await ledger.claim([wish])
  const rows = new DatabaseSync(join(dataDir, 'hilo.db'))
  onTestFinished(() => rows.close())
  rows.exec(`UPDATE hilo_names SET collections = 2;
    UPDATE hilo_collections SET free = 'not read', free_count = 7`)
  expect(await ledger.claim([{ ...wish, collection: 'lines' }])).toMatchObject([
    { refused: 'full' },
  ])
  expect(await ledger.countFree()).toBe(7)
  expect(await ledger.status()).toMatchObject([{ collection: 'orders', free: 7 }])
})

test('a name that somebody drops just after it was added is added again', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir })
  onTestFinished(() => ledger.close())
  let drops = 0
  let isAdded = false
  watchSqlite(dataDir, (text) => {
    isAdded ||= text.includes('SET dropped_at = NULL')
    if (!isAdded || !text.startsWith('BEGIN')) return
    isAdded = false
    if (++drops < 3) runIn(dataDir, 'UPDATE hilo_collections SET dropped_at = 1')
  })
  expect(await ledger.claim([wish])).toMatchObject([{ grant: { low: 1 } }])
  expect(drops).toBe(3)
})

test('a missing folder is made; tables of others in the file are left alone', async () => {
  const dataDir = join(newFolder(), 'a', 'b')
  const ledger = await openLedger({ create: true, dataDir })
  expect(readdirSync(dataDir)).toContain('hilo.db')
  const own = new DatabaseSync(join(dataDir, 'hilo.db'))
  own.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  own.prepare('INSERT INTO orders VALUES (?)').run('orders/1-A')
  await ledger.claim([wish])
  expect(own.prepare('SELECT max FROM hilo_collections').all()).toEqual([{ max: 32 }])
  own.close()
  await ledger.close()
})

test('a pipe or a device in the place of the file keeps no start waiting', async () => {
  const dataDir = newFolder()
  symlinkSync('/dev/null', join(dataDir, 'hilo.db'))
  const refusal = `${join(dataDir, 'hilo.db')} is no file, but a pipe or a device.`
  expect(() => readSqliteVersion(dataDir)).toThrow(refusal)
  for (const create of [false, true])
    await expect(openLedger({ dataDir, create })).rejects.toThrow(refusal)
})

test('only its owner may read a new file and its secret, in any folder', async () => {
  const dataDir = newFolder()
  chmodSync(dataDir, 0o755)
  const ledger = await openLedger({ create: true, dataDir })
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
  await expect(openLedger({ create: true, dataDir })).rejects.toThrow(
    `The ledger in ${dataDir} cannot be opened: `,
  )
})

test('a second handle in one process leaves the locks of the first', async () => {
  const dataDir = newFolder()
  const ledgers = [
    await openLedger({ create: true, dataDir }),
    await openLedger({ create: true, dataDir }),
  ]
  const log = () => statSync(join(dataDir, 'hilo.db-wal'), { throwIfNoEntry: false })?.ino
  const before = log()
  // A process that finds no lock takes itself for the last user, and removes the log at its end.
  const visit = `const db = new (require('libsql'))(${JSON.stringify(join(dataDir, 'hilo.db'))})
    db.exec('SELECT max FROM hilo_collections')
    db.close()`
  execFileSync(process.execPath, ['--eval', visit])
  expect(log()).toBe(before)
  for (const ledger of ledgers) await ledger.close()
})

test('no command removes the log of a server whose locks somebody dropped', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir })
  await ledger.claim([wish])
  // What an app does that reads the file, or looks at it through another SQLite library.
  closeSync(openSync(join(dataDir, 'hilo.db'), 'r'))
  const log = statSync(join(dataDir, 'hilo.db-wal')).ino
  const copy = join(newFolder(), 'copy.db')
  for (const args of [['status'], ['backup', copy], ['raise-floor', 'Shop', 'lines', '7', '--yes']])
    expect(await spawnCli([...args, '--data', dataDir])).toMatchObject({ code: 0, stderr: '' })
  expect(statSync(join(dataDir, 'hilo.db-wal')).ino).toBe(log)
  expect(await ledger.claim([wish])).toMatchObject([{ grant: { low: 33, high: 64 } }])
  await ledger.close()
})

test('a file under two names is refused: each name would have a log of its own', async () => {
  const [dataDir, other] = [newFolder(), newFolder()]
  const ledger = await openLedger({ create: true, dataDir })
  await ledger.claim([wish])
  linkSync(join(dataDir, 'hilo.db'), join(other, 'hilo.db'))
  await expect(openLedger({ dataDir: other })).rejects.toThrow(/hilo\.db has 2 names on its disk/)
  rmSync(join(other, 'hilo.db'))
  symlinkSync(join(dataDir, 'hilo.db'), join(other, 'hilo.db'))
  const same = await openLedger({ dataDir: other })
  expect(await same.claim([wish])).toMatchObject([{ grant: { low: 33, high: 64 } }])
  await same.close()
  await ledger.close()
})

const hasProc = existsSync('/proc/self')

test.skipIf(!hasProc)(
  `a folder that takes no folder is named${hasProc ? '' : ' (left out: there is no /proc)'}`,
  async () => {
    // In a process that can be ended: once, it looked for a way to make the folder for ever.
    const { code, stderr } = await spawnCli(['init', '--data', '/proc/offline-hilo/data'])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('The ledger in /proc/offline-hilo/data cannot be opened: ENOENT'),
    ])
  },
)

test('a folder is made with those above it, for its owner alone', async () => {
  const above = join(newFolder(), 'a')
  const dataDir = join(above, 'b', 'c')
  await (await openLedger({ create: true, dataDir })).close()
  for (const each of [above, dataDir]) expect(statSync(each).mode & 0o777).toBe(0o700)
})

/** Runs a shell command in which `mount` changes nothing for others. */
const MOUNTING = ['--mount', 'sh', '-c']
const mayMount =
  spawnSync('unshare', [...MOUNTING, 'mount --bind /dev/null /dev/null']).status === 0

const unmounted = mayMount ? '' : ' (left out: mounts are not permitted)'

test.skipIf(!mayMount)(
  `a file that is mounted without its folder is refused${unmounted}`,
  async () => {
    const dataDir = newFolder()
    await (await openLedger({ create: true, dataDir })).close()
    const file = join(dataDir, 'hilo.db')
    // On another file system: only that is told apart.
    const { dev } = statSync(dataDir)
    const elsewhere = ['/dev/shm', 'node_modules'].find((folder) => statSync(folder).dev !== dev)!
    const alone = join(elsewhere, basename(dataDir))
    copyFileSync(file, alone)
    onTestFinished(() => rmSync(alone))
    const look = [process.execPath, await cliFile(), 'status', '--data', dataDir].join(' ')
    const run = `mount --bind ${resolve(alone)} ${file} && ${look}`
    const { status, stderr } = spawnSync('unshare', [...MOUNTING, run], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([1, expect.stringContaining('is mounted alone, without its')])
  },
)

test.skipIf(!mayMount)(
  `a disk without room for the shared memory is full${unmounted}`,
  async () => {
    const [dataDir, full] = [newFolder(), newFolder()]
    await (await openLedger({ create: true, dataDir })).close()
    const look = [process.execPath, await cliFile(), 'status', '--data', full].join(' ')
    const run =
      `mount -t tmpfs -o size=256k tmpfs ${full} && cp ${dataDir}/hilo.db ${full} && ` +
      `dd if=/dev/zero of=${full}/rest bs=4k count=1k 2>/dev/null; ${look}`
    const { status, stderr } = spawnSync('unshare', [...MOUNTING, run], { encoding: 'utf8' })
    const says = 'cannot be opened: disk I/O error. Make room on its disk: nothing is lost.'
    expect([status, stderr]).toEqual([1, expect.stringContaining(says)])
  },
)

test('a process has one connection to a file, also after a hot reload', async () => {
  const dataDir = newFolder()
  const first = openSqliteFile(dataDir, { create: true })
  const again = '../src/sqlite/sqlite-connection.js?reloaded'
  const reloaded: typeof import('../src/sqlite/sqlite-connection.js') = await import(again)
  expect(reloaded.connectTo).not.toBe(connectTo)
  const second = reloaded.connectTo(join(dataDir, 'hilo.db'), () => {
    throw new Error('There is a connection already.')
  })
  expect(second.db).toBe(first.db)
  first.close()
  first.close()
  expect(write(second.db, reader(second.db, 'SELECT 1 AS one'))).toEqual([{ one: 1 }])
  second.close()
  expect(first.db.isOpen).toBe(false)
  // What is stopped leaves nothing in the log that a restored file would take for its own.
  expect(statSync(join(dataDir, 'hilo.db-wal')).size).toBe(0)
})

test('a commit during which the file is moved has an unknown outcome', () => {
  const dataDir = newFolder()
  const file = join(dataDir, 'hilo.db')
  let isMoving = false
  class Moved extends DatabaseSync {
    override exec(sql: string): void {
      if (sql === 'COMMIT' && isMoving) renameSync(file, `${file}.aside`)
      super.exec(sql)
    }
  }
  const opened = openSqliteFile(dataDir, { create: true }, (path) => new Moved(path))
  opened.commit(() => {})
  isMoving = true
  expect(() => opened.commit(() => {})).toThrow(LedgerUnavailable)
  opened.close()
})

test('a SQLite that loses commits is refused, and nothing is written', () => {
  const dataDir = newFolder()
  const connect = (file: string) => {
    const db = new DatabaseSync(file)
    db.function('sqlite_version', () => '3.45.1')
    return db
  }
  const open = () => openSqliteFile(dataDir, { create: true }, connect)
  expect(open).toThrow('SQLite 3.45.1 can lose commits')
  const db = new DatabaseSync(join(dataDir, 'hilo.db'))
  expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([])
  db.close()
})

test('a full disk is no fault of the request, also where a statement returns rows', () => {
  const { db, close } = openSqliteFile(newFolder(), { create: true })
  db.exec('CREATE TABLE own (text TEXT); PRAGMA max_page_count = 1')
  const add = reader(db, 'INSERT INTO own VALUES (?) RETURNING text')
  expect(() => write(db, () => add('x'.repeat(100_000)))).toThrow(LedgerUnavailable)
  close()
})

test('a disk that was made read-only is named, which SQLite itself does not do', () => {
  const { db, close } = openSqliteFile(newFolder(), { create: true })
  const { EROFS } = constants.errno
  const failure = Object.assign(new Error('disk I/O error'), { errcode: 778, systemErrno: EROFS })
  const fail = () => {
    throw failure
  }
  expect(() => write(db, fail)).toThrow('cannot be used: disk I/O error (EROFS).')
  // Of a full disk SQLite says it all, and the number may be of an earlier failure.
  Object.assign(failure, { message: 'database or disk is full', errcode: 13 })
  expect(() => write(db, fail)).toThrow('cannot be used: database or disk is full.')
  close()
})

test('a start on a full disk says so', () => {
  class Full extends DatabaseSync {
    override exec(sql: string): void {
      if (sql === 'BEGIN IMMEDIATE') super.exec('PRAGMA max_page_count = 1')
      super.exec(sql)
    }
  }
  const open = () => openSqliteFile(newFolder(), { create: true }, (path) => new Full(path))
  expect(open).toThrow(
    'cannot be opened: database or disk is full. Make room on its disk: nothing is lost.',
  )
})

test('every commit is synced to the disk: a power cut takes no grant back', () => {
  const { db, close } = openSqliteFile(newFolder(), { create: true })
  const FULL = 2
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: FULL })
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  close()
})

test.each([
  ['is empty', (file: string) => truncateSync(file)],
  ['is gone', (file: string) => rmSync(file)],
])('a file that %s while its log has commits is not begun anew', async (_, lose) => {
  const running = newFolder()
  const ledger = await openLedger({ create: true, dataDir: running })
  await ledger.claim([wish])
  const dataDir = newFolder()
  cpSync(running, dataDir, { recursive: true })
  await ledger.close()
  lose(join(dataDir, 'hilo.db'))
  await expect(openLedger({ create: true, dataDir })).rejects.toThrow(
    'hilo.db is empty or missing, but hilo.db-wal has commits of it. Nothing was changed.',
  )
  expect(statSync(join(dataDir, 'hilo.db-wal')).size).toBeGreaterThan(0)
})

test('a file that was emptied is a lost ledger: a new one begins once it is deleted', async () => {
  const dataDir = newFolder()
  const file = join(dataDir, 'hilo.db')
  // As a start leaves it that was cut off at once.
  writeFileSync(file, '')
  const open = () => openLedger({ create: true, dataDir })
  const ledger = await open()
  await ledger.claim([wish])
  await ledger.close()
  truncateSync(file)
  const lost = /hilo\.db is empty, and was not always.*restore the newest backup.*delete the file/
  await expect(open()).rejects.toThrow(lost)
  await expect(openLedger({ dataDir })).rejects.toThrow(lost)
  expect(await spawnCli(['status', '--data', dataDir])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(lost),
  })
  expect(statSync(file).size).toBe(0)
  rmSync(file)
  await (await open()).close()
})

/** A ledger of which one page of a table is damaged. The column is a text of the table. */
async function damagedLedger(table: string, column: string): Promise<string> {
  const dataDir = newFolder()
  const file = join(dataDir, 'hilo.db')
  const ledger = await openLedger({ create: true, dataDir })
  for (let i = 0; i < 5; i++)
    await ledger.claim(
      Array.from({ length: 100 }, (_, j) => ({ ...wish, collection: `counter-${i * 100 + j}` })),
    )
  await ledger.close()
  const mark = `UPDATE ${table} SET ${column} = 'marked' WHERE collection = 'counter-250'`
  runIn(dataDir, `${mark}; PRAGMA wal_checkpoint(TRUNCATE)`)
  const bytes = readFileSync(file)
  const page = bytes.indexOf('marked') & -4096
  writeFileSync(file, bytes.fill(0xaa, page, page + 4096))
  return dataDir
}

test('a file with a damaged page of its counters is refused at the start', async () => {
  const dataDir = await damagedLedger('hilo_collections', 'free')
  await expect(openLedger({ dataDir })).rejects.toThrow(
    /hilo\.db is damaged.*Nothing.*restore the newest backup/,
  )
})

test('a file with a damaged page of its grants has no backup', async () => {
  const dataDir = await damagedLedger('hilo_grants', 'device')
  await (await openLedger({ dataDir })).close()
  expect(() => backUp(dataDir, join(newFolder(), 'backup'))).toThrow('malformed')
})

test.each(['hilo.db', 'hilo.db-wal'])(
  'while %s is not in its place, nothing is granted: a restart would know nothing of it',
  async (name) => {
    const dataDir = newFolder()
    const ledger = await openLedger({ create: true, dataDir })
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

test('without its -shm a server grants nothing: the next process knows no lock of it', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir })
  await ledger.claim([wish])
  rmSync(join(dataDir, 'hilo.db-shm'))
  const args = ['--data', dataDir, '--port', '0']
  const claimOf = async ({ url }: ServerProcess) =>
    (await (await fetch(`${url}/databases/Shop/hilo/next?tag=orders`)).json()) as object
  const alone = /hilo\.db: its -shm was deleted or replaced while the server runs/
  const next = await startProcess(args)
  expect(await claimOf(next)).toMatchObject({ Low: 33 })
  for (let i = 0; i < 2; i++) {
    await expect(ledger.claim([wish])).rejects.toThrow(alone)
    await expect(ledger.ping()).rejects.toThrow(alone)
  }
  await expect(openLedger({ dataDir })).rejects.toThrow('End this process')
  await ledger.close()
  await expect(openLedger({ dataDir })).rejects.toThrow('End this process')
  expect(await claimOf(next)).toMatchObject({ Low: 65 })
  await next.stop()
  const last = await startProcess(args)
  expect(await claimOf(last)).toMatchObject({ Low: 97 })
  await last.stop()
})

test('a file that was moved has each commit in it when the server has closed', async () => {
  const [dataDir, aside] = [newFolder(), newFolder()]
  const ledger = await openLedger({ create: true, dataDir })
  await ledger.claim([wish])
  renameSync(join(dataDir, 'hilo.db'), join(aside, 'hilo.db'))
  await ledger.close()
  await expect(openLedger({ dataDir: aside })).rejects.toThrow('End this process')
  const { stdout } = await spawnCli(['status', '--data', aside])
  expect(stdout).toMatch(/orders +32/)
})

describeUpgrades(async () => {
  const dataDir = newFolder()
  return {
    open: async (schema) =>
      openSqliteStore(dataDir, new Map(), { create: true, ...(schema && { schema }) }),
    async run(sql) {
      const db = new DatabaseSync(join(dataDir, 'hilo.db'))
      db.exec(sql)
      db.close()
    },
  }
})

test('a ledger that has lost its name does not start', () => {
  const dataDir = newFolder()
  const { db, close } = openSqliteFile(dataDir, { create: true })
  db.exec("DELETE FROM main.hilo_meta WHERE key = 'name'")
  close()
  expect(() => openSqliteFile(dataDir)).toThrow('The ledger has lost its name')
})
