/**
 * docs/counters.md as written: its configurations, commands and SQL, on a real PostgreSQL with the
 * counters as each ORM's schema tool makes them. And the list of what was tried.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { counterSettings } from '../../server/src/addons/bound/orm/counter-options.js'
import { REFUSED_STRATEGIES, STRATEGIES } from '../../server/src/addons/bound/orm/strategies.js'
import { adopt, check } from '../../server/src/cli/counters.js'
import { type HiloServer, openLedger, type ServeOptions, serve } from '../../server/src/index.js'
import { readConfig } from '../../server/src/settings.js'
import { proveBeside } from '../../server/test/addons/orm/proving.js'
import { newFolder } from '../../server/test/folders.js'
import { CASES } from '../../server/test/interop/hibernate-cases.js'
import { PEERS } from '../../server/test/interop/peers.js'
import { newDatabase } from '../../server/test/postgres.js'
import { runSql } from '../../server/test/postgres-cluster.js'
import { startProcess } from '../../server/test/processes.js'
import { startRaven } from '../../server/test/raven-cluster.js'
import { runCli } from '../../server/test/run-cli.js'
import { blocksOf } from './blocks.js'

type Collections = Record<string, Record<string, { strategy: string }>>

const read = (page: string) =>
  readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')
const PAGE = read('counters')
const REFERENCE = read('counters-reference')
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

/** Stores a record. */
function efCore(databaseUrl: string): () => Promise<unknown> {
  const block: number[] = []
  return async () => {
    if (block.length === 0) {
      const { rows } = await runSql(
        databaseUrl,
        `SELECT nextval('"EntityFrameworkHiLoSequence"')::int AS v`,
      )
      block.push(...Array.from({ length: 10 }, (_, i) => rows[0].v + i))
    }
    await runSql(databaseUrl, `INSERT INTO orders VALUES (${block.shift()})`)
  }
}

test('the commands, as they are typed', async () => {
  const [, configuration] = OF_ORMS.find(([section]) => section === 'EF Core')!
  const file = fileOf(configuration)
  const databaseUrl = await newShop(configuration.collections)
  const environment = { DATABASE_URL: databaseUrl }
  const configured = /^npx offline-hilo-server ([^#\n]*--config[^#\n]*)/gm
  const commands = blocksIn(PAGE, 'sh').flatMap((text) =>
    [...text.matchAll(configured)].map(([, command]) => command!),
  )
  const said: string[] = []
  for (const command of commands.toSorted(
    (a, b) => Number(a.startsWith('serve')) - Number(b.startsWith('serve')),
  )) {
    const args = command
      .trim()
      .split(/ +/)
      .map((arg) => arg.replace('hilo.json', file))
    if (args.includes('--prove'))
      said.push(
        ...(await proveBeside(readConfig({ config: file, databaseUrl }), efCore(databaseUrl))),
      )
    else if (args[0] === 'serve') {
      const server = await startProcess([...args.slice(1), '--port', '0'], environment)
      expect(await claim(server, 'orders')).toMatchObject({ Low: 1235 })
      expect(await server.stop()).toBe(0)
      said.push('served')
    } else {
      if (args[0] === 'adopt' && !args.includes('--apply')) await addOrders(databaseUrl, 'orders')
      const { code, stdout, stderr } = await runCli(args, environment)
      expect([code, stderr], command).toEqual([0, ''])
      said.push(stdout)
    }
  }
  expect(said.filter((line) => !/Watching| came, and /.test(line))).toEqual([
    expect.stringContaining('the next ids are 1 to 10'),
    expect.stringContaining('is new: its numbers begin at 1'),
    expect.stringMatching(/^Proved: efcore on sequence/),
    expect.stringContaining('Nothing was run'),
    expect.stringContaining('Done: the next ids are 1235 to 1244'),
    'served',
  ])
})

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

describe('what was tried', () => {
  const [table] = /(?<=\| counter \| proved .*\n.*\n)(?:\|.*\n)+/.exec(REFERENCE)!
  const TRIED = [...table.matchAll(/^\| (.*) \|$/gm)].map(([, row]) => {
    const [counters, proved, stored, tried] = row!.split(' | ')
    return { counters: names(counters!), proved: proved!, stored: names(stored!), tried: tried! }
  })
  const interop = new URL('../../server/test/interop/', import.meta.url)

  test('each strategy has a row', () => {
    const told = TRIED.flatMap(({ counters }) => counters).filter((name) => name in STRATEGIES)
    expect(told.toSorted()).toEqual(Object.keys(STRATEGIES).toSorted())
  })

  test('the versions of Hibernate are those that run beside the server', () => {
    const versions: Record<string, string[]> = {}
    for (const [version, cases] of Object.entries(CASES))
      for (const strategy of new Set(cases.map(({ settings }) => settings.strategy)))
        versions[strategy] = [...(versions[strategy] ?? []), version]
    const told = TRIED.flatMap(({ counters: [strategy], tried }) =>
      strategy! in versions ? [[strategy, tried]] : [],
    )
    expect(Object.fromEntries(told)).toEqual(
      Object.fromEntries(
        Object.entries(versions).map(([strategy, all]) => [
          strategy,
          `Hibernate ${all.join(', ')}`,
        ]),
      ),
    )
  })

  test('the other programs have these versions in the tests', () => {
    const others = TRIED.flatMap(({ tried }) => tried.match(/[A-Z]\w+ \d[\d.]*/g) ?? [])
    const titles = PEERS.map(({ title }) => title)
    const known = (name: string) => titles.some((title) => title.startsWith(name))
    expect([...new Set(others.filter((name) => !known(name)))]).toEqual([
      'Doctrine 2.14',
      'Redis 7.0',
      'MariaDB 10.11',
    ])
  })

  test('each call that keeps an id is run by the tests of the last mile', () => {
    const code = readdirSync(interop)
      .map((file) => readFileSync(new URL(file, interop), 'utf8'))
      .join('\n')
    const calls = new Set(TRIED.flatMap(({ stored }) => stored))
    expect([...calls].filter((call) => !new RegExp(`\\b${call}\\b`, 'i').test(code))).toEqual([])
  })
})

/** What stands in code. */
function names(cell: string): string[] {
  return [...cell.matchAll(/`([^`]*)`/g)].map(([, name]) => name!)
}
