/**
 * What the server shows of its settings, wherever it prints: each text in each setting is a marker
 * of its own, and only those that `SHOWN` lists may come back. A new setting is part of it by
 * itself, since the settings are read from their description.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { startLine } from '../src/cli/start-line.js'
import type { CounterOptions, EtcdOptions, RootOptions, ScopedToken } from '../src/index.js'
import { DESCRIBED, type Setting, type SettingName, variableOf } from '../src/settings.js'
import { newFolder } from './folders.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'
import { startProcess } from './processes.js'
import { runCli } from './run-cli.js'

/** What people and programs may read of the settings. All else is hidden. */
const SHOWN = {
  always: ['cors', 'data', 'database', 'hosts', 'publicurl', 'serverprefix'],
  /** Which collections are bound, and nothing of how. */
  bound: ['collection'],
  root: ['rooturl'],
  etcd: ['node'],
}

/** Long enough for a secret, and valid where a name or a host has to be. */
const marker = (what: string) => `marker-${what}-`
const secret = (what: string) => marker(what).padEnd(40, '0123456789')
const markersIn = (text: string) =>
  [...new Set([...text.matchAll(/marker-([a-z]+)-/gi)].map(([, what]) => what))].sort()

const folder = newFolder()

/** A file that only its name may lead to. */
function newFile(what: string): string {
  const file = join(folder, marker(what))
  writeFileSync(file, secret(`${what}inside`))
  return file
}

const scoped: Required<ScopedToken> = {
  token: secret('scopedtoken'),
  databases: [marker('database')],
  collections: [marker('tokencollection')],
  actions: ['claim'],
  devices: 2,
}
const sequence: CounterOptions = {
  strategy: 'efcore',
  sequence: marker('sequence'),
  blockSize: 10,
  maxId: 'int8',
  ids: false,
}
const segment: CounterOptions = {
  strategy: 'hibernate-table',
  table: marker('table'),
  column: marker('column'),
  keyColumn: marker('keycolumn'),
  segment: marker('segment'),
  blockSize: 10,
  maxId: 'int8',
  ids: false,
}
const row: CounterOptions = {
  strategy: 'hibernate-hilo-table',
  table: marker('rowtable'),
  column: marker('rowcolumn'),
  where: { [marker('wherecolumn')]: marker('where') },
  maxLo: 10,
  maxId: 'int8',
  ids: false,
}
const raven = {
  upstream: {
    url: 'http://127.0.0.1:9',
    database: marker('ravendatabase'),
    tag: marker('raventag'),
    certificate: { cert: newFile('cert'), key: newFile('key') },
    ca: newFile('ca'),
  },
}
const root: Required<RootOptions> = {
  url: `http://${marker('rooturl')}.localhost:9`,
  token: secret('roottoken'),
  reserve: 32,
}
const etcd: Required<EtcdOptions> = {
  etcd: [`http://${marker('node')}.localhost:9`],
  block: 32,
  prefix: marker('prefix'),
  tag: 'A',
  user: marker('user'),
  password: secret('password'),
  certificate: raven.upstream.certificate,
  ca: raven.upstream.ca,
  reserve: 32,
}

/** For settings that take no text of any kind, or that say where the server is. */
const GIVEN: Partial<Record<SettingName, unknown>> = {
  port: 0,
  host: '127.0.0.1',
  open: true,
  nodeTag: 'B',
  drain: 0,
  horizon: 30,
  logRequests: true,
  publicUrl: `https://${marker('publicurl')}.example`,
  hosts: ['127.0.0.1', `${marker('hosts')}.example`],
  databases: ['Shop', marker('database')],
  tokens: [secret('token'), scoped, { token: secret('status'), actions: ['status'] }],
  secrets: [secret('secret')],
  cors: { origins: [`https://${marker('cors')}.example`] },
  limits: { count: 1000 },
  collections: {
    [marker('database')]: {
      [marker('collection')]: sequence,
      segments: segment,
      rows: row,
      ravens: raven,
    },
  },
  upstream: root,
}

/** The first that the setting takes, of a marker and what it may be inside of. */
function valueFor(name: SettingName, { check }: Setting): unknown {
  const mine = secret(name.toLowerCase())
  const values = [GIVEN[name], mine, marker(name.toLowerCase()), [mine], [marker(name)], { mine }]
  const valid = values.find((each) => each !== undefined && check.safeParse(each).success)
  if (valid === undefined) throw new Error(`${name} has no value here with a marker: add one.`)
  return valid
}

interface Given {
  settings: Record<string, unknown>
  /** Those that are given by flag, or by variable; the others are in the file. */
  by?: 'flag' | 'variable'
  environment?: NodeJS.ProcessEnv
}

const isText = (name: string) => DESCRIBED.find(([each]) => each === name)![1].value !== undefined

/** The settings as a command gets them: its flags and its environment. */
function given({ settings, by, environment = {} }: Given) {
  const entries = Object.entries(settings)
  const apart = entries.filter(([name]) => by !== undefined && isText(name))
  const config = join(newFolder(), 'hilo.json')
  writeFileSync(
    config,
    JSON.stringify(Object.fromEntries(entries.filter((entry) => !apart.includes(entry)))),
    { mode: 0o600 },
  )
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return {
    args: [
      ...['--config', config],
      ...(by === 'flag' ? apart.map(([name, value]) => `--${kebab(name)}=${value}`) : []),
    ],
    environment: {
      ...environment,
      ...(by === 'variable' &&
        Object.fromEntries(apart.map(([name, value]) => [variableOf(name), String(value)]))),
    },
  }
}

/** Every setting but these. */
const allBut = (...names: SettingName[]) =>
  Object.fromEntries(
    DESCRIBED.filter(([name]) => !names.includes(name)).map(([name, setting]) => [
      name,
      name === 'data' ? join(newFolder(), marker('data')) : valueFor(name, setting),
    ]),
  )

let databaseUrl: string

beforeAll(async () => {
  const url = new URL(await newDatabase())
  await runSql(
    url.href,
    `CREATE SEQUENCE "${sequence.sequence}" INCREMENT BY 10;
    CREATE TABLE "${segment.table}"
      ("${segment.keyColumn}" text PRIMARY KEY, "${segment.column}" bigint NOT NULL);
    INSERT INTO "${segment.table}" VALUES ('${segment.segment}', 1);
    CREATE TABLE "${row.table}" ("${marker('wherecolumn')}" text, "${row.column}" bigint NOT NULL);
    INSERT INTO "${row.table}" VALUES ('${marker('where')}', 1)`,
  )
  url.password = secret('databasepassword')
  url.searchParams.set('application_name', marker('applicationname'))
  databaseUrl = url.href
})

/** Each way to give a setting, and each kind of place that numbers come from. */
const STARTS: [title: string, shown: string[], given: () => Given][] = [
  [
    'flags, and a counter of PostgreSQL',
    [...SHOWN.always.filter((each) => each !== 'data'), ...SHOWN.bound],
    () => ({ by: 'flag', settings: { ...allBut('data', 'databaseUrl', 'upstream'), databaseUrl } }),
  ],
  [
    'variables, and a root',
    [...SHOWN.always, ...SHOWN.root],
    () => ({
      by: 'variable',
      settings: {
        ...allBut('databaseUrl', 'collections', 'upstream', 'secrets'),
        upstream: { url: root.url, reserve: root.reserve },
      },
      environment: {
        HILO_UPSTREAM_TOKEN: root.token,
        HILO_SECRETS: secret('secretvariable'),
        HILO_OPERATOR_TOKEN: secret('operator'),
      },
    }),
  ],
  [
    'a file, and a root',
    [...SHOWN.always, ...SHOWN.root],
    () => ({ settings: allBut('databaseUrl', 'collections') }),
  ],
  [
    'a file, and etcd',
    [...SHOWN.always, ...SHOWN.etcd],
    () => ({ settings: { ...allBut('databaseUrl', 'collections'), upstream: etcd } }),
  ],
]

/** What a stranger, a device and an operator get from the server, as one text. */
async function answersOf(url: string): Promise<string> {
  const paths = [
    '/',
    '/healthz?database=*',
    '/topology?name=Shop',
    '/metrics',
    '/databases/Other/hilo/next?tag=orders',
    '/databases/Shop/hilo/next?tag=orders',
    ...['collection', 'segments', 'rows', 'ravens'].map(
      (each) => `/databases/${marker('database')}/hilo/next?tag=${each}`,
    ),
  ]
  const headers = { Host: 'localhost' }
  const tokens = [undefined, secret('token'), secret('status'), 'another-token-of-nobody']
  const answers = await Promise.all(
    paths.flatMap((path) =>
      tokens.map(async (token) => {
        const asked = token ? { ...headers, Authorization: `Bearer ${token}` } : headers
        const answer = await fetch(url + path, { headers: asked })
        return JSON.stringify([...answer.headers]) + (await answer.text())
      }),
    ),
  )
  return answers.join('\n')
}

/** Every command of the program that reads settings, so that each says what it says of them. */
const COMMANDS = [
  ['status'],
  ['status', 'Shop'],
  ['series', 'Shop'],
  ['explain', 'Shop', 'orders', '1'],
  ['check'],
  ['adopt', marker('database'), 'segments', '--from', 'nothing.id'],
  ['raise-floor', 'Shop', 'orders', '7', '--yes'],
  ['drop', 'Shop'],
  ['renew-secret'],
  ['init'],
  ['backup', join(folder, 'copy.db')],
  ['serve', '--help'],
  ['--help'],
]

describe.each(STARTS)('a server whose settings come from %s', (_, shown, how) => {
  test('shows what is listed, and nothing else, at its start and in its answers', async () => {
    const { args, environment } = given(how())
    const server = await startProcess(args, environment)
    const answers = await answersOf(server.url)
    const commands = []
    for (const [command, ...rest] of COMMANDS)
      commands.push(await runCli([command!, ...rest, ...args.slice(0, 2)], environment))
    expect(await server.stop()).toBe(0)
    // Each claim is logged, and each failure.
    expect(server.log()).toContain('"path":"/databases/Shop/hilo/next"')
    const started = server
      .log()
      .split('\n')
      .find((line) => line.includes('has started'))
    expect(markersIn(server.printed() + started)).toEqual(shown.toSorted())
    const said = commands.map(({ stdout, stderr }) => stdout + stderr).join('\n')
    expect(shown).toEqual(
      expect.arrayContaining(markersIn(server.printed() + server.log() + answers + said)),
    )
  })
})

/** What is no value of any setting, with a marker in it. */
const WRONG = [
  `${secret('wrong')} \n`,
  [`${secret('wrong')} \n`],
  [[secret('wrong')]],
  [{ token: `${secret('wrong')} \n` }],
  { mine: `${secret('wrong')} \n` },
  { Shop: { orders: { strategy: secret('wrong'), maxId: secret('wrong') } } },
  { Shop: { orders: { upstream: { url: secret('wrong'), database: `${secret('wrong')} ` } } } },
  { url: secret('wrong'), token: `${secret('wrong')} \n` },
  { etcd: [secret('wrong')], user: secret('wrong') },
  { origins: [secret('wrong')] },
]

test.each(DESCRIBED)(
  'a wrong value of %s is not in what is said of it',
  async (name, { value }) => {
    for (const wrong of WRONG) {
      const config = join(newFolder(), 'hilo.json')
      writeFileSync(config, JSON.stringify({ port: 70_000, [name]: wrong }))
      const { code, stdout, stderr } = await runCli(['serve', '--config', config])
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('has to be')
      expect(markersIn(stderr), JSON.stringify(wrong)).toEqual([])
    }
    if (value === undefined) return
    const data = { HILO_DATA: join(folder, 'nothing'), HILO_PORT: '70000' }
    const variable = { ...data, [variableOf(name)]: `${secret('wrong')} x:y@z/?` }
    const { stderr } = await runCli(['serve'], variable)
    expect(stderr).toContain('has to be')
    expect(markersIn(stderr)).toEqual([])
  },
)

test.each([
  [['--tokens=TOKEN'], {}, "unknown option '--tokens'\n"],
  [['status', '--prot=TOKEN'], {}, "unknown option '--prot'\n"],
  [['-pTOKEN'], {}, "unknown option '-p'\n"],
  [[], { HILO_TOKENS: 'TOKEN' }, 'HILO_TOKENS: there is no such variable'],
  [
    ['status', 'Shop', '--url=https://TOKEN:TOKEN@ids.example'],
    { HILO_OPERATOR_TOKEN: 'TOKEN' },
    'without a path',
  ],
] as [string[], Record<string, string>, string][])(
  'a secret in the wrong place is not repeated: %j %j',
  async (args, environment, said) => {
    const put = (text: string) => text.replaceAll('TOKEN', secret('wrong'))
    const { stdout, stderr } = await runCli(
      args.map(put),
      Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, put(text)])),
    )
    expect(stderr).toContain(said)
    expect(markersIn(stdout + stderr)).toEqual([])
  },
)

test('of the limits, the log shows numbers only', () => {
  const limits = { count: 1, text: secret('limit') } as never
  expect(startLine({ limits }, 'http://ids.test').settings).toEqual({ limits: { count: 1 } })
})
