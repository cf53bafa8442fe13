/**
 * RavenDB's official client, unchanged, against this server: the newest that runs on this Node, and
 * an old one.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { type ServeOptions, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { newDatabase } from './postgres.js'

type Raven = typeof import('ravendb')

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function startServer(options: ServeOptions = { dataDir: newFolder() }) {
  const server = await serve({ create: true, port: 0, ...options })
  cleanups.push(() => server.close())
  return server
}

/** In RavenDB's form: the collection's name comes from the class. */
class User {
  constructor(
    readonly name = 'x',
    public id?: string | undefined,
  ) {}
}
class Product {
  constructor(public id?: string | undefined) {}
}
class HiloDoc {
  constructor(readonly Max: number) {}
}

const CLIENTS: [string, () => Promise<Raven>][] = [
  ['ravendb', () => import('ravendb')],
  ['ravendb 5.4', () => import('ravendb-5.4') as unknown as Promise<Raven>],
]

describe.each(CLIENTS)('%s', (_, load) => {
  async function newStore(
    url: string | string[],
    database = 'Shop',
    change: (store: InstanceType<Raven['DocumentStore']>) => void = () => {},
  ) {
    const { DocumentStore } = await load()
    const store = new DocumentStore(url as string, database)
    change(store)
    store.initialize()
    cleanups.push(() => store.dispose())
    return store
  }
  type Store = Awaited<ReturnType<typeof newStore>>

  /** What `session.store` gives a new entity. */
  async function storeNew<T extends { id?: string | undefined }>(
    store: Store,
    entity: T,
  ): Promise<string> {
    const session = store.openSession()
    await session.store(entity)
    session.dispose()
    return entity.id!
  }
  const storeUsers = async (store: Store, count: number) => {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await storeNew(store, new User()))
    return ids
  }
  const maxOf = async (url: string, tag = 'users', database = 'Shop') => {
    const response = await fetch(`${url}/databases/${database}/docs?id=Raven/Hilo/${tag}`)
    return (await response.json()).Results[0]?.Max
  }
  /** Resolves when the client has returned its ranges. */
  const dispose = (store: Store) =>
    new Promise<void>((resolve) => {
      store.addListener('afterDispose', () => resolve())
      store.dispose()
    })

  test('ids follow each other; unused ones go back at disposal, for others to get', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    expect(await storeUsers(store, 33)).toEqual(
      Array.from({ length: 33 }, (_, i) => `users/${i + 1}-A`),
    )
    await dispose(store)
    expect(await maxOf(url)).toBe(33)
    expect(await storeNew(await newStore(url), new User())).toBe('users/34-A')
  })

  test('capacity doubles while ranges are used up fast', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    await storeUsers(store, 32)
    expect(await maxOf(url)).toBe(32)
    await storeUsers(store, 1)
    expect(await maxOf(url)).toBe(96)
    await storeUsers(store, 64)
    expect(await maxOf(url)).toBe(224)
  })

  test('parallel stores and parallel sessions never meet', async () => {
    const { url } = await startServer()
    const stores = await Promise.all(Array.from({ length: 4 }, () => newStore(url)))
    const ids = (
      await Promise.all(
        stores.flatMap((store) =>
          Array.from({ length: 50 }, () =>
            Promise.all([storeNew(store, new User()), storeNew(store, new User())]),
          ),
        ),
      )
    ).flat()
    expect(new Set(ids).size).toBe(400)
  })

  test('several types and several databases have their own numbers', async () => {
    const { url } = await startServer({ databaseUrl: await newDatabase() })
    const store = await newStore(url)
    expect(await storeNew(store, new User())).toBe('users/1-A')
    expect(await storeNew(store, new Product())).toBe('products/1-A')
    const session = store.openSession('Other')
    const user = new User()
    await session.store(user)
    expect(user.id).toBe('users/1-A')
    expect(await storeNew(store, new User())).toBe('users/2-A')
  })

  test('generateNextIdFor: a name, a class, an entity', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    const { hiLoIdGenerator } = store as unknown as {
      hiLoIdGenerator?: { generateNextIdFor(database: string, target: unknown): Promise<number> }
    }
    expect(hiLoIdGenerator).toBeDefined()
    expect(await hiLoIdGenerator!.generateNextIdFor('Shop', 'users')).toBe(1)
    expect(await hiLoIdGenerator!.generateNextIdFor('Shop', 'Users')).toBe(33)
    expect(await hiLoIdGenerator!.generateNextIdFor('Shop', User)).toBe(34)
    expect(await hiLoIdGenerator!.generateNextIdFor('Shop', new User())).toBe(35)
  })

  test('the separator can be another one', async () => {
    const { url } = await startServer()
    const store = await newStore(url, 'Shop', ({ conventions }) => {
      conventions.identityPartsSeparator = '-'
    })
    expect(await storeUsers(store, 2)).toEqual(['users-1-A', 'users-2-A'])
  })

  test('the HiLo document can be stored, loaded, lowered: no id twice', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    const setMax = async (max: number) => {
      const session = store.openSession()
      await session.store(new HiloDoc(max), 'Raven/Hilo/users')
      await session.saveChanges()
    }
    await setMax(32)
    const ids = await storeUsers(store, 1)
    expect(ids).toEqual(['users/33-A'])
    await setMax(12)
    ids.push(...(await storeUsers(store, 128)))
    expect(new Set(ids).size).toBe(129)
    const other = await storeNew(await newStore(url), new User())
    expect(ids).not.toContain(other)
    const session = store.openSession()
    expect(await session.load<HiloDoc>('Raven/Hilo/users')).toMatchObject({
      Max: expect.any(Number),
    })
  })

  test('two writers of one HiLo document: the second is told', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    const writer = async () => {
      const session = store.openSession()
      session.advanced.useOptimisticConcurrency = true
      return { session, document: (await session.load<{ Max: number }>('Raven/Hilo/users'))! }
    }
    const first = store.openSession()
    await first.store(new HiloDoc(10), 'Raven/Hilo/users')
    await first.saveChanges()
    const [one, two] = [await writer(), await writer()]
    one.document.Max = 20
    await one.session.saveChanges()
    two.document.Max = 30
    await expect(two.session.saveChanges()).rejects.toMatchObject({ name: 'ConcurrencyException' })
    expect(await maxOf(url)).toBe(20)
  })

  test('identities: the next numbers, by command and operation; a seed, a forced one', async () => {
    const { url } = await startServer()
    const store = await newStore(url)
    const {
      NextIdentityForCommand,
      NextIdentityForOperation,
      SeedIdentityForCommand,
      SeedIdentityForOperation,
    } = await load()
    const run = async (command: InstanceType<Raven['NextIdentityForCommand']>) => {
      await store.getRequestExecutor().execute(command)
      return command.result
    }
    expect(await run(new NextIdentityForCommand('orders|'))).toBe(1)
    expect(await store.maintenance.send(new NextIdentityForOperation('orders'))).toBe(2)
    expect(await run(new SeedIdentityForCommand('orders|', 100) as never)).toBe(100)
    expect(await store.maintenance.send(new SeedIdentityForOperation('orders|', 5))).toBe(100)
    const command = new NextIdentityForCommand('orders|')
    expect(await run(command)).toBe(101)
    // The client does so when it has lost the answer.
    expect(await run(command)).toBe(101)
    expect(await store.maintenance.send(new SeedIdentityForOperation('orders|', 1000))).toBe(1000)
    expect(await store.maintenance.send(new SeedIdentityForOperation('orders|', 200, true))).toBe(
      200,
    )
    expect(await run(new NextIdentityForCommand('orders|'))).toBe(201)
  })

  test('other documents are refused with a reason', async () => {
    const { url } = await startServer()
    const session = (await newStore(url)).openSession()
    await session.store(new User())
    await expect(session.saveChanges()).rejects.toThrow('stores HiLo documents only')
  })

  test('a database that is not there', async () => {
    const { url } = await startServer({ dataDir: newFolder(), databases: ['Shop'] })
    const store = await newStore(url, 'Nowhere')
    await expect(storeNew(store, new User())).rejects.toMatchObject({
      name: 'DatabaseDoesNotExistException',
    })
  })

  test('disposal after a first request that failed changes nothing', async () => {
    const { url } = await startServer({ dataDir: newFolder(), limits: { collections: 1 } })
    expect(await storeNew(await newStore(url), new Product())).toBe('products/1-A')
    const store = await newStore(url)
    await expect(storeNew(store, new User())).rejects.toThrow('limits.collections')
    await dispose(store)
    expect(await storeNew(await newStore(url), new Product())).toBe('products/33-A')
  })

  test('a server restarted in between goes on where it was', async () => {
    const dataDir = newFolder()
    const first = await startServer({ dataDir })
    const store = await newStore(first.url)
    const ids = await storeUsers(store, 32)
    await first.close()
    await startServer({ dataDir, port: Number(new URL(first.url).port) })
    // The old client first tries its connection to the server that went.
    ids.push(await storeNew(store, new User()).catch(() => storeNew(store, new User())))
    ids.push(...(await storeUsers(store, 9)))
    expect(ids).toEqual(Array.from({ length: 42 }, (_, i) => `users/${i + 1}-A`))
  })

  test('two nodes: when one is gone the other grants, under its own tag', async () => {
    const [a, b] = await Promise.all([
      startServer(),
      startServer({ dataDir: newFolder(), nodeTag: 'B' }),
    ])
    await fetch(`${b.url}/databases/Shop/hilo/next?tag=users`)
    const topology = {
      Etag: 1,
      Nodes: [
        { Url: a.url, ClusterTag: 'A', ServerRole: 'Member', Database: 'Shop' },
        { Url: b.url, ClusterTag: 'B', ServerRole: 'Member', Database: 'Shop' },
      ],
    }
    const { createServer } = await import('node:http')
    const front = createServer(async (request, response) => {
      if (request.url!.startsWith('/topology')) return response.end(JSON.stringify(topology))
      try {
        const answer = await fetch(a.url + request.url, { method: request.method! })
        response.writeHead(answer.status).end(await answer.text())
      } catch {
        response.destroy()
      }
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => {
      front.closeAllConnections()
      front.close()
    })
    const store = await newStore(`http://127.0.0.1:${(front.address() as { port: number }).port}`)
    expect((await storeUsers(store, 32)).at(-1)).toBe('users/32-A')
    await a.close()
    expect(await storeNew(store, new User())).toBe('users/33-B')
  })
})
