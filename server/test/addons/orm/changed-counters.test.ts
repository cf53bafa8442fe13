/** What somebody changes while the server runs is found out by the next claim, and named. */
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { CounterUnusable, type Ledger, openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { oneWaitsForALock } from './lock-waiters.js'

const KEY = { database: 'Shop', collection: 'orders' }
const WISH = { ...KEY, count: 10, lastMax: 0, serverTag: 'A', at: 0 }
const SEQUENCE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'seq',
  blockSize: 10,
  maxId: 'int8',
  ids: 'orders.id',
}
const TABLE: CounterOptions = {
  strategy: 'hibernate-hilo-table',
  table: 'hi',
  column: 'next',
  maxLo: 9,
  maxId: 'int8',
  ids: 'orders.id',
}
const SCHEMA = `CREATE SEQUENCE seq INCREMENT 10; CREATE TABLE orders (id bigint PRIMARY KEY);
  CREATE TABLE hi (next bigint); INSERT INTO hi VALUES (1);
  CREATE SCHEMA sales CREATE SEQUENCE seq INCREMENT 10;
  CREATE SCHEMA other CREATE SEQUENCE seq INCREMENT 10 CACHE 5`
const held = (when: string, body: string) =>
  `CREATE FUNCTION held() RETURNS trigger AS $$ BEGIN ${body}; RETURN NEW; END $$
   LANGUAGE plpgsql; CREATE TRIGGER held ${when} UPDATE ON hi FOR EACH ROW EXECUTE FUNCTION held()`
const SKIP = 'CREATE RULE skip AS ON UPDATE TO hi DO INSTEAD NOTHING'
const IN_THE_WAY = 'the update: a trigger or a rule of the table is in the way'

let ledger: Ledger
afterEach(() => ledger.close())

async function open(settings: CounterOptions, more: Record<string, CounterOptions> = {}) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, SCHEMA)
  ledger = await openLedger({
    create: true,
    databaseUrl,
    collections: { Shop: { orders: settings, ...more } },
  })
  return {
    databaseUrl,
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
    claim: async () => span(grantOf((await ledger.claim([{ ...WISH, id: newId() }]))[0]!)),
  }
}

test.each<[what: string, settings: CounterOptions, change: string, message: string]>([
  [
    'a view in place of the table, which hides an id',
    SEQUENCE,
    `ALTER TABLE orders RENAME TO every_order; INSERT INTO every_order VALUES (15);
     CREATE VIEW orders AS SELECT * FROM every_order WHERE id < 5`,
    'public.orders is no table. A view may leave out rows',
  ],
  ['no table', SEQUENCE, 'DROP TABLE orders', 'There is no table public.orders any more'],
  [
    'a table without the index',
    SEQUENCE,
    'ALTER TABLE orders DROP CONSTRAINT orders_pkey',
    'public.orders.id has no index that begins with it',
  ],
  [
    'a column of texts',
    SEQUENCE,
    'ALTER TABLE orders ALTER id TYPE text',
    'public.orders.id has values of type text',
  ],
  [
    'a column of another name',
    SEQUENCE,
    'ALTER TABLE orders RENAME id TO number',
    'Table public.orders has no column id',
  ],
  ['no sequence', SEQUENCE, 'DROP SEQUENCE seq', 'There is no sequence public.seq any more'],
  ['CACHE', SEQUENCE, 'ALTER SEQUENCE seq CACHE 5', 'Sequence public.seq has CACHE 5'],
  ['CYCLE', SEQUENCE, 'ALTER SEQUENCE seq CYCLE', 'Sequence public.seq is CYCLE'],
  [
    'UNLOGGED',
    SEQUENCE,
    'ALTER SEQUENCE seq SET UNLOGGED',
    'Sequence public.seq is UNLOGGED: a crash sets it back',
  ],
  [
    'another schema of this name, as old as the one before',
    { ...SEQUENCE, sequence: 'sales.seq' },
    'ALTER SCHEMA sales RENAME TO old; ALTER SCHEMA other RENAME TO sales',
    'Sequence sales.seq has CACHE 5',
  ],
  ['an increment', SEQUENCE, 'ALTER SEQUENCE seq INCREMENT 20', 'Sequence public.seq moves by 20'],
  [
    'a sequence that was set back',
    SEQUENCE,
    "SELECT setval('seq', 1, false)",
    'sequence public.seq gave ids from 1, but up to 10 may be in use: it went backwards',
  ],
  [
    'a sequence at its very end',
    { ...SEQUENCE, ids: false },
    "SELECT setval('seq', 9223372036854775807)",
    'It is at the end of its type, so no id is left',
  ],
  [
    'a rule that skips the update',
    TABLE,
    SKIP,
    `hi.next was to become 3, and is 2 after ${IN_THE_WAY}`,
  ],
  [
    'a trigger that keeps the value',
    TABLE,
    held('BEFORE', 'NEW.next = OLD.next'),
    `hi.next was to become 3, and is 2 after ${IN_THE_WAY}`,
  ],
  [
    'a trigger that sets the value back',
    TABLE,
    held('AFTER', 'IF pg_trigger_depth() = 1 THEN UPDATE public.hi SET next = OLD.next; END IF'),
    `hi.next was to become 3, and is 2 after ${IN_THE_WAY}`,
  ],
  [
    'a trigger with an error',
    TABLE,
    held('BEFORE', "RAISE EXCEPTION 'no' USING ERRCODE = '55000'"),
    'hi.next cannot be used. PostgreSQL says: no ' +
      '(PL/pgSQL function public.held() line 1 at RAISE).',
  ],
])('%s: nothing is granted, however often somebody asks', async (_, settings, change, message) => {
  const { claim, sql } = await open(settings)
  await claim()
  await sql(change)
  for (let i = 0; i < 3; i++) {
    const refused: Error = await claim().catch((error) => error)
    expect(refused).toBeInstanceOf(CounterUnusable)
    expect(refused.message).toContain(message)
  }
})

test('an increment that changes while a claim waits: nothing is granted', async () => {
  const { claim, sql, databaseUrl } = await open(SEQUENCE)
  await claim()
  await sql("SELECT nextval('seq')")
  const operator = new pg.Client(databaseUrl)
  await operator.connect()
  try {
    await operator.query('BEGIN; ALTER SEQUENCE seq INCREMENT 1')
    const refused = expect(claim()).rejects.toThrow('sequence public.seq was altered while')
    await oneWaitsForALock(sql)
    await operator.query('COMMIT')
    await refused
    await expect(claim()).rejects.toThrow('Sequence public.seq moves by 1')
  } finally {
    await operator.end()
  }
})

test('what is mended is used again, by the same server', async () => {
  const { claim, sql } = await open(SEQUENCE)
  await claim()
  await sql('ALTER SEQUENCE seq CACHE 5')
  await expect(claim()).rejects.toThrow(CounterUnusable)
  await sql('ALTER SEQUENCE seq CACHE 1')
  expect(await claim()).toEqual([11, 20])
})

test('a floor that a rule keeps from the counter is not raised', async () => {
  const { sql } = await open(TABLE)
  await sql(SKIP)
  await expect(ledger.raiseFloor({ ...KEY, floor: 500 })).rejects.toThrow(
    `hi.next was to become 51, and is 1 after ${IN_THE_WAY}`,
  )
})

test('one of several counters cannot be raised: those that were are named', async () => {
  const { sql, claim } = await open(SEQUENCE, { parts: TABLE })
  await claim()
  const raise = () => ledger.raiseFloors({ database: 'Shop', by: 100 })
  await sql(SKIP)
  await expect(raise()).rejects.toThrow(
    'or let it leave this row alone. The counters of these went up before: orders. A sequence ' +
      'does not come down again, so that is a gap. No floor was raised. Run it again once this ' +
      'is mended.',
  )
  expect(await claim()).toEqual([111, 120])
  await sql('DROP RULE skip ON hi')
  expect(await raise()).toMatchObject({ collections: 2, usedUp: [] })
  expect(await claim()).toEqual([221, 230])
})
