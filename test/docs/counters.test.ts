/**
 * docs/counters.md as written: its configurations and SQL, on a real PostgreSQL with the counters
 * as each ORM's schema tool makes them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { counterSettings } from '../../server/src/addons/bound/orm/counter-options.js'
import { REFUSED_STRATEGIES, STRATEGIES } from '../../server/src/addons/bound/orm/strategies.js'
import { adopt, check } from '../../server/src/cli/counters.js'
import { type HiloServer, openLedger, type ServeOptions, serve } from '../../server/src/index.js'
import { readConfig } from '../../server/src/settings.js'
import { newFolder } from '../../server/test/folders.js'
import { newDatabase } from '../../server/test/postgres.js'
import { runSql } from '../../server/test/postgres-cluster.js'
import { startRaven } from '../../server/test/raven-cluster.js'
import { blocksOf } from './blocks.js'

type Collections = Record<string, Record<string, { strategy: string }>>

const read = (page: string) =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')
const PAGE = read('counters')
/** By heading. */
const SECTIONS = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .map((text): [string, string] => [text.slice(0, text.indexOf('\n')), text]),
)
const blocksIn = (text: string, language: string) =>
  blocksOf(text).flatMap((block) => (block.language === language ? [block.text] : []))
const CONFIGURATIONS = [...SECTIONS].flatMap(([section, text]) =>
  blocksIn(text, 'json').map((json): [string, { collections: Collections }] => [
    section,
    JSON.parse(json),
  ]),
)
const OF_ORMS = CONFIGURATIONS.filter(([section]) => section !== 'RavenDB')

/**
 * What is there when the back end has made its schema and one id, for the strategies that the page
 * configures.
 */
const SCHEMAS: Record<string, string> = {
  sequence: 'CREATE SEQUENCE orders_id_seq',
  efcore: 'CREATE SEQUENCE "EntityFrameworkHiLoSequence" START WITH 1 INCREMENT BY 10',
  'hibernate-pooled': 'CREATE SEQUENCE orders_seq START WITH 1 INCREMENT BY 50',
  'hibernate-pooled-lo':
    'CREATE TABLE order_seq (next_val bigint); INSERT INTO order_seq VALUES (1)',
  'hibernate-table':
    'CREATE TABLE order_ids (sequence_name varchar(255) NOT NULL PRIMARY KEY, next_val bigint); ' +
    "INSERT INTO order_ids VALUES ('orders', 50)",
  'hibernate-hilo-table':
    'CREATE TABLE hibernate_unique_key (next_hi integer); INSERT INTO hibernate_unique_key ' +
    'VALUES (0)',
  'hibernate-multi-hilo-table':
    'CREATE TABLE hibernate_sequences (sequence_name varchar(255), sequence_next_hi_value ' +
    "integer); INSERT INTO hibernate_sequences VALUES ('parts', 1)",
  'nhibernate-hilo-table': `
    CREATE TABLE hibernate_unique_key (TableKey varchar(255), next_hi integer);
    INSERT INTO hibernate_unique_key VALUES ('Order', 1), ('Line', 1)`,
  marten:
    'CREATE TABLE mt_hilo (entity_name varchar CONSTRAINT pk_mt_hilo PRIMARY KEY, hi_value ' +
    "bigint DEFAULT 0); INSERT INTO mt_hilo VALUES ('Order', 0)",
  doctrine: 'CREATE SEQUENCE orders_id_seq INCREMENT BY 10 MINVALUE 1 START 1',
  'doctrine-table': `
    CREATE TABLE sequences (
      sequence_name varchar(255) NOT NULL, sequence_value int DEFAULT 1 NOT NULL,
      sequence_increment_by int DEFAULT 1 NOT NULL
    );
    INSERT INTO sequences VALUES ('orders', 1, 1)`,
  textbook: '',
}

/** A table per collection, without rows. */
async function newShop(collections: Collections): Promise<string> {
  const databaseUrl = await newDatabase()
  for (const [tag, { strategy }] of Object.entries(collections.Shop!))
    await runSql(databaseUrl, `CREATE TABLE ${tag} (id bigint PRIMARY KEY); ${SCHEMAS[strategy]!}`)
  return databaseUrl
}

/** Rows with ids up to 1234, as an identity column made them. */
const addOrders = (databaseUrl: string, tag: string) =>
  runSql(databaseUrl, `INSERT INTO ${tag} VALUES (1), (1234) ON CONFLICT DO NOTHING`)

function fileOf(configuration: object): string {
  const file = join(newFolder(), 'hilo.json')
  writeFileSync(file, JSON.stringify(configuration))
  return file
}

async function start(options: ServeOptions): Promise<HiloServer> {
  const server = await serve({ create: true, ...options, port: 0 })
  onTestFinished(() => server.close())
  return server
}

async function claim(
  { url }: { url: string },
  tag: string,
): Promise<{ Low: number; High: number }> {
  const response = await fetch(`${url}/databases/Shop/hilo/next?tag=${tag}`)
  expect(response.status).toBe(201)
  return response.json()
}

describe.each(OF_ORMS)('%s: %j', (section, configuration) => {
  test('is checked, adopted and served', async () => {
    const databaseUrl = await newShop(configuration.collections)
    const options = readConfig({ config: fileOf(configuration), databaseUrl })
    const tags = Object.keys(configuration.collections.Shop!)
    await prepare(options, section)
    expect((await check(options)).trim().split('\n')).toEqual(
      tags.map((tag) => expect.stringMatching(`^shop/${tag}  .*: the next ids are \\d+`)),
    )
    for (const tag of tags) await addOrders(databaseUrl, tag)
    const refusal = (): Promise<string> =>
      check(options).then(
        () => 'no refusal',
        ({ message }) => message,
      )
    const before = await refusal()
    for (const tag of tags)
      expect(before).toContain(`offline-hilo-server adopt Shop ${tag} --apply`)
    const adoptAll = (isApplied: boolean) =>
      Promise.all(
        tags.map((tag) => adopt(options, { database: 'Shop', collection: tag, isApplied })),
      )
    for (const text of await adoptAll(false)) expect(text).toContain('.id is 1234')
    expect(await refusal()).toBe(before)
    for (const text of await adoptAll(true)) expect(text).toContain('Done: the next ids are')
    const nextIds = [...(await check(options)).matchAll(/the next ids are (\d+)/g)].map(([, id]) =>
      Number(id),
    )
    expect(nextIds).toHaveLength(tags.length)
    expect(Math.min(...nextIds)).toBeGreaterThan(1234)
    await expect(start(options)).rejects.toThrow('"proved": false')
    const server = await start(unproved(options))
    for (const tag of tags) {
      const { Low, High } = await claim(server, tag)
      expect(nextIds).toContain(Low)
      expect(High).toBeGreaterThanOrEqual(Low)
    }
    if (section === 'The textbook') await takeBeside(server, databaseUrl, configuration)
  })
})

/** The word of an operator who has moved a table. */
const unproved = (options: ServeOptions): ServeOptions => ({
  ...options,
  collections: Object.fromEntries(
    Object.entries(options.collections!).map(([database, collections]) => [
      database,
      Object.fromEntries(
        Object.entries(collections).map(([tag, settings]) => [tag, { ...settings, proved: false }]),
      ),
    ]),
  ) as never,
})

/** What the section says to do first, when the checks refuse what is there. */
async function prepare(options: ServeOptions, section: string): Promise<void> {
  if (section === 'The textbook') {
    const { databaseUrl, collections } = options
    await (await openLedger({ create: true, databaseUrl, collections, first: true })).close()
  }
  const problems = await check(options).then(
    () => '',
    (error: Error) => error.message,
  )
  for (const statement of blocksIn(SECTIONS.get(section)!, 'sql')) {
    if (section !== 'The textbook' && !problems.includes('no primary key')) continue
    await runSql(options.databaseUrl!, statement)
  }
}

/** The back end's own statement, as the page has it, and the server in turns. */
async function takeBeside(
  server: HiloServer,
  databaseUrl: string,
  { collections }: { collections: Collections },
): Promise<void> {
  const [statement] = blocksIn(SECTIONS.get('The textbook')!, 'sql')
  const { blockSize } = collections.Shop!.orders as unknown as { blockSize: number }
  const spans: [number, number][] = []
  for (let i = 0; i < 5; i++) {
    const hi = Number((await runSql(databaseUrl, statement!)).rows[0].next_hi)
    spans.push([hi * blockSize, hi * blockSize + blockSize - 1])
    const { Low, High } = await claim(server, 'orders')
    spans.push([Low, High])
  }
  spans.sort(([a], [b]) => a - b)
  expect(spans.filter(([low], i) => i > 0 && low <= spans[i - 1]![1])).toEqual([])
}

test('RavenDB: its settings, with the address and certificate of one that is here', async () => {
  const { nodes } = await startRaven(['B'])
  const [, { collections }] = CONFIGURATIONS.find(([section]) => section === 'RavenDB')!
  const { upstream } = collections.Shop!.orders as unknown as {
    upstream: { url: string; certificate: Record<string, string> }
  }
  const folder = newFolder()
  for (const [name, file] of Object.entries(upstream.certificate)) {
    upstream.certificate[name] = join(folder, file)
    writeFileSync(upstream.certificate[name], '')
  }
  upstream.url = nodes[0]!.url
  const options = readConfig({ config: fileOf({ collections }), data: newFolder() })
  expect(await check(options)).toBe(
    'shop/orders  the ranges of orders in RavenDB database Shop: it answers\n',
  )
  const server = await start(options)
  expect(await claim(server, 'orders')).toMatchObject({ Low: 1, ServerTag: 'B' })
})

test('every strategy is told, and every setting', () => {
  const told = new Set(
    [...PAGE.matchAll(/`([\w.-]+)`|"strategy": "([\w-]+)"/g)].map(
      ([, code, value]) => code ?? value,
    ),
  )
  expect(Object.keys(STRATEGIES).filter((name) => !told.has(name))).toEqual([])
  const rows = [...PAGE.slice(0, PAGE.indexOf('\n## ')).matchAll(/^\| ([^|]*) \|/gm)].flatMap(
    ([, cell]) => [...cell!.matchAll(/`(\w+)`/g)],
  )
  expect(rows.map(([, name]) => name).toSorted()).toEqual(
    Object.keys(counterSettings.shape).toSorted(),
  )
  expect(Object.keys(REFUSED_STRATEGIES).filter((name) => told.has(name))).toEqual([])
})
