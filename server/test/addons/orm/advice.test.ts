/** Advice of a refusal leads out of it, and no two messages send to each other. */
import { afterEach, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { adopt, check } from '../../../src/cli/counters.js'
import { openLedger } from '../../../src/index.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { proveBeside } from './proving.js'

const KEY = { database: 'Shop', collection: 'orders' }
const MARTEN: CounterOptions = {
  strategy: 'marten',
  entity: 'Order',
  maxLo: 10,
  maxId: 'int4',
  ids: 'orders.id',
  proved: false,
}
const EFCORE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'seq',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
}
const MT_HILO = 'CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value bigint);'
const ORDERS = `CREATE TABLE orders (id bigint PRIMARY KEY);
  INSERT INTO orders SELECT generate_series(1, 12);`

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function shop(settings: CounterOptions, schema: string) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, schema)
  const options = { databaseUrl, collections: { Shop: { orders: settings } } }
  return {
    options,
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
    claim: async (first: boolean) => {
      const ledger = await openLedger({ ...options, create: true, first })
      cleanups.push(() => ledger.close())
      const wish = { ...KEY, id: newId(), count: 10, lastMax: 0, serverTag: 'A', at: 0 }
      return grantOf((await ledger.claim([wish]))[0]!)
    },
  }
}

test('adopt makes a row that is missing, above the highest id, and says so', async () => {
  const { options, claim, sql } = await shop(MARTEN, MT_HILO + ORDERS)
  const text = await adopt(options, { ...KEY, isApplied: true })
  expect(text).toContain(
    "-- There is no row for public.mt_hilo.hi_value where entity_name = 'Order' yet. The " +
      'statement makes it, under exactly this key.\n',
  )
  expect(text).toContain('Done: the next ids are 21 to 30.')
  expect(await sql('SELECT * FROM mt_hilo')).toEqual([{ entity_name: 'Order', hi_value: '1' }])
  expect(await claim(false)).toMatchObject({ low: 21, high: 30 })
})

test('--first begins above the highest id', async () => {
  const { options, claim } = await shop(MARTEN, MT_HILO + ORDERS)
  await expect(check(options)).rejects.toThrow('start once with --first')
  expect(await check({ ...options, first: true })).toContain('the next ids are 21 to 30')
  expect(await claim(true)).toMatchObject({ low: 21, high: 30 })
})

test('--first begins above what was granted here before, too', async () => {
  const { options, claim } = await shop({ ...MARTEN, ids: false }, MT_HILO)
  const own = await openLedger({ databaseUrl: options.databaseUrl, create: true })
  await own.claim([{ ...KEY, count: 100, lastMax: 0, serverTag: 'A', at: 0 }])
  await own.close()
  expect(await claim(true)).toMatchObject({ low: 101, high: 110 })
})

test('where rows came from elsewhere and the row is missing, adopt is the way', async () => {
  const { options, claim, sql } = await shop({ ...MARTEN, proved: undefined }, MT_HILO + ORDERS)
  const wayOut =
    'Else stop the back end, and run npx offline-hilo-server adopt Shop orders --apply.'
  await expect(check(options)).rejects.toThrow(wayOut)
  await expect(claim(true)).rejects.toThrow('check --prove Shop/orders')
  const backEnd = () =>
    sql(`WITH taken AS (UPDATE mt_hilo SET hi_value = hi_value + 1 RETURNING hi_value)
      INSERT INTO orders SELECT hi_value * 10 + 1 FROM taken`)
  await expect(proveBeside(options, backEnd)).rejects.toThrow(wayOut)
  await adopt(options, { ...KEY, isApplied: true })
  await proveBeside(options, backEnd)
  expect((await claim(false)).low).toBeGreaterThan(40)
})

test.each([
  ['rows from elsewhere', ORDERS, 12],
  ['a counter that was set back', '', 20],
])(
  'where the ORM takes two values at first, and there are %s: adopt is the way',
  async (_, rows, top) => {
    const { options, claim, sql } = await shop(
      { ...EFCORE, strategy: 'nhibernate-pooled', ids: 'orders.id', proved: false },
      `CREATE SEQUENCE seq INCREMENT 10; ${rows || 'CREATE TABLE orders (id int PRIMARY KEY)'}`,
    )
    if (!rows) {
      await sql("SELECT setval('seq', 11)")
      await claim(false)
      await sql("SELECT setval('seq', 1, false)")
    }
    await expect(check(options)).rejects.toThrow('adopt Shop orders --apply')
    await adopt(options, { ...KEY, isApplied: true })
    expect((await claim(false)).low).toBe(top + 1)
  },
)

test('--first where the id column has no room above the highest id: it makes no row', async () => {
  const { claim, sql } = await shop({ ...MARTEN, maxId: 15 }, MT_HILO + ORDERS)
  await expect(claim(true)).rejects.toThrow('No block is left above 12: the id column ends at 15')
  expect(await sql('SELECT * FROM mt_hilo')).toEqual([])
})

test('each advice to a role with no rights leads on, to a server that grants', async () => {
  const settings = {
    ...EFCORE,
    sequence: 'sales.seq',
    ids: 'sales.orders.id',
    proved: false,
  } as const
  const { options, sql } = await shop(
    settings,
    `CREATE SCHEMA sales; CREATE SEQUENCE sales.seq INCREMENT 10;
     CREATE TABLE sales.orders (id bigint PRIMARY KEY); INSERT INTO sales.orders VALUES (12);
     DROP ROLE IF EXISTS hilo_advised; CREATE ROLE hilo_advised LOGIN;
     GRANT CREATE ON SCHEMA public TO hilo_advised`,
  )
  cleanups.push(() => sql('DROP OWNED BY hilo_advised; DROP ROLE hilo_advised'))
  const url = new URL(options.databaseUrl)
  url.username = 'hilo_advised'
  const asRole = { ...options, databaseUrl: url.href }
  await expect(check(asRole)).rejects.toThrow('needs USAGE on the schema, SELECT on each table')
  await sql('GRANT USAGE ON SCHEMA sales TO hilo_advised')
  const refused: Error = await check(asRole).catch((error) => error)
  await sql(/GRANT USAGE, SELECT .*"/.exec(refused.message)![0])
  await expect(check(asRole)).rejects.toThrow('permission denied for table orders')
  await sql('GRANT SELECT ON sales.orders TO hilo_advised')
  await expect(check(asRole)).rejects.toThrow('adopt Shop orders --apply')
  await expect(adopt(asRole, { ...KEY, isApplied: true })).rejects.toThrow(
    'only its owner can set it safely; role hilo_advised is not its owner',
  )
  await sql(await adopt(asRole, { ...KEY, isApplied: false }))
  const ledger = await openLedger({ ...asRole, create: true })
  cleanups.push(() => ledger.close())
  const wish = { ...KEY, id: newId(), count: 10, lastMax: 0, serverTag: 'A', at: 0 }
  expect(grantOf((await ledger.claim([wish]))[0]!)).toMatchObject({ low: 13, high: 22 })
})

test.each([
  'INCREMENT 2',
  'CYCLE',
  'CACHE 20',
  'AS smallint',
  'MAXVALUE 100',
  'MINVALUE -5 START -5',
  'MINVALUE -5 MAXVALUE 100 INCREMENT -2 START 10 CYCLE CACHE 2',
])('a plain sequence with %s: each advice leads on, to a server that grants', async (kind) => {
  const { options, claim, sql } = await shop(
    { strategy: 'sequence', sequence: 'seq', maxId: 'int4', ids: 'orders.id', proved: false },
    `CREATE SEQUENCE seq ${kind}; ${ORDERS}`,
  )
  const advised: string[] = []
  for (;;) {
    const said = await check(options).catch((error: Error) => error)
    if (!(said instanceof Error)) break
    const [statement] = /ALTER SEQUENCE [^;]+?(?=[;.](\s|$))/.exec(said.message) ?? []
    if (statement) await sql(statement)
    else await adopt(options, { ...KEY, isApplied: true })
    advised.push(statement ?? 'adopt')
    expect(new Set(advised).size).toBe(advised.length)
  }
  expect(advised.at(-1)).toBe('adopt')
  expect(await claim(false)).toMatchObject({ low: 13, high: 22 })
})
