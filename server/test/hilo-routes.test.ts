/** The HiLo routes: RavenDB’s protocol as RavenDB answers it, and the extension beside it. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Ask, claimedJson, json, newHandler, testHere } from './handlers.js'

const NOW = Date.UTC(2026, 10, 21, 7, 9, 21, 466)
const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'
const OTHER_ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f11'

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

  testHere.each([
    ['no time: as many as the last range', 'lastBatchSize=500', 500],
    ['no time, less than 32', 'lastBatchSize=5', 32],
    ['no time, a negative size', 'lastBatchSize=-5', 32],
    [
      'a time with 3 fraction digits does not parse',
      'lastBatchSize=50&lastRangeAt=2026-11-21T07:09:20.466Z',
      50,
    ],
    ['under 30 s ago: doubled', 'lastBatchSize=50&lastRangeAt=2026-11-21T07:08:51.4670000Z', 100],
    [
      'under 30 s ago, without Z as older clients send it',
      'lastBatchSize=50&lastRangeAt=2026-11-21T07:08:51.4670000',
      100,
    ],
    [
      'doubling stops at 1,048,576',
      'lastBatchSize=1048000&lastRangeAt=2026-11-21T07:09:20.4660000Z',
      1_048_576,
    ],
    ['30 s ago: the same', 'lastBatchSize=50&lastRangeAt=2026-11-21T07:08:51.4660000Z', 50],
    ['60 s ago: the same', 'lastBatchSize=50&lastRangeAt=2026-11-21T07:08:21.4660000Z', 50],
    ['over 60 s ago: half', 'lastBatchSize=101&lastRangeAt=2026-11-21T07:08:21.4650000Z', 50],
    ['over 60 s ago, at least 32', 'lastBatchSize=40&lastRangeAt=2020-11-21T07:08:21.4650000Z', 32],
  ])('capacity, %s', async (_, query, size) => {
    expect((await ask(`${NEXT}&${query}`)).body).toMatchObject({
      Low: 1,
      High: size,
      LastSize: size,
    })
  })

  test('the prefix keeps case and separator as sent; the counter knows no case', async () => {
    expect(
      (await ask('/databases/Shop/hilo/next?tag=Orders&identityPartsSeparator=-')).body,
    ).toMatchObject({ Prefix: 'Orders-', Low: 1 })
    expect((await ask('/databases/sHOP/hilo/next?tag=oRDERS')).body).toMatchObject({
      Prefix: 'oRDERS/',
      Low: 33,
    })
  })

  test('lastMax lifts the counter', async () => {
    expect((await ask(`${NEXT}&lastMax=1000`)).body).toMatchObject({ Low: 1001, High: 1032 })
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
    ['tag missing', 'hilo/next', 500, "'tag' must have a non empty value"],
    ['tag empty', 'hilo/next?tag=', 500, "'tag' must have a non empty value"],
    ['tag ends in |', 'hilo/next?tag=orders|', 500, "cannot end with '|'"],
    ['tag ends in the separator', 'hilo/next?tag=orders/', 500, "end in the separator '/'"],
    [
      'tag ends in another separator',
      'hilo/next?tag=orders-&identityPartsSeparator=-',
      500,
      "end in the separator '-'",
    ],
    [
      'separator |',
      'hilo/next?tag=orders&identityPartsSeparator=%7C',
      500,
      'identityPartsSeparator is one character',
    ],
    [
      'separator that is a digit: a1511 could be 511 of a, or 11 of a15',
      'hilo/next?tag=a&identityPartsSeparator=1',
      500,
      'identityPartsSeparator is one character',
    ],
    [
      'separator that is a letter',
      'hilo/next?tag=orders&identityPartsSeparator=x',
      500,
      'identityPartsSeparator is one character',
    ],
    [
      'separator that nobody sees',
      'hilo/next?tag=orders&identityPartsSeparator=%E2%80%8B',
      500,
      'an invisible character',
    ],
    [
      'separator too long',
      'hilo/next?tag=orders&identityPartsSeparator=--',
      500,
      "expecting single character, but got '--'",
    ],
    ['tag too long', `hilo/next?tag=${'ö'.repeat(251)}`, 500, 'cannot exceed 512 bytes'],
    ['tag with a line feed', 'hilo/next?tag=a%0Ab', 500, 'control characters'],
    ['tag with a zero', 'hilo/next?tag=a%00b', 500, 'control characters'],
    [
      'a size that is no number',
      'hilo/next?tag=orders&lastBatchSize=many',
      500,
      "'lastBatchSize' header as long, value was: many",
    ],
    ['a fraction', 'hilo/next?tag=orders&lastMax=1.5', 500, 'as long, value was: 1.5'],
    ['beyond 2^53', 'hilo/next?tag=orders&lastMax=9007199254740992', 500, 'beyond 2^53-1'],
    ['an absurd lastMax', 'hilo/next?tag=orders&lastMax=10000001', 422, 'raise-floor'],
    [
      'too many at once',
      'hilo/next?tag=orders&lastBatchSize=1048577',
      422,
      'at most 1048576 numbers at once',
    ],
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

  test('the longest tag passes', async () => {
    expect((await ask(`/databases/Shop/hilo/next?tag=${'ö'.repeat(250)}`)).status).toBe(201)
  })

  test('HEAD burns no range', async () => {
    expect((await ask(NEXT, { method: 'HEAD' })).status).toBe(400)
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
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    const wanted = [{ tag: 'orders', count: 32, grants: [{ token, next: 1 }] }]
    expect((await claim(wanted, first)).body.collections).toMatchObject([
      { Low: 33, grants: [{ token: expect.any(String), high: 32 }] },
    ])
    expect((await claim(wanted, second)).body.collections).toMatchObject([
      { Low: 65, grants: [{ superseded: true }] },
    ])
  })

  test('is granted exactly as many as it asks for', async () => {
    await ask(NEXT)
    const sizes = [33, 5, 1].map((count, i) => ({ tag: `tag${i}`, count }))
    expect((await claim(sizes)).body.collections).toMatchObject([
      { LastSize: 33 },
      { LastSize: 5 },
      { Low: 1, High: 1, LastSize: 1 },
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
})

describe('hilo/return', () => {
  test("RavenDB's: 204, the rest is granted next", async () => {
    await ask(NEXT)
    expect(await ask(`${RETURN}&end=32&last=10`, { method: 'PUT' })).toMatchObject({
      status: 204,
      body: undefined,
    })
    expect((await ask(NEXT)).body.Low).toBe(11)
  })

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

  test.each([
    '{',
    '[]',
    '{"tag":"orders","end":32,"last":10}',
    '{"tag":"orders","end":"32","last":10,"token":"x"}',
  ])('refuses the body %j', async (body) => {
    expect(await ask('/databases/Shop/hilo/return', { method: 'POST', body })).toMatchObject({
      status: 400,
      body: { Message: expect.stringContaining('A give-back is JSON') },
    })
  })

  test('what a client sends whose first claim failed is ignored', async () => {
    expect((await ask(`${RETURN}&end=0&last=1`, { method: 'PUT' })).status).toBe(204)
    expect((await ask(NEXT)).body.Low).toBe(1)
  })

  test.each(['', '&end=32', '&last=32', '&end=x&last=1'])('refuses %j', async (query) => {
    expect((await ask(RETURN + query, { method: 'PUT' })).status).toBe(500)
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
      grants: [{ token: expect.any(String), high: 10 }, { unknown: true }],
    })
    expect(await ask(CHECK_IN, json({ id: ID, grants }))).toMatchObject({
      status: 200,
      body: first.body,
    })
    expect((await ask(CHECK_IN, json({ id: OTHER_ID, grants }))).body).toEqual({
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

  test('a database that is not listed does not exist', async () => {
    const { ask } = await newHandler({ databases: ['Shop'] })
    expect((await ask('/databases/shop/hilo/next?tag=orders')).status).toBe(201)
    const Type = 'Raven.Client.Exceptions.Database.DatabaseDoesNotExistException'
    expect(await ask('/databases/Other/hilo/next?tag=orders')).toMatchObject({
      status: 500,
      body: { Type },
    })
    const topology = await ask('/topology?name=Other')
    expect(topology).toMatchObject({ status: 503, body: { Type: 'Error' } })
    expect(topology.headers.get('Database-Missing')).toBe('Other')
  })

  test.each(['a%2Fb', 'x'.repeat(129), '%F0%9F%8E%88'])(
    'a database cannot be called %j',
    async (name) => {
      expect(await ask(`/topology?name=${name}`)).toMatchObject({
        status: 503,
        body: { Message: expect.stringContaining("A database's name has 1 to 128 letters") },
      })
    },
  )

  test('an unknown path is 400 with the same kind of body, as RavenDB has it', async () => {
    expect(await ask('/nothing?x=1')).toMatchObject({
      status: 400,
      body: {
        Url: '/nothing?x=1',
        Type: 'Raven.Client.Exceptions.Routing.RouteNotFoundException',
        Message: 'There is no handler for path: GET /nothing?x=1',
      },
    })
  })
})
