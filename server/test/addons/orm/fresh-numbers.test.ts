/**
 * What is left of an ORM's block waits for claims without an id. Here it is beside everything that
 * moves a floor or a counter.
 */
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { adopt } from '../../../src/cli/counters.js'
import { openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const KEY = { database: 'Shop', collection: 'orders' }
const BLOCK = 1_000
const EFCORE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'seq',
  blockSize: BLOCK,
  maxId: 'int8',
  ids: false,
}
const SEQUENCE = `CREATE SEQUENCE seq INCREMENT ${BLOCK}`

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(settings: CounterOptions = EFCORE, schema = SEQUENCE) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, schema)
  const options = { databaseUrl, collections: { Shop: { orders: settings } }, first: true }
  const ledger = await openLedger({ create: true, ...options })
  cleanups.push(() => ledger.close())
  const take = async (change: object) => {
    const wish = { ...KEY, id: undefined, count: 32, lastMax: 0, serverTag: 'A', at: 0, ...change }
    return grantOf((await ledger.claim([wish]))[0]!)
  }
  return {
    options,
    ledger,
    plain: async (change: object = {}) => span(await take(change)),
    withId: async (change: object = {}) => span(await take({ id: newId(), ...change })),
    take,
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
  }
}

/** Each with 1000 ids per value. */
const SETTINGS: [title: string, settings: CounterOptions, schema: string][] = [
  ['efcore', EFCORE, SEQUENCE],
  [
    'hibernate-table with hilo',
    {
      strategy: 'hibernate-table',
      segment: 'orders',
      optimizer: 'hilo',
      blockSize: BLOCK,
      maxId: 'int8',
      ids: false,
    },
    'CREATE TABLE hibernate_sequences (sequence_name text PRIMARY KEY, next_val bigint)',
  ],
  [
    'hibernate-hilo-table',
    {
      strategy: 'hibernate-hilo-table',
      table: 'hi',
      column: 'next_hi',
      maxLo: BLOCK - 1,
      maxId: 'int8',
      ids: false,
    },
    'CREATE TABLE hi (next_hi bigint); INSERT INTO hi VALUES (0)',
  ],
]

describe.each(SETTINGS)('%s', (_, settings, schema) => {
  test('a floor within the block takes what is below it out of the stock', async () => {
    const { ledger, plain, withId } = await open(settings, schema)
    // Of pooled's first value there is only the id 1.
    await plain({ count: 1 })
    const [, high] = await plain()
    await ledger.raiseFloor({ ...KEY, floor: high + 100 })
    expect((await plain())[0]).toBeGreaterThan(high + 100)
    expect((await withId())[0]).toBeGreaterThan(high + 100)
  })

  test('a floor above the block leaves nothing of it, and moves the counter', async () => {
    const { ledger, plain, withId } = await open(settings, schema)
    await plain()
    await ledger.raiseFloor({ ...KEY, floor: 4_321 })
    expect((await ledger.status())[0]!.free).toBe(0)
    const [first, second] = [await plain(), await withId()]
    expect(first[0]).toBeGreaterThan(4_321)
    expect(second[0]).toBeGreaterThan(first[1])
  })

  test('a client that saw more than was granted: nothing of the stock is used', async () => {
    const { plain, withId } = await open(settings, schema)
    await plain()
    expect((await plain({ lastMax: 5_000 }))[0]).toBeGreaterThan(5_000)
    expect((await withId())[0]).toBeGreaterThan(5_000)
  })

  test('whoever adopts keeps the stock: it came from this counter', async () => {
    const { options, plain, withId, sql } = await open(settings, schema)
    const [, high] = await plain()
    await sql('CREATE TABLE orders (id bigint); INSERT INTO orders VALUES (7777)')
    await adopt(options, { ...KEY, from: 'orders.id', isApplied: true })
    const all = [await plain(), await withId(), await plain(), await withId({ count: 2_000 })]
    for (const [i, [low]] of all.entries())
      expect(low).toBeGreaterThan(i > 0 ? all[i - 1]![1] : high)
    expect(all.at(-1)![0]).toBeGreaterThan(7_777)
  })
})

test('what came back is told apart from it, also by the next server', async () => {
  const { plain, withId, take, ledger, sql } = await open()
  const { low, high, token } = await take({ id: newId() })
  await ledger.giveBack({ ...KEY, end: high, last: low - 1, token, at: 0 })
  expect(await sql('SELECT free, fresh FROM hilo_collections')).toEqual([
    { free: '[[1,32]]', fresh: '[[33,1000]]' },
  ])
  expect(await plain()).toEqual([33, 64])
  expect(await withId()).toEqual([1, 32])
})
test('after a restore nothing is granted below what the client saw', async () => {
  const { plain, sql } = await open()
  await plain()
  await sql(
    `CREATE TABLE counters AS SELECT * FROM hilo_collections;
     CREATE TABLE grants AS SELECT * FROM hilo_grants`,
  )
  expect(await plain()).toEqual([33, 64])
  expect(await plain()).toEqual([65, 96])
  await sql(
    `DELETE FROM hilo_collections; INSERT INTO hilo_collections SELECT * FROM counters;
     DELETE FROM hilo_grants; INSERT INTO hilo_grants SELECT * FROM grants`,
  )
  expect(await plain({ lastMax: 96 })).toEqual([97, 128])
})

describe('docs/counters-reference.md: what twenty claims without an id each use', () => {
  const page = readFileSync(
    new URL('../../../../docs/counters-reference.md', import.meta.url),
    'utf8',
  )
  const KEYED = (table: string, key: string, column: string) =>
    `CREATE TABLE ${table} (${key} text PRIMARY KEY, ${column} bigint)`
  const onSequence = { sequence: 'seq', maxId: 'int8', ids: false } as const
  const every = (ids: number) => `CREATE SEQUENCE seq INCREMENT ${ids}`
  const BY_DEFAULT: [ids: number, settings: CounterOptions, schema: string][] = [
    [10, { strategy: 'efcore', ...onSequence, blockSize: 10 }, every(10)],
    [50, { strategy: 'hibernate-pooled', ...onSequence, blockSize: 50 }, every(50)],
    [50, { strategy: 'hibernate-pooled-lo', ...onSequence, blockSize: 50 }, every(50)],
    [50, { strategy: 'hibernate-hilo', ...onSequence, blockSize: 50 }, every(1)],
    [
      50,
      { strategy: 'hibernate-table', segment: 'orders', blockSize: 50, maxId: 'int8', ids: false },
      KEYED('hibernate_sequences', 'sequence_name', 'next_val'),
    ],
    [
      101,
      {
        strategy: 'nhibernate-hilo-table',
        table: 'hi',
        column: 'next_hi',
        maxLo: 100,
        maxId: 'int8',
        ids: false,
      },
      'CREATE TABLE hi (next_hi bigint); INSERT INTO hi VALUES (1)',
    ],
    [101, { strategy: 'nhibernate-seqhilo', ...onSequence, maxLo: 100 }, every(1)],
    [
      1_000,
      { strategy: 'marten', entity: 'Order', maxLo: 1_000, maxId: 'int8', ids: false },
      KEYED('mt_hilo', 'entity_name', 'hi_value'),
    ],
    [10, { strategy: 'doctrine', ...onSequence, blockSize: 10 }, every(10)],
    [
      100,
      { strategy: 'textbook', segment: 'orders', blockSize: 100, maxId: 'int8', ids: false },
      'SELECT 1',
    ],
  ]

  test.each(BY_DEFAULT)('%i ids per value: %j', async (ids, settings, schema) => {
    const { plain, ledger } = await open(settings, schema)
    let granted = 0
    let first = Number.POSITIVE_INFINITY
    for (let i = 0; i < 20; i++) {
      const [low, high] = await plain()
      granted += high - low + 1
      first = Math.min(first, low)
    }
    const { max } = (await ledger.status())[0]!
    expect(page).toContain(
      `| \`${settings.strategy}\` | ${ids} | ${granted} | ${first} to ${max} |`,
    )
  })
})
