/** The store in SQLite, through each driver: the contract, and what is its own. */
import {
  copyFileSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import {
  type SqliteDatabase,
  type SqliteRow,
  sqliteStore,
} from '../../../src/addons/sqlite/index.js'
import { count, KEY, peek, runStoreContract } from '../../store/contract.js'
import { errorOf } from '../../support/shop.js'
import { DRIVERS, type OpenDatabase } from './drivers.js'

const folder = mkdtempSync(join(tmpdir(), 'hilo-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newFile = () => join(folder, `${files++}.db`)
const open = DRIVERS[0]![1] as OpenDatabase

type Opened = Extract<ReturnType<OpenDatabase>, { prepare: unknown }>

/** A connection, and all statements that it was asked to run. */
function watched(file: string) {
  const database = open(file) as Opened
  const statements: string[] = []
  const prepare = (sql: string) => {
    statements.push(sql)
    return database.prepare(sql)
  }
  return { statements, database: { prepare } }
}

const storageFailed = expect.objectContaining({ name: 'HiloError', code: 'storage-failed' })

// libsql has a SQLite of which the store warns.
const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
afterAll(() => warn.mockRestore())

describe.each(DRIVERS)('sqliteStore with %s', (_, open) => {
  runStoreContract(() => {
    const file = newFile()
    return { open: () => sqliteStore({ database: open(file) }) }
  })
})

describe('sqliteStore', () => {
  test('waits for the disk: write-ahead log, synchronous FULL, and a Mac’s full sync', async () => {
    const { database, statements } = watched(newFile())
    await sqliteStore({ database }).update(KEY, count)
    for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'fullfsync = 1'])
      expect(statements).toContain(`PRAGMA ${pragma}`)
    expect(statements.at(-1)).toBe('COMMIT')
  })

  test('reads and writes in one BEGIN IMMEDIATE: no other process reads in between', async () => {
    const { database, statements } = watched(newFile())
    const store = sqliteStore({ database })
    await store.update(KEY, count)
    const before = statements.length
    await store.update(KEY, count)
    expect(statements.slice(before).map((sql) => sql.split(' ')[0])).toEqual([
      'BEGIN',
      'SELECT',
      'SELECT',
      'INSERT',
      'COMMIT',
    ])
    expect(statements[before]).toBe('BEGIN IMMEDIATE')
  })

  test("refuses the app's file, where the app's transactions would hold ids up", async () => {
    const file = newFile()
    const app = open(file) as { exec(sql: string): void }
    app.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
    const refused = await sqliteStore({ database: open(file) })
      .update(KEY, count)
      .catch((error) => error)
    expect(refused).toMatchObject({ name: 'HiloError', code: 'invalid-argument' })
    expect(refused.message).toContain('the table "orders"')
    app.exec('DROP TABLE orders')
    app.exec('CREATE TABLE android_metadata (locale TEXT)')
    const store = sqliteStore({ database: open(file) })
    expect(await store.update(KEY, count)).toBe(1)
    expect(await sqliteStore({ database: open(file) }).update(KEY, count)).toBe(2)
  })

  test('resolves only when the commit has succeeded; one that fails applies nothing', async () => {
    const file = newFile()
    const { database } = watched(file)
    let isFull = false
    const store = sqliteStore({
      database: {
        prepare(sql: string) {
          if (isFull && sql === 'COMMIT') throw new Error('disk I/O error')
          return database.prepare(sql)
        },
      },
    })
    await store.update(KEY, count)
    isFull = true
    await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
    isFull = false
    expect(await store.update(KEY, count)).toBe(2)
  })

  test('a series resolves only when its commit has succeeded', async () => {
    const { database } = watched(newFile())
    let isFull = true
    const store = sqliteStore({
      database: {
        prepare(sql: string) {
          if (isFull && sql === 'COMMIT') throw new Error('disk I/O error')
          return database.prepare(sql)
        },
      },
    })
    const series = store.series!(KEY)
    await expect(series.transact('readonly', async () => 'read')).rejects.toEqual(storageFailed)
    isFull = false
    expect(await series.transact('readonly', async () => 'read')).toBe('read')
  })

  test.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['moved', (file) => renameSync(file, `${file}.old`)],
    [
      'replaced by a backup',
      (file) => {
        copyFileSync(file, `${file}.backup`)
        renameSync(`${file}.backup`, file)
      },
    ],
    ['left without its log', (file) => rmSync(`${file}-wal`)],
    ['left without its shared memory', (file) => rmSync(`${file}-shm`)],
  ])('gives no id from a file that was %s: the next process opens another', async (_, change) => {
    const file = newFile()
    const store = sqliteStore({ database: open(file) })
    await store.update(KEY, count)
    change(file)
    await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
    await expect(store.update(KEY, count)).rejects.toThrow(/was moved, replaced or deleted/)
    await expect(store.series!(KEY).transact('readwrite', async () => 1)).rejects.toEqual(
      storageFailed,
    )
  })

  test('writes nothing into a file that was moved, and goes on when it is back', async () => {
    const file = newFile()
    const store = sqliteStore({ database: open(file) })
    await store.update(KEY, count)
    renameSync(file, `${file}.old`)
    await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
    renameSync(`${file}.old`, file)
    expect(await store.update(KEY, count)).toBe(2)
  })

  test('refuses a file with two names, of which each has a log of its own', async () => {
    const [file, symbolicLink] = [newFile(), newFile()]
    const [linked, hardLink] = [newFile(), newFile()]
    await sqliteStore({ database: open(file) }).update(KEY, count)
    symlinkSync(file, symbolicLink)
    expect(await sqliteStore({ database: open(symbolicLink) }).update(KEY, count)).toBe(2)
    writeFileSync(linked, '')
    linkSync(linked, hardLink)
    await expect(sqliteStore({ database: open(hardLink) }).update(KEY, count)).rejects.toThrow(
      /two names/,
    )
  })

  test('refuses a database in memory, which no power cut would leave anything of', async () => {
    const store = sqliteStore({ database: open(':memory:') })
    await expect(store.update(KEY, count)).rejects.toThrow(/Open a local file \(not :memory:\)/)
  })

  test('refuses a connection that ignores synchronous = FULL', async () => {
    const { database } = watched(newFile())
    const store = sqliteStore({
      database: {
        prepare: (sql: string) =>
          database.prepare(sql === 'PRAGMA synchronous = FULL' ? 'PRAGMA synchronous = OFF' : sql),
      },
    })
    await expect(store.update(KEY, count)).rejects.toThrow(/does not wait for the disk/)
  })

  test('warns of a SQLite that loses commits, and of no other', async () => {
    const versions: Record<string, boolean> = { '3.45.1': true, '3.53.0': false }
    for (const [version, isTold] of Object.entries(versions)) {
      warn.mockClear()
      const database = open(newFile()) as Extract<SqliteDatabase, { prepare: unknown }>
      const prepare = (sql: string) =>
        database.prepare(sql.replace('sqlite_version()', `'${version}'`))
      await sqliteStore({ database: { prepare } }).update(KEY, count)
      expect(warn.mock.calls.flat().join().includes(`SQLite ${version} can lose commits`)).toBe(
        isTold,
      )
    }
  })

  test('says that another program holds the file, and goes on when it lets go', async () => {
    const file = newFile()
    await sqliteStore({ database: open(file) }).update(KEY, count)
    const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
    const { database } = watched(file)
    let isLocked = true
    const store = sqliteStore({
      database: {
        prepare(sql: string) {
          if (isLocked && sql === 'BEGIN IMMEDIATE') throw busy
          return database.prepare(sql)
        },
      },
    })
    await expect(store.update(KEY, count)).rejects.toMatchObject({
      code: 'storage-failed',
      cause: busy,
      retryAfter: 1_000,
    })
    isLocked = false
    expect(await store.update(KEY, count)).toBe(2)
  })

  test.each(
    DRIVERS.filter(([name]) => ['@photostructure/sqlite', 'libsql', 'node:sqlite'].includes(name)),
  )(
    'with %s goes on after another program had the file locked, at the start and later',
    async (_, openOwn) => {
      const file = newFile()
      // The same library: POSIX locks of one process do not keep another library of it out.
      const other = openOwn(file) as Extract<SqliteDatabase, { prepare: unknown }>
      const database = openOwn(file) as typeof other
      // SQLite gives up at once, and not after the seconds that the store sets.
      const atOnce = (sql: string) => sql.replace(/busy_timeout = \d+/, 'busy_timeout = 0')
      const store = sqliteStore({
        database: {
          prepare: (sql) => database.prepare(atOnce(sql)),
          exec: (sql) => database.exec?.(atOnce(sql)),
        },
      })
      for (const issued of [1, 2]) {
        other.exec?.('BEGIN EXCLUSIVE')
        await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
        other.exec?.('ROLLBACK')
        expect(await peek(store)).toEqual(issued === 1 ? undefined : count(undefined).state)
        expect(await store.update(KEY, count)).toBe(issued)
      }
    },
  )

  test('hands on a record that is no JSON, so that it is refused and set aside', async () => {
    const file = newFile()
    const store = sqliteStore({ database: open(file) })
    await store.update(KEY, count)
    const raw = open(file) as Extract<ReturnType<OpenDatabase>, { prepare: unknown }>
    raw.prepare("UPDATE offline_hilo SET state = '{torn'").run()
    expect((await store.read(KEY)).stored).toBe('{torn')
    await store.update(KEY, (stored) => ({ ...count(undefined), setAside: stored }))
    expect(await peek(store)).toMatchObject({ issued: 1 })
    expect(raw.prepare('SELECT record FROM offline_hilo_set_aside').all()).toEqual([
      { record: '"{torn"' },
    ])
  })

  test('writes nothing into a table that has lost its key', async () => {
    const file = newFile()
    const database = open(file) as Opened
    const store = sqliteStore({ database })
    await store.update(KEY, count)
    const series = store.series!(KEY)
    await series.transact('readwrite', async (tx) => tx.saveState({ version: 1 }))
    for (const table of ['offline_hilo', 'offline_hilo_series'])
      for (const sql of [
        `CREATE TABLE copy AS SELECT * FROM ${table}`,
        `DROP TABLE ${table}`,
        `ALTER TABLE copy RENAME TO ${table}`,
      ])
        database.prepare(sql).run()
    const failed = { code: 'storage-failed', message: expect.stringContaining('UNIQUE constraint') }
    await expect(store.update(KEY, count)).rejects.toMatchObject(failed)
    await expect(
      series.transact('readwrite', async (tx) => tx.saveState({ version: 1 })),
    ).rejects.toMatchObject(failed)
  })

  test.each([
    ['cut short', (file: string) => truncateSync(file, 5_000)],
    ['written over', (file: string) => writeFileSync(file, 'A list of articles. '.repeat(1_000))],
  ])('says of a file that was %s how to go on', async (_, damage) => {
    const file = newFile()
    const database = open(file) as Opened & { close(): void }
    await sqliteStore({ database }).update(KEY, count)
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
    database.close()
    damage(file)
    await expect(sqliteStore({ database: open(file) }).update(KEY, count)).rejects.toMatchObject({
      code: 'storage-failed',
      message: expect.stringMatching(/See docs\/processes\.md#a-damaged-file\./),
    })
  })

  test('with a synchronous driver a note is written before leaveNotes returns', async () => {
    const file = newFile()
    const store = sqliteStore({ database: open(file) })
    await store.update(KEY, count)
    store.leaveNotes!(KEY, [{ lease: 'page:0.0', next: 5 }])
    const raw = open(file) as Extract<ReturnType<OpenDatabase>, { prepare: unknown }>
    expect(raw.prepare('SELECT id FROM offline_hilo_notes').all()).toEqual([{ id: 'page:0.0' }])
  })

  test('a note that is left while another one is settled stays for the next change', async () => {
    const database = open(newFile()) as Extract<ReturnType<OpenDatabase>, { prepare: unknown }>
    const [first, second] = [1, 2].map((next) => ({ lease: `page:0.${next}`, next }))
    let isSecondDue = false
    const store = sqliteStore({
      database: async (sql, parameters) => {
        const rows = database.prepare(sql).all(...parameters) as SqliteRow[]
        if (isSecondDue && sql.includes('FROM offline_hilo_notes')) {
          isSecondDue = false
          store.leaveNotes!(KEY, [second!])
        }
        return rows
      },
    })
    await store.update(KEY, count)
    store.leaveNotes!(KEY, [first!])
    isSecondDue = true
    const settled = () =>
      store.update(KEY, (stored, notes) => ({ ...count(stored), result: notes }))
    expect([await settled(), await settled(), await settled()]).toEqual([[first], [second], []])
  })

  test.each([
    ['at once', () => undefined],
    ['later', async () => undefined],
  ])('says that the function of the app makes no rows, %s', async (_, database) => {
    await expect(sqliteStore({ database: database as never }).read(KEY)).rejects.toThrow(
      '`database` made undefined in place of an array of rows',
    )
  })

  test('shows at most forty words of a failure', async () => {
    const database = () => Promise.reject(new Error('word '.repeat(99)))
    const { message } = await errorOf(sqliteStore({ database }).read(KEY))
    expect(message.split(' ').length).toBe(40)
  })

  test('a note that cannot be written is let go without a word', () => {
    const store = sqliteStore({
      database: () => {
        throw new Error('closed')
      },
    })
    expect(() => store.leaveNotes!(KEY, [{ lease: 'page:0.0', next: 5 }])).not.toThrow()
  })

  test.each([undefined, null, {}, 'ids.db', { execute: 1 }])(
    'refuses %j as a database',
    (database) => {
      expect(() => sqliteStore({ database: database as never })).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      )
    },
  )

  test.each([undefined, null, 'ids.db'])('refuses %j as its options', (options) => {
    expect(() => sqliteStore(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    )
  })
})
