/** In production a ledger has a place that somebody has named, whichever way it is opened. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openLedger, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { runCli } from './run-cli.js'

const log = { info() {}, error() {} }

/** Until the end of the test this process is there, and `NODE_ENV` says so. */
function standIn(folder: string, environment: string | undefined): void {
  const before = process.cwd()
  process.chdir(folder)
  vi.stubEnv('NODE_ENV', environment)
  onTestFinished(() => {
    process.chdir(before)
    vi.unstubAllEnvs()
  })
}

/** Each way to open a ledger without a place. */
const OPENED: [title: string, open: () => Promise<{ close(): Promise<void> }>][] = [
  ['openLedger()', () => openLedger()],
  ['openLedger, with create', () => openLedger({ create: true })],
  ['openLedger, with a variable that is missing', () => openLedger({ databaseUrl: undefined })],
  ['openLedger, without create', () => openLedger({ create: false })],
  ['serve()', () => serve({ port: 0, log })],
  ['serve, with other settings', () => serve({ port: 0, log, open: true, nodeTag: 'B' })],
]

const COMMANDS = [
  ['serve', '--port', '70000'],
  ['serve', '--first'],
  ['serve', '--host', '127.0.0.1', '--port', '0'],
  ['init'],
  ['serve', '--config', 'hilo.json'],
]

describe.each(['production', 'Production', 'prod', 'staging'])('where NODE_ENV is %s', (name) => {
  test.each(OPENED)('%s refuses without a place, and makes nothing', async (_, open) => {
    const folder = newFolder()
    standIn(folder, name)
    await expect(open()).rejects.toThrow(
      new RegExp(`^NODE_ENV is ${name}, and nothing says where the ledger is\\..* dataDir or `),
    )
    expect(readdirSync(folder)).toEqual([])
  })

  test.each(COMMANDS)('offline-hilo-server %s refuses without a place', async (...args) => {
    const folder = newFolder()
    writeFileSync(join(folder, 'hilo.json'), '{"port": 0}')
    const flags = args.map((each) => each.replace('70000', '0'))
    expect(await runCli(flags, { NODE_ENV: name }, folder)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^NODE_ENV is .*Name the place: --data .* --database-url/),
    })
    expect(readdirSync(folder)).toEqual(['hilo.json'])
  })

  test('a ledger that happens to be in ./hilo-data is not used', async () => {
    const folder = newFolder()
    await (await openLedger({ dataDir: join(folder, 'hilo-data'), create: true })).close()
    standIn(folder, name)
    await expect(openLedger()).rejects.toThrow('nothing says where the ledger is')
  })

  test('a place that is named is used, also the same one', async () => {
    const folder = newFolder()
    standIn(folder, name)
    expect((await runCli(['init', '--data', 'hilo-data'], { NODE_ENV: name }, folder)).code).toBe(0)
    await (await openLedger({ dataDir: 'hilo-data' })).close()
    await expect(openLedger({ dataDir: 'other' })).rejects.toThrow('There is no ledger in')
  })
})

describe.each([undefined, '', 'development', 'test'])('where NODE_ENV is %s', (name) => {
  test.each(OPENED.filter(([title]) => title !== 'openLedger, without create'))(
    '%s makes a ledger to try out',
    async (_, open) => {
      const folder = newFolder()
      standIn(folder, name)
      await (await open()).close()
      expect(existsSync(join(folder, 'hilo-data/hilo.db'))).toBe(true)
    },
  )
})

test('a folder of another name is as good', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'data'))
  standIn(folder, 'production')
  await (await openLedger({ dataDir: 'data', create: true })).close()
  expect(existsSync(join(folder, 'data/hilo.db'))).toBe(true)
})
