/**
 * The command line: settings from everywhere, clear messages, and commands beside a running server.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { placeOf } from '../src/addons/postgres/postgres-address.js'
import { flagOf } from '../src/cli/flags.js'
import { LedgerMissing, openLedger, serve } from '../src/index.js'
import { DESCRIBED, readConfig, variableOf } from '../src/settings.js'
import { refuseOlder, SCHEMA } from '../src/sql/schema.js'
import { newFolder } from './folders.js'
import { createDatabase, newDatabase } from './postgres.js'
import { runSql, startCluster } from './postgres-cluster.js'
import { buildServer, cliFile, spawnCli, startProcess } from './processes.js'
import { runCli } from './run-cli.js'

/** A version before the first: there was none. */
const NEXT = '/databases/Shop/hilo/next?tag=orders'
/** Runs a command as a user without a name. */
const UNSHARE = 'unshare'
const AS_NOBODY = ['--user', '--map-user=54321']
/** Runs a command as the first process of its own, as a container does. */
const AS_FIRST = ['--pid', '--fork', '--kill-child']
const mayFork = spawnSync(UNSHARE, [...AS_FIRST, 'true']).status === 0
const mayMapUsers = spawnSync(UNSHARE, [...AS_NOBODY, 'true']).status === 0

/** On a cluster that asks for the password `right`. */
async function databaseWithPassword(): Promise<string> {
  const cluster = await startCluster({ isSynced: false })
  onTestFinished(() => cluster.remove())
  const url = new URL(await createDatabase(cluster.url))
  await runSql(cluster.url, "ALTER ROLE postgres PASSWORD 'right'")
  writeFileSync(join(cluster.data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n')
  await runSql(cluster.url, 'SELECT pg_reload_conf()')
  url.password = 'right'
  return url.href
}

describe('serve', () => {
  test('a person at a terminal reads three lines, and no JSON', async () => {
    const data = newFolder()
    const serve = `${process.execPath} ${await cliFile()} serve --first --port 0 --data ${data}`
    const terminal = spawn('script', ['--quiet', '--command', serve, '/dev/null'])
    onTestFinished(() => void terminal.kill('SIGKILL'))
    let said = ''
    await new Promise<void>((resolve) => {
      terminal.stdout.on('data', (chunk) => {
        said += chunk
        if (said.includes('Ctrl-C')) resolve()
      })
      terminal.once('exit', () => resolve())
    })
    expect(said.trim().split('\r\n')).toEqual([
      expect.stringMatching(/^offline-hilo-server serves http:/),
      expect.stringContaining(data),
      'Ctrl-C stops it.',
    ])
  })

  test('settings come from flags, environment and a file; SIGTERM finishes requests', async () => {
    const folder = newFolder()
    const config = join(folder, 'hilo.json')
    writeFileSync(
      config,
      JSON.stringify({
        nodeTag: 'C',
        port: 1,
        tokens: ['correct-horse-battery'],
        databases: ['Shop'],
      }),
    )
    const environment = {
      HILO_NODE_TAG: 'B',
      HILO_CONFIG: config,
      HILO_DATA: join(folder, 'ignored'),
    }
    const server = await startProcess(['--port', '0', '--data', join(folder, 'data')], environment)
    const headers = { Authorization: 'Bearer correct-horse-battery' }
    const answers = Array.from({ length: 50 }, () => fetch(server.url + NEXT, { headers }))
    expect((await (await answers[0]!).json()) as object).toMatchObject({ ServerTag: 'B' })
    const stopped = server.stop()
    const ended = await Promise.allSettled(answers)
    expect(await stopped).toBe(0)
    for (const answer of ended)
      if (answer.status === 'fulfilled') expect(answer.value.status).toBe(201)
    expect(existsSync(join(folder, 'ignored'))).toBe(false)
  })

  test.each<[NodeJS.Signals, string]>([
    ['SIGTERM', 'goes on where nobody reads its output'],
    ['SIGHUP', 'ends in order, as by SIGTERM, when its terminal is closed'],
  ])('%s: it %s', async (signal) => {
    const args = [await cliFile(), 'serve', '--first', '--port', '0']
    args.push('--data', newFolder(), '--drain', '0')
    const child = spawn(process.execPath, args)
    onTestFinished(() => void child.kill('SIGKILL'))
    child.stdout.destroy()
    await once(child.stderr, 'data')
    const ended = once(child, 'exit')
    child.kill(signal)
    expect(await ended).toEqual([0, null])
  })

  test('what it cannot use: one clear message that names flag, variable or file', async () => {
    const config = join(newFolder(), 'hilo.json')
    const settings = { limits: { count: 0 }, databases: ['Shop'], tokens: ['short'], x: 1 }
    writeFileSync(config, JSON.stringify(settings))
    const { code, stdout, stderr } = await runCli(
      ['serve', '--data', newFolder(), '--node-tag', 'lower', '--config', config],
      { HILO_PORT: '99999', HILO_HOSTS: 'a.lan,https://b.lan', HILO_SECRETS: 'short' },
    )
    expect([code, stdout]).toEqual([1, ''])
    expect(
      stderr
        .replace(/ (Did|There).*: .*/, '')
        .split('\n')
        .sort(),
    ).toEqual(
      [
        'offline-hilo-server cannot use its options.',
        '  HILO_PORT: has to be 0 to 65535; 0 picks a free one',
        '  HILO_HOSTS.1: a host is a name or an address, as in ids.example.com or localhost:8080',
        '  HILO_SECRETS.0: has to have at least 32 characters, as `openssl rand -hex 32` makes',
        '  --node-tag: a node tag has 1 to 4 capital letters, as in A',
        `  tokens.0 in ${config}: a token has at least 16 characters`,
        `  limits.count in ${config}: has to be at least 1`,
        `  ${config}: Unrecognized key: "x".`,
        '',
      ].sort(),
    )
  })

  test.each([
    [{ port: 'x' }, 'port: has to be a number'],
    [{ port: '' }, 'port: has to be a number'],
    [{ host: '[::1]' }, 'host: has to be an address or a name, as in 127.0.0.1 or ::1'],
    [{ host: ' 127.0.0.1' }, 'host: has to be an address or a name, as in 127.0.0.1 or ::1'],
    [{ data: 'postgres://hilo:secret@db/hilo' }, /data: has to be a folder, and is a URL. [^@]*$/],
    [{ drain: '-1' }, 'drain: has to be a number of seconds'],
    [{ drain: '601' }, 'drain: has to be 0 to 600 seconds'],
    [{ horizon: 'a year' }, 'horizon: has to be a number of days'],
    [{ horizon: '29' }, 'horizon: has to be at least 30 days'],
    [
      { databaseUrl: 'mysql://x' },
      /options\.\n {2}databaseUrl: has to be a URL like postgres:\/\/user:password@host\/name$/,
    ],
    [
      { databaseUrl: 'postgres://hilo:12/34@db/hilo' },
      /databaseUrl: has an @ behind the host: in a password write [^1]*$/,
    ],
    [{ config: '/nowhere.json' }, 'config: /nowhere.json cannot be read (ENOENT)'],
    [{ config: import.meta.filename }, 'is not a JSON object'],
    [{ config: import.meta.dirname }, 'test cannot be read (it is no file)'],
  ])('setting %j is refused', (flags, message) => {
    expect(() => readConfig(flags)).toThrow(message)
  })

  test.skipIf(process.platform === 'win32')('a device in the place of the file has no end', () => {
    expect(() => readConfig({ config: '/dev/zero' })).toThrow(
      'config: /dev/zero cannot be read (it is no file). Correct the path',
    )
  })

  test.skipIf(!existsSync('/dev/fd'))('the file may come by a pipe, as from <(…)', async () => {
    const shell = `'${process.execPath}' '${await cliFile()}' status --config <(printf '%s' "$0")`
    const settings = JSON.stringify({ data: newFolder(), drain: 601 })
    const { stderr } = spawnSync('bash', ['-c', shell, settings], { encoding: 'utf8' })
    expect(stderr).toMatch(/drain in \/dev\/fd\/\d+: has to be 0 to 600 seconds/)
  })

  test.each([
    [['serve', '--config', 'a.json', '--config', 'b.json'], '--config'],
    [['status', '--data', 'a', '--data=b'], '--data'],
    [['serve', '--hosts', 'a.lan', '--hosts', 'b.lan'], '--hosts'],
    [['serve', '--open', '--open', 'false'], '--open'],
    [
      ['series', 'Shop', '--exists', 'T9', '--exists', 'T8', '--collection', 'receipts'],
      '--exists',
    ],
    [['adopt', 'Shop', 'orders', '--from', 'orders.id', '--from', 'returns.id'], '--from'],
    [['raise-floor', 'Shop', '--all', '--by', '5000', '--by', '5'], '--by'],
    [['check', '--timeout', '5', '--timeout', '600'], '--timeout'],
  ])('a flag that comes twice is refused: the first would be lost: %j', async (args, flag) => {
    expect(await runCli(args, {}, newFolder())).toEqual({
      code: 1,
      stdout: '',
      stderr: `${flag} is there twice, and only the last one would count. Give it once.\n`,
    })
  })

  test('each mistake in the file is named, with the file and what to write', () => {
    const config = join(newFolder(), 'hilo.json')
    const wrong = {
      prot: 8080,
      host: '',
      logRequests: 'yes',
      serverPrefix: 'S1',
      limits: { cuont: 1, databases: 0, collections: 1.5 },
      cors: { origins: 'https://app.example.com' },
      upstream: { url: 'https://ids.example.com', token: 'with a line break\n', resrve: 1 },
      collections: { Shop: { orders: { upstream: { url: 'https://a.example.com' } } } },
    }
    writeFileSync(config, `\uFEFF${JSON.stringify(wrong)}`)
    let problems = ''
    try {
      readConfig({ config })
    } catch (error) {
      problems = (error as Error).message
    }
    for (const problem of [
      `${config}: Unrecognized key: "prot". Did you mean port? There are: port, host, open, `,
      `host in ${config}: is empty: leave it out`,
      `logRequests in ${config}: has to be true or false`,
      `serverPrefix in ${config}: ends in a digit: number 13 after 'S1' is number 113 after 'S'`,
      `limits in ${config}: Unrecognized key: "cuont". Did you mean count? There are: count, `,
      `limits.databases in ${config}: has to be at least 1`,
      `limits.collections in ${config}: has to be a whole number`,
      `cors.origins in ${config}: has to be a list, as in ["…"]`,
      `upstream.token in ${config}: may have no spaces or line breaks`,
      `upstream in ${config}: Unrecognized key: "resrve". Did you mean reserve? There are: url, `,
      `collections.Shop.orders.upstream.database in ${config}: is missing; it has to be a text`,
    ])
      expect(problems).toContain(problem)
  })

  test('a binding of a database that cannot be: what its name may be', () => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ collections: { 'Sh/op': {} } }))
    expect(() => readConfig({ config })).toThrow(
      `collections.Sh/op in ${config}: a database's name has 1 to 128 letters, digits, dots`,
    )
  })

  test.each([
    ['{"port": 1, "port": 2}', 'port'],
    [
      '{"collections": {"Shop": {"orders": {"x": [1, "a\\"{"]}}, "Zoo": {}, "Shop": {}}}',
      'collections.Shop',
    ],
    ['{"tokens": [{"token": "a"}, {"token": "b", "\\u0074oken": "c"}]}', 'tokens.token'],
  ])('a name that comes twice is refused, as the first would be lost: %s', (text, name) => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, text)
    expect(() => readConfig({ config })).toThrow(`${name} in ${config}: is there twice`)
  })

  test.each([
    ['{\n  "port": 8080,\n}\n', ' See line 3.'],
    ['{\n  // the port\n  "port": 8080\n}', ' See line 2.'],
    ['{\n  "nodeTag": "A",\n  "databases": ["Shop"\n', ' It ends too early, in line 3.'],
    ['{\n  "tokens": ["correct-horse-bat', ' It ends too early, in line 2.'],
    ['', ' It ends too early, in line 1.'],
    // Here the engine does not say where.
    ['{"tokens": [correct-horse]}', ''],
    ['[]', ''],
  ])(
    'JSON that cannot be read: its line is named, and nothing of it is shown: %j',
    (text, where) => {
      const config = join(newFolder(), 'hilo.json')
      writeFileSync(config, text)
      const what = `config: ${config} is not a JSON object, like {"port": 8080, "nodeTag": "A"}.`
      expect(() => readConfig({ config })).toThrow(new Error(what + where))
    },
  )

  test('a long text in the file is read', () => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ serverPrefix: 'x'.repeat(1e7) }))
    expect(() => readConfig({ config })).toThrow('a server prefix has 1 to 32 characters')
  })

  test('a token that is listed twice is refused, and not shown', () => {
    const config = join(newFolder(), 'hilo.json')
    const token = 'correct-horse-battery'
    const tokens = ['staple-staple-staple', { token, actions: ['claim'] }, token]
    writeFileSync(config, JSON.stringify({ tokens, databases: 'any' }))
    let message = ''
    try {
      readConfig({ config })
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toContain(`tokens.2 in ${config}: is the same token as entry 1.`)
    expect(message).not.toContain(token)
  })

  test('a setting that only the file has is refused as a variable', async () => {
    const data = join(newFolder(), 'data')
    const environment = { HILO_TOKENS: 'correct-horse-battery' }
    expect(await runCli(['serve', '--port', '0', '--data', data], environment)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'HILO_TOKENS: there is no such variable. Give tokens in the configuration file, which ' +
        '--config or HILO_CONFIG names.\n',
    })
    const other = { HILO_LOG_REQUESTS: 'true' }
    expect((await runCli(['status', '--data', data], other)).stderr).toContain('Give logRequests')
  })

  test.each([
    [
      { HILO_DB_URL: 'x' },
      'HILO_DB_URL: there is no such variable. Did you mean HILO_DATABASE_URL?',
    ],
    [{ HILO_DATA_DIR: '/data' }, 'Did you mean HILO_DATA? There are: HILO_PORT, HILO_HOST, '],
    [{ HILO_NODETAG: 'B' }, 'Did you mean HILO_NODE_TAG?'],
    [{ HILO_FOO: 'x' }, 'HILO_FOO: there is no such variable. There are: '],
    [{ HILO_UPSTREAM_TOKN: 'x' }, 'Did you mean HILO_UPSTREAM_TOKEN?'],
    [{ HILO_UPSTREAM_TOKEN: 'never-to-be-seen' }, 'HILO_UPSTREAM_TOKEN: `upstream` in the '],
    [{ HILO_UPSTREAM_USER: 'u' }, 'HILO_UPSTREAM_USER: `upstream` in the settings names no root'],
    [{ DATABASE_URL: '' }, 'DATABASE_URL: is empty. Give it a value, or remove it'],
    [{ HILO_DATA: '' }, 'HILO_DATA: is empty.'],
    [{ HILO_DATA: 'postgres://hilo:never-to-be-seen@db/hilo' }, 'HILO_DATA: has to be a folder'],
    [{ HILO_SERVICE_HOST: 'db.internal' }, 'HILO_SERVICE_HOST: there is no such variable'],
  ])('variables %j are refused, and nothing is made', async (environment, message) => {
    const cwd = newFolder()
    const { code, stdout, stderr } = await runCli(['serve', '--port', '0'], environment, cwd)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('never-to-be-seen')
    expect(existsSync(join(cwd, 'hilo-data'))).toBe(false)
  })

  test('by HILO_URL apps on the same machine find the server: it says nothing to it', async () => {
    for (const url of ['http://127.0.0.1:8080', '']) {
      const { stderr } = await runCli(['status', '--data', newFolder()], { HILO_URL: url })
      expect(stderr).toContain('There is no ledger in')
    }
  })

  test('what Kubernetes says of a service named hilo is no setting', async () => {
    const links = (name: string) => ({
      [`${name}_SERVICE_HOST`]: '10.0.0.9',
      [`${name}_SERVICE_PORT`]: '8080',
      [`${name}_SERVICE_PORT_HTTP`]: '8080',
      [`${name}_PORT`]: 'tcp://10.0.0.9:8080',
      [`${name}_PORT_8080_TCP`]: 'tcp://10.0.0.9:8080',
      [`${name}_PORT_8080_TCP_PROTO`]: 'tcp',
      [`${name}_PORT_8080_TCP_PORT`]: '8080',
      [`${name}_PORT_8080_TCP_ADDR`]: 'fd00::9',
    })
    const environment = { ...links('HILO'), ...links('HILO_SERVER') }
    const { code, stderr } = await runCli(['status', '--data', newFolder()], environment)
    expect(code).toBe(1)
    expect(stderr).toContain('There is no ledger in')
    const server = await startProcess(['--port', '0', '--data', newFolder()], environment)
    expect(await server.stop()).toBe(0)
  })

  test('a mistyped flag: the one that was meant', async () => {
    expect((await runCli(['serve', '--prot', '0'])).stderr).toContain('Did you mean --port?')
  })

  test('docs/server-reference.md has the table of the settings as they are described', async () => {
    const file = new URL('../../docs/server-reference.md', import.meta.url)
    const cell = (text: string | undefined) => (text === undefined ? '' : `\`${text}\``)
    const rows = DESCRIBED.map(([name, { value, says, default: otherwise }]) => {
      const flag = value && flagOf(name).long!
      const variable = value && variableOf(name)
      return `| ${cell(flag)} | ${cell(variable)} | ${cell(name)} | ${otherwise} | ${says} |`
    })
    const page = readFileSync(file, 'utf8')
    const table = /(\| flag \| environment .*\n.*\n)(?:\|.*\n)+/
    const expected = page.replace(table, (_, head) => `${head}${rows.join('\n')}\n`)
    await expect(expected).toMatchFileSnapshot(fileURLToPath(file))
  })

  test('bindings of a database that is not listed are refused', () => {
    const config = join(newFolder(), 'hilo.json')
    const write = (databases: unknown) =>
      writeFileSync(
        config,
        JSON.stringify({
          databases,
          databaseUrl: 'postgres://db/hilo',
          collections: {
            Shpo: { orders: { strategy: 'sequence', sequence: 's', maxId: 'int4', ids: false } },
          },
        }),
      )
    write('any')
    expect(readConfig({ config }).databases).toBe('any')
    write(['Shop'])
    expect(() => readConfig({ config })).toThrow(
      `collections.Shpo in ${config}: is not among databases`,
    )
    for (const databases of [['SHPO'], 'any', undefined]) {
      write(databases)
      expect(Object.keys(readConfig({ config }).collections!)).toEqual(['Shpo'])
    }
  })

  test('tokens without databases are refused, with what to write', async () => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ tokens: ['correct-horse-battery'] }))
    expect(() => readConfig({ config })).toThrow(
      `databases in ${config}: is missing: with tokens or authorize, list the databases that ` +
        'exist, as in ["Shop"], or say "any"',
    )
  })

  test('a mistyped command is named, and no server starts', async () => {
    const data = join(newFolder(), 'data')
    const { code, stdout, stderr } = await spawnCli(['stauts', '--data', data])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      "error: unknown command 'stauts'. Did you mean status? There are: serve, init, status, " +
        'series, explain, backup, raise-floor, follow, check, adopt, drop, renew-secret. See ' +
        '--help.\n',
    )
    expect(existsSync(data)).toBe(false)
  })

  test('a command that stands behind its flags: where it has to stand', async () => {
    expect(await runCli(['--data', newFolder(), 'status'])).toMatchObject({
      code: 1,
      stderr: "error: 'status' has to come before its flags: status --data …\n",
    })
  })

  test('a database that cannot be opened: which setting named it', async () => {
    const url = new URL(await databaseWithPassword())
    url.password = 'wrong'
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, JSON.stringify({ databaseUrl: url.href }))
    const inFile = join(newFolder(), 'hilo.json')
    writeFileSync(inFile, JSON.stringify({ data: file }))
    const credentials = 'Address, user and password come from'
    const elsewhere = url.href.replace(/\w+$/, 'nowhere').replace('wrong', 'right')
    const serving = ['serve', '--port', '0']
    const runs: [args: string[], environment: NodeJS.ProcessEnv, ...texts: string[]][] = [
      [serving, { DATABASE_URL: url.href }, 'password', `${credentials} DATABASE_URL.`],
      [[...serving, '--database-url', url.href], {}, `${credentials} --database-url.`],
      [['status', '--config', config], {}, `${credentials} databaseUrl in ${config}.`],
      [['status'], { HILO_DATABASE_URL: elsewhere }, `${credentials} HILO_DATABASE_URL.`],
      [serving, { HILO_DATA: file }, 'cannot be opened', 'The folder comes from HILO_DATA.'],
      [[...serving, '--config', inFile], {}, `The folder comes from data in ${inFile}.`],
    ]
    const ended = runs.map(([args, environment]) => runCli(args, environment))
    for (const [i, [, , ...texts]] of runs.entries()) {
      const { code, stderr } = await ended[i]!
      expect(code).toBe(1)
      for (const text of texts) expect(stderr).toContain(text)
      expect(stderr).not.toMatch(/wrong|right/)
    }
  })

  test('a user without rights: what the server needs, and which setting named it', async () => {
    const url = new URL(await newDatabase())
    const user = `lowly_${randomUUID().replaceAll('-', '')}`
    await runSql(url.href, `CREATE ROLE ${user} LOGIN PASSWORD '${url.password}'`)
    const owner = url.href
    url.username = user
    const { code, stderr } = await runCli(['init'], { DATABASE_URL: url.href })
    await runSql(owner, `DROP ROLE ${user}`)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /permission denied for schema public. The server makes its tables.*GRANT CREATE ON SCHEMA/,
    )
    expect(stderr).toContain('Address, user and password come from DATABASE_URL.')
  })

  test('an environment that names two ledgers is refused', async () => {
    const environment = { HILO_DATA: newFolder(), DATABASE_URL: 'postgres://db/hilo' }
    expect(await runCli(['status'], environment)).toMatchObject({
      code: 1,
      stderr: 'HILO_DATA and DATABASE_URL name two ledgers: give one of them.\n',
    })
  })

  test('a folder and a database, given in two places, are refused by the names of both', () => {
    const config = join(newFolder(), 'hilo.json')
    const databaseUrl = 'postgres://db/hilo'
    writeFileSync(config, JSON.stringify({ databaseUrl }))
    expect(() => readConfig({ config, data: 'x' }, { data: 'HILO_DATA' })).toThrow(
      `HILO_DATA and databaseUrl in ${config} name two ledgers: give one of them.`,
    )
    expect(() => readConfig({ databaseUrl, data: 'x' })).toThrow(
      'data and databaseUrl name two ledgers: give one of them.',
    )
  })

  const alone = mayFork ? '' : ' (left out: a process cannot be the first of its own here)'
  test.skipIf(!mayFork)(
    `SIGTERM ends it during the start, also as the first process${alone}`,
    async () => {
      const silent = createServer()
      const asked = once(silent, 'connection')
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void silent.close())
      const { port } = silent.address() as AddressInfo
      const url = `postgres://hilo@127.0.0.1:${port}/hilo`
      const args = [
        process.execPath,
        await cliFile(),
        'serve',
        '--database-url',
        url,
        '--port',
        '0',
      ]
      const child = spawn(UNSHARE, [...AS_FIRST, ...args])
      onTestFinished(() => void child.kill('SIGKILL'))
      await asked
      const first = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      process.kill(Number(first), 'SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    },
  )

  test.each([
    [
      'EADDRINUSE',
      'another program uses that port: stop it, or choose another with `port` (0 for any)',
    ],
    ['EACCES', 'on most systems, ports below 1024 are for root: choose another, such as 8080'],
    ['EADDRNOTAVAIL', 'this machine has no such address: choose 127.0.0.1, or 0.0.0.0 for all'],
    ['ENOTFOUND', 'host has to be a name or an address of this machine, alone'],
  ])('a place to listen that cannot be had: %s', async (code, advice) => {
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server) {
      process.nextTick(() => this.emit('error', Object.assign(new Error(code), { code })))
      return this
    })
    await expect(serve({ create: true, port: 80, dataDir: newFolder() })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:80: ${advice} (${code}).`,
    )
  })
})

describe('a new ledger', () => {
  const serving = ['serve', '--port', '0']
  const refusal = (place: string) =>
    `There is no ledger in ${place}, and none was made: a new one begins at 1`
  const tablesIn = async (databaseUrl: string) =>
    (await runSql(databaseUrl, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).rowCount

  test('is not made in a folder that was named, however it was named', async () => {
    const folder = newFolder()
    const data = join(folder, 'unmounted')
    const config = join(folder, 'hilo.json')
    writeFileSync(config, JSON.stringify({ data }))
    const runs: [args: string[], environment: NodeJS.ProcessEnv, name: string][] = [
      [['--data', data], {}, '--data'],
      [[], { HILO_DATA: data }, 'HILO_DATA'],
      [['--config', config], {}, `data in ${config}`],
    ]
    for (const [args, environment, name] of runs) {
      const { code, stdout, stderr } = await runCli([...serving, ...args], environment)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain(refusal(data))
      expect(stderr).toContain('run npx offline-hilo-server init once, with the same settings')
      expect(stderr).toContain(`The folder comes from ${name}.`)
    }
    expect(existsSync(data)).toBe(false)
  })

  test("is not made among an app's own tables", async () => {
    const data = newFolder()
    const db = new DatabaseSync(join(data, 'hilo.db'))
    db.exec('CREATE TABLE orders (id TEXT)')
    await expect(openLedger({ dataDir: data })).rejects.toThrow(refusal(data))
    expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'orders' }])
    db.close()
  })

  test('is not made in a database that was named', async () => {
    const databaseUrl = await newDatabase()
    const { code, stderr } = await runCli(serving, { DATABASE_URL: databaseUrl })
    expect(code).toBe(1)
    expect(stderr).toContain(refusal(placeOf(databaseUrl)))
    expect(stderr).toContain('come from DATABASE_URL.')
    await expect(openLedger({ databaseUrl })).rejects.toThrow(LedgerMissing)
    expect(await tablesIn(databaseUrl)).toBe(0)
  })

  test('is made by init, once; and serve goes on with it', async () => {
    const data = join(newFolder(), 'data')
    const databaseUrl = await newDatabase()
    for (const [place, flags] of [
      [data, ['--data', data]],
      [placeOf(databaseUrl), ['--database-url', databaseUrl]],
    ] as const) {
      expect(await runCli(['init', ...flags])).toEqual({
        code: 0,
        stdout: `The ledger in ${place} is new: its numbers begin at 1.\n`,
        stderr: '',
      })
      expect(await runCli(['init', ...flags])).toEqual({
        code: 1,
        stdout: '',
        stderr: `There is a ledger in ${place} already. Nothing was changed.\n`,
      })
      const { url, ended } = await serveUntilReady(flags)
      expect((await fetch(url + NEXT)).status).toBe(201)
      expect(await ended()).not.toContain('is new')
    }
  })

  test('is made by serve --first, and by a try-out without a place, which say so', async () => {
    const data = join(newFolder(), 'data')
    const line = (place: string) => `The ledger in ${place} is new: its numbers begin at 1.`
    const { ended } = await serveUntilReady(['--first', '--data', data])
    expect(await ended()).toContain(line(data))
    const cwd = newFolder()
    const tryOut = await serveUntilReady([], cwd)
    expect(await tryOut.ended()).toContain(line(join(cwd, 'hilo-data')))
    expect(await (await serveUntilReady([], cwd)).ended()).not.toContain('is new')
  })

  test('is not made for who names no place, but has other settings', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'hilo.json'), '{}')
    for (const flags of [
      ['--config', 'hilo.json'],
      ['--host', '127.0.0.1'],
    ]) {
      expect(await runCli([...serving, ...flags], {}, cwd)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(refusal(join(cwd, 'hilo-data'))),
      })
    }
    expect(existsSync(join(cwd, 'hilo-data'))).toBe(false)
  })

  /** As people run it: a server that is stopped, with all that it has printed. */
  async function serveUntilReady(flags: readonly string[], cwd = newFolder()) {
    const args = [await cliFile(), ...serving, ...flags]
    const child = spawn(process.execPath, args, { cwd })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stdout.on('data', (text) => (said += text))
    await once(child.stdout, 'data')
    return {
      url: /http:\S+/.exec(said)![0],
      ended: async () => {
        const closed = once(child, 'close')
        child.kill('SIGINT')
        await closed
        return said
      },
    }
  }
})

test('the library, bundled, never loads the command line, which would start a server', async () => {
  const { output } = await buildServer()
  expect(output.map(({ fileName }) => fileName)).toContain('cli.mjs')
  for (const chunk of output)
    if (chunk.type === 'chunk') expect(chunk.imports).not.toContain('cli.mjs')
})

test('--version', async () => {
  const { version } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  expect(await spawnCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('--help teaches', async () => {
  const { code, stdout } = await runCli(['--help'])
  expect(code).toBe(0)
  for (const text of [
    'serve',
    'status',
    'series',
    'explain',
    'raise-floor',
    'Examples:',
    'configuration file',
  ])
    expect(stdout).toContain(text)
})

describe('series', () => {
  test('a table, and closing one by hand, beside a running server', async () => {
    const data = newFolder()
    const run = (...args: string[]) => runCli(['series', 'Shop', ...args, '--data', data])
    const server = await startProcess(['--port', '0', '--data', data])
    expect((await run()).stdout).toBe('No series in Shop yet.\n')
    const begin = (n: number, collection: string) =>
      fetch(`${server.url}/databases/Shop/hilo/series`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          claim: `6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f1${n}`,
          collection,
          device: 'Till 3',
        }),
      })
    await begin(1, 'receipts')
    await begin(2, 'bills')
    expect((await run()).stdout.split('\n')).toEqual([
      expect.stringMatching(
        /^collection +series +last +periods +ranges +last seen +device +closed +handed over +doubt/,
      ),
      expect.stringMatching(/^bills +A +0 +- +- +\S+Z +Till 3 +- +- +-$/),
      expect.stringMatching(/^receipts +A +0 +- +- +\S+Z +Till 3 +- +- +-$/),
      '',
    ])
    expect((await run('--collection', 'Bills')).stdout).not.toContain('receipts')
    const stolen = ['--close', 'a', '--reason', 'the till was stolen', '--by', 'anna']
    const refused: [string[], string][] = [
      [['--close', 'A'], '--close needs a --reason'],
      [['--close', 'A', '--reason', 'lost\nB'], 'without control characters such as line breaks'],
      [['--close', 'A', '--reason', 'lost'.repeat(300)], '--reason has up to 1024 bytes of UTF-8'],
      [
        stolen,
        'Several collections have a series a: say which with --collection (bills, receipts)',
      ],
      [[...stolen, '--collection', 'orders'], "There is no series a of 'orders' in Shop"],
      [[...stolen, '--rename', 'a', '--to', 'Till 4', '--yes'], '--close and --rename: give one'],
      [['--account', 'A', '--all-listed', '--yes'], '--account and --all-listed: give one'],
      [
        [...stolen, '--last', '131', '--yes'],
        '--last belongs to --hand-over, and --close does not',
      ],
      [['--to', 'Till 4'], '--to belongs to --hand-over or --rename. Nothing was changed.'],
      [['--account', 'A', '--no-period'], '--period belongs to --hand-over, and --account does'],
    ]
    for (const [args, message] of refused)
      expect(await run(...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(message),
      })
    const unsaid = await run(...stolen, '--collection', 'Receipts')
    expect([unsaid.code, unsaid.stdout]).toEqual([1, ''])
    expect(unsaid.stderr).toMatch(/^Series A of 'receipts' ends\. Till 3 has it, /)
    expect(unsaid.stderr).toContain('next document, its first one, such as A-000001, is not made')
    expect(unsaid.stderr).toMatch(/\nNothing was changed\. To do it, add --yes\.\n$/)
    expect((await run(...stolen, '--collection', 'Receipts', '--yes')).stdout).toContain(
      "Series A of 'receipts' is closed, by anna: the till was stolen. The server has heard of " +
        'numbers up to 0. The device is told when it checks in next.\n',
    )
    expect((await run()).stdout).toMatch(/receipts .* by anna: the till was stolen +- +-\n/)
    const over = ['--hand-over', 'A', '--to', 'Till 4', '--reason', 'stolen', '--by', 'anna']
    const bills = [...over, '--collection', 'bills', '--no-period', '--last']
    expect((await run(...bills, '131', '--yes')).stdout).toMatch(
      /\nSeries A of 'bills' goes to Till 4, .* and goes on at 132\. The token that Till 3 had/,
    )
    expect((await run()).stdout).toMatch(/bills .* by anna, Till 3 to Till 4: stolen +-\n/)
    const give = ['--give', 'A', '--collection', 'bills']
    const until = ['--until', '2027-12-31']
    const plan = (await run(...give, '--range', '2001-3000', ...until)).stderr
    expect(plan).toContain('The next document is A-002001, ')
    expect(plan).toContain('Nothing was changed. To do it, add --yes.')
    expect((await run(...give, '--range', '2001-3000', ...until, '--yes')).stdout).toContain(
      "\nSeries A of 'bills' has the numbers 2001 to 3000 until 2027-12-31. Its device gets them " +
        "when it checks in next, and uses them where its app says `ranges: 'server'`.\n",
    )
    const notGiven: [string[], string][] = [
      [give, '--give needs a --range such as 2001-3000'],
      [[...give, '--range', '3000-2001'], '--give needs a --range such as 2001-3000'],
      [[...give, '--range', '1-9', '--until', '2027-02-30'], '--until is a day'],
      [[...give, '--range', '3000-4000'], 'Series A has the numbers 2001 to 3000'],
      [
        [...give, '--range', '100-200'],
        'Series A has numbers from 1 to 131, as the server was told',
      ],
      [['--give', 'A', '--collection', 'receipts', '--range', '1-9'], 'a closed series never'],
    ]
    for (const [args, message] of notGiven)
      expect(await run(...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(message),
      })
    expect((await run()).stdout).toMatch(/bills .* 2001 to 3000 until 2027-12-31 /)
    const rename = ['--rename', 'A', '--collection', 'receipts']
    expect((await run(...rename)).stderr).toContain('--rename needs --to, the new name')
    expect((await run(...rename, '--to', 'Till 7')).stderr).toContain('The next document stays ')
    expect((await run(...rename, '--to', 'Till 7', '--yes')).stdout).toContain('called Till 7 here')
    expect((await run()).stdout).toMatch(/receipts .* Till 7 /)
    expect(await server.stop()).toBe(0)
  })
})

const unmapped = mayMapUsers ? '' : ' (left out: users cannot be mapped here)'

test.skipIf(!mayMapUsers)(
  `closing a series as a user without a name: --by is asked for${unmapped}`,
  async () => {
    const data = newFolder()
    await (await openLedger({ create: true, dataDir: data })).close()
    const args = ['series', 'Shop', '--close', 'A', '--reason', 'lost', '--data', data]
    const run = promisify(execFile)(UNSHARE, [
      ...AS_NOBODY,
      process.execPath,
      await cliFile(),
      ...args,
    ])
    await expect(run).rejects.toMatchObject({
      code: 1,
      stderr: 'This user has no name on this machine: say with --by who does it.\n',
    })
  },
)

test.skipIf(!mayMapUsers)(
  `a file that may not be written to is named, and nothing is left beside it${unmapped}`,
  async () => {
    const data = newFolder()
    await spawnCli(['init', '--data', data])
    const file = join(data, 'hilo.db')
    chmodSync(file, 0o444)
    const args = [...AS_NOBODY, process.execPath, await cliFile(), 'serve', '--data', data]
    await expect(promisify(execFile)(UNSHARE, args)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`permission denied, access '${file}'`),
    })
    expect(readdirSync(data)).toEqual(['hilo.db'])
  },
)

test('explain says where a number is, in words', async () => {
  const data = newFolder()
  const run = (...args: string[]) => runCli(['explain', 'Shop', ...args, '--data', data])
  const server = await startProcess(['--port', '0', '--data', data])
  const post = (path: string, body: object) =>
    fetch(`${server.url}/databases/Shop/hilo/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ claim: randomUUID(), device: 'Till 3', ...body }),
    })
  await post('next', { collections: [{ tag: 'orders', count: 32 }] })
  await post('series', { collection: 'receipts', series: 'T3' })
  const [words, grant] = (await run('Orders', '7')).stdout.split('\n')
  expect(words).toBe(
    'orders 7 of shop: a device holds it. It may have used it since the server heard of it last, ' +
      'and nobody else gets it.',
  )
  expect(grant).toMatch(
    /^ {2}granted \S+Z by node A to Till 3: 1 to 32\. Last heard of \S+Z: the device has not said/,
  )
  expect((await run('orders', '33')).stdout).toContain('never granted. The highest number that was')
  expect((await run('receipts', '7', '--series', 't3')).stdout).toMatch(
    /^receipts, series T3: the server has not heard of 7, but of 0 numbers of Till 3; last heard/,
  )
  expect((await run('bills', '7')).stdout).toContain("The ledger knows no 'bills' in shop")
  expect((await run('orders', '0')).stderr).toContain('a whole number from 1')
  expect(await server.stop()).toBe(0)
})

describe('status and raise-floor', () => {
  test('a table, and a floor that only rises, beside a running server', async () => {
    const data = newFolder()
    const server = await startProcess(['--port', '0', '--data', data])
    await fetch(server.url + NEXT)
    const status = await spawnCli(['status', '--data', data])
    const [name, header, row, rest] = status.stdout.split('\n')
    expect(name).toMatch(/^Ledger [a-z\d]{16}$/)
    expect(header).toMatch(/^database +collection +max +outstanding +free +grants +last claim$/)
    expect(row).toMatch(/^shop +orders +32 +32 +0 +1 +\d{4}-\S+Z$/)
    expect(rest).toBe('')
    const raise = (...args: string[]) =>
      runCli(['raise-floor', 'Shop', 'orders', ...args, '--data', data])
    expect(await raise('5000')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        "'orders' of Shop grants nothing up to 5000 any more.\n" +
        'Nothing was changed. To do it, add --yes.\n',
    })
    expect((await raise('5000', '--yes')).stdout).toContain("'orders' of Shop goes on at 5001")
    expect(await (await fetch(server.url + NEXT)).json()).toMatchObject({ Low: 5001 })
    expect(await raise('100', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is at 5032 already'),
    })
  })

  test('raise-floor says that it raises series, where an identity has that name', async () => {
    const data = newFolder()
    const ledger = await openLedger({ create: true, dataDir: data })
    await ledger.nextIdentities([{ database: 'Shop', name: 'bills|', id: 'a', at: 0 }])
    await ledger.close()
    const raise = (name: string) => runCli(['raise-floor', 'Shop', name, '100', '--data', data])
    expect((await raise('Bills|')).stderr).toContain(
      "The identity 'Bills|' of Shop goes on as before: seed it. This raises the series of 'Bill",
    )
    expect((await raise('lines|')).stderr).not.toContain('identity')
  })

  test('a database without a ledger stays without one, as one without a version', async () => {
    const databaseUrl = await newDatabase()
    const commands = [['status'], ['raise-floor', 'Shop', 'orders', '5'], ['drop', 'Shop', '--yes']]
    const tables = async () =>
      (await runSql(databaseUrl, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).rowCount
    for (const command of commands)
      expect(await runCli([...command, '--database-url', databaseUrl])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`There is no ledger in ${placeOf(databaseUrl)}`),
      })
    expect(await tables()).toBe(0)
    await (await openLedger({ create: true, databaseUrl })).close()
    await runSql(databaseUrl, "UPDATE hilo_meta SET value = '0' WHERE key = 'version'")
    for (const command of commands)
      expect(await runCli([...command, '--database-url', databaseUrl])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("'0' in its row 'version'"),
      })
    const { rows } = await runSql(databaseUrl, "SELECT value FROM hilo_meta WHERE key = 'version'")
    expect(rows).toEqual([{ value: '0' }])
  })

  test('a ledger of an older version is left to its server', () => {
    expect(() => refuseOlder(SCHEMA.upgrades.length)).toThrow('this command upgrades nothing')
    expect(() => refuseOlder(SCHEMA.upgrades.length + 1)).not.toThrow()
  })

  test('drop says what would go, and with --yes it goes, beside a running server', async () => {
    const data = newFolder()
    const server = await startProcess(['--port', '0', '--data', data])
    const drop = (...args: string[]) => runCli(['drop', ...args, '--data', data])
    await fetch(server.url + NEXT)
    const [refused, missing] = [await drop('shop'), await drop('Shop', 'lines')]
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'This drops shop: 1 collections with 32 numbers in grants, and 0 identities',
      ),
    })
    expect(missing).toMatchObject({
      code: 1,
      stderr: "There is no 'lines' of Shop. Databases with collections: shop.\n",
    })
    expect((await drop('Shop', 'Orders', '--yes')).stdout).toContain("Dropped 'Orders' of Shop")
    expect((await drop('Shop', '--yes')).stderr).toContain('There is no Shop.')
    expect(await (await fetch(server.url + NEXT)).json()).toMatchObject({ Low: 33 })
    const series = { claim: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f11', collection: 'orders' }
    await fetch(`${server.url}/databases/Shop/hilo/series`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...series, device: 'Till 3' }),
    })
    expect((await drop('Shop', '--yes')).stderr).toContain('Series of Shop are not closed: A.')
    expect(await server.stop()).toBe(0)
  })

  test('a folder without a ledger stays without one', async () => {
    const data = join(newFolder(), 'typo')
    expect(await runCli(['status', '--data', data])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no ledger in'),
    })
    expect(existsSync(data)).toBe(false)
    expect(await runCli(['raise-floor', 'Shop', 'orders', '1.5'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('whole number'),
    })
  })
})

test.each([
  ['raise-floor', 'Shpo', 'orders', '500'],
  ['raise-floor', 'Shpo', '--all', '--by', '500'],
  ['follow', 'Shpo', '--name', 'k3m9x2dq7rwt5hza', '--above', '500'],
])('%s %s: what the settings do not list, nobody raises in its place', async (...args) => {
  const folder = newFolder()
  const config = join(folder, 'hilo.json')
  const data = join(folder, 'data')
  writeFileSync(config, JSON.stringify({ data, databases: ['Shop', 'Depot'] }))
  await (await openLedger({ dataDir: data, create: true })).close()
  const run = () => runCli([...args, '--yes', '--config', config])
  expect(await run()).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'Shpo is not among the databases of the settings, so no client can ask for it. Did you ' +
      'mean Shop? There are: Shop, Depot. Correct the name, or list it. Nothing was changed.\n',
  })
  writeFileSync(config, JSON.stringify({ data, databases: ['shpo'] }))
  expect((await run()).stderr).not.toContain('not among')
})

describe('follow', () => {
  const OTHER = 'k3m9x2dq7rwt5hza'

  test('goes on above what a lost ledger granted, and refuses what is no other name', async () => {
    const data = newFolder()
    await (await openLedger({ create: true, dataDir: data })).close()
    const follow = (name: string, above = '500') =>
      runCli(['follow', 'Shop', '--name', name, '--above', above, ...yes, '--data', data])
    const yes: string[] = []
    expect((await follow('Shop')).stderr).toContain("'Shop' is no name of a ledger")
    expect((await follow(OTHER)).stderr).toMatch(
      /^Shop goes on in the place of .*\nNothing was changed\. To do it, add --yes\.\n$/,
    )
    yes.push('--yes')
    const { stdout } = await follow(OTHER)
    expect(stdout).toContain(`Shop follows ${OTHER}.`)
    expect(stdout).toContain('new ones begin at 501')
    for (const above of ['500', '20'])
      expect(await follow(OTHER, above)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`follows ${OTHER} already, above 500. Nothing was`),
      })
    const ledger = await openLedger({ dataDir: data })
    const name = await ledger.readName()
    const claim = { database: 'Shop', collection: 'orders', count: 1, lastMax: 0, at: 0 }
    expect(await ledger.claim([{ ...claim, serverTag: 'A', ledgers: { A: OTHER } }])).toMatchObject(
      [{ other: { name, above: 500 } }],
    )
    await ledger.close()
    expect((await follow(name!)).stderr).toContain('is the name of this ledger')
    expect((await follow(`${name}/depot`)).stderr).toContain('is another database of this ledger')
  })
})

describe('a ledger behind an address', () => {
  const TOKEN = { HILO_OPERATOR_TOKEN: 'operator-of-the-tests' }

  /** A server that answers everything so; resolves with its address, and what it was asked. */
  async function answering(status: number, body: string, headers = {}) {
    const asked: string[] = []
    const server = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.writeHead(status, headers).end(body)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
  }

  const status = (args: string[], environment: NodeJS.ProcessEnv = TOKEN) =>
    runCli(['status', 'Shop', ...args], environment)
  const failing = (text: string) => ({ code: 1, stdout: '', stderr: expect.stringContaining(text) })
  const bodyOf = (Type: string) => JSON.stringify({ Type, Message: 'So it is.' })

  test.each([
    ['a page', 200, '<!doctype html>', 'Correct the address.'],
    ['a list that is none', 404, '[]', 'Correct the address.'],
    ['a failure of the Worker', 500, 'Internal Server Error', 'npx wrangler tail'],
    ['no route', 400, bodyOf('…RouteNotFoundException'), 'leave --url out'],
    ['another token', 403, bodyOf('Forbidden'), 'HILO_OPERATOR_TOKEN has to be'],
    ['an outage', 503, bodyOf('Error'), 'may have been done'],
  ])('that answers with %s says what to do', async (_, code, body, text) => {
    const { url, asked } = await answering(code, body)
    expect(await status(['--url', url])).toMatchObject(failing(text))
    expect(asked).toEqual(['POST /operator/Shop/status Bearer operator-of-the-tests'])
  })

  test('does not pass the token on to another address', async () => {
    const { url: other, asked } = await answering(200, '[]')
    const { url } = await answering(307, '', { Location: `${other}/operator/Shop/status` })
    expect(await status(['--url', url])).toMatchObject(failing('Correct the address.'))
    expect(asked).toEqual([])
  })

  test('is refused before anything is sent, where something is missing or unsafe', async () => {
    const { url, asked } = await answering(200, '[]')
    expect(await status(['--url', url], {})).toMatchObject(failing('HILO_OPERATOR_TOKEN'))
    expect(await runCli(['status', '--url', url], TOKEN)).toMatchObject(failing('status Shop'))
    for (const [args, environment] of [
      [['--url', url, '--data', newFolder()], TOKEN],
      [['--url', url], { ...TOKEN, HILO_DATA: newFolder() }],
      [['--url', url], { ...TOKEN, DATABASE_URL: 'postgres://db/hilo' }],
    ] as const)
      expect(await status([...args], environment)).toMatchObject(failing('name two ledgers'))
    expect(await status(['--url', 'http://ids.example.com'])).toMatchObject(failing('https'))
    expect(await status(['--url', `${url}/databases`])).toMatchObject(failing('without a path'))
    expect(asked).toEqual([])
  })

  test('that does not answer says so', async () => {
    const { url } = await answering(200, '[]')
    const nobody = url.replace(/\d+$/, '1')
    expect(await status(['--url', nobody])).toMatchObject(failing(`${nobody} does not answer`))
  })
})
