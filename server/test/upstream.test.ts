/**
 * Collections whose ranges come from a RavenDB: a model of one that does what RavenDB does, and our
 * own server, asked without its extension.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type ClaimOutcome,
  createHiloHandler,
  type Ledger,
  type LedgerOptions,
  openLedger,
  serve,
} from '../src/index.js'
import { makeCertificates } from './certificates.js'
import { newFolder } from './folders.js'
import { json } from './handlers.js'
import { grantOf, newId, span, untilAnswered } from './ledger-bench.js'
import { newDatabase } from './postgres.js'
import { type RavenNode, startRaven } from './raven-cluster.js'

const KEY = { database: 'Shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'Z', at: 0 }

const ledgers = new Set<Ledger>()
afterEach(async () => {
  for (const ledger of ledgers) await ledger.close()
  ledgers.clear()
})

async function open(
  node: { url: string },
  storage: LedgerOptions = { dataDir: newFolder() },
  upstream = {},
) {
  const ledger = await openLedger({
    create: true,
    ...storage,
    collections: {
      Shop: { orders: { upstream: { url: node.url, database: 'Shop', ...upstream } } },
    },
  })
  ledgers.add(ledger)
  const claim = async (change: object = {}): Promise<ClaimOutcome> =>
    (await ledger.claim([{ ...WISH, id: newId(), ...change }]))[0]!
  return {
    ledger,
    claim,
    take: async (change?: object) => grantOf(await claim(change)),
    giveBack: (token: string, end: number, last: number) =>
      ledger.giveBack({ ...KEY, end, last, token, at: 0 }),
    close: async () => {
      ledgers.delete(ledger)
      await ledger.close()
    },
  }
}

/** Repeats the tag as it was asked for, and grants as many as were asked for, as a RavenDB does. */
function grantedAt(
  path: string,
  answer: { Low?: unknown; High?: unknown; [field: string]: unknown },
) {
  const { searchParams } = new URL(path, 'http://raven')
  const High = Number(answer.Low) - 1 + Number(searchParams.get('lastBatchSize'))
  const Prefix = `${searchParams.get('tag')}/`
  return { status: 201, body: JSON.stringify({ Prefix, High, ...answer }) }
}

const STORAGES: [string, () => Promise<LedgerOptions>][] = [
  ['SQLite', async () => ({ dataDir: newFolder() })],
  ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
]

describe.each(STORAGES)('a ledger in %s', (_, newStorage) => {
  test('claims a range there, grants of it with tokens, and keeps the rest', async () => {
    const { nodes, checker } = await startRaven(['B'])
    const { take } = await open(nodes[0]!, await newStorage())
    expect(await take({ count: 10 })).toMatchObject({
      low: 1,
      high: 10,
      serverTag: 'B',
      token: expect.stringMatching(/^[\w.-]{30,}$/),
    })
    expect(span(await take({ count: 22 }))).toEqual([11, 32])
    expect(nodes[0]!.requests).toHaveLength(1)
    expect(span(await take({ count: 500 }))).toEqual([33, 532])
    expect(nodes[0]!.requests.at(-1)).toMatch(
      /hilo\/next\?tag=orders&lastBatchSize=500&identityPartsSeparator=%2F&lastMax=32$/i,
    )
    expect(checker.violations).toEqual([])
  })

  test('claims that come together are one claim there; those without an id too', async () => {
    const { nodes } = await startRaven()
    const { ledger } = await open(nodes[0]!, await newStorage())
    const outcomes = await ledger.claim([
      { ...WISH, id: newId() },
      { ...WISH, collection: 'own', id: newId() },
      { ...WISH, count: 40 },
      { ...WISH, collection: 'ORDERS', id: newId() },
    ])
    const [first, own, plain, last] = outcomes.map((outcome) => span(grantOf(outcome)))
    expect(own).toEqual([1, 32])
    expect(
      [first!, plain!, last!]
        .sort(([a], [b]) => a - b)
        .map(([low, high]) => high - low + 1)
        .reduce((a, b) => a + b),
    ).toBe(104)
    expect(new Set([first!, plain!, last!].map(([low]) => low)).size).toBe(3)
    expect(nodes[0]!.requests).toHaveLength(1)
  })

  test('uses a range up for clients whose claims have no id, before it claims more', async () => {
    const { nodes } = await startRaven()
    const { take, ledger } = await open(nodes[0]!, await newStorage())
    for (let i = 0; i < 12; i++) await take({ id: undefined })
    const [status] = await ledger.status()
    expect(status!.free).toBeLessThanOrEqual(12 * 32)
    expect(nodes[0]!.requests.length).toBeLessThanOrEqual(4)
  })

  test('when it closes, it returns what came back together with what nobody had', async () => {
    const { nodes, checker } = await startRaven()
    const { take, giveBack, close } = await open(nodes[0]!, await newStorage())
    const { token } = await take({ count: 10 })
    await giveBack(token, 10, 4)
    await close()
    expect(nodes[0]!.requests.at(-1)).toMatch(/return\?tag=orders&end=32&last=4$/)
    expect(checker.violations).toEqual([])
  })

  test('when it closes, it returns the rest of the newest range, once', async () => {
    const { nodes, checker } = await startRaven()
    const storage = await newStorage()
    const { take, close } = await open(nodes[0]!, storage)
    await take({ count: 10 })
    nodes[0]!.instead = (path) => (path.includes('/return') ? { status: 500 } : undefined)
    await close()
    expect(nodes[0]!.requests.filter((request) => request.startsWith('PUT'))).toEqual([
      'PUT /databases/Shop/hilo/return?tag=orders&end=32&last=10',
    ])
    nodes[0]!.instead = undefined
    const again = await open(nodes[0]!, storage)
    // Nobody knows whether the return arrived, so this server does not grant its numbers.
    expect(span(await again.take())).toEqual([33, 64])
    await again.close()
    expect(nodes[0]!.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(1)
    expect(checker.violations).toEqual([])
  })

  test('what was returned is granted by the upstream again, also here', async () => {
    const { nodes, checker } = await startRaven()
    const storage = await newStorage()
    const first = await open(nodes[0]!, storage)
    await first.take({ count: 10 })
    await first.close()
    expect(span(await (await open(nodes[0]!, storage)).take())).toEqual([11, 42])
    expect(checker.violations).toEqual([])
  })

  test('a range goes back only to the node that granted it', async () => {
    const { nodes, checker } = await startRaven(['A', 'B'])
    const [a] = nodes as [RavenNode, RavenNode]
    const { take, giveBack, close } = await open(a, await newStorage())
    const first = await take()
    a.instead = (path) => (path.includes('/hilo/') ? { status: 503 } : undefined)
    const second = await take({ count: 20 })
    expect([first.serverTag, second.serverTag]).toEqual(['A', 'B'])
    a.instead = undefined
    await giveBack(first.token, 32, 30)
    await close()
    const returns = nodes.map((node) =>
      node.requests.filter((request) => request.startsWith('PUT')),
    )
    expect(returns).toEqual([
      ['PUT /databases/Shop/hilo/return?tag=orders&end=32&last=30'],
      [expect.stringMatching(/return\?tag=orders&end=96&last=52$/)],
    ])
    expect(checker.violations).toEqual([])
  })

  test('ranges of two nodes never become one, and each comes back as what it was', async () => {
    const { nodes, checker } = await startRaven(['A', 'B'])
    const [a, b] = nodes as [RavenNode, RavenNode]
    const { take, giveBack } = await open(a, await newStorage())
    await take()
    const ofA = await take({ count: 65 })
    a.instead = (path) => (path.includes('/hilo/') ? { status: 503 } : undefined)
    b.instead = (path) =>
      path.includes('/next') ? grantedAt(path, { Low: 33, ServerTag: 'B' }) : undefined
    await expect(take({ count: 200 })).rejects.toThrow(
      'granted 33 to 232, but up to 97 may be in use',
    )
    b.instead = undefined
    const ofB = await take({ count: 200 })
    expect([ofA, ofB].map((grant) => [...span(grant), grant.serverTag])).toEqual([
      [33, 97, 'A'],
      [98, 297, 'B'],
    ])
    await giveBack(ofA.token, 97, 32)
    await giveBack(ofB.token, 297, 97)
    const again = [await take({ count: 250 }), await take({ count: 65 })]
    expect(again.map((grant) => [...span(grant), grant.serverTag])).toEqual([
      [98, 297, 'B'],
      [33, 97, 'A'],
    ])
    expect(checker.violations).toEqual([])
  })

  test('a range of a node that is not in the cluster any more is kept', async () => {
    const { nodes } = await startRaven(['A', 'B'])
    const storage = await newStorage()
    const { take, close } = await open(nodes[0]!, storage)
    await take({ count: 10 })
    const [a] = nodes.splice(0, 1)
    nodes[0]!.tag = 'B'
    a!.instead = (path) =>
      path.startsWith('/topology')
        ? {
            status: 200,
            body: JSON.stringify({ Nodes: [{ Url: nodes[0]!.url, ClusterTag: 'B' }] }),
          }
        : { status: 503 }
    await take({ count: 60 })
    await close()
    expect(a!.requests.filter((request) => request.startsWith('PUT'))).toEqual([])
    const again = await open(nodes[0]!, storage)
    expect(await again.take({ count: 22 })).toMatchObject({ low: 11, high: 32, serverTag: 'A' })
  })

  test('a restored upstream is told what was granted or seen, and of a raised floor', async () => {
    const { nodes } = await startRaven()
    const { ledger, take } = await open(nodes[0]!, await newStorage())
    await take()
    expect(span(await take({ lastMax: 500 }))).toEqual([501, 532])
    await ledger.raiseFloor({ ...KEY, floor: 1_000 })
    expect(span(await take({ count: 129 }))).toEqual([1_001, 1_129])
    nodes[0]!.instead = (path) => grantedAt(path, { Low: 1, ServerTag: 'A' })
    await expect(take()).rejects.toThrow(
      /granted 1 to \d+, but up to 1129 may be in use: it went backwards/,
    )
  })
})

describe('an upstream that cannot be used', () => {
  test.each([
    [
      { status: 403, body: '{"Message":"no access"}' },
      '403: no access. Give `certificate` a client certificate that may use the database',
    ],
    [{ status: 503, body: '{"Type":"DatabaseDoesNotExistException"}' }, 'has no such database'],
    [
      { status: 200, body: '<html>' },
      'is no RavenDB: its topology cannot be read. It began: "<html>"',
    ],
    [{ status: 404, body: '' }, 'answered 404'],
  ])('%j: not at the start', async (answer, message) => {
    const { nodes } = await startRaven()
    nodes[0]!.instead = () => answer
    await expect(open(nodes[0]!)).rejects.toThrow(message)
  })

  test.each([
    [{ Low: 1, High: 2 ** 53 }, 'which JavaScript cannot count through'],
    [{ Low: 5, High: 4 }, 'it holds no range'],
    [{ Low: 1.5, High: 4 }, 'it holds no range'],
    [{ Low: '1', High: 4 }, 'it has no Prefix, Low or High'],
    [{ Prefix: 0, Low: 1, High: 4 }, 'it has no Prefix, Low or High'],
    [{ Prefix: 'users/', Low: 1, High: 32 }, 'it answers another request'],
    [{ Low: 1, High: 31 }, 'it answers another request'],
    [{ Low: 1, High: 33 }, 'it answers another request'],
  ])('%j is no range', async (body, message) => {
    const { nodes } = await startRaven()
    const { take } = await open(nodes[0]!)
    nodes[0]!.instead = (path) => grantedAt(path, body)
    await expect(take()).rejects.toThrow(message)
  })

  test('may be away, and come later; other collections do not wait for it', async () => {
    const { nodes } = await startRaven()
    const [node] = nodes as [RavenNode]
    const { url } = node
    await node.stop()
    const { ledger } = await open({ url })
    const log = { info: vi.fn(), error: vi.fn() }
    const handler = createHiloHandler({ ledger, log, open: true })
    const next = (tag: string) =>
      handler(new Request(`http://ids.test/databases/Shop/hilo/next?tag=${tag}`))
    const [orders, lines] = await Promise.all([next('orders'), next('lines')])
    expect([orders.status, orders.headers.get('Retry-After'), lines.status]).toEqual([
      503,
      '1',
      201,
    ])
    const claim = (...tags: string[]) =>
      json({ claim: newId(), collections: tags.map((tag) => ({ tag, count: 32 })) })
    const nextOf = async (...tags: string[]) =>
      handler(new Request('http://ids.test/databases/Shop/hilo/next', claim(...tags)))
    const several = await nextOf('orders', 'lines')
    expect(several.status).toBe(201)
    const away = { Type: 'System.TimeoutException' }
    expect(await several.json()).toMatchObject({ collections: [away, { Low: 33, High: 64 }] })
    expect(log.error).toHaveBeenCalledOnce()
    expect((await nextOf('orders')).status).toBe(503)
  })
})

test('an upstream that is away fails no claim to another one, and wastes no range', async () => {
  const [orders, parts] = [(await startRaven()).nodes[0]!, (await startRaven()).nodes[0]!]
  const of = ({ url }: RavenNode) => ({ upstream: { url, database: 'Shop' } })
  const ledger = await openLedger({
    create: true,
    dataDir: newFolder(),
    collections: { Shop: { orders: of(orders), parts: of(parts) } },
  })
  ledgers.add(ledger)
  await orders.stop()
  const wish = (collection: string) => ({ ...WISH, collection, id: newId() })
  expect(await ledger.claim([wish('orders'), wish('parts')])).toMatchObject([
    { refused: 'short' },
    { grant: { low: 1, high: 32 } },
  ])
  await expect(ledger.claim([wish('orders')])).rejects.toThrow('does not answer')
})

test('while the node that was configured is away, the others go on', async () => {
  const { nodes, checker } = await startRaven(['A', 'B'])
  const { take } = await open(nodes[0]!)
  expect((await take()).serverTag).toBe('A')
  await nodes[0]!.stop()
  for (let i = 0; i < 3; i++) expect((await take({ count: 1_000 * 4 ** i })).serverTag).toBe('B')
  expect(checker.violations).toEqual([])
})

test('a database that has moved to other nodes is found there', async () => {
  const { nodes, checker } = await startRaven(['A', 'B'])
  const { take } = await open(nodes[1]!)
  expect((await take()).serverTag).toBe('B')
  const [moved] = nodes.splice(1, 1)
  moved!.instead = (path) => (path.includes('/hilo/') ? { status: 410 } : undefined)
  expect((await take({ count: 1_000 })).serverTag).toBe('A')
  expect(checker.violations).toEqual([])
})

test('a range of which the answer names no node is of the node that was asked', async () => {
  const { nodes } = await startRaven(['B'])
  const { take } = await open(nodes[0]!)
  nodes[0]!.instead = (path) => (path.includes('/next') ? grantedAt(path, { Low: 1 }) : undefined)
  expect((await take()).serverTag).toBe('B')
})

test('a node that answers something else has not answered: another one is asked', async () => {
  const { nodes } = await startRaven(['A', 'B'])
  const { take } = await open(nodes[0]!)
  expect((await take()).serverTag).toBe('A')
  const [replaced] = nodes.splice(0, 1)
  replaced!.instead = (path) =>
    path.includes('/hilo/') ? { status: 200, body: '<html>Welcome</html>' } : undefined
  expect((await take({ count: 1_000 })).serverTag).toBe('B')
})

test('a binding to another collection there is refused; adopting is not advised', async () => {
  const { nodes } = await startRaven()
  const storage = { dataDir: newFolder() }
  await (await open(nodes[0]!, storage)).close()
  await expect(open(nodes[0]!, storage, { tag: 'other' })).rejects.toThrow(
    /knows it as the ranges of orders .* says the ranges of other .*\. Set it back\.$/,
  )
})

test('our own server as upstream, asked as a RavenDB is', async () => {
  const upstream = await serve({ create: true, port: 0, dataDir: newFolder(), nodeTag: 'B' })
  const { take, close } = await open(upstream)
  expect(await take({ count: 100 })).toMatchObject({ low: 1, high: 100, serverTag: 'B' })
  await take({ count: 10 })
  await close()
  const response = await fetch(`${upstream.url}/databases/Shop/docs?id=Raven/Hilo/orders`)
  expect((await response.json()).Results[0].Max).toBe(110)
  await upstream.close()
})

test('two servers on one ledger, and a RavenDB client of its own: no number twice', async () => {
  const { nodes, checker } = await startRaven()
  const storage = { databaseUrl: await newDatabase() }
  const servers = await Promise.all([open(nodes[0]!, storage), open(nodes[0]!, storage)])
  const held: [number, number][] = []
  const work = servers.flatMap(({ take, giveBack }) =>
    Array.from({ length: 30 }, async (_, i) => {
      const wish = { id: newId(), count: 1 + ((i * 17) % 80) }
      const { low, high, token } = await untilAnswered(() => take(wish))
      const last = i % 2 ? high : low + Math.floor((high - low) / 2)
      if (last < high) await untilAnswered(() => giveBack(token, high, last))
      held.push([low, last])
    }),
  )
  const client = async () => {
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${nodes[0]!.url}/databases/Shop/hilo/next?tag=orders`, {
        headers: { 'x-device': 'client' },
      })
      const { Low, High } = (await response.json()) as { Low: number; High: number }
      held.push([Low, High])
    }
  }
  await Promise.all([...work, client()])
  for (const { close } of servers) await close()
  held.sort(([a], [b]) => a - b)
  expect(held.slice(1).filter(([low], i) => low <= held[i]![1])).toEqual([])
  expect(checker.violations).toEqual([])
})

describe('a client certificate', () => {
  const folder = newFolder()
  const file = (name: string) => join(folder, name)
  beforeAll(() => {
    makeCertificates(folder)
  })
  const start = () =>
    startRaven(['A'], {
      cert: readFileSync(file('server.crt')),
      key: readFileSync(file('server.key')),
      ca: readFileSync(file('client.crt')),
      requestCert: true,
      rejectUnauthorized: true,
    })

  test('is shown to the upstream, whose own certificate is checked', async () => {
    const { nodes } = await start()
    const certificate = { cert: file('client.crt'), key: file('client.key') }
    const { take } = await open(nodes[0]!, undefined, { certificate, ca: file('server.crt') })
    expect(span(await take())).toEqual([1, 32])
  })

  test('an unknown certificate is not trusted; without its own, nothing is granted', async () => {
    const { nodes } = await start()
    const trusting = await open(nodes[0]!, undefined, {
      certificate: { cert: file('client.crt'), key: file('client.key') },
    })
    await expect(trusting.take()).rejects.toThrow('self-signed certificate')
    const anonymous = await open(nodes[0]!, undefined, { ca: file('server.crt') })
    await expect(anonymous.take()).rejects.toThrow('does not answer')
    expect(nodes[0]!.requests).toEqual([])
  })
})
