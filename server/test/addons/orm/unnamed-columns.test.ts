/**
 * A sequence may fill more columns than `ids` names. PostgreSQL knows which, so the server does not
 * begin, and nothing is proved, before each of them is named.
 */
import { afterEach, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { check } from '../../../src/cli/counters.js'
import { openLedger } from '../../../src/index.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { proveBeside } from './proving.js'

const SEQUENCE: CounterOptions = {
  strategy: 'sequence',
  sequence: 'orders_id_seq',
  maxId: 'int4',
  ids: 'orders.id',
}
const ORDERS = 'CREATE TABLE orders (id serial PRIMARY KEY, who text);'
const SHARED = "int PRIMARY KEY DEFAULT nextval('orders_id_seq')"
const WISH = { database: 'Shop', collection: 'orders', lastMax: 0, serverTag: 'A', at: 0 }

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function shop(schema: string) {
  const databaseUrl = await newDatabase()
  const sql = async (text: string) => (await runSql(databaseUrl, text)).rows
  await sql(schema)
  await (await openLedger({ databaseUrl, create: true })).close()
  const optionsWith = (change: Partial<CounterOptions>) => ({
    databaseUrl,
    collections: { Shop: { orders: { ...SEQUENCE, ...change } } },
  })
  return {
    sql,
    check: (change = {}) => check(optionsWith(change)),
    prove: (change = {}) =>
      proveBeside(optionsWith(change), () => sql("INSERT INTO orders (who) VALUES ('back end')")),
    async open(change: Partial<CounterOptions> = {}) {
      const ledger = await openLedger(optionsWith(change))
      cleanups.push(() => ledger.close())
      const cautions: string[] = []
      ledger.onCaution!((caution) => cautions.push(caution))
      return { ledger, cautions }
    },
    claim: async ({ ledger }: { ledger: Awaited<ReturnType<typeof openLedger>> }) =>
      grantOf((await ledger.claim([{ ...WISH, id: newId(), count: 4 }]))[0]!),
  }
}

test.each([
  ['of another table', `CREATE TABLE returns (id ${SHARED})`, 'public.returns.id'],
  [
    'of the same table',
    `ALTER TABLE orders ADD number ${SHARED.replace('PRIMARY KEY', '')}`,
    'public.orders.number',
  ],
  [
    'of a table in another schema, with capitals',
    `CREATE SCHEMA sales; CREATE TABLE sales."Returns" ("No" ${SHARED})`,
    'sales."Returns".No',
  ],
  [
    'of a partitioned table',
    `CREATE TABLE returns (id ${SHARED}) PARTITION BY RANGE (id);
     CREATE TABLE part PARTITION OF returns FOR VALUES FROM (0) TO (1000)`,
    'public.returns.id',
  ],
  [
    'that owns the sequence, whose ids something else fills in',
    'CREATE TABLE returns (id int PRIMARY KEY); ALTER SEQUENCE orders_id_seq OWNED BY returns.id',
    'public.returns.id',
  ],
])('a column %s: nothing begins, and the message names it', async (_, schema, column) => {
  const { check, prove, open } = await shop(`${ORDERS} ${schema}`)
  const said = `${column} takes its ids from sequence public.orders_id_seq, too`
  expect(await check()).toContain(said)
  await expect(prove()).rejects.toThrow(said)
  await expect(open()).rejects.toThrow(said)
})

test('ids of a table that has another sequence: nothing begins, though it is empty', async () => {
  const { prove, open, claim, sql } = await shop(
    `CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, who text);
     CREATE TABLE returns (id serial PRIMARY KEY);
     INSERT INTO orders (who) VALUES ('back end')`,
  )
  const ids = 'returns.id'
  await expect(open({ ids })).rejects.toThrow('public.orders.id takes its ids from')
  await expect(prove({ ids })).rejects.toThrow('public.orders.id takes its ids from')
  await prove()
  const opened = await open()
  const { low } = await claim(opened)
  await sql(`INSERT INTO orders OVERRIDING SYSTEM VALUE VALUES (${low}, 'device')`)
})

test('once each is named, it is proved, and ids of each are passed over', async () => {
  const { prove, open, sql, claim } = await shop(`${ORDERS} CREATE TABLE returns (id ${SHARED})`)
  const both = { ids: ['orders.id', 'returns.id'] }
  expect((await prove(both)).at(-1)).toMatch(
    /makes the ids in public\.orders\.id\. No record came in public\.returns\.id\. If the back end/,
  )
  const opened = await open(both)
  const [row] = await sql(
    'INSERT INTO returns SELECT last_value + 2 FROM orders_id_seq RETURNING id',
  )
  expect((await claim(opened)).low).toBe(row!.id + 1)
})

test.each([
  ['a table that inherits', 'CREATE TABLE old (PRIMARY KEY (id)) INHERITS (orders)'],
  [
    'a view',
    'CREATE VIEW recent AS SELECT * FROM orders; ALTER VIEW recent ALTER id SET DEFAULT ' +
      "nextval('orders_id_seq')",
  ],
])('%s of the named one needs no word', async (_, schema) => {
  const { open, claim } = await shop(`${ORDERS} ${schema}`)
  const opened = await open()
  expect(opened.cautions).toEqual([expect.stringContaining('nobody has seen')])
  expect(await claim(opened)).toMatchObject({ low: 1, high: 4 })
})

test('a column that comes later stops nobody, and is told at the next start', async () => {
  const { open, claim, sql, check } = await shop(ORDERS)
  const first = await open()
  await claim(first)
  await sql('CREATE TABLE copy (LIKE orders INCLUDING ALL)')
  expect(await claim(first)).toMatchObject({ low: 5, high: 8 })
  const said = 'public.copy.id takes its ids from sequence public.orders_id_seq, too'
  const again = await open()
  expect(again.cautions).toContainEqual(expect.stringContaining(said))
  expect(await check()).toContain(said)
  expect(await claim(again)).toMatchObject({ low: 9, high: 12 })
  await sql('ALTER TABLE copy ALTER id DROP DEFAULT')
  expect(await check()).not.toContain('copy')
})

test('`proved: false` begins without a name for each, and the log says which', async () => {
  const { open, claim } = await shop(`${ORDERS} CREATE TABLE returns (id ${SHARED})`)
  const opened = await open({ proved: false })
  expect(opened.cautions).toContainEqual(expect.stringContaining('public.returns.id takes its ids'))
  expect(await claim(opened)).toMatchObject({ low: 1, high: 4 })
})
