/**
 * The HiLo routes: what our own client sends beside RavenDB’s protocol. That the protocol is
 * answered as RavenDB answers it is in wire.test.ts.
 */
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LIMITS } from '../../src/core/wire.js'
import { type Ask, claimedJson, json, newHandler, testHere } from './handlers.js'

const NOW = Date.UTC(2026, 10, 21, 7, 9, 21, 466)
const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'
const OTHER_ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f11'

const ONE_RETURN = { tag: 'orders', end: 32, last: 10, token: 'x' }

let ask: Ask
beforeEach(async () => {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
  ask = (await newHandler()).ask
})
afterEach(() => {
  vi.useRealTimers()
})

describe('hilo/next', () => {
  testHere('answers as RavenDB does, and adds a grant token', async () => {
    const { status, headers, body } = await ask(NEXT)
    expect(status).toBe(201)
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(body).toEqual({
      Prefix: 'orders/',
      Low: 1,
      High: 32,
      LastSize: 32,
      ServerTag: 'A',
      LastRangeAt: '2026-11-21T07:09:21.4660000Z',
      Token: expect.any(String),
    })
    expect((await ask(NEXT)).body).toMatchObject({ Low: 33, High: 64 })
  })

  test('the fragment of an address is no part of its query', async () => {
    const { body } = await ask(`${NEXT}&lastBatchSize=40#&lastBatchSize=90?lastMax=1000`)
    expect(body).toMatchObject({ Low: 1, High: 40 })
  })

  test('the same claim: the same answer, 201 first and 200 again', async () => {
    const first = await ask(`${NEXT}&claim=${ID}`)
    vi.setSystemTime(NOW + 5_000)
    const again = await ask(`${NEXT}&claim=${ID.toUpperCase()}&lastBatchSize=64`)
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body).toEqual(first.body)
    expect((await ask(`${NEXT}&claim=${OTHER_ID}`)).body.Low).toBe(33)
  })

  test.each([
    [
      'separator that nobody sees',
      'hilo/next?tag=orders&identityPartsSeparator=%E2%80%8B',
      500,
      'an invisible character',
    ],
    ['an absurd lastMax', 'hilo/next?tag=orders&lastMax=10000001', 422, 'raise-floor'],
    ['a claim that is no UUID', 'hilo/next?tag=orders&claim=1', 400, 'claim has to be a UUID'],
  ])('refuses: %s', async (_, path, status, message) => {
    const answer = await ask(`/databases/Shop/${path}`)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual({
      Url: expect.stringContaining('/databases/Shop/hilo/next'),
      Type: expect.stringMatching(/^System\./),
      Message: expect.stringContaining(message),
      Error: `${answer.body.Type}: ${answer.body.Message}`,
    })
    expect((await ask(NEXT)).body.Low).toBe(1)
  })
})

describe('POST hilo/next', () => {
  const claim = (collections: unknown, id = ID) =>
    ask('/databases/Shop/hilo/next', json({ claim: id, collections }))

  test('several collections in one round trip, repeated with the same answer', async () => {
    await ask('/databases/Shop/hilo/next?tag=lines')
    const collections = [
      { tag: 'orders', count: 100 },
      { tag: 'Lines', count: 5, lastMax: 40, identityPartsSeparator: '-' },
    ]
    const first = await claim(collections)
    expect(first.status).toBe(201)
    expect(first.body.collections).toMatchObject([
      { Prefix: 'orders/', Low: 1, High: 100, LastSize: 100, Token: expect.any(String) },
      { Prefix: 'Lines-', Low: 41, High: 45, LastSize: 5 },
    ])
    expect(await claim(collections)).toMatchObject({ status: 200, body: first.body })
    expect((await ask(`${NEXT}&claim=${ID}`)).body).toEqual(first.body.collections[0])
    expect(first.body.collections).toMatchObject([{ Claim: ID }, { Claim: ID }])
  })

  test('tokens shown with a claim are checked in, and never stand in an address', async () => {
    const { Token: token } = (await ask(`${NEXT}&claim=${ID}`)).body
    const [first, second] = [randomUUID(), crypto.randomUUID()]
    const wanted = [{ tag: 'orders', count: 32, grants: [{ token, next: 1 }] }]
    expect((await claim(wanted, first)).body.collections).toMatchObject([
      { Low: 33, grants: [{ token: expect.any(String), high: 32 }] },
    ])
    expect((await claim(wanted, second)).body.collections).toMatchObject([
      { Low: 65, grants: [{ superseded: true }] },
    ])
  })

  test('the refusal of the only collection is the answer, with its status', async () => {
    const { status, body } = await claim([{ tag: 'orders', count: 32, lastMax: 1e12 }])
    expect(status).toBe(422)
    expect(body.Message).toContain('raise-floor')
  })

  test('one that is refused does not keep back the others', async () => {
    const { status, body } = await claim([
      { tag: 'orders', count: 32, lastMax: 1e12 },
      { tag: 'lines', count: 32 },
    ])
    expect(status).toBe(201)
    expect(body.collections).toMatchObject([
      { Message: expect.stringContaining('raise-floor') },
      { Low: 1 },
    ])
  })

  test.each([
    ['not JSON', '{'],
    ['no claim id', '{"collections":[{"tag":"orders","count":1}]}'],
    ['no UUID', '{"claim":"1","collections":[{"tag":"orders","count":1}]}'],
    ['no collections', `{"claim":"${ID}","collections":[]}`],
    [
      'too many',
      JSON.stringify({ claim: ID, collections: Array(101).fill({ tag: 'orders', count: 1 }) }),
    ],
    ['a fraction', `{"claim":"${ID}","collections":[{"tag":"orders","count":1.5}]}`],
    ['none', `{"claim":"${ID}","collections":[{"tag":"orders","count":0}]}`],
  ])('refuses: %s', async (_, body) => {
    expect((await ask('/databases/Shop/hilo/next', claimedJson(body))).status).toBe(400)
  })

  test.each([
    ['orders', 'Orders'],
    ['orders', 'lines', 'orders'],
    ['ÄRMEL', 'ärmel'],
  ])(
    'refuses one collection twice, which would be granted one range twice: %s',
    async (...tags) => {
      const answer = await claim(tags.map((tag) => ({ tag, count: 32 })))
      expect(answer).toMatchObject({
        status: 400,
        body: { Message: expect.stringContaining(`'${tags.at(-1)}' comes twice`) },
      })
      expect((await ask(NEXT)).body.Low).toBe(1)
    },
  )

  test('refuses a lone surrogate in a tag', async () => {
    expect((await claim([{ tag: '\ud800', count: 1 }])).body.Message).toContain('well-formed')
  })

  // Two of them would be one name, which nobody has asked for.
  test.each([
    ['a tag', 'hilo/next?tag=%FF', 'GET'],
    ['a tag, too long', 'hilo/next?tag=a%C0%AFb', 'GET'],
    ['half of a pair', 'hilo/next?tag=%ED%A0%80', 'GET'],
    ['a separator', 'hilo/next?tag=orders&identityPartsSeparator=%FF', 'GET'],
    ['a returned tag', 'hilo/return?tag=%FF&end=32&last=1', 'PUT'],
    ['a document', 'docs?id=Raven/Hilo/%FF', 'GET'],
    ['an identity', 'identity/next?name=%FF', 'POST'],
    ['a seed', 'identity/seed?name=%FF&value=7', 'POST'],
    ['an explained tag', 'hilo/explain?tag=%FF&number=1', 'GET'],
  ])('refuses bytes that are no UTF-8: %s', async (_, path, method) => {
    expect(await ask(`/databases/Shop/${path}`, { method })).toMatchObject({
      status: 500,
      body: { Type: 'System.ArgumentException' },
    })
  })

  test('refuses bytes that are no UTF-8: in a body', async () => {
    const text = JSON.stringify({ claim: ID, collections: [{ tag: '\xff', count: 1 }] })
    const body = Buffer.from(text, 'latin1')
    const { status, body: refusal } = await ask('/databases/Shop/hilo/next', { ...json({}), body })
    expect([status, refusal.Message]).toEqual([500, expect.stringContaining('well-formed')])
  })
})

describe('hilo/return', () => {
  test('with a grant token: in a body of any type, because proxies log addresses', async () => {
    for (const [low, last, type] of [
      [1, 10, 'application/json'],
      [11, 20, 'text/plain;charset=UTF-8'],
    ] as const) {
      const { Low, High, Token } = (await ask(`${NEXT}&claim=${randomUUID()}`)).body
      expect(Low).toBe(low)
      const body = JSON.stringify({ tag: 'orders', end: High, last, token: Token })
      const init = { method: 'POST', headers: { 'Content-Type': type }, body }
      expect((await ask('/databases/Shop/hilo/return', init)).status).toBe(204)
    }
    expect((await ask(NEXT)).body.Low).toBe(21)
  })

  test('several ranges of several collections come back in one request', async () => {
    const tags = ['orders', 'Orders', 'invoices']
    const grants = []
    for (const [i, tag] of tags.entries()) {
      const path = `/databases/Shop/hilo/next?tag=${tag}&claim=${ID.slice(0, -1)}${i}`
      grants.push((await ask(path)).body)
    }
    const returns = grants.map(({ Low, High, Token }, i) => ({
      tag: tags[i],
      end: High,
      last: Low - 1,
      token: Token,
    }))
    // One without effect does not hold the others up.
    returns.splice(1, 0, { tag: 'lines', end: 32, last: 0, token: 'unknown' })
    const answer = await ask('/databases/Shop/hilo/return', json({ returns }))
    expect(answer).toMatchObject({ status: 204 })
    expect((await ask(NEXT)).body.Low).toBe(1)
    expect((await ask('/databases/Shop/hilo/next?tag=invoices')).body.Low).toBe(1)
  })

  test.each([
    '{',
    '[]',
    '{"tag":"orders","end":32,"last":10}',
    '{"tag":"orders","end":"32","last":10,"token":"x"}',
    '{"returns":[]}',
    '{"returns":[{"tag":"orders","end":32,"last":10}]}',
    JSON.stringify({ returns: Array(LIMITS.tokens + 1).fill(ONE_RETURN) }),
  ])('refuses the body %j', async (body) => {
    expect(await ask('/databases/Shop/hilo/return', { method: 'POST', body })).toMatchObject({
      status: 400,
      body: { Message: expect.stringContaining('A give-back is JSON') },
    })
  })
})

describe('hilo/checkin', () => {
  test('a new token and what is still held; superseded after a copy; or unknown', async () => {
    const { Token } = (await ask(`${NEXT}&claim=${ID}`)).body
    await ask(`${RETURN}&end=32&last=10&token=${Token}`, { method: 'PUT' })
    const grants = [
      { token: Token, next: 5 },
      { token: 'unknown', next: 1 },
    ]
    const first = await ask(CHECK_IN, json({ id: ID, grants }))
    expect(first.status).toBe(200)
    expect(first.body).toEqual({
      id: ID,
      grants: [{ token: expect.any(String), high: 10 }, { unknown: true }],
    })
    expect(await ask(CHECK_IN, json({ id: ID, grants }))).toMatchObject({
      status: 200,
      body: first.body,
    })
    expect((await ask(CHECK_IN, json({ id: OTHER_ID, grants }))).body).toEqual({
      id: OTHER_ID,
      grants: [{ superseded: true }, { unknown: true }],
    })
  })

  test('a claim repeated after a check-in is refused: its numbers are in use', async () => {
    const { Token } = (await ask(`${NEXT}&claim=${ID}`)).body
    await ask(CHECK_IN, json({ id: ID, grants: [{ token: Token, next: 1 }] }))
    expect(await ask(`${NEXT}&claim=${ID}`)).toMatchObject({
      status: 410,
      body: { Message: expect.stringContaining('Claim anew') },
    })
  })

  test.each([
    ['not JSON', 'x'],
    ['no id', '{"grants":[]}'],
    ['no UUID', '{"id":"1","grants":[]}'],
    ['next is text', `{"id":"${ID}","grants":[{"token":"x","next":"1"}]}`],
    [
      'too many grants',
      JSON.stringify({ id: ID, grants: Array(101).fill({ token: 'x', next: 1 }) }),
    ],
  ])('refuses: %s', async (_, body) => {
    expect((await ask(CHECK_IN, claimedJson(body))).status).toBe(400)
  })
})

test('where a number is, nobody is told of a name that no collection has', async () => {
  const path = '/databases/Shop/hilo/explain?number=1&tag='
  expect((await ask(`${path}orders`)).status).toBe(200)
  expect(await ask(`${path}orders|`)).toMatchObject({
    status: 500,
    body: { Message: expect.stringContaining("end with '|'") },
  })
})

describe('databases and topology', () => {
  test('topology echoes the host that was asked for', async () => {
    expect(
      await ask('http://box.local:8080/topology?name=Shop', {
        headers: { Host: 'box.local:8080' },
      }),
    ).toMatchObject({
      status: 200,
      body: {
        Promotables: [],
        Nodes: [
          { Url: 'http://box.local:8080', ClusterTag: 'A', ServerRole: 'Member', Database: 'Shop' },
        ],
        Etag: 1,
      },
    })
  })

  test('topology tells the public URL and the node tag of the configuration', async () => {
    // Clients put a path behind it.
    const { ask } = await newHandler({ publicUrl: 'https://ids.example.com/', nodeTag: 'B' })
    expect((await ask('/topology?name=Shop')).body.Nodes).toMatchObject([
      { Url: 'https://ids.example.com', ClusterTag: 'B' },
    ])
    expect((await ask(NEXT)).body.ServerTag).toBe('B')
  })

  test.each(['d'.repeat(129), 'a b', 'a|'])('no database is named %s', async (name) => {
    const { ask } = await newHandler()
    const path = encodeURIComponent(name)
    expect(await ask(NEXT.replace('Shop', path))).toMatchObject({
      status: 500,
      body: { Type: expect.stringContaining('DatabaseDoesNotExistException') },
    })
    const { status, headers } = await ask(`/topology?name=${path}`)
    expect([status, headers.get('Database-Missing')]).toEqual([503, path])
  })
})

describe('a request that is written in an odd way', () => {
  const POST_NEXT = '/databases/Shop/hilo/next'
  const claimOf = (text: string) => `{"claim": "${ID}", "collections": [${text}]}`
  const sent = (body: BodyInit) => ({ ...claimedJson(''), body })
  const counted = (count: string) => sent(claimOf(`{"tag": "orders", "count": ${count}}`))

  test.each<[string, string, RequestInit]>([
    ['as HEAD', NEXT, { method: 'HEAD' }],
    ['as PATCH', NEXT, { method: 'PATCH' }],
    ['as OPTIONS', NEXT, { method: 'OPTIONS' }],
    ['with a slash at its end', NEXT.replace('next', 'next/'), {}],
    ['with a double slash', NEXT.replace('hilo/', 'hilo//'), {}],
    ['with a slash in its code', NEXT.replace('hilo/', 'hilo%2F'), {}],
    ['with a question mark in its code', NEXT.replace('?', '%3F'), {}],
    ['with a parameter of its path', NEXT.replace('?', ';a=b?'), {}],
    ['with a name twice, in two cases', `${NEXT}&TAG=lines`, {}],
    ['with a zero byte in its name', `${NEXT}%00`, {}],
    [
      'as UTF-16',
      POST_NEXT,
      sent(Buffer.from(claimOf('{"tag": "orders", "count": 1}'), 'utf16le')),
    ],
    ['in gzip', POST_NEXT, sent(gzipSync(claimOf('{"tag": "orders", "count": 1}')))],
    ['with 100,000 brackets', POST_NEXT, sent('['.repeat(100_000))],
    ['with 40,000 objects', POST_NEXT, sent(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`)],
    ...['1e308', '1e400', '-0', '1.5', '9007199254740993', '"1"', 'null', '[1]'].map(
      (count): [string, string, RequestInit] => [`for ${count} numbers`, POST_NEXT, counted(count)],
    ),
    [
      'by its prototype',
      POST_NEXT,
      sent(`{"__proto__": ${claimOf('{"tag": "orders", "count": 1}')}}`),
    ],
  ])('%s, grants nothing', async (_, path, init) => {
    const { ask } = await newHandler()
    expect((await ask(path, init)).status).toBeGreaterThanOrEqual(400)
    expect((await ask(NEXT)).body.Low).toBe(1)
  })

  test('is about the database of its path, whatever else it names', async () => {
    const { ask } = await newHandler({ databases: ['Shop', 'Depot'] })
    const body = claimOf('{"tag": "orders", "count": 1, "__proto__": {"lastMax": 7}}')
    const named = body.replace('{', '{"database": "Depot", "__proto__": {"device": "x"}, ')
    const { body: claimed } = await ask(`${POST_NEXT}?database=Depot`, sent(`\ufeff${named}`))
    expect(claimed.collections).toMatchObject([{ Low: 1, High: 1 }])
    expect((await ask(`${NEXT}&database=Depot&lastMax=0&lastMax=900`)).body.Low).toBe(2)
    expect((await ask(NEXT.replace('Shop', 'Depot'))).body.Low).toBe(1)
    expect((await ask(NEXT.replace('Shop', 'Depot/../Shop'))).body.Low).toBe(34)
    expect((await ask(NEXT.replace('databases', '%64atabases'))).body.Low).toBe(66)
  })
})

describe('a server with the smallest limits takes the largest requests of our client:', () => {
  const TOKEN = { Authorization: 'Bearer the-token-of-one-till' }
  /** As long as a token can be: it has the name of its collection in it. */
  const grants = Array.from({ length: LIMITS.tokens }, (_, i) => ({
    token: `${i}`.padStart(1087, 'x'),
    next: Number.MAX_SAFE_INTEGER,
  }))
  const longest = `k3m9x2dq7rwt5hza/${'d'.repeat(64)}`
  const ledgers = { X: longest, Y: longest }
  const limits = {
    batch: 1,
    body: LIMITS.bodyBytes,
    url: LIMITS.urlLength,
    rowsPerHour: 2 * LIMITS.tokens,
  }
  let ask: Ask
  beforeEach(async () => {
    const tokens = ['the-token-of-one-till']
    ask = (await newHandler({ databases: ['Shop'], tokens, limits })).ask
  })

  test('a claim for as many collections as it may have', async () => {
    const collections = grants.map((grant, i) => ({
      tag: `${i}`.padStart(501, '"'),
      count: 1,
      lastMax: 0,
      identityPartsSeparator: '/',
      grants: [grant],
      ledgers,
    }))
    const device = 'Till'.padEnd(LIMITS.nameBytes, '"')
    const { status, body } = await ask(
      '/databases/Shop/hilo/next',
      json({ claim: ID, device, collections }, 'POST', TOKEN),
    )
    expect(status).toBe(201)
    expect(body.collections).toHaveLength(LIMITS.claims)
    expect(body.collections[99]).toMatchObject({ Low: 1, grants: [{ unknown: true }] })
  })

  test('a check-in of as many tokens as it may have', async () => {
    const spent = grants.map(({ token }) => token)
    expect(await ask(CHECK_IN, json({ id: ID, grants, spent, ledgers }, 'POST', TOKEN))).toEqual(
      expect.objectContaining({
        status: 200,
        body: expect.objectContaining({ grants: grants.map(() => ({ unknown: true })) }),
      }),
    )
    const many = [...grants, grants[0]]
    expect(
      (await ask(CHECK_IN, json({ id: ID, grants: many }, 'POST', TOKEN))).body.Message,
    ).toContain(`at most ${LIMITS.tokens} grants`)
  })

  testHere('the longest address', async () => {
    const name = encodeURIComponent('€'.repeat(167))
    const identity = `/identity/next?name=${name}|&raft-request-id=${ID}`
    const address = `/databases/${'d'.repeat(128)}${identity}`
    const { ask } = await newHandler({ limits })
    expect((await ask(address, { method: 'POST' })).status).toBe(200)
  })

  testHere.each(['body', 'url', 'rowsPerHour'] as const)('and %s cannot be less', async (name) => {
    await expect(newHandler({ limits: { ...limits, [name]: limits[name] - 1 } })).rejects.toThrow(
      `limits.${name}: has to be at least ${limits[name]}`,
    )
  })
})
