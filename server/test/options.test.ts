/**
 * Options that are wrong: each option of `serve`, of a handler, of a ledger and of a Worker refuses
 * what it cannot use, before anything is opened, by a message that names it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  checkWorkerOptions,
  type HiloWorkerOptions,
} from '../src/addons/durable-object/worker-options.js'
import { createHiloHandler, openLedger, type ServeOptions, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { newHandler } from './handlers.js'

/** No option takes one of these. */
const WRONG: readonly unknown[] = [null, '', Number.NaN, -1, 1.5, Symbol('x'), [null]]

const log = { info() {}, error() {} }
const { ledger } = await newHandler()

type Start = (options: object) => unknown

async function startServer(options: object): Promise<void> {
  const server = await serve({ dataDir: newFolder(), create: true, port: 0, log, ...options })
  await server.close()
}

async function startLedger(options: object): Promise<void> {
  const opened = await openLedger({ dataDir: newFolder(), create: true, ...options })
  await opened.close()
}

const startWorker = (options: object): void =>
  startHandlerOf({ databases: ['Shop'], open: true, log, ...options })

/** As a Worker does with its first request. */
function startHandlerOf(options: HiloWorkerOptions): void {
  const { handler } = checkWorkerOptions(options)
  createHiloHandler({ ...handler, ledger })
}

const STARTS: [name: string, start: Start][] = [
  ['serve', startServer],
  ['createHiloHandler', (options) => createHiloHandler({ ledger, open: true, log, ...options })],
  ['openLedger', startLedger],
  ['createHiloWorker', startWorker],
]

async function messageOf(start: Start, options: object): Promise<string> {
  try {
    await start(options)
  } catch (error) {
    return (error as Error).message
  }
  return 'It was taken.'
}

/** A message says them, so that no list of this test can lack one. */
async function namesIn(start: Start, nestedIn: string): Promise<string[]> {
  const unknown = { nobody: 1 }
  const message = await messageOf(start, nestedIn === '' ? unknown : { [nestedIn]: unknown })
  const [, names] = /There are: (.*)\./.exec(message) ?? []
  expect(names, message).toBeDefined()
  return names!.split(', ')
}

const OF_WORKERS = ['create', 'operatorToken', 'horizon', 'secrets']

test.each(STARTS)('each option of %s refuses what it cannot use', async (of, start) => {
  const names = await namesIn(start, '')
  expect(names).toContain('limits')
  for (const name of of === 'createHiloWorker' ? [...names, ...OF_WORKERS] : names) {
    if (of === 'createHiloWorker' && name === 'ledger') continue
    for (const value of WRONG)
      expect(await messageOf(start, { [name]: value }), `${name}: ${String(value)}`).toMatch(
        new RegExp(`^\\w+ cannot use its options\\.(\n .*)*\n  ${name}(\\.0)?: \\S`),
      )
  }
})

test.each(STARTS)('each limit of %s refuses what it cannot use', async (_, start) => {
  for (const name of await namesIn(start, 'limits'))
    for (const value of WRONG)
      expect(await messageOf(start, { limits: { [name]: value } }), name).toMatch(
        new RegExp(`^\\w+ cannot use its options\\.\n  limits\\.${name}: has to be `),
      )
})

test.each([
  ['serve', serve],
  ['openLedger', openLedger],
  ['createHiloWorker', checkWorkerOptions],
])('options of %s that are no object are refused', async (of, start) => {
  for (const options of [null, [], 'x', 1])
    expect(await messageOf(() => (start as Start)(options as object), {})).toMatch(
      new RegExp(`^${of} cannot use its options\\.\n  options: has to be an object`),
    )
})

test('a log that could not write a line of a request is refused', async () => {
  for (const [, start] of STARTS.filter(([of]) => of !== 'openLedger'))
    expect(await messageOf(start, { log: { error() {} } })).toContain('log: needs the methods info')
})

test('a port that is taken leaves no ledger behind', async () => {
  const { url, close } = await serve({ dataDir: newFolder(), create: true, port: 0, log })
  onTestFinished(() => close({ drain: 0 }))
  const dataDir = join(newFolder(), 'hilo-data')
  const port = Number(new URL(url).port)
  await expect(serve({ dataDir, create: true, port, log })).rejects.toThrow('Cannot listen on')
  expect(existsSync(dataDir)).toBe(false)
})

test('a server that is closed in a way that cannot be meant goes on', async () => {
  const server = await serve({ dataDir: newFolder(), create: true, port: 0, log })
  onTestFinished(() => server.close({ drain: 0 }))
  for (const drain of WRONG.filter((each) => each !== 1.5))
    await expect(server.close({ drain } as never)).rejects.toThrow('close cannot use its options')
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test.each([
  ['false', () => false, 503],
  ['true', () => true, 200],
  ['a promise of false', async () => false, 503],
  ['a promise of true', async () => true, 200],
  ['nothing', () => undefined as unknown as boolean, 503],
])('a server whose isReady gives %s', async (_, isReady, status) => {
  const options: ServeOptions = { isReady }
  const { ask } = await newHandler(options)
  expect((await ask('/healthz')).status).toBe(status)
  const server = await serve({ dataDir: newFolder(), create: true, port: 0, log, ...options })
  onTestFinished(() => server.close({ drain: 0 }))
  expect((await fetch(`${server.url}/healthz`)).status).toBe(status)
})

test('a Worker has the limits that it is given, and the defaults of the others', () => {
  const options: HiloWorkerOptions = { databases: ['Shop'], limits: { maxId: 99, count: 7 } }
  const { ledgerLimits, handler } = checkWorkerOptions(options)
  expect(ledgerLimits).toMatchObject({ maxId: 99, collections: 10_000 })
  expect(handler.limits).toMatchObject({ count: 7 })
})

test('one object of options that is changed for the next server: each has its own', async () => {
  const options: ServeOptions = { dataDir: newFolder(), create: true, port: 0, log, nodeTag: 'A' }
  const first = serve(options)
  Object.assign(options, { dataDir: newFolder(), nodeTag: 'B' })
  const servers = await Promise.all([first, serve(options)])
  for (const { close } of servers) onTestFinished(() => close({ drain: 0 }))
  const tags = servers.map(async ({ url }) => {
    const range = await fetch(`${url}/databases/Shop/hilo/next?tag=orders`)
    return ((await range.json()) as { ServerTag: string }).ServerTag
  })
  expect(await Promise.all(tags)).toEqual(['A', 'B'])
})

test.each([
  ['serve', serve],
  ['createHiloHandler', createHiloHandler],
  ['openLedger', openLedger],
  ['createHiloWorker', (options: HiloWorkerOptions) => startHandlerOf(options)],
])('each option of %s counts where a class computes it', async (of, start) => {
  for (const name of await namesIn(Object.fromEntries(STARTS)[of]!, '')) {
    if (of === 'createHiloWorker' && name === 'ledger') continue
    const options = Object.create({ databases: ['Shop'] }, { [name]: { get: () => Number.NaN } })
    expect(await messageOf(() => (start as Start)(options), {})).toContain(`\n  ${name}: `)
  }
})
