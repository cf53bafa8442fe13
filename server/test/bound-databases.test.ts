/**
 * Databases with collections that another counter counts, in every way to start: beside them, no
 * mistyped name becomes a database in which the ledger counts by itself.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { shownLog as log } from '../../test/support/shown-log.js'
import {
  createHiloHandler,
  type HandlerOptions,
  type LedgerOptions,
  openLedger,
  serve,
} from '../src/index.js'
import { newFolder } from './folders.js'
import { newDatabase } from './postgres.js'

const RAVEN = { upstream: { url: 'http://127.0.0.1:1', database: 'Shop' } }
function hook() {
  let next = 7
  return { nextHi: async () => next++, isFree: () => true, blockSize: 100 }
}

type Place = () => Promise<LedgerOptions>
const PLACES: [string, Place][] = [
  ['SQLite', async () => ({ dataDir: newFolder() })],
  ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
]
type Access = Pick<HandlerOptions, 'databases' | 'tokens'>
/** Resolves with a function that asks `/databases/<name>/hilo/next`. */
type Start = (
  options: LedgerOptions,
  access: Access,
) => Promise<(name: string) => Promise<Response>>
const STARTS: [string, Start][] = [
  [
    'serve',
    async (options, access) => {
      const server = await serve({ port: 0, log, ...options, ...access })
      onTestFinished(() => server.close())
      return (name) => fetch(`${server.url}/databases/${name}/hilo/next?tag=orders`)
    },
  ],
  [
    'createHiloHandler',
    async (options, access) => {
      const ledger = await openLedger(options)
      onTestFinished(() => ledger.close())
      const handle = createHiloHandler({ ledger, log, open: true, ...access })
      return (name) => handle(new Request(`http://x/databases/${name}/hilo/next?tag=orders`))
    },
  ],
]
const WAYS = PLACES.flatMap(([where, place]) =>
  STARTS.map(([how, start]): [string, string, Place, Start] => [how, where, place, start]),
)

describe.each(WAYS)('%s on %s', (_, __, place, start) => {
  const startWith = async (bound: LedgerOptions, access: Access = {}) =>
    start({ create: true, ...(await place()), ...bound }, access)

  test('without a list, only the databases with bindings exist', async () => {
    const ask = await startWith({ counters: { Shop: { orders: hook() } } })
    expect(await (await ask('sHOP')).json()).toMatchObject({ Low: 700, High: 731 })
    const mistyped = await ask('Shpo')
    expect(mistyped.status).toBe(500)
    expect((await mistyped.json()).Type).toContain('DatabaseDoesNotExistException')
  })

  test('"any" lets others exist beside them', async () => {
    const ask = await startWith({ counters: { Shop: { orders: hook() } } }, { databases: 'any' })
    expect((await ask('Depot')).status).toBe(201)
  })

  test.each<[string, LedgerOptions]>([
    ['collections', { collections: { Shpo: { orders: RAVEN } } }],
    ['counters', { counters: { Shpo: { orders: hook() } } }],
  ])('%s of a database that is not listed are refused', async (_, bound) => {
    await expect(startWith(bound, { databases: ['Shop'] })).rejects.toThrow(
      /\.Shpo: is not among databases, so nobody would use these bindings/,
    )
    const ask = await startWith(bound, { databases: ['SHPO', 'Depot'] })
    expect((await ask('Depot')).status).toBe(201)
  })
})

test('a server that is refused leaves no ledger behind', async () => {
  const dataDir = join(newFolder(), 'data')
  const counters = { Shpo: { orders: hook() } }
  const starting = serve({ port: 0, log, create: true, dataDir, counters, databases: ['Shop'] })
  await expect(starting).rejects.toThrow('counters.Shpo: is not among databases')
  expect(existsSync(dataDir)).toBe(false)
})
