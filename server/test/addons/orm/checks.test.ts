/**
 * What the checks refuse, each with what the message names: what is configured, what is there, the
 * fix.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { check } from '../../../src/cli/counters.js'
import { type Ledger, openLedger } from '../../../src/index.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(databaseUrl: string, settings: CounterOptions, first = false): Promise<Ledger> {
  const collections = { Shop: { Orders: settings } }
  const ledger = await openLedger({ create: true, databaseUrl, collections, first })
  cleanups.push(() => ledger.close())
  return ledger
}

const EFCORE = {
  strategy: 'efcore',
  sequence: 'order_seq',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
} as const
const HILO_TABLE = {
  strategy: 'hibernate-hilo-table',
  table: 'hi',
  column: 'next_hi',
  maxLo: 9,
  maxId: 'int4',
  ids: false,
} as const
const TABLE = {
  strategy: 'hibernate-table',
  segment: 'Order',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
} as const
const SEGMENTS =
  'CREATE TABLE hibernate_sequences (sequence_name text PRIMARY KEY, next_val bigint)'
const KEYLESS = 'CREATE TABLE hibernate_sequences (sequence_name text, next_val bigint)'
const DOCTRINE =
  'CREATE TABLE sequences (sequence_name text PRIMARY KEY, sequence_value bigint, ' +
  'sequence_increment_by int)'
const POOLED = { ...EFCORE, strategy: 'nhibernate-pooled' } as const

const REFUSED: [
  what: string,
  settings: CounterOptions,
  schema: string,
  message: string | RegExp,
][] = [
  [
    'a sequence that is not there',
    EFCORE,
    '',
    'There is no sequence order_seq in this database. Correct the name',
  ],
  [
    'a sequence in capitals that is not there',
    { ...EFCORE, sequence: 'Order_SEQ' },
    '',
    'There is no sequence Order_SEQ in this database. Correct the name',
  ],
  [
    'a name that PostgreSQL folded',
    { ...EFCORE, sequence: 'Order_SEQ' },
    'CREATE SEQUENCE Order_SEQ INCREMENT 10',
    'There is order_seq: PostgreSQL folds names',
  ],
  [
    'a table in place of a sequence',
    EFCORE,
    'CREATE TABLE order_seq ()',
    'order_seq is no sequence',
  ],
  ['a sequence in place of a table', HILO_TABLE, 'CREATE SEQUENCE hi', 'hi is no table'],
  [
    'a schema that is not there',
    { ...EFCORE, sequence: 'sales.order_seq' },
    '',
    'There is no sequence sales.order_seq',
  ],
  [
    'another increment',
    EFCORE,
    'CREATE SEQUENCE order_seq',
    'shop/orders: Sequence public.order_seq moves by 1, but efcore with blockSize 10 ' +
      'needs it to move ' +
      'by 10: blocks would overlap or leave gaps. ' +
      'Find out what EF Core is configured with. If it is something else, correct strategy or ' +
      'blockSize here, and leave the sequence as it is. If it is just that, the sequence is',
  ],
  [
    'an increment where values count blocks',
    { ...EFCORE, strategy: 'hibernate-hilo' },
    'CREATE SEQUENCE order_seq INCREMENT 10',
    'needs it to move by 1:',
  ],
  [
    'a sequence that begins again',
    EFCORE,
    'CREATE SEQUENCE order_seq INCREMENT 10 CYCLE',
    'is CYCLE: at its end it would begin again with ids that are in use. ALTER',
  ],
  [
    'a sequence with a cache',
    EFCORE,
    'CREATE SEQUENCE order_seq INCREMENT 10 CACHE 20',
    'has CACHE 20: each connection keeps values',
  ],
  [
    'a sequence that a crash sets back',
    EFCORE,
    'CREATE UNLOGGED SEQUENCE order_seq INCREMENT 10',
    'is UNLOGGED: a crash sets it back',
  ],
  [
    'a sequence of a type too small',
    EFCORE,
    'CREATE SEQUENCE order_seq AS smallint INCREMENT 10',
    'ends at 32767, before the ids reach maxId 2147483647. Lower maxId',
  ],
  [
    'a sequence that starts elsewhere',
    { ...EFCORE, strategy: 'hibernate-pooled' },
    'CREATE SEQUENCE order_seq START 100 INCREMENT 10',
    'starts with 100, but initialValue is 1',
  ],
  [
    'a counter not yet past its first value, of an ORM that fetches twice',
    POOLED,
    'CREATE SEQUENCE order_seq INCREMENT 10',
    'gives 1 next, so NHibernate has not made its first ids yet',
  ],
  [
    'such a counter between the two fetches',
    POOLED,
    "CREATE SEQUENCE order_seq INCREMENT 10; SELECT nextval('order_seq')",
    'gives 11 next, so NHibernate',
  ],
  [
    'such a counter in a table',
    {
      strategy: 'nhibernate-pooled',
      table: 'hi',
      column: 'v',
      blockSize: 10,
      maxId: 'int4',
      ids: false,
    },
    'CREATE TABLE hi (v bigint); INSERT INTO hi VALUES (11)',
    'gives 11 next, so',
  ],
  ['a table that is not there', HILO_TABLE, '', 'There is no table hi in this database'],
  [
    'a column that is not there',
    HILO_TABLE,
    'CREATE TABLE hi (hi int)',
    'Table public.hi has no column next_hi',
  ],
  [
    'a column of a where that is not there',
    { ...HILO_TABLE, where: { entity: 'Order' } },
    'CREATE TABLE hi (next_hi int)',
    'Table public.hi has no column entity',
  ],
  [
    'a column of a type too small',
    HILO_TABLE,
    'CREATE TABLE hi (next_hi smallint); INSERT INTO hi VALUES (0)',
    'hi.next_hi is smallint and ends at 32767, before the ids reach maxId 2147483647',
  ],
  [
    'a column that does not count',
    HILO_TABLE,
    'CREATE TABLE hi (next_hi double precision); INSERT INTO hi VALUES (0)',
    'is double precision, which does not count exactly',
  ],
  [
    'no row',
    HILO_TABLE,
    'CREATE TABLE hi (next_hi int)',
    'There is no row for public.hi.next_hi. Correct `where`, or let Hibernate create its row',
  ],
  [
    'no row for a where',
    { ...HILO_TABLE, where: { e: 'Order' } },
    "CREATE TABLE hi (e text, next_hi int); INSERT INTO hi VALUES ('Line', 1)",
    "There is no row for public.hi.next_hi where e = 'Order'. The table has rows for e = 'Line'. " +
      'Correct',
  ],
  [
    'several rows',
    HILO_TABLE,
    'CREATE TABLE hi (next_hi int); INSERT INTO hi VALUES (0), (0)',
    'There are several rows for public.hi.next_hi',
  ],
  [
    'no value',
    HILO_TABLE,
    'CREATE TABLE hi (next_hi int); INSERT INTO hi VALUES (NULL)',
    'hi.next_hi is NULL',
  ],
  [
    'a table that a crash empties',
    HILO_TABLE,
    'CREATE UNLOGGED TABLE hi (next_hi int); INSERT INTO hi VALUES (0)',
    'Table public.hi is UNLOGGED',
  ],
  [
    'keys that may be there twice',
    TABLE,
    KEYLESS,
    'may have several rows per sequence_name: it has no primary key or unique index on exactly ' +
      'that. Two processes that start at once would both begin at the first id. Stop the back ' +
      'end, then: ' +
      'ALTER TABLE public.hibernate_sequences ADD PRIMARY KEY ("sequence_name").',
  ],
  [
    'a key that is not there',
    { strategy: 'marten', entity: 'order', maxLo: 1000, maxId: 'int4', ids: false },
    'CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value bigint); INSERT INTO mt_hilo ' +
      "VALUES ('Order', 4), ('Line', 0)",
    "There is no row for public.mt_hilo.hi_value where entity_name = 'order'. The table " +
      'has rows for ' +
      "entity_name = 'Line'; entity_name = 'Order'. Set entity to the key that Marten uses: the " +
      "document's .NET type, as in Order. Another key would be a second counter, with the same " +
      'ids. If Marten has made no id yet, and its tables are empty, let it make one, or start ' +
      'once with --first. Else stop the back end, and run npx offline-hilo-server adopt Shop ' +
      'Orders --from <table>.<column> --apply. Both make the row under exactly this key, above ' +
      'the highest id.',
  ],
  [
    'a key that is not there, in an empty table',
    TABLE,
    SEGMENTS,
    "There is no row for public.hibernate_sequences.next_val where sequence_name = 'Order'. Set " +
      'segment to the key that Hibernate 5.3 and later uses: the pkColumnValue of the ' +
      '@TableGenerator',
  ],
  [
    'a key that is not there, among many',
    { strategy: 'textbook', segment: 'orders', blockSize: 10, maxId: 'int4', ids: false },
    'CREATE TABLE hilo_next_hi (name text PRIMARY KEY, next_hi bigint NOT NULL); INSERT INTO ' +
      "hilo_next_hi SELECT 'kind ' || chr(96 + i), 0 FROM generate_series(1, 11) i",
    "name = 'kind j'; and more.",
  ],
  [
    'keys that are unique only with another column',
    TABLE,
    'CREATE TABLE hibernate_sequences (sequence_name text, site int, next_val bigint, UNIQUE ' +
      '(sequence_name, site))',
    'may have several rows per',
  ],
  [
    'keys that are in an index that is not unique',
    TABLE,
    `${KEYLESS}; CREATE INDEX ON hibernate_sequences (sequence_name)`,
    'may have several rows per',
  ],
  [
    'keys that are unique in some rows only',
    TABLE,
    `${KEYLESS}; CREATE UNIQUE INDEX ON hibernate_sequences (sequence_name) WHERE next_val > 100`,
    'may have several rows per',
  ],
  [
    'keys that are unique only with an expression',
    TABLE,
    `${KEYLESS}; CREATE UNIQUE INDEX ON hibernate_sequences (sequence_name, (next_val % 2))`,
    'may have several rows per',
  ],
  [
    'what duplicates in Doctrine itself',
    { strategy: 'doctrine-table', segment: 'orders', maxId: 'int4', ids: false },
    `${DOCTRINE}; INSERT INTO sequences VALUES ('orders', 1, 10)`,
    "has sequence_increment_by 10, and Doctrine DBAL's TableGenerator then makes the first id of " +
      'each block twice. Set sequence_increment_by to 1',
  ],
]

describe('a first row', () => {
  const marten = (entity: string) =>
    ({ strategy: 'marten', entity, maxLo: 10, maxId: 'int4', ids: false }) as const
  const SCHEMA =
    'CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value bigint); INSERT INTO mt_hilo ' +
    "VALUES ('Line', 7)"
  const rowsOf = async (databaseUrl: string) =>
    (await runSql(databaseUrl, 'SELECT entity_name, hi_value FROM mt_hilo ORDER BY 1')).rows

  test('is made on the word of the operator, once', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, SCHEMA)
    const options = { databaseUrl, collections: { Shop: { Orders: marten('Order') } } }
    const start = async (first: boolean) => {
      const ledger = await openLedger({ create: true, ...options, first })
      cleanups.push(() => ledger.close())
      return ledger
    }
    await expect(start(false)).rejects.toThrow('start once with --first')
    expect(await check({ ...options, first: true })).toContain('the next ids are 1 to 10')
    expect(await rowsOf(databaseUrl)).toEqual([{ entity_name: 'Line', hi_value: '7' }])
    // Several servers may start so at once.
    await Promise.all([start(true), start(true), start(true)])
    expect(await rowsOf(databaseUrl)).toEqual([
      { entity_name: 'Line', hi_value: '7' },
      { entity_name: 'Order', hi_value: '-1' },
    ])
    const ledger = await start(false)
    const wish = { database: 'Shop', collection: 'orders', lastMax: 0, serverTag: 'A', at: 0 }
    const claim = async () =>
      grantOf((await ledger.claim([{ ...wish, id: newId(), count: 10 }]))[0]!)
    expect(await claim()).toMatchObject({ low: 1, high: 10 })
    expect(await (await start(true)).status()).toHaveLength(1)
    expect(await claim()).toMatchObject({ low: 11, high: 20 })
  })

  test('that is gone later is not made anew: nothing is granted', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, SCHEMA)
    const ledger = await open(databaseUrl, marten('Line'))
    await runSql(databaseUrl, "UPDATE mt_hilo SET entity_name = 'line'")
    await expect(
      ledger.claim([
        {
          database: 'Shop',
          collection: 'orders',
          id: newId(),
          count: 1,
          lastMax: 0,
          serverTag: 'A',
          at: 0,
        },
      ]),
    ).rejects.toThrow("mt_hilo.hi_value where entity_name = 'Line'")
    expect(await rowsOf(databaseUrl)).toEqual([{ entity_name: 'line', hi_value: '7' }])
  })
})

const POOLED_LO = {
  strategy: 'hibernate-pooled-lo',
  sequence: 'order_seq',
  blockSize: 50,
  maxId: 'int4',
  ids: 'orders.id',
  proved: false,
} as const
const ORDERS = 'CREATE TABLE orders (id int PRIMARY KEY)'
/** What Hibernate's pooled optimizer leaves: a value that was taken, and rows below it. */
const pooledOrders = (taken: number, ...ids: number[]) =>
  `CREATE SEQUENCE order_seq INCREMENT 50; SELECT setval('order_seq', ${taken}); ${ORDERS};
   INSERT INTO orders VALUES ${ids.map((id) => `(${id})`).join(', ')}`

describe('compared with the ids of the table', () => {
  test.each<[what: string, settings: CounterOptions, schema: string, message: string]>([
    [
      'pooled-lo beside pooled, once its block is under way',
      POOLED_LO,
      pooledOrders(51, 1, 2),
      'With hibernate-pooled-lo and blockSize 50 the last block begins at 51, and no id of it is ' +
        'there. hibernate-pooled fits.',
    ],
    [
      'pooled beside pooled-lo',
      { ...POOLED_LO, strategy: 'hibernate-pooled' },
      pooledOrders(51, 51, 52),
      'The highest id in public.orders.id is 52. With hibernate-pooled and blockSize 50, ' +
        'sequence ' +
        'public.order_seq gives 52 next: ids would come twice.',
    ],
    [
      'a smaller maxLo than the back end has',
      { ...HILO_TABLE, ids: 'orders.id', proved: false },
      `CREATE TABLE hi (next_hi int); INSERT INTO hi VALUES (3); ${ORDERS};
       INSERT INTO orders VALUES (65536)`,
      'The highest id in public.orders.id is 65536. With hibernate-hilo-table and maxLo 9, ' +
        'public.hi.next_hi gives 30 next: ids would come twice.',
    ],
    [
      'a table that is not there',
      POOLED_LO,
      'CREATE SEQUENCE order_seq INCREMENT 50',
      'There is no table orders in this database',
    ],
  ])('%s is refused', async (_, settings, schema, message) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, schema)
    await expect(open(databaseUrl, settings)).rejects.toThrow(message)
    const checkWith = (ids: CounterOptions['ids']) =>
      check({ databaseUrl, collections: { Shop: { orders: { ...settings, ids } } } })
    await expect(checkWith(settings.ids)).rejects.toThrow(message)
    expect(await checkWith(false)).toContain('not compared with the ids in use')
  })

  test.each<[what: string, settings: CounterOptions, schema: string]>([
    ['pooled-lo', POOLED_LO, pooledOrders(51, 51, 52)],
    ['pooled', { ...POOLED_LO, strategy: 'hibernate-pooled' }, pooledOrders(51, 1, 2)],
    ['pooled-lo beside pooled, when its only id could be of both', POOLED_LO, pooledOrders(1, 1)],
    ['a table without rows', POOLED_LO, `CREATE SEQUENCE order_seq INCREMENT 50; ${ORDERS}`],
    [
      'rows above which blocks were lost',
      { ...EFCORE, ids: 'public.orders.id', proved: false },
      `CREATE SEQUENCE order_seq INCREMENT 10; SELECT setval('order_seq', 91); ${ORDERS};
       INSERT INTO orders VALUES (12)`,
    ],
  ])('%s passes', async (_, settings, schema) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, schema)
    const options = { databaseUrl, collections: { Shop: { orders: settings } } }
    expect(await check(options)).toContain('not contradicted by the ids in public.orders.id')
    await open(databaseUrl, settings)
  })
})

describe('at the start', () => {
  test.each(REFUSED)('%s is refused', async (_, settings, schema, message) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, schema)
    await expect(open(databaseUrl, settings)).rejects.toThrow(message)
  })

  test('keys with an index that could not be made unique are refused', async () => {
    const databaseUrl = await newDatabase()
    await runSql(
      databaseUrl,
      `${KEYLESS}; INSERT INTO hibernate_sequences VALUES ('Order', 0), ('Order', 50)`,
    )
    const indexing = runSql(
      databaseUrl,
      'CREATE UNIQUE INDEX CONCURRENTLY ON hibernate_sequences (sequence_name)',
    )
    await expect(indexing).rejects.toThrow('could not create unique index')
    await runSql(databaseUrl, 'DELETE FROM hibernate_sequences WHERE next_val = 50')
    await expect(open(databaseUrl, TABLE)).rejects.toThrow('may have several rows per')
  })

  test('every problem of every collection is told at once', async () => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, 'CREATE SEQUENCE order_seq CYCLE')
    const collections = { Shop: { orders: EFCORE, lines: HILO_TABLE } }
    const error: Error = await openLedger({ create: true, databaseUrl, collections }).catch(
      (error) => error,
    )
    expect(error.message.split('\n')).toEqual([
      'These collections cannot be bound:',
      expect.stringMatching(/^ {2}shop\/orders: .* moves by 1/),
      expect.stringMatching(/^ {2}shop\/orders: .* is CYCLE/),
      expect.stringMatching(/^ {2}shop\/lines: There is no table hi/),
    ])
  })

  test.each([
    [
      'a sequence it may not take from',
      EFCORE,
      'CREATE SEQUENCE order_seq INCREMENT 10; GRANT SELECT ON order_seq TO hilo_check_role',
      'GRANT USAGE, SELECT ON SEQUENCE public.order_seq TO "hilo_check_role"',
    ],
    [
      'a sequence it may not read',
      EFCORE,
      'CREATE SEQUENCE order_seq INCREMENT 10; GRANT USAGE ON SEQUENCE order_seq TO ' +
        'hilo_check_role',
      'may not take from sequence public.order_seq',
    ],
    [
      'a table it may not move',
      HILO_TABLE,
      'CREATE TABLE hi (next_hi int); INSERT INTO hi VALUES (0); GRANT SELECT ON hi TO ' +
        'hilo_check_role',
      'GRANT SELECT, UPDATE ON public.hi',
    ],
    [
      'a table whose rows it may not tell apart',
      { ...HILO_TABLE, where: { entity: 'Order' } },
      `CREATE TABLE hi (entity text, next_hi int); INSERT INTO hi VALUES ('Order', 0);
       GRANT SELECT (next_hi), UPDATE ON hi TO hilo_check_role`,
      'GRANT SELECT, UPDATE ON public.hi',
    ],
    [
      'a table it may not add to',
      TABLE,
      `${SEGMENTS}; GRANT SELECT, UPDATE ON hibernate_sequences TO hilo_check_role`,
      'GRANT INSERT, SELECT, UPDATE ON',
    ],
    [
      'a schema it may not look into',
      { ...EFCORE, sequence: 'sales.order_seq' },
      'CREATE SCHEMA sales; CREATE SEQUENCE sales.order_seq INCREMENT 10',
      'sequence sales.order_seq cannot be used. PostgreSQL says: permission denied for ' +
        'schema sales',
    ],
  ] as const)('for a role without the rights: %s', async (_, settings, schema, message) => {
    const databaseUrl = await newDatabase()
    await (await openLedger({ create: true, databaseUrl })).close()
    await runSql(
      databaseUrl,
      `DROP ROLE IF EXISTS hilo_check_role; CREATE ROLE hilo_check_role LOGIN;
       GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO hilo_check_role; ${schema}`,
    )
    cleanups.push(() =>
      runSql(databaseUrl, 'DROP OWNED BY hilo_check_role; DROP ROLE hilo_check_role'),
    )
    const url = new URL(databaseUrl)
    url.username = 'hilo_check_role'
    await expect(open(url.href, settings, true)).rejects.toThrow(message)
  })

  test.each([
    [
      'another block size',
      { ...EFCORE, blockSize: 20 },
      'ALTER SEQUENCE order_seq INCREMENT 20',
      'with blockSize 10, the configuration says efcore on sequence public.order_seq with ' +
        'blockSize 20',
    ],
    ['another strategy', { ...EFCORE, strategy: 'hibernate-pooled' }, '', 'knows it as efcore on'],
    [
      'another counter',
      { ...EFCORE, sequence: 'other' },
      'CREATE SEQUENCE other INCREMENT 10',
      'npx offline-hilo-server adopt Shop Orders --from',
    ],
  ] as const)('%s than the ledger has seen', async (_, settings, change, message) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, 'CREATE SEQUENCE order_seq INCREMENT 10')
    await open(databaseUrl, EFCORE)
    await runSql(databaseUrl, change)
    await expect(open(databaseUrl, settings)).rejects.toThrow(message)
  })

  test.each([
    [100, 91],
    [1, 1],
  ])('a counter below what was granted before: %i, at %i', async (count, start) => {
    const databaseUrl = await newDatabase()
    const own = await openLedger({ create: true, databaseUrl })
    await own.claim([
      { database: 'shop', collection: 'orders', count, lastMax: 0, serverTag: 'A', at: 0 },
    ])
    await own.close()
    await runSql(databaseUrl, `CREATE SEQUENCE order_seq START ${start} INCREMENT 10`)
    await expect(open(databaseUrl, EFCORE)).rejects.toThrow(
      `gives ${start} next, whose ids are not above ${count}, and up to there ids were granted`,
    )
    await runSql(databaseUrl, "SELECT setval('order_seq', 101, false)")
    await open(databaseUrl, EFCORE)
  })
})

test('a server that meets a changed counter on a new connection takes nothing', async () => {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, 'CREATE SEQUENCE order_seq INCREMENT 10')
  const ledger = await open(databaseUrl, EFCORE)
  const claim = () =>
    ledger.claim([
      {
        database: 'Shop',
        collection: 'orders',
        id: newId(),
        count: 10,
        lastMax: 0,
        serverTag: 'A',
        at: 0,
      },
    ])
  expect(grantOf((await claim())[0]!)).toMatchObject({ low: 1, high: 10 })
  await runSql(
    databaseUrl,
    `ALTER SEQUENCE order_seq CYCLE;
     SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'offline-hilo'`,
  )
  await expect
    .poll(() => claim().catch((error) => error.message), { timeout: 10_000 })
    .toContain('order_seq is CYCLE')
  await runSql(databaseUrl, 'ALTER SEQUENCE order_seq NO CYCLE')
  expect(grantOf((await claim())[0]!)).toMatchObject({ low: 11, high: 20 })
})
