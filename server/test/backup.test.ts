/** Backups of a SQLite ledger, what a bare copy of its file is good for, and `raise-floor`. */
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, test } from 'vitest'
import { CLOSED_NAMES } from '../src/cli/raise-floor-command.js'
import { openLedger } from '../src/index.js'
import { backUp } from '../src/sqlite/backup.js'
import { newFolder, secretIn } from './folders.js'
import { grantOf, newId } from './ledger-bench.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'
import { startProcess } from './processes.js'
import { runCli } from './run-cli.js'

const wish = (database = 'Shop', collection = 'orders') => ({
  database,
  collection,
  id: newId(),
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
})

/** A folder with this file as its ledger. */
function restored(file: string): string {
  const dataDir = newFolder()
  cpSync(file, join(dataDir, 'hilo.db'))
  return dataDir
}

describe('a backup', () => {
  test('is whole while a ledger is in use, and only for its owner', async () => {
    const folder = newFolder()
    const dataDir = join(folder, 'data')
    const file = join(folder, "what's left.db")
    const ledger = await openLedger({ create: true, dataDir })
    await ledger.claim([wish()])
    backUp(dataDir, file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).sort()).toEqual(['data', "what's left.db"])
    await ledger.claim([wish()])
    const copy = await openLedger({ create: true, dataDir: restored(file) })
    expect(await copy.read(wish())).toMatchObject({ max: 32 })
    await copy.close()
    await ledger.close()
  })

  test('overwrites nothing, and leaves nothing half done', async () => {
    const dataDir = newFolder()
    const file = join(newFolder(), 'hilo.db')
    await (await openLedger({ create: true, dataDir })).close()
    backUp(dataDir, file)
    const before = statSync(file)
    expect(() => backUp(dataDir, file)).toThrow('is there already, and is not overwritten')
    expect(statSync(file).mtimeMs).toBe(before.mtimeMs)
    const nowhere = join(dataDir, 'nowhere', 'hilo.db')
    expect(() => backUp(dataDir, nowhere)).toThrow('The backup cannot be written')
    const other = newFolder()
    mkdirSync(join(other, 'hilo.db'))
    expect(() => backUp(other, join(other, 'copy.db'))).toThrow(`The ledger in ${other} cannot be`)
    expect(readdirSync(other)).toEqual(['hilo.db'])
    writeFileSync(`${file}.next.partial`, '')
    expect(() => backUp(dataDir, `${file}.next`)).toThrow(
      /file already exists, .*\.partial'\. A backup was cut off.*: if none is, remove that file\./,
    )
  })

  test('of a folder without a ledger is refused', () => {
    const [empty, other, text] = [newFolder(), newFolder(), newFolder()]
    writeFileSync(join(empty, 'hilo.db'), '')
    const own = new DatabaseSync(join(other, 'hilo.db'))
    own.exec('CREATE TABLE orders (id INTEGER)')
    own.close()
    writeFileSync(join(text, 'hilo.db'), 'not a database at all')
    const file = join(newFolder(), 'copy.db')
    for (const folder of [empty, other])
      expect(() => backUp(folder, file)).toThrow(`There is no ledger in ${folder}`)
    expect(() => backUp(text, file)).toThrow(`The ledger in ${text} cannot be opened: file is not`)
    expect(existsSync(file)).toBe(false)
  })

  test('is refused where there is no ledger, and left to PostgreSQL', async () => {
    const file = join(newFolder(), 'copy.db')
    expect(await runCli(['backup', file, '--data', newFolder()])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no ledger in'),
    })
    expect(await runCli(['backup', file, '--database-url', 'postgres://db/hilo'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('use pg_dump or point-in-time recovery'),
    })
  })
})

describe('a copy of the file alone, without its log', () => {
  test('has the secret, so that a token proves what it is', async () => {
    const dataDir = newFolder()
    const ledger = await openLedger({ create: true, dataDir })
    const [outcome] = await ledger.claim([wish()])
    const copied = restored(join(dataDir, 'hilo.db'))
    expect(secretIn(copied)).toBe(secretIn(dataDir))
    const copy = await openLedger({ create: true, dataDir: copied })
    const shown = [{ token: grantOf(outcome!).token, next: 1 }]
    expect(await copy.claim([{ ...wish(), shown }])).toMatchObject([{ refused: 'restored' }])
    await copy.close()
    await ledger.close()
  })
})

describe('a ledger that has lost its secret does not start', () => {
  const LOSE = "DELETE FROM hilo_meta WHERE key = 'secret'"

  test('in SQLite', async () => {
    const dataDir = newFolder()
    await (await openLedger({ create: true, dataDir })).close()
    const db = new DatabaseSync(join(dataDir, 'hilo.db'))
    db.exec(LOSE)
    db.close()
    await expect(openLedger({ create: true, dataDir })).rejects.toThrow(
      'The ledger has lost its secret',
    )
  })

  test('in PostgreSQL', async () => {
    const databaseUrl = await newDatabase()
    await (await openLedger({ create: true, databaseUrl })).close()
    await runSql(databaseUrl, LOSE)
    await expect(openLedger({ create: true, databaseUrl })).rejects.toThrow(
      'The ledger has lost its secret',
    )
  })
})

test('a ledger that has lost its name does not start, in PostgreSQL', async () => {
  const databaseUrl = await newDatabase()
  await (await openLedger({ create: true, databaseUrl })).close()
  await runSql(databaseUrl, "DELETE FROM hilo_meta WHERE key = 'name'")
  await expect(openLedger({ databaseUrl })).rejects.toThrow('The ledger has lost its name')
})

test('a backup and what is restored from it have the name of the ledger', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir })
  const name = await ledger.readName()
  await ledger.renewSecret()
  const copied = newFolder()
  backUp(dataDir, join(copied, 'hilo.db'))
  await ledger.close()
  const copy = await openLedger({ dataDir: copied })
  expect(await copy.readName()).toBe(name)
  await copy.close()
})

const planOf = (by: number): string =>
  `Each collection and identity of Shop goes on ${by} above where it is, and the database grants ` +
  'again. If one went up by more since the backup, also by an earlier raise-floor, numbers come ' +
  'twice.\n'

describe('raise-floor', () => {
  test('--all: a restored database grants again, beside its server', async () => {
    const data = newFolder()
    const server = await startProcess(['--port', '0', '--data', data])
    const next = async (tag: string) => {
      const answer = await fetch(`${server.url}/databases/Shop/hilo/next?tag=${tag}`)
      return (await answer.json()) as { Low: number }
    }
    await next('orders')
    const raise = (...args: string[]) => runCli(['raise-floor', ...args, '--data', data])
    expect(await raise('Shop', '--all', '--by', '1000', '--yes')).toEqual({
      code: 0,
      stdout:
        `${planOf(1_000)}Shop grants again, 1000 above where it was (collections: 1, ` +
        `identities: 0). New ones begin at 1001.\n${CLOSED_NAMES}`,
      stderr: '',
    })
    expect(await next('orders')).toMatchObject({ Low: 1_033 })
    expect(await next('lines')).toMatchObject({ Low: 1_001 })
    await server.stop()
  })

  test('--all: a collection with too few numbers left is used up, and named', async () => {
    const data = newFolder()
    const ledger = await openLedger({ create: true, dataDir: data })
    await ledger.claim([wish(), wish('Shop', 'lines')])
    const key = { database: 'Shop', collection: 'lines' }
    await ledger.raiseFloor({ ...key, floor: Number.MAX_SAFE_INTEGER - 10 })
    const raise = (by: string) =>
      runCli(['raise-floor', 'Shop', '--all', '--by', by, '--yes', '--data', data])
    expect(await raise('10000000000000')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('10000000000000 is taken for a mistake. Nothing was changed'),
    })
    expect(await raise('1000')).toEqual({
      code: 0,
      stdout:
        `${planOf(1_000)}Shop grants again, 1000 above where it was (collections: 2, ` +
        'identities: 0). New ones begin at 1001.\nOf these, 1 had no 1000 numbers left below ' +
        '2^53-1, and grant nothing any more: lines. Go on under new names.\n' +
        CLOSED_NAMES,
      stderr: '',
    })
    await ledger.close()
  })

  test('a name that is not there is refused, and the others listed; --yes allows it', async () => {
    const data = newFolder()
    const ledger = await openLedger({ create: true, dataDir: data })
    await ledger.claim([wish(), wish('Shop', 'lines'), wish('Store')])
    const raise = (...args: string[]) => runCli(['raise-floor', ...args, '--data', data])
    for (const [args, message] of [
      [['Shop', 'order', '500'], "no collection 'order' in Shop yet. There are: lines, orders."],
      [['Shpo', 'orders', '500'], 'There is no database Shpo yet. There are: shop, store.'],
      [['Shpo', '--all', '--by', '500'], 'There is no database Shpo yet. There are: shop, store.'],
    ] as const)
      expect(await raise(...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(message),
      })
    for (const [args, message] of [
      [['Sh/op', 'orders', '500', '--yes'], "database: a database's name has 1 to 128 letters"],
      [['Shop', ' ', '500', '--yes'], 'The name of the collection is empty.'],
      [['Shop', 'a\nb', '500', '--yes'], 'The tag has control characters'],
    ] as const)
      expect(await raise(...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(message),
      })
    expect(await ledger.status()).toHaveLength(3)
    expect(await raise('Shop', 'new', '500', '--yes')).toMatchObject({ code: 0 })
    expect(await ledger.read({ database: 'Shop', collection: 'new' })).toMatchObject({ max: 500 })
    const highest = String(Number.MAX_SAFE_INTEGER)
    expect((await raise('Shop', 'new', highest, '--yes')).stdout).toContain(
      "\n'new' of Shop grants nothing any more. Go on under a new name.\n",
    )
    await ledger.close()
  })
})
