/**
 * The command line: settings from everywhere, clear messages, and commands beside a running server.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serve } from '../src/index.js'
import { readConfig } from '../src/settings.js'
import { newFolder } from './folders.js'
import { newDatabase } from './postgres.js'
import { buildServer, runCli, startProcess } from './processes.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const TIMEOUT = 120_000

describe('serve', { timeout: TIMEOUT }, () => {
  test('settings come from flags, the environment and a file; SIGTERM finishes requests', async () => {
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

  test('PostgreSQL by DATABASE_URL', async () => {
    const environment = { DATABASE_URL: await newDatabase() }
    const server = await startProcess(['--port', '0'], environment)
    expect((await fetch(server.url + NEXT)).status).toBe(201)
    expect((await runCli(['status'], environment)).stdout).toContain('orders')
    expect(await server.stop()).toBe(0)
  })

  test('the log begins with version, storage and settings, and has no secret', async () => {
    const folder = newFolder()
    const config = join(folder, 'hilo.json')
    const token = 'correct-horse-battery'
    writeFileSync(config, JSON.stringify({ tokens: [token], databases: ['Shop'] }))
    const databaseUrl = new URL(await newDatabase())
    databaseUrl.password = 'never-to-be-seen'
    const started = await startProcess(['--port', '0', '--config', config, '--node-tag', 'B'], {
      DATABASE_URL: databaseUrl.href,
    })
    expect(await started.stop()).toBe(0)
    const [line] = started.log().split('\n')
    expect(JSON.parse(line!)).toMatchObject({
      msg: 'The server has started.',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      url: started.url,
      storage: `PostgreSQL at ${databaseUrl.host}${databaseUrl.pathname}`,
      settings: { nodeTag: 'B', databases: ['Shop'], tokens: '1, not shown' },
    })
    for (const secret of [token, databaseUrl.password]) expect(started.log()).not.toContain(secret)
    const dataDir = join(folder, 'data')
    const other = await startProcess(['--port', '0', '--data', dataDir])
    await other.stop()
    expect(JSON.parse(other.log().split('\n')[0]!)).toMatchObject({
      storage: `SQLite in ${dataDir}`,
    })
  })

  test('what it cannot use: one clear message', async () => {
    const { code, stdout, stderr } = await runCli([
      'serve',
      '--data',
      newFolder(),
      '--node-tag',
      'lower',
      '--port',
      '99999',
    ])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      'offline-hilo-server cannot use its options.\n  port: is 0 to 65535; 0 picks a free one\n  ' +
        'nodeTag: a node tag has 1 to 4 capital letters, as in A\n',
    )
  })

  test.each([
    [{ port: 'x' }, 'port: is a number'],
    [{ port: '' }, 'port: is a number'],
    [{ databaseUrl: 'mysql://x' }, 'databaseUrl: is a URL like postgres://'],
    [{ hosts: 'ids.lan,https://b.lan' }, 'hosts.1: a host is a name or an address'],
    [{ config: '/nowhere.json' }, 'config: /nowhere.json cannot be read (ENOENT)'],
    [{ config: import.meta.filename }, 'is not a JSON object'],
  ])('setting %j is refused', (flags, message) => {
    expect(() => readConfig(flags)).toThrow(message)
  })

  test('a port that is taken', async () => {
    const first = await serve({ port: 0, dataDir: newFolder() })
    const port = Number(new URL(first.url).port)
    await expect(serve({ port, dataDir: newFolder() })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: another program uses that port`,
    )
    await first.close()
  })
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
  expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('--help teaches', async () => {
  const { code, stdout } = await runCli(['--help'])
  expect(code).toBe(0)
  for (const text of ['serve', 'status', 'raise-floor', 'Examples:', 'configuration file'])
    expect(stdout).toContain(text)
})

describe('status and raise-floor', { timeout: TIMEOUT }, () => {
  test('a table, and a floor that only rises, beside a running server', async () => {
    const data = newFolder()
    const server = await startProcess(['--port', '0', '--data', data])
    await fetch(server.url + NEXT)
    const status = await runCli(['status', '--data', data])
    expect(status.stdout).toMatch(
      /^database +collection +max +outstanding +free +grants +last claim\nshop +orders +32 +32 +0 +1 +\d{4}-\S+Z\n$/,
    )
    expect(
      (await runCli(['raise-floor', 'Shop', 'orders', '5000', '--data', data])).stdout,
    ).toContain("'orders' of Shop goes on at 5001")
    expect(await (await fetch(server.url + NEXT)).json()).toMatchObject({ Low: 5001 })
    expect(await runCli(['raise-floor', 'Shop', 'orders', '100', '--data', data])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is at 5032 already'),
    })
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
