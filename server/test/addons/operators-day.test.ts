/**
 * An operator's day, command by command, in each place where a ledger can be: init, backup, loss,
 * restore, raised floors, a new secret, drop, and an upgrade while devices claim. No number is
 * granted twice in it.
 */
import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPostgresStore } from '../../src/addons/postgres/postgres-store.js'
import type { RowStore } from '../../src/ledger/row-store.js'
import type { Schema } from '../../src/sql/schema.js'
import { openSqliteStore } from '../../src/sqlite/sqlite-store.js'
import { newFolder } from '../folders.js'
import { json } from '../handlers.js'
import { NEWER } from '../ledger-upgrades.js'
import { newDatabase } from '../postgres.js'
import { runSql } from '../postgres-cluster.js'
import { startProcess } from '../processes.js'
import { runCli } from '../run-cli.js'
import { startWorkerd, type Workerd } from './durable-object/workerd.js'
import { hasWorkerd } from './durable-object/workerd-program.js'

interface Server {
  url: string
  kill(): Promise<void>
}

interface Place {
  init(): Promise<void>
  serve(): Promise<Server>
  /** How a command finds the ledger of that server. */
  flags(server: Server): string[]
  backUp(): Promise<void>
  /** Puts the backup in the place of the ledger. */
  restore(): Promise<void>
  /** As a newer version does, which starts beside the server. */
  openNewer?(schema: Schema): Promise<RowStore>
}

const OPERATOR = 'operator-of-the-tests'
const BY = 1_000

async function run(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { HILO_OPERATOR_TOKEN: OPERATOR })
  expect([args[0], code, stderr]).toEqual([args[0], 0, ''])
  return stdout
}

function inSqlite(): Place {
  const folder = newFolder()
  const [data, backup] = [join(folder, 'data'), join(folder, 'backup.db')]
  const flags = ['--data', data]
  return {
    init: async () => void (await run(['init', ...flags])),
    serve: () => startProcess([...flags, '--port', '0']),
    flags: () => flags,
    backUp: async () => void (await run(['backup', backup, ...flags])),
    async restore() {
      renameSync(data, join(folder, 'lost'))
      mkdirSync(data, { mode: 0o700 })
      cpSync(backup, join(data, 'hilo.db'))
    },
    openNewer: async (schema) => openSqliteStore(data, new Map(), { schema }),
  }
}

async function inPostgres(): Promise<Place> {
  const databaseUrl = await newDatabase()
  const { href } = new URL('/postgres', databaseUrl)
  const name = new URL(databaseUrl).pathname.slice(1)
  const flags = ['--database-url', databaseUrl]
  const disconnect = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = '${name}'`
  return {
    init: async () => void (await run(['init', ...flags])),
    serve: () => startProcess([...flags, '--port', '0']),
    flags: () => flags,
    async backUp() {
      await runSql(href, disconnect)
      await runSql(href, `CREATE DATABASE ${name}_backup TEMPLATE ${name}`)
    },
    async restore() {
      await runSql(href, `DROP DATABASE ${name} WITH (FORCE)`)
      await runSql(href, `CREATE DATABASE ${name} TEMPLATE ${name}_backup`)
    },
    openNewer: (schema) =>
      openPostgresStore(
        databaseUrl,
        async () => ({ answer: async () => ({ fresh: [], used: [], isAtEnd: false }) }),
        { schema },
      ),
  }
}

function inWorkerd(): Place {
  const folder = newFolder()
  const [disk, backup] = [join(folder, 'disk'), join(folder, 'backup')]
  const options = (create: boolean) => ({ folder, options: { create, operatorToken: OPERATOR } })
  let running: Workerd
  return {
    async init() {
      running = await startWorkerd(options(true))
      expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
      await running.kill()
    },
    serve: async () => {
      running = await startWorkerd(options(false))
      return running
    },
    flags: ({ url }) => ['--url', url],
    async backUp() {
      cpSync(disk, backup, { recursive: true })
    },
    async restore() {
      rmSync(disk, { recursive: true })
      cpSync(backup, disk, { recursive: true })
    },
  }
}

const PLACES: [string, () => Place | Promise<Place>][] = [
  ['SQLite', inSqlite],
  ['PostgreSQL', inPostgres],
  ...(hasWorkerd ? [['workerd', inWorkerd] satisfies [string, () => Place]] : []),
]

test.each(PLACES)('an operator’s day in %s grants no number twice', async (_, newPlace) => {
  const { init, serve, flags, backUp, restore, openNewer } = await newPlace()
  const granted = new Set<number>()
  let isUpgrading = false
  let server: Server
  const ask = (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init)
  const inShop = (path: string, init?: RequestInit) => ask(`/databases/Shop/hilo/${path}`, init)
  const operate = (command: string, ...args: string[]) => run([command, ...args, ...flags(server)])

  async function claim(): Promise<{ Low: number; Token: string }> {
    const query = `next?tag=orders&claim=${randomUUID()}`
    let answer = await inShop(query)
    while (isUpgrading && answer.status === 503) answer = await inShop(query)
    const range = await answer.json()
    expect([answer.status, range]).toEqual([
      201,
      expect.objectContaining({ Low: expect.any(Number) }),
    ])
    for (let n = range.Low; n <= range.High; n++) {
      expect(granted).not.toContain(n)
      granted.add(n)
    }
    return range
  }
  const checkIn = async (token: string) =>
    (await inShop('checkin', json({ id: randomUUID(), grants: [{ token, next: 1 }] }))).json()
  const series = (name: string) =>
    inShop('series', json({ claim: randomUUID(), collection: 'receipts', series: name }))

  await init()
  server = await serve()
  expect((await claim()).Low).toBe(1)
  expect((await series('T3')).status).toBe(201)
  expect(await operate('status', 'Shop')).toMatch(/^shop +orders +32 /m)
  expect(await operate('explain', 'Shop', 'orders', '9')).toMatch(/^orders 9 of shop: /)
  await server.kill()
  await backUp()

  // The day goes on, and then the ledger is lost.
  server = await serve()
  const { Token } = await claim()
  await server.kill()
  await restore()
  server = await serve()
  await checkIn(Token)
  expect((await inShop('next?tag=orders')).status).toBe(503)
  expect((await ask('/healthz?database=Shop')).status).toBe(503)
  expect(await operate('raise-floor', 'Shop', '--all', '--by', String(BY), '--yes')).toContain(
    'grants again',
  )
  expect((await ask('/healthz?database=Shop')).status).toBe(200)
  expect((await claim()).Low).toBe(32 + BY + 1)
  expect((await series('T4')).status).toBe(503)
  await operate('series', 'Shop', '--all-listed', '--yes')
  expect((await series('T4')).status).toBe(201)

  // The secret leaks.
  const { Token: leaked } = await claim()
  if (openNewer) await server.kill()
  await operate('renew-secret', ...(openNewer ? [] : ['Shop']), '--yes')
  if (openNewer) server = await serve()
  expect(await checkIn(leaked)).toMatchObject({ grants: [{ unknown: true }] })
  await claim()

  // What is dropped is forgotten, and its numbers are not granted again.
  expect(await operate('drop', 'Shop', 'orders', '--yes')).toContain('Dropped')
  expect(await operate('status', 'Shop')).not.toMatch(/^shop +orders /m)
  await claim()

  if (openNewer) {
    isUpgrading = true
    let isUpgraded = false
    const devices = Array.from({ length: 8 }, async () => {
      while (!isUpgraded) await claim()
    })
    const newer = await openNewer(NEWER)
    isUpgraded = true
    await Promise.all(devices)
    isUpgrading = false
    await claim()
    await newer.close()
  }
  await server.kill()
})
