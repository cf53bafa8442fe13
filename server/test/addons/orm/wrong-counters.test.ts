/**
 * A counter that is not as its configuration says: one message says so, `check` and the server
 * refuse it alike, and neither changes anything.
 */
import { expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { check } from '../../../src/cli/counters.js'
import { openLedger } from '../../../src/index.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const MARTEN: CounterOptions = {
  strategy: 'marten',
  entity: 'Order',
  maxLo: 10,
  maxId: 'int4',
  ids: false,
}
const marten = (column: string, value: string) =>
  `CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value ${column});
   INSERT INTO mt_hilo VALUES ('Order', ${value})`
const TEXTBOOK: CounterOptions = {
  strategy: 'textbook',
  segment: 'orders',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
}
const TABLE: CounterOptions = {
  strategy: 'hibernate-table',
  segment: 'orders',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
}
const DOCTRINE: CounterOptions = {
  strategy: 'doctrine-table',
  segment: 'orders',
  maxId: 'int4',
  ids: false,
}
const EFCORE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'Seq',
  blockSize: 10,
  maxId: 'int4',
  ids: false,
}

type Wrong = [what: string, settings: CounterOptions, schema: string, message: string]

const ANYWAY: Wrong[] = [
  ['a fraction', MARTEN, marten('numeric', '5.5'), 'is 5.5, and a counter is a whole number'],
  ['a price', MARTEN, marten('numeric(12,2)', '5'), 'is 5.00, and a counter is a whole number'],
  ['no number', MARTEN, marten('numeric', "'NaN'"), 'is NaN, and a counter is a whole number'],
  ['three digits', MARTEN, marten('numeric(3)', '5'), 'hi_value is numeric and ends at 999,'],
  ['a counter below 0', MARTEN, marten('bigint', '-70'), 'gives -69 next, and no id is below 1'],
  [
    'a sequence below 0',
    EFCORE,
    'CREATE SEQUENCE "Seq" INCREMENT 10 MINVALUE -1000 START -500',
    'sequence public."Seq" gives -500 next, and no id is below 1',
  ],
  ['a sequence backwards', EFCORE, 'CREATE SEQUENCE "Seq" INCREMENT -10', 'moves by -10, but'],
  [
    'a view over a sequence',
    EFCORE,
    'CREATE VIEW "Seq" AS SELECT 1 AS last_value',
    'public."Seq" is no sequence',
  ],
  [
    'a view over a table',
    MARTEN,
    `${marten('bigint', '5')}; ALTER TABLE mt_hilo RENAME TO base;
     CREATE VIEW mt_hilo AS SELECT * FROM base`,
    'mt_hilo is no table',
  ],
  [
    'a generated column',
    TABLE,
    `CREATE TABLE hibernate_sequences (
       sequence_name text PRIMARY KEY, next_val bigint GENERATED ALWAYS AS (5) STORED)`,
    'next_val is generated from other columns, so nobody can move it',
  ],
  [
    'keys of another type',
    TABLE,
    'CREATE TABLE hibernate_sequences (sequence_name uuid PRIMARY KEY, next_val bigint)',
    'Give the key as Hibernate 5.3 and later has it',
  ],
]

const WITHOUT_FIRST: Wrong[] = [
  ["the textbook's table is missing", TEXTBOOK, '', 'There is no table hilo_next_hi'],
  [
    "the table's name in place of Hibernate's default",
    TABLE,
    `CREATE TABLE hibernate_sequences (sequence_name text PRIMARY KEY, next_val bigint);
     INSERT INTO hibernate_sequences VALUES ('default', 50)`,
    "The table has rows for sequence_name = 'default'.",
  ],
]

const WITH_FIRST: Wrong[] = [
  [
    'a first row that needs another column',
    DOCTRINE,
    `CREATE TABLE sequences (sequence_name text PRIMARY KEY, sequence_value bigint,
       sequence_increment_by int, tenant text NOT NULL, at date NOT NULL DEFAULT now())`,
    'A row of table public.sequences needs tenant, too, which --first does not know',
  ],
]

/** All that is there but the ledger: relations and their rights, where sequences are, and rows. */
const STATE = `
  SELECT json_build_array(
    (SELECT json_agg(row(relname, relkind, relacl) ORDER BY relname) FROM pg_class c
     WHERE relnamespace = 'public'::regnamespace
       AND (relname NOT LIKE 'hilo\\_%' OR relname LIKE 'hilo\\_next%')),
    (SELECT json_agg(row(sequencename, last_value)) FROM pg_sequences),
    (SELECT json_agg(query_to_xml(format('SELECT * FROM %I', relname), true, false, '')::text)
     FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
       AND (relname NOT LIKE 'hilo\\_%' OR relname LIKE 'hilo\\_next%'))) AS state`

const cases = (wrong: Wrong[], first: boolean) =>
  wrong.map(([what, ...rest]) => [what, first ? ', with --first' : '', first, ...rest] as const)

test.each([
  ...cases([...ANYWAY, ...WITHOUT_FIRST], false),
  ...cases([...ANYWAY, ...WITH_FIRST], true),
])('%s%s: is refused, and nothing changes', async (_, __, first, settings, schema, message) => {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, schema)
  const state = async () => (await runSql(databaseUrl, STATE)).rows[0].state
  const before = await state()
  const options = { databaseUrl, collections: { Shop: { orders: settings } }, first }
  const said: Error = await check(options).catch((error) => error)
  expect(said.message).toContain(message)
  expect(said.message.split('\n')).toHaveLength(1)
  await expect(openLedger({ create: true, ...options })).rejects.toThrow(said.message)
  expect(await state()).toEqual(before)
})
