/**
 * A real RavenDB, its clients in three languages, our client and our server: on one collection at
 * the same time, no number is granted twice; and the clients get from us what RavenDB gives them.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ravenConventions } from '../../../src/addons/raven.js'
import { createHilo } from '../../../src/index.js'
import { ravenSource } from '../../../src/source/raven-source.js'
import { expectNoNumberTwice } from '../../../test/support/hostile-relay.js'
import { isInstalled, type Peer, unlessInstalled } from '../../../test/support/peers.js'
import {
  type RavenServer,
  ravenMissing,
  startRavenDb,
  unlessRaven,
} from '../../../test/support/ravendb.js'
import { openLedger, serve } from '../../src/index.js'
import { startWorkerd } from '../addons/durable-object/workerd.js'
import { hasWorkerd, unlessWorkerd } from '../addons/durable-object/workerd-program.js'
import { newFolder } from '../folders.js'
import { grantOf, newId } from '../ledger-bench.js'
import { ravenJava, ravenPython } from './peers.js'
import { type Command, startTaker } from './taker.js'

type Raven = typeof import('ravendb')
/** Stores users, one in a session, and closes its store: what it has left goes back. */
type StoreUsers = (url: string, database: string, count: number) => Promise<string[]>

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

class User {
  constructor(public id?: string | undefined) {}
}

const storeByNode =
  (load: () => Promise<Raven>): StoreUsers =>
  async (url, database, count) => {
    const { DocumentStore } = await load()
    const store = new DocumentStore(url, database)
    store.initialize()
    const ids: string[] = []
    for (let i = 0; i < count; i++) {
      const session = store.openSession()
      const user = new User()
      await session.store(user)
      session.dispose()
      ids.push(user.id!)
    }
    await new Promise<void>((resolve) => {
      store.addListener('afterDispose', () => resolve())
      store.dispose()
    })
    return ids
  }

const byProcess =
  (command: (...args: string[]) => Command): StoreUsers =>
  async (url, database, count) => {
    const taker = await startTaker(command(url, database))
    await taker.take(count)
    await taker.end()
    return taker.ids
  }

const python = (...args: string[]): Command => ({
  program: 'python3',
  args: [join(import.meta.dirname, 'RavenTaker.py'), ...args],
  environment: { PYTHONPATH: ravenPython.folder },
})

const classes = newFolder()
const classpath = `${join(ravenJava.folder, 'lib')}/*:${classes}`
const java = (...args: string[]): Command => ({
  program: 'java',
  args: ['-XX:TieredStopAtLevel=1', '-cp', classpath, 'RavenTaker', ...args],
})
beforeAll(() => {
  const source = join(import.meta.dirname, 'RavenTaker.java')
  if (isInstalled(ravenJava))
    execFileSync('javac', ['-cp', classpath, '-d', classes, source], { stdio: 'pipe' })
})

const CLIENTS: { title: string; peer?: Peer; store: StoreUsers }[] = [
  { title: 'ravendb (npm)', store: storeByNode(() => import('ravendb')) },
  {
    title: 'ravendb 5.4 (npm)',
    store: storeByNode(() => import('ravendb-5.4') as unknown as Promise<Raven>),
  },
  {
    title: `Python${unlessInstalled(ravenPython)}`,
    peer: ravenPython,
    store: byProcess(python),
  },
  {
    title: `Java${unlessInstalled(ravenJava)}`,
    peer: ravenJava,
    store: byProcess(java),
  },
]
const installed = CLIENTS.filter(({ peer }) => !peer || isInstalled(peer))

let raven: RavenServer
if (!ravenMissing) {
  beforeAll(async () => {
    raven = await startRavenDb()
  })
  afterAll(() => raven.stop())
}

/** @returns the address of a cache that keeps each answer by its path alone */
async function startCache(url: string): Promise<string> {
  const kept = new Map<string, string>()
  const server = createServer(async ({ method, url: path = '' }, answer) => {
    const key = path.split('?')[0]!
    const response = kept.has(key) ? undefined : await fetch(url + path, { method: method! })
    const body = kept.get(key) ?? (await response!.text())
    if (response?.ok) kept.set(key, body)
    answer.writeHead(response?.status ?? 200).end(body)
  }).listen(0, '127.0.0.1')
  cleanups.push(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const numberOf = (id: string) => Number(/\d+/.exec(id)![0])

/** How far a RavenDB, or what looks like one, has counted. */
async function maxOf(url: string, database: string, tag = 'users'): Promise<number> {
  const response = await fetch(`${url}/databases/${database}/docs?id=Raven/Hilo/${tag}`)
  return ((await response.json()) as { Results: { Max: number }[] }).Results[0]!.Max
}

async function startOurs() {
  const server = await serve({ create: true, port: 0, dataDir: newFolder() })
  cleanups.push(() => server.close())
  return { url: server.url, newDatabase: async () => 'Shop' }
}

async function startInWorkerd() {
  const { url, kill } = await startWorkerd()
  cleanups.push(kill)
  return { url, newDatabase: async () => 'Shop' }
}

describe.each([
  [`RavenDB${unlessRaven}`, ravenMissing !== undefined, async () => raven],
  ['our server', false, startOurs],
  [`a Durable Object${unlessWorkerd}`, !hasWorkerd, startInWorkerd],
])('%s', (_, isMissing, start) => {
  describe.each(CLIENTS)('$title', ({ peer, store }) => {
    test.skipIf(isMissing || (peer && !isInstalled(peer)))(
      'makes ids one after the other, and gives back what it has left',
      async () => {
        const { url, newDatabase } = await start()
        const database = await newDatabase()
        expect(await store(url, database, 40)).toEqual(
          Array.from({ length: 40 }, (_, i) => `users/${i + 1}-A`),
        )
        expect(await maxOf(url, database)).toBe(40)
        expect(await store(url, database, 1)).toEqual(['users/41-A'])
      },
    )
  })
})

describe.skipIf(ravenMissing)(`on one RavenDB${unlessRaven}`, () => {
  // A short tag would be marked by the size of its ranges, too.
  const collection = 'customerAddresses'
  const target = (database: string) => ({ database, collection, separator: '/', reserve: 32 })

  test('a return that ends at Max sets it back; another one changes nothing', async () => {
    const database = await raven.newDatabase()
    const source = ravenSource({ url: raven.url, timeout: 10_000 }, () => ({}))
    const claim = async (lastMax: number) =>
      (await source.claim(target(database), { id: newId(), lastBatchSize: 32, lastMax })).range
    // Whoever claims asks again then: a RavenDB has no such route.
    await expect(claim(0)).rejects.toMatchObject({ code: 'server-refused', status: 404 })
    expect(source.isPlain(database)).toBe(true)
    const first = await claim(0)
    expect([first.from, first.to]).toEqual([1, 32])
    await source.giveBack(target(database), { ...first, from: 11 })
    expect(await maxOf(raven.url, database, collection)).toBe(10)

    const [second, third] = [await claim(10), await claim(10)]
    expect([second.from, second.to, third.from, third.to]).toEqual([11, 42, 43, 74])
    await source.giveBack(target(database), { ...second, from: 20 })
    expect(await maxOf(raven.url, database, collection)).toBe(74)
  })

  test('a document is stored under the id of a device, between those of RavenDB', async () => {
    const database = await raven.newDatabase()
    const { DocumentStore } = await import('ravendb')
    const store = new DocumentStore(raven.url, database)
    store.initialize()
    cleanups.push(() => store.dispose())
    const hilo = createHilo({ url: raven.url, database, ...ravenConventions })
    cleanups.push(() => hilo.close())
    for (let i = 0; i < 6; i++) {
      const session = store.openSession()
      session.advanced.useOptimisticConcurrency = true
      const id = i % 2 === 0 ? String(await hilo.nextId(User)) : undefined
      if (id === undefined) await session.store(new User())
      else await session.store(Object.assign(new User(), { name: 'Ada' }), id)
      await session.saveChanges()
    }
    const session = store.openSession()
    const users = await session.query({ collection: 'Users' }).waitForNonStaleResults().all()
    const ids = users.map((user) => session.advanced.getDocumentId(user as User)!)
    expect(new Set(ids.map(numberOf)).size).toBe(6)
    expect(ids.filter((id) => !/^users\/\d+-A$/.test(id))).toEqual([])

    const again = store.openSession()
    again.advanced.useOptimisticConcurrency = true
    await again.store(new User(), ids[0]!)
    await expect(again.saveChanges()).rejects.toThrow(/concurrency/i)
  })

  test('another claim’s answer, out of a cache that ignores the query, is refused', async () => {
    const database = await raven.newDatabase()
    const cache = await startCache(raven.url)
    const devices = [1, 2].map(() => ravenSource({ url: cache, timeout: 10_000 }, () => ({})))
    const claims = devices.map((source) => (id: number) => {
      const claim = { id: `claim ${id}`, lastBatchSize: 32, lastMax: 0 }
      return source.claim(target(database), claim)
    })
    for (const claim of claims) await expect(claim(0)).rejects.toMatchObject({ status: 404 })
    const { range } = await claims[0]!(1)
    expect(range).toMatchObject({ from: 1, to: 32, prefix: `${collection}/` })
    await expect(claims[1]!(2)).rejects.toThrow('another request')
  })

  test('its document, behind a relay that lies, gives no number to two devices', async () => {
    const database = await raven.newDatabase()
    const url = `${raven.url}/databases/{database}/docs?id=Raven/Hilo/{collection}`
    await expectNoNumberTwice(url, target(database))
  })

  test('an identity is taken once for each key, which the request names twice', async () => {
    const database = await raven.newDatabase()
    const source = ravenSource({ url: raven.url, timeout: 10_000 }, () => ({}))
    const next = (key: string) => source.nextIdentity(database, 'invoices', key)
    expect([await next('a b'), await next('a b'), await next('c')]).toEqual([1, 1, 2])
  })

  test('our server, our client and RavenDB’s clients: no number twice', async () => {
    const database = await raven.newDatabase()
    const settings = {
      dataDir: newFolder(),
      collections: { Shop: { users: { upstream: { url: raven.url, database } } } },
    }
    let ledger = await openLedger({ create: true, ...settings })
    cleanups.push(() => ledger.close())
    const numbers: number[] = []
    let isOver = false

    const clients = installed.map(async ({ store }) => {
      for (let i = 0; i < 3; i++)
        numbers.push(...(await store(raven.url, database, 70)).map(numberOf))
    })
    const pages = Array.from({ length: 3 }, async (_, i) => {
      while (!isOver) {
        const hilo = createHilo({ url: raven.url, database, name: `till-${i}` })
        numbers.push(...(await hilo.nextIds('users', 50)).map((id) => numberOf(String(id))))
        await hilo.release()
        await hilo.close()
      }
    })
    const claimer = async () => {
      for (let i = 0; !isOver; i++) {
        const wish = { database: 'Shop', collection: 'users', serverTag: 'Z', lastMax: 0, at: 0 }
        const [outcome] = await ledger.claim([{ ...wish, id: newId(), count: 1 + ((i * 13) % 60) }])
        const { low, high, token } = grantOf(outcome!)
        const last = i % 3 === 0 ? low + Math.floor((high - low) / 2) : high
        if (last < high) await ledger.giveBack({ ...wish, end: high, last, token })
        for (let number = low; number <= last; number++) numbers.push(number)
        // The rest of its ranges goes back to RavenDB, and it begins anew.
        if (i % 20 === 19) {
          await ledger.close()
          ledger = await openLedger({ create: true, ...settings })
        }
      }
    }
    const others = Promise.all([...pages, claimer()])
    await Promise.all(clients)
    isOver = true
    await others
    expect(numbers.length).toBeGreaterThan(installed.length * 3 * 70 + 200)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Math.max(...numbers)).toBeLessThanOrEqual(await maxOf(raven.url, database))
  })
})
