/** Two collections on one counter share its blocks: neither is granted what the other one has. */
import { afterEach, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { adopt, check } from '../../../src/cli/counters.js'
import { type Ledger, openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const ORDERS: CounterOptions = {
  strategy: 'efcore',
  sequence: 'order_seq',
  blockSize: 10,
  maxId: 'int4',
  ids: 'orders.id',
}
/** In the same table of the back end. */
const LINES: CounterOptions = { ...ORDERS, strategy: 'hibernate-pooled-lo' }
const ROW: CounterOptions = {
  strategy: 'nhibernate-hilo-table',
  table: 'hi',
  column: 'next_hi',
  where: { entity: 'Order', version: 2 },
  maxLo: 9,
  maxId: 'int4',
  ids: 'orders.id',
}
const SCHEMA = `CREATE TABLE orders (id bigint PRIMARY KEY); CREATE SEQUENCE order_seq INCREMENT 10;
  CREATE TABLE hi (entity text, version int, next_hi bigint, other bigint)
    PARTITION BY LIST (entity);
  CREATE TABLE hi_orders PARTITION OF hi FOR VALUES IN ('Order');
  INSERT INTO hi VALUES ('Order', 1, 7, 7), ('Order', 2, 1, 1)`

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function shop(orders: CounterOptions, lines: CounterOptions) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, SCHEMA)
  const options = { databaseUrl, collections: { Shop: { orders, lines } } }
  return {
    options,
    open: async (collections: object = options.collections) => {
      const ledger = await openLedger({
        databaseUrl,
        create: true,
        collections: collections as typeof options.collections,
      })
      cleanups.push(() => ledger.close())
      return ledger
    },
    sql: (text: string) => runSql(databaseUrl, text),
  }
}

async function claim(ledger: Ledger, collection: string) {
  const wish = { database: 'Shop', count: 10, lastMax: 0, serverTag: 'A', at: 0 }
  return span(grantOf((await ledger.claim([{ ...wish, collection, id: newId() }]))[0]!))
}

test('they get its blocks in turn', async () => {
  const { open } = await shop(ORDERS, LINES)
  const ledger = await open()
  expect(await claim(ledger, 'orders')).toEqual([1, 10])
  expect(await claim(ledger, 'lines')).toEqual([11, 20])
  expect(await claim(ledger, 'orders')).toEqual([21, 30])
})

test('one that was set back gives neither what the other one has', async () => {
  const { open, sql } = await shop(ORDERS, LINES)
  const ledger = await open()
  await claim(ledger, 'lines')
  await claim(ledger, 'orders')
  await sql("SELECT setval('order_seq', 11, false)")
  await expect(claim(ledger, 'lines')).rejects.toThrow(
    'sequence public.order_seq gave ids from 11, but up to 20 may be in use: it went backwards',
  )
})

test('adopt raises it above what either has', async () => {
  const { open, options, sql } = await shop(ORDERS, LINES)
  const ledger = await open()
  await claim(ledger, 'lines')
  await claim(ledger, 'orders')
  await sql("SELECT setval('order_seq', 1, false)")
  await adopt(options, { database: 'Shop', collection: 'lines', isApplied: true })
  expect(await claim(ledger, 'lines')).toEqual([21, 30])
})

test('a collection under a new name does not begin where the old one has numbers', async () => {
  const { open, sql } = await shop(ORDERS, LINES)
  const ledger = await open()
  await claim(ledger, 'orders')
  await sql("SELECT setval('order_seq', 1, false)")
  await expect(open({ Shop: { receipts: ORDERS } })).rejects.toThrow(
    'gives 1 next, whose ids are not above 10',
  )
})

test.each<[what: string, orders: CounterOptions, lines: CounterOptions]>([
  ['strategies', ORDERS, { ...LINES, strategy: 'hibernate-pooled' }],
  ['sizes of a row', ROW, { ...ROW, maxLo: 99 }],
  [
    'sizes of a row, with its key in another order',
    ROW,
    { ...ROW, where: { version: 2, entity: 'Order' }, maxLo: 99 },
  ],
  [
    'sizes of a row, by a part of its key, as text',
    ROW,
    { ...ROW, where: { version: '2' }, maxLo: 99 },
  ],
  ['sizes of a row, by its partition', ROW, { ...ROW, table: 'hi_orders', maxLo: 99 }],
])('with %s that do not agree are refused', async (_, orders, lines) => {
  const { open, options } = await shop(orders, lines)
  const message = /^shop\/lines: It takes from .* by .* with .*, and shop\/orders by .* with .*\./m
  await expect(check(options)).rejects.toThrow(message)
  await expect(open()).rejects.toThrow('A value of a counter stands for the same ids')
})

test.each<[what: string, lines: CounterOptions]>([
  ['another row', { ...ROW, where: { entity: 'Order', version: 1 }, maxLo: 99 }],
  ['another column', { ...ROW, column: 'other', maxLo: 99 }],
])('%s of the table is another counter', async (_, lines) => {
  const { open } = await shop(ROW, lines)
  await open()
})
