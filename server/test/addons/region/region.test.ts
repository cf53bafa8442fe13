/** Regions: servers whose numbers come from another server of ours, as a device's do. */
import { cpSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { emptyState } from '../../../../src/device/state.js'
import { storeChecks } from '../../../../src/store/testing.js'
import { freePort } from '../../../../test/support/free-port.js'
import { between, VERSIONS } from '../../../../test/support/next-version.js'
import { openPool } from '../../../src/addons/postgres/pool.js'
import { connectionTo } from '../../../src/addons/postgres/postgres-store.js'
import { upgradePostgres } from '../../../src/addons/postgres/upgrade.js'
import { inWords } from '../../../src/http/explain-words.js'
import {
  createHiloHandler,
  type Grant,
  type HiloServer,
  type Ledger,
  type LedgerOptions,
  openLedger,
  serve,
} from '../../../src/index.js'
import type { OtherLedger } from '../../../src/ledger/ledger.js'
import { deviceStore } from '../../../src/sql/devices.js'
import { SQLITE_FILE } from '../../../src/sql/schema.js'
import { backUp } from '../../../src/sqlite/backup.js'
import { openSqliteStore } from '../../../src/sqlite/sqlite-store.js'
import { newFolder } from '../../folders.js'
import { AT, grantOf, newId, span, untilAnswered } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'

const NO_COUNTERS = { answer: async () => ({ fresh: [], used: [], isAtEnd: false }) }
const KEY = { database: 'shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'Z', at: AT }

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close()
})

interface Root {
  url: string
  /** Claims that it granted. */
  claims(): Promise<number>
  ledger: Ledger
  stop(): Promise<void>
  start(): Promise<void>
}

/** A root that goes away and comes back at one address, with one ledger. */
async function newRoot(): Promise<Root> {
  const dataDir = newFolder()
  let server: HiloServer
  let port = 0
  const start = async () => {
    server = await serve({ create: true, port, dataDir, log: silent })
    port = Number(new URL(server.url).port)
  }
  await start()
  const ledger = await openLedger({ create: true, dataDir })
  closes.push(
    () => server.close({ drain: 0 }),
    () => ledger.close(),
  )
  return {
    url: server!.url,
    ledger,
    start,
    stop: () => server.close({ drain: 0 }),
    claims: async () => (await ledger.status()).reduce((sum, { grants }) => sum + grants, 0),
  }
}

const nameOf = async ({ ledger }: Root): Promise<string> => (await ledger.readName())!

/** @returns an address that leads each request to a root */
async function relayTo(
  rootOf: (request: IncomingMessage) => string | Promise<string>,
): Promise<string> {
  const relay = createServer(async (request, response) => {
    const chunks = await request.toArray()
    const answer = await fetch((await rootOf(request)) + request.url, {
      method: request.method!,
      headers: { 'Content-Type': 'application/json' },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    })
    response.writeHead(answer.status, { 'Content-Type': 'application/json' })
    response.end(await answer.text())
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  closes.push(() => new Promise((resolve) => relay.close(resolve)))
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
}

const silent = { error() {}, warn() {}, info() {} }

async function newRegion(
  upstream: LedgerOptions['upstream'],
  storage: LedgerOptions = { dataDir: newFolder() },
) {
  const ledger = await openLedger({ create: true, ...storage, upstream })
  let isOpen = true
  const close = async () => {
    if (isOpen) await ledger.close()
    isOpen = false
  }
  closes.push(close)
  const claim = async (change: object = {}) =>
    (await ledger.claim([{ ...WISH, id: newId(), ...change }]))[0]!
  return { ledger, close, claim, take: async (change?: object) => grantOf(await claim(change)) }
}

/** The names of which a region has stored anything. */
async function devicesIn({ dataDir, databaseUrl }: LedgerOptions): Promise<string[]> {
  if (dataDir !== undefined) {
    const store = openSqliteStore(dataDir, new Map(), { create: true })
    const keys = await store.devices.keys()
    await store.close()
    return keys.map(([, , prefix]) => prefix)
  }
  const pool = openPool(databaseUrl!)
  const keys = await deviceStore(connectionTo(pool, 'public', NO_COUNTERS)).keys()
  await pool.close()
  return keys.map(([, , prefix]) => prefix)
}

/** Runs SQL beside the region. */
async function runIn({ dataDir, databaseUrl }: LedgerOptions, sql: string): Promise<unknown[]> {
  if (dataDir === undefined) {
    const pool = openPool(databaseUrl!)
    return pool.query(sql).finally(() => pool.close())
  }
  const db = new DatabaseSync(join(dataDir, SQLITE_FILE))
  try {
    return db.prepare(sql.replaceAll('public.', '')).all()
  } finally {
    db.close()
  }
}

/** Claims until there are none left. */
async function takeAll(take: () => Promise<Grant>): Promise<number[][]> {
  const taken: number[][] = []
  for (;;)
    try {
      taken.push(span(await take()))
    } catch {
      return taken
    }
}

const overlapping = (spans: number[][]): number[][] =>
  spans
    .toSorted(([a], [b]) => a! - b!)
    .filter(([low], i, sorted) => i > 0 && sorted[i - 1]![1]! >= low!)

describe.each([
  ['SQLite', async () => ({ dataDir: newFolder() })],
  ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
] as [string, () => Promise<LedgerOptions>][])('a region on %s', (_, newStorage) => {
  test('grants numbers of its root, under the tag of the root, in few claims', async () => {
    const root = await newRoot()
    const { take } = await newRegion({ url: root.url }, await newStorage())
    const taken: number[][] = []
    for (let i = 0; i < 200; i++) {
      const grant = await take()
      expect(grant.serverTag).toBe('A')
      taken.push(span(grant))
    }
    expect(overlapping(taken)).toEqual([])
    expect(await root.claims()).toBeLessThanOrEqual(8)
  })

  test('uses up what it took for such clients before it takes more', async () => {
    const root = await newRoot()
    const { take, ledger } = await newRegion({ url: root.url }, await newStorage())
    const taken: number[][] = []
    for (let i = 0; i < 12; i++) taken.push(span(await take({ id: undefined })))
    expect(overlapping(taken)).toEqual([])
    const [status] = await ledger.status()
    expect(status!.free).toBeLessThanOrEqual(12 * 32)
  })

  test('goes on from its reserve while the root is away, then says so, and goes on', async () => {
    const root = await newRoot()
    const { ledger, take } = await newRegion({ url: root.url, reserve: 640 }, await newStorage())
    await take()
    await expect.poll(async () => (await root.ledger.read(KEY)).max).toBeGreaterThanOrEqual(640)
    await root.stop()
    const taken = await takeAll(take)
    expect(taken.length).toBeGreaterThanOrEqual(19)
    expect(overlapping(taken)).toEqual([])
    await expect(ledger.claim([{ ...WISH, id: newId() }])).rejects.toThrow(
      /No numbers of 'orders' are left here.*could not be reached/,
    )
    await root.start()
    await expect
      .poll(async () => span(await take()), { timeout: 30_000 })
      .toEqual([expect.any(Number), expect.any(Number)])
  })

  test('asks its root for no more collections than it may have, also if it is away', async () => {
    const upstream = { url: `http://127.0.0.1:${await freePort()}` }
    const { claim } = await newRegion(upstream, {
      ...(await newStorage()),
      limits: { collections: 2 },
    })
    for (const collection of ['orders', 'lines', 'Orders'])
      await expect(claim({ collection })).rejects.toThrow(/could not be reached/)
    expect(await claim({ collection: 'more' })).toMatchObject({ refused: 'full' })
  })

  test('keeps nothing of names that it has no room for, however many are asked', async () => {
    const root = await newRoot()
    const storage = await newStorage()
    const { claim, take, close } = await newRegion(
      { url: root.url },
      { ...storage, limits: { collections: 1 } },
    )
    await take()
    for (const collection of ['a', 'b', 'c'])
      expect(await claim({ collection })).toMatchObject({ refused: 'full' })
    await close()
    expect(await devicesIn(storage)).toEqual(['orders/'])
  })

  test('two servers of one region share what it holds', async () => {
    const root = await newRoot()
    const storage = await newStorage()
    const servers = [
      await newRegion({ url: root.url }, storage),
      await newRegion({ url: root.url }, storage),
    ]
    const taken = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const id = newId()
        return span(await untilAnswered(() => servers[i % 2]!.take({ id })))
      }),
    )
    expect(overlapping(taken)).toEqual([])
  })
})

test('three regions go on for an hour without their root', async () => {
  const root = await newRoot()
  const regions = await Promise.all(
    Array.from({ length: 3 }, () => newRegion({ url: root.url, reserve: 2_400 })),
  )
  const taken = await Promise.all(regions.map(async ({ take }) => span(await take())))
  await expect.poll(async () => (await root.ledger.read(KEY)).max).toBeGreaterThanOrEqual(7_200)
  const claims = await root.claims()
  await root.stop()
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const minute = async () => {
    for (const { take } of regions) taken.push(span(await take()))
    await vi.advanceTimersByTimeAsync(60_000)
  }
  for (let i = 0; i < 60; i++) await minute()
  await root.start()
  for (let i = 0; i < 10; i++) await minute()
  vi.useRealTimers()
  expect(await root.claims()).toBeGreaterThan(claims)
  expect(overlapping(taken)).toEqual([])
})

test('a region asks for a database whose name has more characters in lower case', async () => {
  const root = await newRoot()
  const { take } = await newRegion({ url: root.url })
  expect(span(await take({ database: 'İstanbul' }))).toEqual([1, 32])
  expect(span(await take({ database: 'İ'.repeat(128) }))).toEqual([1, 32])
})

test('a region of a region tells the root through whom it asks, and not for ever', async () => {
  const root = await newRoot()
  const told: unknown[] = []
  const url = await relayTo(({ headers }) => {
    told.push(headers['hilo-regions'])
    return root.url
  })
  const options = { create: true, port: 0, log: silent }
  const middle = await serve({ ...options, dataDir: newFolder(), upstream: { url, reserve: 0 } })
  closes.push(() => middle.close({ drain: 0 }))
  const region = await newRegion({ url: middle.url, reserve: 0 })
  expect(span(await region.take())).toEqual([1, 32])
  const name = '[a-z\\d]{16}'
  const own = `${name} ${url}$`
  expect(told).toEqual([expect.stringMatching(`^${name} ${middle.url} ${own}`)])
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_001)
  onTestFinished(() => void vi.restoreAllMocks())
  const claim = await fetch(`${middle.url}/databases/shop/hilo/next?tag=users`)
  expect(claim.status).toBe(201)
  expect(told.at(-1)).toMatch(new RegExp(`^${own}`))
})

test('a region that closes keeps its reserve, and gives back the rest', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const { take, close } = await newRegion({ url: root.url, reserve: 0 }, { dataDir })
  expect(span(await take({ count: 5 }))).toEqual([1, 5])
  await close()
  expect((await root.ledger.read(KEY)).max).toBe(5)
})

test('a device that saw higher numbers in another region burns nothing', async () => {
  const root = await newRoot()
  const [north, south] = [await newRegion({ url: root.url }), await newRegion({ url: root.url })]
  expect(span(await north.take())).toEqual([1, 32])
  const [low] = span(await south.take())
  expect(low).toBeGreaterThan(32)
  expect(span(await north.take({ lastMax: low! + 31 }))).toEqual([33, 64])
})

test.each(VERSIONS)('a region, and %s: it grants, also after a start', async (_, versions) => {
  const root = await newRoot()
  vi.stubGlobal('fetch', between(versions, fetch))
  onTestFinished(() => void vi.unstubAllGlobals())
  const dataDir = newFolder()
  const region = await newRegion({ url: root.url, reserve: 64 }, { dataDir })
  const taken = [span(await region.take())]
  await region.close()
  const again = await newRegion({ url: root.url, reserve: 64 }, { dataDir })
  for (const count of [32, 500]) taken.push(span(await again.take({ count })))
  expect(taken.map(([low]) => low)).toEqual([1, 33, 65])
  const [outcome] = await again.ledger.nextIdentities([{ database: 'shop', name: 'bills', at: AT }])
  expect(outcome).toMatchObject({ value: 1 })
})

test('a copied region is found at its first claim, and drops what it held', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url }, { dataDir })
  await original.take()
  await original.close()
  const copied = newFolder()
  cpSync(dataDir, copied, { recursive: true })
  const first = await newRegion({ url: root.url }, { dataDir })
  const copy = await newRegion({ url: root.url }, { dataDir: copied })
  const taken = []
  for (let i = 0; i < 20; i++)
    taken.push(span(await first.take()), span(await copy.take()), span(await copy.take()))
  expect(overlapping(taken)).toEqual([])
})

test('a region grants nothing more of what its root has dropped', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const before = await newRegion({ url: root.url, reserve: 64 }, { dataDir })
  const { token, high: end } = await before.take()
  await before.take()
  await before.ledger.giveBack({ ...KEY, token, end, last: 0, at: AT })
  await before.close()
  await root.ledger.drop({ ...KEY, at: AT })
  const { max } = await root.ledger.read(KEY)
  const after = await newRegion({ url: root.url, reserve: 64 }, { dataDir })
  const taken = [span(await after.take()), span(await after.take())]
  expect(taken.flat().filter((number) => number! <= max)).toEqual([])
})

test('after its root has a new secret, a region goes on above all that it held', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url }, { dataDir })
  const taken = [span(await original.take())]
  await original.close()
  const copied = newFolder()
  cpSync(dataDir, copied, { recursive: true })
  await root.stop()
  await root.ledger.renewSecret()
  await root.start()
  // Nobody can tell the two apart any more.
  for (const folder of [dataDir, copied, dataDir]) {
    const region = await newRegion({ url: root.url }, { dataDir: folder })
    taken.push(span(await region.take()))
    await region.close()
  }
  expect(overlapping(taken)).toEqual([])
})

test('regions with one secret take no token of each other for a restored backup', async () => {
  const root = await newRoot()
  const secrets = ['one secret for all the regions, by mistake']
  const region = () => newRegion({ url: root.url }, { dataDir: newFolder(), secrets })
  const [north, south] = [await region(), await region()]
  const { token, low } = await north.take()
  const grants = [{ token, next: low + 1 }]
  const checkIn = { database: KEY.database, id: newId(), grants, at: AT }
  expect(await south.ledger.checkIn(checkIn)).toEqual(['unknown'])
  expect(await south.ledger.restored()).toEqual([])
  await south.take()
})

test('a region whose root is parted among servers hears devices of each of them', async () => {
  const [north, south] = [await newRoot(), await newRoot()]
  const address = await relayTo(({ url = '' }) =>
    url.startsWith('/databases/south/') ? south.url : north.url,
  )
  const { take, ledger } = await newRegion({ url: address })
  await take({ database: 'north' })
  const ledgers = { A: await nameOf(south) }
  const checkIn = { database: 'South', grants: [], at: AT, ledgers }
  expect(await ledger.checkIn({ ...checkIn, id: newId() })).toEqual([])
  expect(await take({ database: 'South', ledgers })).toMatchObject({ ledger: ledgers.A })
  await expect(ledger.checkIn({ ...checkIn, id: newId(), database: 'north' })).rejects.toThrow(
    'holds numbers of another ledger',
  )
})

test('a region is copied while a claim of it has no answer: its copy is found, too', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url, reserve: 640 }, { dataDir })
  await original.take()
  await expect.poll(async () => (await root.ledger.read(KEY)).max).toBeGreaterThanOrEqual(640)
  await root.stop()
  // It asks for more before the half that is left is used up.
  for (let i = 0; i < 12; i++) await original.take()
  await original.close()
  const copied = newFolder()
  cpSync(dataDir, copied, { recursive: true })
  await root.start()
  const first = await newRegion({ url: root.url, reserve: 640 }, { dataDir })
  const copy = await newRegion({ url: root.url, reserve: 640 }, { dataDir: copied })
  const taken = []
  for (let i = 0; i < 5; i++) taken.push(span(await first.take()), span(await copy.take()))
  expect(overlapping(taken)).toEqual([])
})

test('a region that holds no number of its root grants nothing that came back to it', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url, reserve: 0 }, { dataDir })
  const { token } = await original.take()
  expect(await original.ledger.giveBack({ ...KEY, token, end: 32, last: 0, at: AT })).toBe(32)
  await original.close()
  const copied = newFolder()
  cpSync(dataDir, copied, { recursive: true })
  const taken = []
  for (const folder of [dataDir, copied, dataDir]) {
    const { take, close } = await newRegion({ url: root.url, reserve: 0 }, { dataDir: folder })
    taken.push(span(await take()))
    await close()
  }
  expect(overlapping(taken)).toEqual([])
})

test('what came back to a region before it was copied, its copy does not grant', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url }, { dataDir })
  const { token } = await original.take()
  expect(await original.ledger.giveBack({ ...KEY, token, end: 32, last: 0, at: AT })).toBe(32)
  await original.close()
  const copied = newFolder()
  cpSync(dataDir, copied, { recursive: true })
  const first = await newRegion({ url: root.url }, { dataDir })
  expect(span(await first.take())).toEqual([1, 32])
  const copy = await newRegion({ url: root.url }, { dataDir: copied })
  expect(span(await copy.take())[0]).toBeGreaterThan(32)
})

test('a region that hears of its copy grants nothing that it had just taken', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const original = await newRegion({ url: root.url }, { dataDir })
  await original.take()
  const copied = newFolder()
  backUp(dataDir, join(copied, SQLITE_FILE))
  const copy = await newRegion({ url: root.url }, { dataDir: copied })
  const taken = [span(await copy.take())]
  // Takes all that its device holds, and then claims more: the answer tells of the copy.
  taken.push(span(await original.take({ count: 20_000 })))
  expect(overlapping(taken)).toEqual([])
})

describe('a region that asks for two collections at once', () => {
  const LINES = { ...KEY, collection: 'lines' }

  /** Of both, 32 numbers came back to each. The copy has asked the root, and grants them again. */
  async function newCopied() {
    const root = await newRoot()
    const dataDir = newFolder()
    const running = await newRegion({ url: root.url }, { dataDir })
    for (const key of [KEY, LINES]) {
      const { token } = await running.take(key)
      await running.ledger.giveBack({ ...key, token, end: 32, last: 0, at: AT })
    }
    const copied = newFolder()
    backUp(dataDir, join(copied, SQLITE_FILE))
    const copy = await newRegion({ url: root.url }, { dataDir: copied })
    for (const key of [KEY, LINES]) expect(span(await copy.take(key))).toEqual([1, 32])
    return running
  }

  test('hears in a claim of its copy, and grants nothing that it held of either', async () => {
    const { ledger } = await newCopied()
    const wish = { ...WISH, count: 20_000 }
    const outcomes = await ledger.claim([
      { ...wish, id: newId() },
      { ...wish, ...LINES, id: newId() },
    ])
    for (const outcome of outcomes) expect(grantOf(outcome).low).toBeGreaterThan(10_000)
  })

  test('hears in a check-in of its copy, and grants nothing that it held of either', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { ledger, take } = await newCopied()
    for (const key of [KEY, LINES]) await take({ ...key, count: 100 })
    await vi.advanceTimersByTimeAsync(10_000)
    vi.useRealTimers()
    for (const key of [KEY, LINES])
      await expect.poll(async () => (await ledger.read(key)).max).toBeGreaterThan(9_000)
  })
})

test('a claim that finds no number here fails none that shares its commit', async () => {
  const root = await newRoot()
  const { ledger, take } = await newRegion({ url: root.url, reserve: 0 })
  const known = { ...WISH, id: newId() }
  await take(known)
  await root.stop()
  expect(await ledger.claim([known, { ...WISH, id: newId(), count: 100_000 }])).toMatchObject([
    { grant: { low: 1, high: 32 }, isRepeat: true },
    { refused: 'short' },
  ])
})

test('a collection without numbers fails no other one, while the root is away', async () => {
  const root = await newRoot()
  const { ledger, take } = await newRegion({ url: root.url, reserve: 1_000 })
  const lines = { ...WISH, collection: 'lines' }
  await take(lines)
  await root.stop()
  const outcomes = await ledger.claim([
    { ...WISH, id: newId() },
    { ...lines, id: newId(), count: 200 },
  ])
  expect(outcomes).toMatchObject([{ refused: 'short' }, { grant: { low: 33, high: 232 } }])
})

test('after its floors were raised, a region goes on above them', async () => {
  const root = await newRoot()
  const { ledger, take } = await newRegion({ url: root.url })
  await take()
  await ledger.raiseFloors({ database: 'shop', by: 100_000 })
  expect((await take()).low).toBeGreaterThan(100_000)
})

test.each<[string, (ledger: Ledger) => Promise<unknown>]>([
  ['all floors', (ledger) => ledger.raiseFloors({ database: 'shop', by: 100 })],
  ['its floor', (ledger) => ledger.raiseFloor({ ...KEY, floor: 132 })],
])('a region from a backup, after %s, grants nothing that it held then', async (_, raise) => {
  const root = await newRoot()
  const dataDir = newFolder()
  const before = await newRegion({ url: root.url, reserve: 500 }, { dataDir })
  const taken: number[][] = [span(await before.take())]
  await before.close()
  const backup = newFolder()
  cpSync(dataDir, backup, { recursive: true })
  const after = await newRegion({ url: root.url, reserve: 0 }, { dataDir })
  taken.push(span(await after.take()))
  // What it held goes back to the root, and from there to another region.
  await after.close()
  const other = await newRegion({ url: root.url, reserve: 0 })
  for (let i = 0; i < 15; i++) taken.push(span(await other.take()))
  const restored = await newRegion({ url: root.url, reserve: 500 }, { dataDir: backup })
  await raise(restored.ledger)
  await root.stop()
  taken.push(...(await takeAll(restored.take)))
  expect(overlapping(taken)).toEqual([])
})

test('a floor that the root does not believe is not raised: claims go on as before', async () => {
  const FLOOR = 20_000_000
  const root = await newRoot()
  const { ledger, take } = await newRegion({ url: root.url })
  expect(span(await take())).toEqual([1, 32])
  const refused = /Nothing was raised: the root .* with 'orders' first/
  await expect(ledger.raiseFloor({ ...KEY, floor: FLOOR })).rejects.toThrow(refused)
  await expect(ledger.raiseFloors({ database: 'Shop', by: FLOOR })).rejects.toThrow(refused)
  expect(span(await take())).toEqual([33, 64])
  await root.stop()
  await expect(ledger.raiseFloor({ ...KEY, floor: 100 })).rejects.toThrow('Nothing was raised')
  await root.start()
  await root.ledger.raiseFloor({ ...KEY, floor: FLOOR })
  await ledger.raiseFloor({ ...KEY, floor: FLOOR })
  expect(span(await take())).toEqual([FLOOR + 1, FLOOR + 32])
  await root.ledger.raiseFloor({ ...KEY, floor: 2 * FLOOR })
  await ledger.raiseFloors({ database: 'Shop', by: FLOOR })
  expect((await take()).low).toBeGreaterThan(2 * FLOOR)
})

test('a floor that is raised while a claim waits for the root is told to the root', async () => {
  const root = await newRoot()
  const FLOOR = 1_000_000
  let isRaised = false
  const address = await relayTo(async () => {
    // The root is asked first, so this request brings another one.
    if (!isRaised) {
      isRaised = true
      await region.ledger.raiseFloor({ ...KEY, floor: FLOOR })
    }
    return root.url
  })
  const region = await newRegion({ url: address, reserve: 0 })
  // The numbers of the first request are a gap: they were dropped with what was held.
  expect(span(await region.take())).toEqual([FLOOR + 33, FLOOR + 64])
  expect(await root.claims()).toBe(3)
})

test('identities are counted by the root', async () => {
  const root = await newRoot()
  const { ledger } = await newRegion({ url: root.url })
  const other = await newRegion({ url: root.url })
  const next = async (from: Ledger) =>
    (await from.nextIdentities([{ database: 'shop', name: 'invoices|', id: newId(), at: AT }]))[0]
  expect(await next(ledger)).toEqual({ value: 1 })
  expect(await next(other.ledger)).toEqual({ value: 2 })
  const seed = { database: 'shop', name: 'invoices|', value: 9, isForced: false }
  await expect(ledger.seedIdentity(seed)).rejects.toThrow(/counted by the root/)
  await expect(
    ledger.claimSeries({ ...KEY, id: newId(), device: 'till 1', at: AT }),
  ).rejects.toThrow(/Only the root/)
  await expect(
    ledger.checkInSeries({ database: KEY.database, id: newId(), token: 'a', last: 1, at: AT }),
  ).rejects.toThrow(/Only the root/)
})

test('a region says of no number that it was never granted: others may have it', async () => {
  const root = await newRoot()
  const [north, south] = [await newRegion({ url: root.url }), await newRegion({ url: root.url })]
  await north.take()
  const [number] = span(await south.take())
  const { ledger } = north
  expect(await ledger.explain({ ...KEY, number: 5 })).toMatchObject({ id: { state: 'held' } })
  const explained = await ledger.explain({ ...KEY, number: number! })
  expect(explained).toMatchObject({ id: { state: 'elsewhere', max: 32 }, grants: [] })
  expect(inWords(explained)).toMatch(/another server or counter, which may have given it to others/)
})

test('after another ledger followed its root, a region and its devices go on', async () => {
  const [root, other] = [await newRoot(), await newRoot()]
  const dataDir = newFolder()
  const before = await newRegion({ url: root.url }, { dataDir })
  const { serverTag, ledger: name } = await before.take()
  await before.close()
  const ledgers = { [serverTag]: name! }
  await other.ledger.follow({ database: 'shop', name: name!, above: 100_000 })
  const { ledger, take, claim } = await newRegion({ url: other.url }, { dataDir })
  const [low] = span(await take())
  expect(low).toBeGreaterThan(100_000)
  const told = { held: name, name: await nameOf(other), above: 100_000 }
  expect(await claim({ ledgers })).toMatchObject({ refused: 'other-ledger', other: told })
  const checkIn = { database: 'shop', id: newId(), grants: [], at: AT, ledgers }
  await expect(ledger.checkIn(checkIn)).rejects.toMatchObject({ other: told })
  const strange = { [serverTag]: 'another2name3abc' }
  const { other: unknown } = (await claim({ ledgers: strange })) as { other?: OtherLedger }
  expect(unknown!.above).toBeUndefined()
  await other.stop()
  const { other: untold } = (await claim({ ledgers })) as { other?: OtherLedger }
  expect(untold!.above).toBeUndefined()
})

test('a region that has just started gives no identity to a device of another root', async () => {
  const root = await newRoot()
  const dataDir = newFolder()
  const before = await newRegion({ url: root.url }, { dataDir })
  const { serverTag } = await before.take({ database: 'Shop' })
  await before.close()
  const { ledger } = await newRegion({ url: root.url }, { dataDir })
  const ledgers = { [serverTag]: 'another2name3abc/shop' }
  const identity = { database: 'Shop', name: 'invoices|', id: newId(), at: AT }
  expect(await ledger.nextIdentities([{ ...identity, ledgers }, identity])).toMatchObject([
    { refused: 'other-ledger' },
    { value: 1 },
  ])
})

test('a region that is led back grants, though a device checks in first', async () => {
  const [root, other] = [await newRoot(), await newRoot()]
  const dataDir = newFolder()
  const before = await newRegion({ url: root.url }, { dataDir })
  const { serverTag, ledger: name } = await before.take()
  await before.close()
  const moved = await newRegion({ url: other.url }, { dataDir })
  await expect(moved.claim()).rejects.toThrow(/holds numbers of ledger/)
  await moved.close()
  const { ledger, take } = await newRegion({ url: root.url }, { dataDir })
  const ledgers = { [serverTag]: name! }
  await ledger.checkIn({ database: 'shop', id: newId(), grants: [], at: AT, ledgers })
  expect(span(await take())).toEqual([33, 64])
})

test('a region gives no identity of another root', async () => {
  const [root, other] = [await newRoot(), await newRoot()]
  let answering = root.url
  const address = await relayTo(() => answering)
  const { ledger, take } = await newRegion({ url: address })
  await take({ database: 'Shop' })
  const next = async () => {
    const identity = { database: 'Shop', name: 'invoices|', id: newId(), at: AT }
    return (await ledger.nextIdentities([identity]))[0]
  }
  expect(await next()).toEqual({ value: 1 })
  answering = other.url
  await expect(next()).rejects.toThrow(/Another ledger .* nothing of 'invoices\|' is granted/)
  answering = root.url
  expect(await next()).toEqual({ value: 2 })
  await other.ledger.follow({ database: 'shop', name: await nameOf(root), above: 1_000_000 })
  answering = other.url
  expect(await next()).toEqual({ value: 1_000_001 })
})

test('an identity that its root refuses is not asked for as if the root were away', async () => {
  const token = 'claims-only-0123456789'
  const root = await serve({
    create: true,
    port: 0,
    dataDir: newFolder(),
    databases: ['shop'],
    tokens: [{ token, actions: ['claim'] }],
    log: silent,
  })
  closes.push(() => root.close({ drain: 0 }))
  const { ledger } = await newRegion({ url: root.url, token })
  const identity = { database: 'shop', name: 'invoices|', id: newId(), at: AT }
  await expect(ledger.nextIdentities([identity])).rejects.toMatchObject({
    name: 'CounterUnusable',
    message: expect.stringMatching(/this token may not do 'identity'/),
  })
  await root.close({ drain: 0 })
  await expect(ledger.nextIdentities([identity])).rejects.toMatchObject({
    name: 'LedgerUnavailable',
  })
})

describe('a region refuses', () => {
  async function fakeRoot(answer: (claims: number) => object): Promise<string> {
    let claims = 0
    const server = createServer((_, response) => {
      response.writeHead(201, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ collections: [answer(claims++)] }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closes.push(() => new Promise((resolve) => server.close(resolve)))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const grant = (change: object) => ({
    Prefix: 'orders/',
    Low: 1,
    High: 32,
    LastSize: 32,
    ServerTag: 'A',
    LastRangeAt: '2026-11-21T07:09:21.4660000Z',
    Token: 'token-of-the-root',
    ...change,
  })

  test.each([
    ['without a token', { Token: undefined }, /without a token.*no offline-hilo-server/],
    ['for another collection', { Prefix: 'users/' }, /answers another request/],
    ['that is no answer', { Low: 'x' }, /no HiLo answer/],
  ])('a grant %s, and grants nothing', async (_, change, message) => {
    const url = await fakeRoot(() => grant(change))
    const { ledger, claim } = await newRegion({ url, reserve: 0 })
    await expect(claim()).rejects.toThrow(message)
    expect((await ledger.status()).every(({ grants }) => grants === 0)).toBe(true)
  })

  test('and a client reads that the log says why, not that a command knows it', async () => {
    const url = await fakeRoot(() => grant({ Token: undefined }))
    const { ledger } = await newRegion({ url, reserve: 0 })
    const handler = createHiloHandler({ ledger, log: silent, open: true })
    const request = new Request('http://ids.test/databases/shop/hilo/next?tag=orders')
    expect(await (await handler(request)).json()).toMatchObject({
      Message:
        'The counter, or the server, that these numbers come from cannot be used. The log of ' +
        'this server says why. For a counter that `collections` names, ' +
        'npx offline-hilo-server check says it, too. Nothing was granted.',
    })
  })

  test('numbers that its root granted before', async () => {
    const url = await fakeRoot((n) => {
      const body = grant({ Token: `token-${n}` })
      return n === 0 ? body : { ...body, grants: [{ token: 'x', high: 32 }] }
    })
    const { take, claim } = await newRegion({ url, reserve: 0 })
    expect(span(await take())).toEqual([1, 32])
    await expect(claim()).rejects.toThrow(
      /granted 1 to 32 of 'orders', which it granted before\. Was it restored from a backup\?/,
    )
  })

  describe.each([1, 2, 3])('to be above itself, in a circle of %i', (size) => {
    async function newCircle() {
      const ports = await Promise.all(Array.from({ length: size }, freePort))
      const urls = ports.map((port) => `http://127.0.0.1:${port}`)
      const said: string[] = []
      const asked: string[] = []
      const log = {
        error: (about: { reason?: string }) => void said.push(`${about.reason}`),
        info: (about: { path?: string }) => void (about.path && asked.push(about.path)),
      }
      for (const [i, port] of ports.entries()) {
        const options = { create: true, port, dataDir: newFolder(), log, logRequests: true }
        const server = await serve({ ...options, upstream: { url: urls[(i + 1) % size]! } })
        closes.push(() => server.close({ drain: 0 }))
      }
      return { urls, said, asked }
    }

    function circleIn([first, ...others]: string[]): string {
      const way = [...others, first].join(', which asks ')
      return `This region is above itself: it asks ${way}, which is this region`
    }

    test.each([
      ['a claim', 'GET', 'hilo/next?tag=orders'],
      ['an identity', 'POST', 'identity/next?name=orders'],
    ])('asked for %s', async (_, method, path) => {
      const { urls, said, asked } = await newCircle()
      const answer = await fetch(`${urls[0]}/databases/shop/${path}`, { method })
      expect(answer.status).toBe(503)
      expect(said.join()).toContain(circleIn(urls))
      expect(asked).toHaveLength(size + 1)
    })

    test('also for a region below, which is no part of it', async () => {
      const { urls, said } = await newCircle()
      const { claim } = await newRegion({ url: urls[0]! })
      await expect(claim()).rejects.toThrow('answered 503')
      expect(said.join()).toContain(circleIn(urls))
    })
  })

  test('another tag than before', async () => {
    const url = await fakeRoot((n) => {
      const body = grant({ Low: 32 * n + 1, High: 32 * n + 32, ServerTag: n === 0 ? 'A' : 'B' })
      return n === 0 ? body : { ...body, grants: [{ token: 'x', high: 32 }] }
    })
    const { take, claim } = await newRegion({ url, reserve: 0 })
    await take()
    await expect(claim()).rejects.toThrow(/under the tag 'B', and before under 'A'/)
  })

  test('another root than the one whose numbers it holds', async () => {
    const [root, other] = [await newRoot(), await newRoot()]
    const dataDir = newFolder()
    const region = await newRegion({ url: root.url }, { dataDir })
    await region.take()
    await region.close()
    const moved = await newRegion({ url: other.url }, { dataDir })
    await expect(moved.claim()).rejects.toThrow(/holds numbers of ledger/)
    await moved.close()
    await root.stop()
    const back = await newRegion({ url: root.url }, { dataDir })
    await expect(back.claim()).rejects.toThrow(/could not be reached/)
    await back.close()
    await root.start()
    const again = await newRegion({ url: root.url }, { dataDir })
    expect(span(await again.take())).toEqual([33, 64])
  })

  test('another root while it has numbers left: it grants none of them', async () => {
    const [root, other] = [await newRoot(), await newRoot()]
    let answering = root.url
    const { claim, take } = await newRegion({ url: await relayTo(() => answering), reserve: 640 })
    await take()
    answering = other.url
    for (const count of [10_000, 1])
      await expect(claim({ count })).rejects.toThrow(
        /Another ledger answers as the root of this region .* nothing of 'orders' is granted/,
      )
  })

  test('another root for a collection that it holds nothing of', async () => {
    const [root, other] = [await newRoot(), await newRoot()]
    const dataDir = newFolder()
    const region = await newRegion({ url: root.url }, { dataDir })
    await region.take()
    await region.close()
    const moved = await newRegion({ url: other.url }, { dataDir })
    for (let i = 0; i < 2; i++)
      await expect(moved.claim({ collection: 'lines' })).rejects.toThrow(
        /Another ledger answers as the root of this region .* nothing of 'lines' is granted/,
      )
  })

  test('etcd after another server, and the reverse', async () => {
    const etcd = { etcd: ['http://127.0.0.1:1'] }
    const root = await newRoot()
    const dataDir = newFolder()
    const region = await newRegion({ url: root.url }, { dataDir })
    await region.take()
    await region.close()
    await expect(openLedger({ dataDir, upstream: etcd })).rejects.toThrow(
      /numbers of this region came from another server, .*`upstream` back.*a new ledger/,
    )
    const ofEtcd = newFolder()
    await (await newRegion(etcd, { dataDir: ofEtcd })).close()
    const store = openSqliteStore(ofEtcd, new Map())
    await store.devices.update(['etcd', 'shop', 'orders/'], () => ({
      state: { ...emptyState(), issued: 100, serverTag: 'A' },
      result: undefined,
    }))
    await store.close()
    await expect(openLedger({ dataDir: ofEtcd, upstream: { url: root.url } })).rejects.toThrow(
      /numbers of this region came from etcd/,
    )
    await (await newRegion(etcd, { dataDir: ofEtcd })).close()
  })

  test('no root that is a server, though its answers name no ledger', async () => {
    const url = await fakeRoot(() => grant({}))
    const dataDir = newFolder()
    const region = await newRegion({ url, reserve: 0 }, { dataDir })
    expect(span(await region.take())).toEqual([1, 32])
    await region.close()
    // The root has bound the collection to a RavenDB, or is a region over etcd.
    await newRegion({ url, reserve: 0 }, { dataDir })
  })

  test('a device of another root: it is granted nothing, and its check-in is refused', async () => {
    const root = await newRoot()
    const { ledger, claim, take } = await newRegion({ url: root.url })
    const { serverTag, ledger: name } = await take()
    const ours = { [serverTag]: name! }
    const strange = { [serverTag]: 'another2name3abc' }
    expect(await claim({ ledgers: strange })).toMatchObject({ refused: 'other-ledger' })
    expect(span(grantOf(await claim({ ledgers: ours })))).toEqual([33, 64])
    const checkIn = { database: KEY.database, grants: [], at: AT }
    const refused = ledger.checkIn({ ...checkIn, id: newId(), ledgers: strange })
    await expect(refused).rejects.toThrow('holds numbers of another ledger')
    expect(await ledger.checkIn({ ...checkIn, id: newId(), ledgers: ours })).toEqual([])
  })

  test('a ledger that has counted by itself, and the reverse', async () => {
    const root = await newRoot()
    const own = newFolder()
    const plain = await openLedger({ create: true, dataDir: own })
    await plain.claim([{ ...WISH, id: newId() }])
    await plain.close()
    await expect(
      openLedger({ create: true, dataDir: own, upstream: { url: root.url } }),
    ).rejects.toThrow(/has counted shop\/orders by itself, up to 32/)
    const dataDir = newFolder()
    const region = await newRegion({ url: root.url }, { dataDir })
    await region.take()
    await region.close()
    await expect(openLedger({ create: true, dataDir })).rejects.toThrow(
      /a region's.*Give `upstream`/,
    )
  })
})

describe('what a region holds is stored', () => {
  for (const { name, run } of storeChecks(() => {
    const folder = newFolder()
    return {
      open() {
        const store = openSqliteStore(folder, new Map(), { create: true })
        closes.push(() => store.close())
        return store.devices
      },
    }
  }))
    test(`in SQLite: ${name}`, run)

  for (const { name, run } of storeChecks(async () => {
    const url = await newDatabase()
    return {
      async open() {
        const pool = openPool(url)
        closes.push(() => pool.close())
        await upgradePostgres(pool, 'the database', { create: true })
        return deviceStore(connectionTo(pool, 'public', NO_COUNTERS))
      },
    }
  }))
    test(`in PostgreSQL: ${name}`, run)

  test.each([
    ['SQLite', async () => ({ dataDir: newFolder() })],
    ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
  ])(
    'in %s: what a newer version has stored is left alone, and not granted',
    async (_, newStorage) => {
      const root = await newRoot()
      const storage: LedgerOptions = await newStorage()
      const first = await newRegion({ url: root.url }, storage)
      const { token } = await first.take()
      const log = { error: vi.fn(), info() {} }
      const ask = async ({ ledger }: typeof first, path: string, body: object) => {
        const handle = createHiloHandler({ ledger, log, open: true })
        const headers = { 'Content-Type': 'application/json' }
        const init = { method: 'POST', headers, body: JSON.stringify({ ...body }) }
        const answer = await handle(new Request(`http://x.test/databases/shop/hilo/${path}`, init))
        return { status: answer.status, body: await answer.json() }
      }
      const claim = () => ({ claim: newId(), collections: [{ tag: 'orders', count: 32 }] })
      const state = '{"version":2,"all":["it"]}'
      await runIn(storage, `UPDATE public.hilo_devices SET state = '${state}'`)
      const again = await newRegion({ url: root.url }, storage)
      const refusal = {
        status: 503,
        body: { Message: expect.stringContaining('Nothing was granted') },
      }
      for (const region of [first, again])
        expect(await ask(region, 'next', claim())).toMatchObject(refusal)
      const held = { grants: [{ token, next: 1 }], ledgers: { A: await nameOf(root) } }
      expect(await ask(again, 'checkin', { id: newId(), ...held })).toMatchObject(refusal)
      const reasons = log.error.mock.calls.map(([{ reason }]) => reason)
      expect(reasons.length).toBeGreaterThan(0)
      for (const reason of reasons)
        expect(reason).toMatch(
          /newer offline-hilo-server .* version 2, .* version 1\. Nothing is granted\. Start/,
        )
      await again.close()
      await first.close()
      const etcd = { etcd: ['http://127.0.0.1:1'] }
      await expect(openLedger({ ...storage, upstream: etcd })).rejects.toThrow('version 2')
      const stored = 'SELECT state AS "state" FROM public.hilo_devices'
      expect(await runIn(storage, stored)).toEqual([expect.objectContaining({ state })])
    },
  )

  test('a record that cannot be read is set aside, and its numbers are a gap', async () => {
    const root = await newRoot()
    const dataDir = newFolder()
    const region = await newRegion({ url: root.url, reserve: 64 }, { dataDir })
    const taken = [span(await region.take())]
    await region.close()
    const store = openSqliteStore(dataDir, new Map(), { create: true })
    await store.devices.update(['root', 'shop', 'orders/'], () => ({
      state: { ...emptyState(), version: 0 as never },
      result: undefined,
    }))
    await store.close()
    const again = await newRegion({ url: root.url }, { dataDir })
    taken.push(span(await again.take()), span(await again.take()))
    expect(overlapping(taken)).toEqual([])
  })
})
