/**
 * A server in production: metrics, logs, limits, hostile requests, and a database that is in
 * trouble.
 */
import { connect, Server as NetServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LIMITS } from '../../src/core/wire.js'
import { LedgerUnavailable, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { json, newHandler } from './handlers.js'
import { newId } from './ledger-bench.js'
import { newDatabase } from './postgres.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const CLAIM = '/databases/Shop/hilo/next'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

describe('operation', () => {
  test('RavenDB’s routes are found in any case, ours as they are written', async () => {
    const { handler } = await newHandler()
    const isFound = async (path: string, method = 'GET') => {
      const answer = await handler(new Request(new URL(path, 'http://ids.test'), { method }))
      return !(await answer.text()).includes('There is no handler')
    }
    const shop = '/dATABASES/Shop'
    for (const path of ['/tOPOLOGY?name=Shop', `${shop}/HILO/Next?tag=orders`, `${shop}/DOCS?id=a`])
      expect(await isFound(path), path).toBe(true)
    for (const path of ['/metrics', '/healthz', '/databases/Shop/hilo/series'])
      expect(await isFound(path), path).toBe(true)
    for (const path of ['/mETRICS', '/hEALTHZ', '/Metrics', `${shop}/hilo/explain`])
      expect(await isFound(path), path).toBe(false)
    for (const path of ['hilo/CHECKIN', 'hilo/Series', 'hilo/series/CHECKIN', 'Hilo/checkin'])
      expect(await isFound(`/databases/Shop/${path}`, 'POST'), path).toBe(false)
  })

  test('metrics tell what was granted, returned, free and refused, behind the tokens', async () => {
    const { handler } = await newHandler({
      databases: ['Shop'],
      tokens: ['correct-horse-battery', { token: 'staple-staple-staple', actions: ['status'] }],
    })
    const headers = { Authorization: 'Bearer correct-horse-battery' }
    const get = (path: string, init: RequestInit = { headers }) =>
      handler(new Request(new URL(path, 'http://ids.test'), init))
    const { Token } = (await (await get(`${NEXT}&claim=${ID}`)).json()) as { Token: string }
    await get(`${NEXT}&claim=${ID}`)
    await get(NEXT)
    await get(`${RETURN}&end=32&last=10&token=${Token}`, { method: 'PUT', headers })
    await get('/nothing')
    const prometheus = { headers: { Authorization: 'Bearer staple-staple-staple' } }
    const text = await (await get('/metrics', prometheus)).text()
    for (const line of [
      'hilo_grants_total 2',
      'hilo_repeated_claims_total 1',
      'hilo_ids_granted_total 64',
      'hilo_ids_returned_total 22',
      'hilo_ids_free 22',
      'hilo_refusals_total{status="400"} 1',
      'hilo_claim_seconds_count 3',
      'hilo_claims_per_commit_sum 3',
    ])
      expect(text.split('\n')).toContain(line)
    for (const init of [{}, { headers }]) expect((await get('/metrics', init)).status).toBe(403)
    expect((await get('/healthz', {})).status).toBe(200)
  })

  test.each([
    ['what this is', '/', 200],
    ['health', '/healthz', 200],
    ['metrics', '/metrics', 200],
    ['a range', NEXT, 201],
    ['a give-back', `${RETURN}&end=32&last=10`, 204, { method: 'PUT' }],
    ['a document that is missing', '/databases/Shop/docs?id=Raven/Hilo/none', 404],
    ['a route that is missing', '/nothing', 400],
    ['another site', NEXT, 403, { headers: { Origin: 'http://evil.test' } }],
    ['a listed site', NEXT, 201, { headers: { Origin: 'http://app.test' } }],
  ])('no cache keeps the answer: %s', async (_, path, status, init: RequestInit = {}) => {
    const { handler } = await newHandler({ cors: { origins: ['http://app.test'] } })
    const answer = await handler(new Request(new URL(path, 'http://ids.test'), init))
    expect(answer.status).toBe(status)
    expect(answer.headers.get('Cache-Control')).toBe('no-store')
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff')
  })

  test('metrics tell why requests are refused, and of devices that were copied', async () => {
    const { ask, handler } = await newHandler({ databases: ['Shop'] })
    const { Token } = (await ask(`${NEXT}&claim=${ID}`)).body
    const checkIn = (id: string) => ask(CHECK_IN, json({ id, grants: [{ token: Token, next: 1 }] }))
    await checkIn(ID)
    await checkIn(ID.replace('6', '7'))
    await ask(`${NEXT}&claim=${ID}`)
    await ask('/databases/Store/hilo/next?tag=orders')
    await ask(NEXT, { headers: { Origin: 'http://evil.test' } })
    const collections = [
      { tag: 'orders', count: 1 },
      { tag: 'lines', count: 1, lastMax: 1e12 },
    ]
    await ask('/databases/Shop/hilo/next', json({ claim: ID.replace('6', '8'), collections }))
    const text = await (await handler(new Request('http://ids.test/metrics'))).text()
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'hilo_forks_total 2',
        'hilo_refusal_reasons_total{reason="copied-device"} 1',
        'hilo_refusal_reasons_total{reason="no-database"} 1',
        'hilo_refusal_reasons_total{reason="other-site"} 1',
        'hilo_refusal_reasons_total{reason="jump"} 1',
        'hilo_refusals_total{status="410"} 1',
      ]),
    )
  })

  test('metrics tell how busy the server is: queue, connections, event loop', async () => {
    const { ask, handler, ledger } = await newHandler({}, { databaseUrl: await newDatabase() })
    const metrics = async () =>
      (await (await handler(new Request('http://ids.test/metrics'))).text()).split('\n')
    expect((await ask(NEXT)).status).toBe(201)
    const before = await metrics()
    expect(before).toContain('hilo_claims_waiting 0')
    expect(before).toContain('hilo_database_connections{state="busy"} 0')
    expect(before).toContain('hilo_database_connections{state="idle"} 1')
    expect(before).toContain('hilo_database_connections{state="waiting"} 0')
    const lag = before.find((line) => line.startsWith('hilo_event_loop_lag_seconds{quantile="1"}'))
    expect(Number(lag?.split(' ')[1])).toBeGreaterThanOrEqual(0)
    const { claim } = ledger
    let endCommit = () => {}
    const begun = new Promise<void>((begin) => {
      ledger.claim = async (claims) => {
        begin()
        await new Promise<void>((end) => {
          endCommit = end
        })
        return claim(claims)
      }
    })
    const first = ask(NEXT)
    await begun
    const others = [ask(NEXT), ask(NEXT)]
    await expect.poll(metrics).toContain('hilo_claims_waiting 2')
    ledger.claim = claim
    endCommit()
    expect((await Promise.all([first, ...others])).map(({ status }) => status)).toEqual([
      201, 201, 201,
    ])
  })

  test('metrics count the requests of identities that wait, too', async () => {
    const { ask, handler, ledger } = await newHandler()
    let endCommit = () => {}
    const end = new Promise<void>((resolve) => {
      endCommit = resolve
    })
    const commit = vi.spyOn(ledger, 'nextIdentities')
    const { nextIdentities } = ledger
    commit.mockImplementationOnce((claims) => end.then(() => nextIdentities(claims)))
    const next = () => ask('/databases/Shop/identity/next?name=bills', { method: 'POST' })
    const asked = [next()]
    await expect.poll(() => commit).toHaveBeenCalled()
    asked.push(next(), next())
    const metrics = async () => (await handler(new Request('http://ids.test/metrics'))).text()
    await expect.poll(metrics).toContain('hilo_claims_waiting 2\n')
    endCommit()
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  })

  test('metrics tell in seconds how long a claim takes', async () => {
    const { ask, handler, ledger } = await newHandler()
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => void vi.restoreAllMocks())
    const { claim } = ledger
    ledger.claim = (claims) => {
      now = 1_000
      return claim(claims)
    }
    await ask(NEXT)
    const text = await (await handler(new Request('http://ids.test/metrics'))).text()
    expect(text.split('\n')).toContain('hilo_claim_seconds_sum 1')
  })

  test('requests are logged when asked for, without their query', async () => {
    const log = { info: vi.fn(), error: vi.fn() }
    await (await newHandler({ log })).ask(NEXT)
    expect(log.info).not.toHaveBeenCalled()
    await (await newHandler({ log, logRequests: true })).ask(`${NEXT}&token=secret`)
    expect(log.info).toHaveBeenCalledExactlyOnceWith(
      { method: 'GET', path: '/databases/Shop/hilo/next', status: 201, ms: expect.any(Number) },
      'request',
    )
  })
})

describe('limits', () => {
  test('a body or a URL that is too large', async () => {
    const { ask } = await newHandler({ limits: { body: LIMITS.bodyBytes, url: LIMITS.urlLength } })
    expect(
      (await ask(CHECK_IN, { method: 'POST', body: 'x'.repeat(LIMITS.bodyBytes + 1) })).status,
    ).toBe(413)
    const stream = new Blob(['x'.repeat(LIMITS.bodyBytes + 1)]).stream()
    expect(
      (await ask(CHECK_IN, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).status,
    ).toBe(413)
    expect((await ask(`${NEXT}&x=${'x'.repeat(LIMITS.urlLength)}`)).status).toBe(414)
  })

  const DB = '/databases/Shop'
  const grants = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ token: `t${i}`, next: 1 }))
  const collections = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ tag: `c${i}`, count: 1 }))
  const commands = (count: number) =>
    collections(count).map(({ tag }) => ({
      ...{ Id: `Raven/Hilo/${tag}`, Type: 'PUT', ChangeVector: null, Document: { Max: 1 } },
    }))
  const post = { method: 'POST' }

  test.each<[string, number, number, (size: number) => [string, RequestInit?]]>([
    ['documents read', 2, 500, (n) => [`${DB}/docs?${'id=Raven/Hilo/a&'.repeat(n)}`]],
    ['documents written', 2, 400, (n) => [`${DB}/bulk_docs`, json({ Commands: commands(n) })]],
    [
      'characters of a URL',
      4_096,
      414,
      (n) => [`${DB}/?`.padEnd(n - 'http://ids.test'.length, 'x')],
    ],
    [
      'collections',
      LIMITS.claims,
      400,
      (n) => [CLAIM, json({ claim: ID, collections: collections(n) })],
    ],
    [
      'tokens of a claim',
      LIMITS.tokens,
      400,
      (n) => [CLAIM, json({ claim: ID, collections: [{ tag: 'a', count: 1, grants: grants(n) }] })],
    ],
    ['tokens', LIMITS.tokens, 400, (n) => [CHECK_IN, json({ id: ID, grants: grants(n) })]],
    [
      'spent tokens',
      LIMITS.tokens,
      400,
      (n) => [CHECK_IN, json({ id: ID, grants: [], spent: grants(n).map(({ token }) => token) })],
    ],
    ['bytes of a name', 501, 500, (n) => [`${DB}/hilo/next?tag=${'x'.repeat(n)}`]],
    [
      'bytes of an id',
      128,
      500,
      (n) => [`${DB}/identity/next?name=a&raft-request-id=${'x'.repeat(n)}`, post],
    ],
    ['numbers', 99, 422, (n) => [`${DB}/hilo/next?tag=a&lastBatchSize=${n}`]],
    ['least seed', 0, 500, (n) => [`${DB}/identity/seed?name=a&value=${-n}`, post]],
    ['least number', -1, 400, (n) => [`${DB}/hilo/explain?tag=a&number=${-n}`]],
  ])('%s: as many as %i, and not one more', async (_, most, refused, request) => {
    const limits = { batch: 2, url: LIMITS.urlLength, count: 99 }
    const { ask } = await newHandler({ limits })
    expect((await ask(...request(most))).status).not.toBe(refused)
    expect((await ask(...request(most + 1))).status).toBe(refused)
  })

  test('a range that grows by itself stops at the limit', async () => {
    const { ask } = await newHandler({ limits: { count: 100 } })
    const { LastRangeAt } = (await ask(NEXT)).body
    expect((await ask(`${NEXT}&lastBatchSize=90&lastRangeAt=${LastRangeAt}`)).body.LastSize).toBe(
      100,
    )
    expect((await ask(`${NEXT}&lastBatchSize=101`)).status).toBe(422)
  })

  test('the application is asked about the request as it came', async () => {
    const users = new WeakMap<Request, string>()
    const userOf = (request: Request) => users.get(request) ?? 'nobody'
    const authorize = vi.fn((request: Request) => userOf(request) === 'anna')
    const { handler } = await newHandler({ authorize, databases: ['Shop'] })
    const body = new Blob([
      JSON.stringify({ claim: ID, collections: [{ tag: 'orders', count: 1 }] }),
    ]).stream()
    const request = new Request('http://ids.test/databases/Shop/hilo/next', {
      ...json({}),
      body,
      duplex: 'half',
    } as RequestInit)
    users.set(request, 'anna')
    expect((await handler(request)).status).toBe(201)
    expect(authorize).toHaveReturnedWith(true)
  })
})

test('a request that trickles in, or promises too much, is answered and cut off', async () => {
  const listen = vi.spyOn(NetServer.prototype, 'listen')
  const server = await serve({ create: true, open: true, port: 0, dataDir: newFolder() })
  onTestFinished(() => server.close())
  const http = listen.mock.contexts[0]
  listen.mockRestore()
  expect(http).toMatchObject({ headersTimeout: 10_000, requestTimeout: 15_000 })
  // Node reads them at each look at its connections.
  Object.assign(http!, { headersTimeout: 500, requestTimeout: 1_000 })
  /**
   * Resolves with what came when the server has closed the connection, to which a byte is added now
   * and then.
   */
  const send = (start: string) =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () =>
        socket.write(start),
      )
      const trickle = setInterval(() => socket.write('x'), 200)
      socket.on('data', (chunk) => (answer += chunk))
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(trickle)
        resolve(answer)
      })
    })
  const post = (headers: string) =>
    `POST ${CHECK_IN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`
  const answers = await Promise.all([
    send('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: '),
    send(post('Content-Length: 1000')),
    send(post('Content-Length: 1000000000')),
    send(`${post('Transfer-Encoding: chunked')}50000\r\n${'x'.repeat(0x50000)}\r\n`),
  ])
  expect(answers.map((answer) => answer.slice(0, 12))).toEqual([
    'HTTP/1.1 408',
    'HTTP/1.1 408',
    'HTTP/1.1 413',
    'HTTP/1.1 413',
  ])
})

test.each([
  ['UTF-8', Buffer.from('Bearer тайна-and-more-of-it')],
  ['bytes that are no text', Buffer.from([0x42, 0x20, 0xff, 0xfe, 0x80, 0xc3, 0x28])],
  ['nothing behind the word', Buffer.from('Bearer')],
])('an authorization of %s is no token: a refusal, and no line in the log', async (_, value) => {
  const log = { info: vi.fn(), error: vi.fn() }
  const options = { databases: ['Shop'], tokens: ['correct-horse-battery'], log }
  const server = await serve({ create: true, port: 0, dataDir: newFolder(), ...options })
  onTestFinished(() => server.close())
  log.info.mockClear()
  const ask = (line: string, body = '') =>
    new Promise<string>((resolve) => {
      let answer = ''
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => {
        socket.write(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: `)
        socket.write(value)
        socket.write(`\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`)
        socket.write(body)
      })
      socket.on('data', (chunk) => (answer += chunk))
      socket.on('close', () => resolve(answer))
    })
  const giveBack = JSON.stringify({
    tag: 'orders',
    end: 2,
    last: 1,
    token: 't',
    authorization: 'x',
  })
  for (const answer of [
    await ask(`GET ${NEXT}`),
    await ask(`POST ${CHECK_IN}`, '{}'),
    await ask('POST /databases/Shop/hilo/return', giveBack),
    await ask('GET /metrics'),
  ]) {
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).toContain('Authorization: Bearer <token>')
  }
  expect(log.error).not.toHaveBeenCalled()
  expect(log.info).not.toHaveBeenCalled()
})

test('a client that goes away in the middle of its body is not logged', async () => {
  const log = { info: vi.fn(), error: vi.fn() }
  const server = await serve({ create: true, port: 0, dataDir: newFolder(), log, open: true })
  onTestFinished(() => server.close())
  for (const body of [
    'Content-Length: 1000\r\n\r\n{',
    'Transfer-Encoding: chunked\r\n\r\n3e8\r\n{',
  ]) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    await new Promise<void>((resolve) =>
      socket.write(
        `POST ${CHECK_IN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${body}`,
        () => resolve(),
      ),
    )
    socket.destroy()
  }
  const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
  await expect.poll(metrics).toContain('hilo_refusals_total{status="400"} 2')
  expect(log.error).not.toHaveBeenCalled()
})

test('a failure inside shows neither SQL nor a stack', async () => {
  const log = { info: vi.fn(), error: vi.fn() }
  const { ask, ledger } = await newHandler({ log })
  ledger.claim = () => Promise.reject(new Error('SELECT secret FROM hilo_meta'))
  const { status, body } = await ask(NEXT)
  expect(status).toBe(500)
  expect(JSON.stringify(body)).not.toMatch(/secret|SELECT|at .*\.ts/)
  expect(log.error).toHaveBeenCalledOnce()
})

test('while the database does not answer, metrics tell everything that is not in it', async () => {
  const { handler, ledger } = await newHandler()
  ledger.countFree = () => Promise.reject(new LedgerUnavailable('gone'))
  const response = await handler(new Request('http://ids.test/metrics'))
  expect(response.status).toBe(200)
  expect((await response.text()).split('\n')).toEqual(
    expect.arrayContaining(['hilo_ids_free Nan', 'hilo_grants_total 0']),
  )
})

test('a load balancer may ask for health by HTTP/1.0, which names no host', async () => {
  const server = await serve({ create: true, port: 0, dataDir: newFolder() })
  onTestFinished(() => server.close())
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () =>
      socket.write('GET /healthz HTTP/1.0\r\n\r\n'),
    )
    socket.on('data', (chunk) => (text += chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
  expect(answer).toMatch(
    /^HTTP\/1\.1 200 .*\{"status":"ok","ledger":"\w{16}","stopped":\[\],"others":\{\}\}$/s,
  )
})

test('a load balancer may ask for health by HEAD', async () => {
  const { handler, ledger } = await newHandler({ log: { info: vi.fn(), error: vi.fn() } })
  const head = () => handler(new Request('http://ids.test/healthz', { method: 'HEAD' }))
  expect((await head()).status).toBe(200)
  expect(await (await head()).text()).toBe('')
  ledger.ping = () => Promise.reject(new LedgerUnavailable('gone'))
  expect((await head()).status).toBe(503)
})

test('a load balancer that asks for the health of no database of the server hears so', async () => {
  const { ask } = await newHandler({ databases: ['Shop'] })
  for (const query of ['database=Shop', 'Database=sHOP', 'database=*'])
    expect([query, (await ask(`/healthz?${query}`)).status]).toEqual([query, 200])
  for (const query of ['database=Shpo', 'Database=Shpo', 'database=a/b', 'database=Shop*'])
    expect(await ask(`/healthz?${query}`)).toMatchObject({
      status: 404,
      body: { Message: expect.stringContaining('does not exist') },
    })
  expect(await ask('/healthz?database=Shop&database=Shpo')).toMatchObject({
    status: 500,
    body: { Message: expect.stringContaining('exactly once') },
  })
  const any = await newHandler()
  expect((await any.ask('/healthz?database=Shpo')).status).toBe(200)
})

test('who opens the address in a browser reads what it is, and where to read on', async () => {
  const { handler } = await newHandler({ hosts: ['ids.lan'] })
  const text = await (await handler(new Request('http://10.0.0.7/'))).text()
  expect(text).toMatch(/^This is offline-hilo-server\. .*documentation: https:\/\/\S+\n$/)
})

test('under a flood of questions for health the database is asked ten times a second', async () => {
  const { ask, ledger } = await newHandler()
  const ping = vi.spyOn(ledger, 'ping')
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  await ask('/healthz')
  for (const times of [2, 3, 4]) {
    const flood = Array.from({ length: 100 }, () => ask('/healthz'))
    await vi.advanceTimersByTimeAsync(99)
    expect(ping).toHaveBeenCalledTimes(times - 1)
    await vi.advanceTimersByTimeAsync(1)
    for (const { status } of await Promise.all(flood)) expect(status).toBe(200)
    expect(ping).toHaveBeenCalledTimes(times)
  }
})

test('a database that does not answer: 503, and when to try again', async () => {
  const { ask, ledger } = await newHandler({ log: { info: vi.fn(), error: vi.fn() } })
  expect(await ask('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  const fail = () => Promise.reject(new LedgerUnavailable('gone'))
  Object.assign(ledger, { claim: fail, ping: fail })
  const answer = await ask(NEXT)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('Retry-After')).toBe('1')
  expect((await ask('/healthz')).status).toBe(503)
})

test('a device of another ledger is refused, logged once, and shown by its database', async () => {
  const log = { info: vi.fn(), error: vi.fn() }
  const { ask, ledger } = await newHandler({ log })
  const held = 'otherotherother2'
  const ledgers = { A: held }
  const claim = { tag: 'orders', count: 1, ledgers }
  const refusal = { status: 409, body: { Ledger: await ledger.readName(), ServerTag: 'A' } }
  for (let i = 0; i < 2; i++) {
    const asked = { claim: newId(), collections: [claim] }
    expect(await ask('/databases/Shop/hilo/next', json(asked))).toMatchObject(refusal)
    const checked = { id: newId(), grants: [], ledgers }
    expect(await ask('/databases/Depot/hilo/checkin', json(checked))).toMatchObject(refusal)
  }
  expect(log.error.mock.calls).toEqual([
    [expect.objectContaining({ database: 'shop', held }), expect.stringContaining('follow')],
    [expect.objectContaining({ database: 'depot', held }), expect.stringContaining('follow')],
  ])
  expect((await ask('/healthz')).body).toMatchObject({
    ledger: await ledger.readName(),
    others: { shop: [held], depot: [held] },
  })
})

test('what a device makes up as the name of a ledger is neither logged nor shown', async () => {
  const log = { info: vi.fn(), error: vi.fn() }
  const { ask } = await newHandler({ log })
  for (const held of [
    '',
    '<b>Call 555-0100</b>',
    'x'.repeat(LIMITS.nameBytes),
    'OTHEROTHEROTHER2',
  ]) {
    const body = { id: newId(), grants: [], ledgers: { A: held } }
    expect(await ask(CHECK_IN, json(body))).toMatchObject({ status: 409 })
  }
  expect(log.error).not.toHaveBeenCalled()
  expect((await ask('/healthz')).body.others).toEqual({})
})
