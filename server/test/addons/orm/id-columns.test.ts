/**
 * The columns that `ids` names: what cannot say which ids are in use is refused, because it would
 * contradict no binding, however wrong.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { adopt, check } from '../../../src/cli/counters.js'
import { type Ledger, openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

/** As in the message of PostgreSQL. */
const HIDDEN = 'query would be affected by row-level security policy for table "orders"'
const BINDING: CounterOptions = {
  strategy: 'efcore',
  sequence: 'order_seq',
  blockSize: 10,
  maxId: 'int4',
  ids: 'orders.id',
  proved: false,
}
/** The back end has made 30 ids, and does not know that it takes the next ones by hand. */
const SEQUENCE = 'CREATE SEQUENCE order_seq INCREMENT 10'
const ROWS = 'INSERT INTO orders SELECT generate_series(1, 30)'
const UNINDEXED =
  'public.orders.id has no index that begins with it and has all rows of public.orders, so each ' +
  'claim would read them all. Name the column of the primary key, or: CREATE INDEX ON ' +
  'public.orders ("id").'
const ORDERS = `${SEQUENCE}; CREATE TABLE orders (id bigint PRIMARY KEY); ${ROWS}`
const AT_31 = "SELECT setval('order_seq', 31, false)"
const WISH = {
  database: 'Shop',
  collection: 'orders',
  count: 10,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
}

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(databaseUrl: string, binding: CounterOptions = BINDING): Promise<Ledger> {
  const collections = { Shop: { orders: binding } }
  const ledger = await openLedger({ create: true, databaseUrl, collections })
  cleanups.push(() => ledger.close())
  return ledger
}

const claim = async (ledger: Ledger) =>
  span(grantOf((await ledger.claim([{ ...WISH, id: newId() }]))[0]!))

/** A role with all rights that the server needs, and the URL by which it comes. */
async function roleAt(databaseUrl: string): Promise<string> {
  await runSql(
    databaseUrl,
    `DROP ROLE IF EXISTS hilo_ids_role; CREATE ROLE hilo_ids_role LOGIN;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO hilo_ids_role;
     GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO hilo_ids_role`,
  )
  cleanups.push(() => runSql(databaseUrl, 'DROP OWNED BY hilo_ids_role; DROP ROLE hilo_ids_role'))
  const url = new URL(databaseUrl)
  url.username = 'hilo_ids_role'
  return url.href
}

describe('a column that cannot say which ids are in use is refused', () => {
  test.each([
    [
      'of a view, which leaves out what was deleted',
      `CREATE TABLE all_orders (id bigint PRIMARY KEY, gone bool);
       INSERT INTO all_orders SELECT generate_series(1, 30), true;
       CREATE VIEW orders AS SELECT id FROM all_orders WHERE NOT gone`,
      'public.orders is no table. A view may leave out rows, and their ids are in use, too.',
    ],
    [
      'of a view that is as old as its last refresh',
      `CREATE TABLE all_orders (id bigint PRIMARY KEY);
       CREATE MATERIALIZED VIEW orders AS SELECT id FROM all_orders`,
      'public.orders is no table',
    ],
    [
      'that is not there',
      'CREATE TABLE orders (order_id bigint PRIMARY KEY)',
      'Table public.orders has no column id. Correct public.orders.id',
    ],
    [
      'of texts',
      'CREATE TABLE orders (id text PRIMARY KEY)',
      'public.orders.id has values of type text, not whole numbers',
    ],
    [
      'that ends before maxId',
      'CREATE TABLE orders (id smallint PRIMARY KEY)',
      'public.orders.id is smallint and ends at 32767, before maxId 2147483647: no record could ' +
        'be stored with an id above. Set maxId to 32767',
    ],
    [
      'of so many digits',
      'CREATE TABLE orders (id numeric(5) PRIMARY KEY)',
      'public.orders.id is numeric and ends at 99999, before maxId 2147483647',
    ],
    ['without an index', 'CREATE TABLE orders (id bigint)', UNINDEXED],
    [
      'with an index of some rows',
      'CREATE TABLE orders (id bigint); CREATE INDEX ON orders (id) WHERE id < 100',
      UNINDEXED,
    ],
    [
      'with an index of what is reckoned from it',
      'CREATE TABLE orders (id bigint); CREATE INDEX ON orders ((id + 0))',
      UNINDEXED,
    ],
    [
      'with an index that has no order',
      'CREATE TABLE orders (id bigint); CREATE INDEX ON orders USING hash (id)',
      UNINDEXED,
    ],
    [
      'with an index that is not in a table which inherits from it',
      'CREATE TABLE orders (id bigint PRIMARY KEY); CREATE TABLE "Old" () INHERITS (orders)',
      'has no index that begins with it and has all rows of public."Old", so each claim',
    ],
    [
      'of one partition of several',
      `CREATE TABLE every_order (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
       CREATE TABLE orders PARTITION OF every_order FOR VALUES FROM (0) TO (100)`,
      'public.orders is a partition, and the ids of the others are in use, too. Name ' +
        'public.every_order.id',
    ],
    [
      'with an index that begins with another column',
      'CREATE TABLE orders (id bigint, shop int, PRIMARY KEY (shop, id))',
      'CREATE INDEX ON public.orders ("id")',
    ],
  ])('%s', async (_, schema, message) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, `${SEQUENCE}; ${schema}`)
    const options = { databaseUrl, collections: { Shop: { orders: BINDING } } }
    await expect(check(options)).rejects.toThrow(message)
    await expect(open(databaseUrl)).rejects.toThrow(message)
    const adoption = { database: 'Shop', collection: 'orders', isApplied: true }
    await expect(adopt(options, adoption)).rejects.toThrow(message)
    expect((await runSql(databaseUrl, "SELECT nextval('order_seq')::int")).rows).toEqual([
      { nextval: 1 },
    ])
  })

  test('a view that adopt is given', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, `${ORDERS}; CREATE VIEW old AS SELECT id FROM orders WHERE id < 5`)
    const options = { databaseUrl, collections: { Shop: { orders: BINDING } } }
    const adoption = { database: 'Shop', collection: 'orders', from: 'old.id', isApplied: true }
    await expect(adopt(options, adoption)).rejects.toThrow('public.old is no table')
  })
})

test.each([
  ['a domain of whole numbers', 'CREATE DOMAIN key AS bigint CHECK (VALUE > 0)', 'key PRIMARY KEY'],
  ['a numeric', '', 'numeric PRIMARY KEY'],
  ['the first of two in a key', '', 'bigint, shop int DEFAULT 1, PRIMARY KEY (id, shop)'],
  ['that of a partitioned table', '', 'bigint PRIMARY KEY) PARTITION BY HASH (id'],
])('%s is asked', async (_, before, type) => {
  const databaseUrl = await newDatabase()
  const partition = 'CREATE TABLE part PARTITION OF orders FOR VALUES WITH (MODULUS 1, REMAINDER 0)'
  await runSql(
    databaseUrl,
    `${SEQUENCE}; ${before}; CREATE TABLE orders (id ${type});
     ${type.includes('PARTITION') ? partition : ''}; ${ROWS}`,
  )
  await expect(open(databaseUrl)).rejects.toThrow('The highest id in public.orders.id is 30.')
  await runSql(databaseUrl, AT_31)
  expect(await claim(await open(databaseUrl))).toEqual([31, 40])
})

test('a table that inherits from the one that is named is asked, too', async () => {
  const databaseUrl = await newDatabase()
  await runSql(
    databaseUrl,
    `${ORDERS}; CREATE TABLE old (PRIMARY KEY (id)) INHERITS (orders);
     INSERT INTO old VALUES (39); ${AT_31}`,
  )
  await expect(open(databaseUrl)).rejects.toThrow('The highest id in public.orders.id is 39.')
  await runSql(databaseUrl, `DELETE FROM orders WHERE id = 39; INSERT INTO old VALUES (25)`)
  const ledger = await open(databaseUrl)
  await runSql(databaseUrl, 'INSERT INTO old VALUES (35)')
  expect(await claim(ledger)).toEqual([41, 50])
})

test('a partition that is detached hides its ids, and none comes again', async () => {
  const databaseUrl = await newDatabase()
  await runSql(
    databaseUrl,
    `${SEQUENCE}; CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
     CREATE TABLE low PARTITION OF orders FOR VALUES FROM (0) TO (35);
     CREATE TABLE high PARTITION OF orders FOR VALUES FROM (35) TO (1000); ${ROWS}; ${AT_31}`,
  )
  const ledger = await open(databaseUrl)
  expect(await claim(ledger)).toEqual([31, 40])
  await runSql(databaseUrl, 'ALTER TABLE orders DETACH PARTITION low')
  expect(await claim(ledger)).toEqual([41, 50])
  await runSql(databaseUrl, "SELECT setval('order_seq', 1, false)")
  await expect(claim(ledger)).rejects.toThrow('it went backwards')
})

describe('where rows are hidden by row level security', () => {
  const SECURED = 'ALTER TABLE orders ENABLE ROW LEVEL SECURITY'

  test('nothing begins, and the message says what to do', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, ORDERS)
    await (await openLedger({ create: true, databaseUrl })).close()
    await runSql(databaseUrl, SECURED)
    const asRole = await roleAt(databaseUrl)
    const options = { databaseUrl: asRole, collections: { Shop: { orders: BINDING } } }
    await expect(check(options)).rejects.toThrow(HIDDEN)
    await expect(open(asRole)).rejects.toThrow('ALTER ROLE … BYPASSRLS')
    await runSql(databaseUrl, `ALTER ROLE hilo_ids_role BYPASSRLS; ${AT_31}`)
    expect(await claim(await open(asRole))).toEqual([31, 40])
  })

  test('that comes while the server runs, nothing more is granted', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, `${ORDERS}; ${AT_31}`)
    await (await openLedger({ create: true, databaseUrl })).close()
    const ledger = await open(await roleAt(databaseUrl))
    expect(await claim(ledger)).toEqual([31, 40])
    await runSql(databaseUrl, SECURED)
    await expect(claim(ledger)).rejects.toThrow(HIDDEN)
  })
})

test('a right that goes away while the server runs stops the grants, and is named', async () => {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, `${ORDERS}; ${AT_31}`)
  await (await openLedger({ create: true, databaseUrl })).close()
  const ledger = await open(await roleAt(databaseUrl))
  expect(await claim(ledger)).toEqual([31, 40])
  await runSql(databaseUrl, 'REVOKE SELECT ON orders FROM hilo_ids_role')
  await expect(claim(ledger)).rejects.toThrow(
    "permission denied for table orders. This server's role needs USAGE",
  )
})
