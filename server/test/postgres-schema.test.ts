/**
 * In which schema a ledger and its counters are: found once, named from then on. What comes to
 * stand before them later, in a path or among temporary tables, is not taken for them.
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { CollectionsOptions } from '../src/addons/bound/collections-setting.js'
import type { CounterOptions } from '../src/addons/bound/orm/counter-options.js'
import { openPool } from '../src/addons/postgres/pool.js'
import { type Ledger, openLedger } from '../src/index.js'
import { newFolder } from './folders.js'
import { makeTraps, TRAPPED_PATH } from './function-traps.js'
import { grantOf, newId } from './ledger-bench.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'
import { runCli } from './run-cli.js'
import { leaveInSessions } from './sessions.js'

const WISH = { database: 'Shop', collection: 'orders', count: 10, lastMax: 0, serverTag: 'A' }
const SEQUENCE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'order_seq',
  blockSize: 10,
  maxId: 'int8',
  ids: false,
}
const boundTo = (orders: CounterOptions): CollectionsOptions => ({ Shop: { orders } })

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const openAt = (databaseUrl: string, collections: CollectionsOptions = {}): Promise<Ledger> =>
  openLedger({ create: true, databaseUrl, collections, first: true })

async function open(...where: Parameters<typeof openAt>): Promise<Ledger> {
  const ledger = await openAt(...where)
  cleanups.push(() => ledger.close())
  return ledger
}

const init = async (...where: Parameters<typeof openAt>): Promise<void> =>
  (await openAt(...where)).close()

/** The lowest number of a new grant. */
const take = async (ledger: Ledger): Promise<number> =>
  grantOf((await ledger.claim([{ ...WISH, id: newId(), at: 0 }]))[0]!).low

/** A role that may use what is in `public`, and whose own schema would come before it. */
async function newRole(databaseUrl: string): Promise<{ role: string; url: string }> {
  const role = `hilo_role_${randomUUID().replaceAll('-', '')}`
  await runSql(
    databaseUrl,
    `CREATE ROLE ${role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role};
     GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
  )
  cleanups.push(() => runSql(databaseUrl, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`))
  const url = new URL(databaseUrl)
  url.username = role
  return { role, url: url.href }
}

/** What copies the ledger's tables from `public`, as a restore into another schema does. */
async function copiesInto(databaseUrl: string, schema: string): Promise<string> {
  const { rows } = await runSql(
    databaseUrl,
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'
     AND tablename LIKE 'hilo\\_%'`,
  )
  const copies = rows.map(
    ({ name }) => `CREATE TABLE ${schema}.${name} (LIKE public.${name} INCLUDING ALL);
      INSERT INTO ${schema}.${name} SELECT * FROM public.${name};`,
  )
  return copies.join('')
}

test('in these tests, a name without its schema leads a ledger nowhere', async () => {
  const databaseUrl = await newDatabase()
  await init(databaseUrl)
  const pool = openPool(databaseUrl)
  cleanups.push(() => pool.close())
  await expect(pool.query('SELECT 1 FROM hilo_meta')).rejects.toThrow(
    'relation "hilo_meta" does not exist',
  )
})

describe('the ledger', () => {
  test('is not a copy that a schema of the role gets while servers run', async () => {
    const databaseUrl = await newDatabase()
    const ledger = await open(databaseUrl)
    const { role, url } = await newRole(databaseUrl)
    const ofRole = await open(url)
    const lows = [await take(ledger), await take(ofRole)]
    await runSql(databaseUrl, `CREATE SCHEMA AUTHORIZATION ${role}`)
    await runSql(url, await copiesInto(url, role))
    for (let i = 0; i < 4; i++) lows.push(await take(ledger), await take(ofRole))
    expect(lows).toEqual([1, 11, 21, 31, 41, 51, 61, 71, 81, 91])
    await expect(openLedger({ databaseUrl: url })).rejects.toThrow(
      `This database has tables of a ledger in several schemas: "${role}", "public".`,
    )
  })

  test('is not among temporary tables that others left in a session', async () => {
    const databaseUrl = await newDatabase()
    const ledger = await open(databaseUrl)
    const lows = [await take(ledger)]
    leaveInSessions(databaseUrl, await copiesInto(databaseUrl, 'pg_temp'))
    const pooled = await open(databaseUrl)
    for (let i = 0; i < 4; i++) lows.push(await take(pooled), await take(ledger))
    expect(lows).toEqual([1, 11, 21, 31, 41, 51, 61, 71, 81])
  })

  test("is made in the role's schema, whatever path others left in the session", async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, 'CREATE SCHEMA app')
    leaveInSessions(databaseUrl, 'SET search_path TO app')
    expect(await take(await open(databaseUrl))).toBe(1)
    const { rows } = await runSql(
      databaseUrl,
      "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'hilo\\_%'",
    )
    expect(rows).toEqual([{ schemaname: 'public' }])
  })

  test.each([`O'Neil "x".$1; --`, 'Main'])('may be in a schema named %s', async (name) => {
    const databaseUrl = await newDatabase()
    const quoted = `"${name.replaceAll('"', '""')}"`
    const database = new URL(databaseUrl).pathname.slice(1)
    const setPath = (path: string) =>
      runSql(databaseUrl, `ALTER DATABASE ${database} SET search_path = ${path}`)
    await runSql(databaseUrl, `CREATE SCHEMA ${quoted}`)
    await setPath(quoted)
    await runSql(databaseUrl, 'CREATE SEQUENCE order_seq INCREMENT 10')
    const ledger = await open(databaseUrl, boundTo(SEQUENCE))
    const lows = [await take(ledger)]
    await ledger.ping()
    await ledger.raiseFloor({ database: 'Shop', collection: 'orders', floor: 20 })
    await setPath('public')
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ databaseUrl, collections: boundTo(SEQUENCE) }))
    expect(await runCli(['check', '--config', config])).toMatchObject({ code: 0 })
    expect((await runCli(['status'], { DATABASE_URL: databaseUrl })).stdout).toContain('orders')
    lows.push(await take(await open(databaseUrl, boundTo(SEQUENCE))))
    expect(lows).toEqual([1, 21])
  })

  test('is not made for a role whose path leads to no schema', async () => {
    const databaseUrl = new URL(await newDatabase())
    databaseUrl.searchParams.set('options', '-c search_path=nowhere')
    await expect(openLedger({ create: true, databaseUrl: databaseUrl.href })).rejects.toThrow(
      "No schema of this role's search_path is there",
    )
  })
})

describe('a bound counter', () => {
  const ROW: CounterOptions = {
    strategy: 'hibernate-hilo-table',
    table: 'hi',
    column: 'next',
    maxLo: 9,
    maxId: 'int8',
    ids: false,
  }
  const TEXTBOOK: CounterOptions = {
    strategy: 'textbook',
    segment: 'orders',
    blockSize: 10,
    maxId: 'int8',
    ids: false,
  }
  /** What copies a table. */
  const table = (name: string) => (schema: string) =>
    `CREATE TABLE ${schema}.${name} AS SELECT * FROM public.${name}`

  test.each<
    [
      what: string,
      settings: CounterOptions,
      make: string,
      copyInto: (schema: string) => string,
      takeAsBackEnd: string,
      lows: number[],
    ]
  >([
    [
      'a sequence',
      SEQUENCE,
      'CREATE SEQUENCE public.order_seq INCREMENT 10',
      (schema) => `CREATE SEQUENCE ${schema}.order_seq START 11 INCREMENT 10`,
      "SELECT nextval('public.order_seq')",
      [1, 21],
    ],
    [
      'a table',
      ROW,
      'CREATE TABLE public.hi (next bigint); INSERT INTO public.hi VALUES (1)',
      table('hi'),
      'UPDATE public.hi SET next = next + 1',
      [10, 30],
    ],
    [
      "the textbook's table",
      TEXTBOOK,
      'SELECT 1',
      table('hilo_next_hi'),
      'UPDATE public.hilo_next_hi SET next_hi = next_hi + 1',
      // Its first block has nine ids, so the first claim takes of the second one, too.
      [1, 30],
    ],
  ])('%s is not a copy that a schema of the role gets later', async (...given) => {
    const [, settings, make, copyInto, takeAsBackEnd, lows] = given
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, make)
    await init(databaseUrl, boundTo(settings))
    const { role, url } = await newRole(databaseUrl)
    const ledger = await open(url, boundTo(settings))
    const taken = [await take(ledger)]
    await runSql(databaseUrl, `CREATE SCHEMA AUTHORIZATION ${role}`)
    await runSql(url, copyInto(role))
    await runSql(databaseUrl, takeAsBackEnd)
    taken.push(await take(ledger))
    // The back end has the block between.
    expect(taken).toEqual(lows)
    await expect(openLedger({ databaseUrl: url, collections: boundTo(settings) })).rejects.toThrow(
      new RegExp(`knows it as .* public\\..*, the configuration says .* ${role}\\.`),
    )
  })

  test('is found by the path of the role, whatever others left in the session', async () => {
    const databaseUrl = await newDatabase()
    await runSql(
      databaseUrl,
      `CREATE SEQUENCE order_seq INCREMENT 10;
       CREATE SCHEMA app; CREATE SEQUENCE app.order_seq START 1001 INCREMENT 10`,
    )
    leaveInSessions(
      databaseUrl,
      'SET search_path TO app; CREATE TEMP SEQUENCE order_seq START 2001 INCREMENT 10',
    )
    const ledger = await open(databaseUrl, boundTo(SEQUENCE))
    expect([await take(ledger), await take(ledger)]).toEqual([1, 11])
  })

  test('compares with the ids of the table that it found', async () => {
    const databaseUrl = await newDatabase()
    await runSql(
      databaseUrl,
      `CREATE SEQUENCE order_seq INCREMENT 10; CREATE TABLE orders (id bigint PRIMARY KEY)`,
    )
    const settings = { ...SEQUENCE, ids: 'orders.id' }
    await init(databaseUrl, boundTo(settings))
    const { role, url } = await newRole(databaseUrl)
    const ledger = await open(url, boundTo(settings))
    await take(ledger)
    await runSql(databaseUrl, `CREATE SCHEMA AUTHORIZATION ${role}; INSERT INTO orders VALUES (15)`)
    await runSql(url, `CREATE TABLE ${role}.orders (id int)`)
    expect(await take(ledger)).toBe(21)
  })

  test.each([
    ['a sequence', SEQUENCE],
    ['a table', ROW],
    ["the textbook's table", TEXTBOOK],
  ])('%s is moved by no function of another schema', async (_, settings) => {
    const databaseUrl = await newDatabase()
    await makeTraps(databaseUrl)
    await runSql(
      databaseUrl,
      `CREATE SEQUENCE order_seq INCREMENT 10; CREATE TABLE hi (next bigint);
       INSERT INTO hi VALUES (1); CREATE TABLE orders (id bigint PRIMARY KEY)`,
    )
    leaveInSessions(databaseUrl, TRAPPED_PATH)
    const collections = boundTo({ ...settings, ids: 'orders.id' })
    const ledger = await open(databaseUrl, collections)
    const first = await take(ledger)
    await ledger.raiseFloor({ database: 'Shop', collection: 'orders', floor: 5_000 })
    await ledger.raiseFloor({ database: 'Shop', collection: 'orders', floor: 10 ** 12 })
    expect(first).toBeLessThan(20)
    expect(await take(ledger)).toBeGreaterThan(10 ** 12)
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ databaseUrl, collections }))
    for (const command of ['check', 'adopt Shop orders --from orders.id --apply'])
      expect(await runCli([...command.split(' '), '--config', config])).toMatchObject({ code: 0 })
  })
})
