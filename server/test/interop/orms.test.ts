/**
 * Doctrine and Hibernate themselves store orders while this server grants ranges of the same ids:
 * none is used twice.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../src/bound/orm/binding.js'
import { openLedger } from '../../src/index.js'
import { newFolder } from '../folders.js'
import { grantOf, newId } from '../ledger-bench.js'
import { newDatabase } from '../postgres.js'
import { runSql } from '../postgres-cluster.js'

const PROCESSES = 3
const KEY = { database: 'Shop', collection: 'orders' }
const JARS = [
  'antlr',
  'commons-collections3',
  'dom4j',
  'geronimo-jpa_2.0_spec',
  'geronimo-jta-1.2-spec',
  'hibernate-commons-annotations',
]
const CLASSPATH = [...JARS, 'hibernate3', 'postgresql', 'slf4j-api', 'slf4j-nop'].map(
  (jar) => `/usr/share/java/${jar}.jar`,
)

/** A process of the back end that stores so many orders and prints their ids. */
type Store = (databaseUrl: URL, count: number) => [command: string, args: string[]]

interface Case {
  title: string
  settings: CounterOptions
  schema: string
  store: Store
}

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function run([command, args]: [string, string[]]): Promise<number[]> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [ids, errors] = ['', '']
  child.stdout.on('data', (chunk) => (ids += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0)
    throw new Error(`${command} ended with ${code}:\n${errors.slice(-2_000)}${ids.slice(-2_000)}`)
  return ids.trim().split('\n').map(Number)
}

async function meet({ settings, schema, store }: Case, count: number): Promise<void> {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, `CREATE TABLE orders (id bigint PRIMARY KEY); ${schema}`)
  const url = new URL(databaseUrl)
  // The first ids are made before anybody else comes.
  const byOrm = await run(store(url, 1))
  const ledger = await openLedger({ databaseUrl, collections: { Shop: { orders: settings } } })
  cleanups.push(() => ledger.close())
  let isOver = false
  const processes = Promise.all(
    Array.from({ length: PROCESSES }, () => run(store(url, count))),
  ).finally(() => {
    isOver = true
  })
  const byServer: number[] = []
  const claim = async (first: number) => {
    for (let i = first; !isOver; i++) {
      const [outcome] = await ledger.claim([
        { ...KEY, id: newId(), count: 1 + ((i * 13) % 60), lastMax: 0, serverTag: 'A', at: 0 },
      ])
      const { low, high } = grantOf(outcome!)
      for (let id = low; id <= high; id++) byServer.push(id)
    }
  }
  await Promise.all([processes, ...[1, 2, 3, 4].map(claim)])
  byOrm.push(...(await processes).flat())
  expect(byOrm.length).toBeGreaterThan(PROCESSES * count)
  expect(byServer.length).toBeGreaterThan(100)
  expect(byOrm.every(Number.isSafeInteger)).toBe(true)
  const all = [...byOrm, ...byServer]
  expect(new Set(all).size).toBe(all.length)
}

const canDoctrine =
  existsSync('/usr/share/php/Doctrine/ORM/autoload.php') && existsSync('/usr/bin/php')
if (!canDoctrine)
  console.log(
    'Doctrine is not installed, and its tests are left out. Debian has it: apt-get install ' +
      'php-cli php-pgsql php-doctrine-orm',
  )

describe.runIf(canDoctrine)('Doctrine', () => {
  const php =
    (kind: string): Store =>
    ({ hostname, port, pathname }, count) => [
      'php',
      [
        join(import.meta.dirname, 'Taker.php'),
        hostname,
        port,
        pathname.slice(1),
        String(count),
        kind,
      ],
    ]

  test.each<Case>([
    {
      title: 'SequenceGenerator, allocationSize 10',
      settings: { strategy: 'doctrine', sequence: 'order_seq', blockSize: 10, maxId: 'int4' },
      schema: 'CREATE SEQUENCE order_seq INCREMENT BY 10 MINVALUE 1 START 1',
      store: php('sequence'),
    },
    {
      title: 'TableGenerator',
      settings: { strategy: 'doctrine-table', segment: 'orders', maxId: 'int4' },
      schema:
        'CREATE TABLE sequences (sequence_name varchar(255) PRIMARY KEY, sequence_value int ' +
        'DEFAULT 1 NOT NULL, sequence_increment_by int DEFAULT 1 NOT NULL)',
      store: php('table'),
    },
  ])('$title', (one) => meet(one, 1_000))
})

const canHibernate = [...CLASSPATH, '/usr/bin/java', '/usr/bin/ecj'].every((file) =>
  existsSync(file),
)
if (!canHibernate)
  console.log(
    'Hibernate is not installed, and its tests are left out. Debian has it: apt-get install ' +
      'libhibernate3-java libpostgresql-jdbc-java ecj',
  )

describe.runIf(canHibernate)('Hibernate 3.6', () => {
  const classes = newFolder()
  beforeAll(() => {
    const options = [
      '-proc:none',
      '-source',
      '8',
      '-target',
      '8',
      '-cp',
      CLASSPATH.join(':'),
      '-d',
      classes,
    ]
    execFileSync('ecj', [...options, join(import.meta.dirname, 'Taker.java')], { stdio: 'pipe' })
  })
  const java =
    (generator: string, parameters: Record<string, string | number>): Store =>
    ({ hostname, port, pathname }, count) => [
      'java',
      [
        '-cp',
        [...CLASSPATH, classes].join(':'),
        'Taker',
        `jdbc:postgresql://${hostname}:${port}${pathname}?user=postgres`,
        String(count),
        generator,
        ...Object.entries(parameters).map(([name, value]) => `${name}=${value}`),
      ],
    ]
  const maxId = 'int4'
  const segments = (column: string) =>
    'CREATE TABLE hibernate_sequences (sequence_name varchar(255) NOT NULL PRIMARY KEY, ' +
    `${column} integer)`

  test.each<Case>([
    {
      title: 'SequenceHiLoGenerator (seqhilo)',
      settings: { strategy: 'hibernate-seqhilo', sequence: 'order_seq', maxLo: 9, maxId },
      schema: 'CREATE SEQUENCE order_seq',
      store: java('seqhilo', { sequence: 'order_seq', max_lo: 9 }),
    },
    {
      title: 'TableHiLoGenerator (hilo)',
      settings: {
        strategy: 'hibernate-hilo-table',
        table: 'hibernate_unique_key',
        column: 'next_hi',
        maxLo: 9,
        maxId,
      },
      schema:
        'CREATE TABLE hibernate_unique_key (next_hi integer); INSERT INTO ' +
        'hibernate_unique_key VALUES (0)',
      store: java('hilo', { max_lo: 9 }),
    },
    {
      title: 'MultipleHiLoPerTableGenerator',
      settings: { strategy: 'hibernate-multi-hilo-table', segment: 'orders', maxLo: 9, maxId },
      schema: segments('sequence_next_hi_value'),
      store: java('org.hibernate.id.MultipleHiLoPerTableGenerator', {
        max_lo: 9,
        primary_key_value: 'orders',
      }),
    },
    {
      title: 'SequenceStyleGenerator, pooled',
      settings: {
        strategy: 'hibernate-pooled-before-4.3.11',
        sequence: 'order_seq',
        blockSize: 10,
        maxId,
      },
      schema: 'CREATE SEQUENCE order_seq START 1 INCREMENT 10',
      store: java('enhanced-sequence', {
        sequence_name: 'order_seq',
        increment_size: 10,
        optimizer: 'pooled',
      }),
    },
    {
      title: 'SequenceStyleGenerator in a table, pooled',
      settings: {
        strategy: 'hibernate-pooled-before-4.3.11',
        table: 'order_seq',
        column: 'next_val',
        blockSize: 10,
        maxId,
      },
      schema: 'CREATE TABLE order_seq (next_val bigint); INSERT INTO order_seq VALUES (1)',
      store: java('enhanced-sequence', {
        sequence_name: 'order_seq',
        increment_size: 10,
        optimizer: 'pooled',
        force_table_use: 'true',
      }),
    },
    {
      title: 'TableGenerator, pooled',
      settings: {
        strategy: 'hibernate-table-before-5.3',
        segment: 'orders',
        optimizer: 'pooled-before-4.3.11',
        blockSize: 10,
        maxId,
      },
      schema: segments('next_val'),
      store: java('enhanced-table', {
        segment_value: 'orders',
        increment_size: 10,
        optimizer: 'pooled',
      }),
    },
  ])('$title', (one) => meet(one, 500))
})
