/**
 * Hostile requests: every answer is one that is documented, nothing fails inside, nothing stays
 * open.
 */
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { LIMITS } from '../../src/core/wire.js'
import { sizeOf } from '../../test/support/sizes.js'
import { serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { isInWorkerd, newHandler, testHere } from './handlers.js'
import { newDatabase } from './postgres.js'

/** In another process they take longer. */
const REQUESTS = sizeOf('REQUESTS') / (isInWorkerd ? 4 : 1)
const TIMEOUT = 60_000 + REQUESTS * 20

const SOCKETS = Math.max(300, REQUESTS / 100)
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'
const LIMIT = 422
const DOCUMENTED = [200, 201, 204, 304, 400, 403, 404, 409, 410, 412, 413, 414, LIMIT]
/** RavenDB's own 500s. */
const DOCUMENTED_500 = [
  'System.ArgumentException',
  'System.InvalidOperationException',
  'System.NotSupportedException',
  'Raven.Client.Exceptions.Database.DatabaseDoesNotExistException',
]

const nasty = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e9',
    '9007199254740991',
    '9007199254740993',
    '1.5',
    'NaN',
    'null',
    ID,
    '2026-11-21T07:09:21.4660000Z',
  ),
  fc.constantFrom(
    "'; DROP TABLE hilo_grants; --",
    '\u0000',
    '\ud800',
    '../..',
    '%00',
    '$1',
    '__proto__',
    'constructor',
    'İ',
    'ß',
    'Raven/Hilo/x',
  ),
  fc.integer().map(String),
)
/** workerd has no address for what is no host. */
const HOSTS = ['ids.test', 'ids.test:80', 'evil.lan', ...(isInWorkerd ? [] : ['a b', '[::1'])]
const names = fc.constantFrom(
  'tag',
  'lastBatchSize',
  'lastRangeAt',
  'identityPartsSeparator',
  'lastMax',
  'claim',
  'end',
  'last',
  'token',
  'id',
  'name',
  'raft-request-id',
  'value',
  'force',
  'number',
  'series',
  'period',
  'after',
  'limit',
)
const query = fc
  .array(fc.tuple(names, fc.oneof(nasty, fc.constantFrom('orders', '32', '1'))), { maxLength: 6 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${encode(value)}`).join('&'))
const path = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: fc.constant('Shop') }, { weight: 1, arbitrary: nasty }),
    fc.constantFrom(
      '/hilo/next',
      '/hilo/return',
      '/hilo/checkin',
      '/hilo/series',
      '/hilo/series/checkin',
      '/hilo/series/close',
      '/hilo/series/hand-over',
      '/hilo/explain',
      '/identity/next',
      '/identity/seed',
      '/docs',
      '/bulk_docs',
      '/nothing',
    ),
  )
  .map(([database, route]) => `/databases/${encode(database)}${route}`)
const json = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: 'binary' }),
  fc
    .record({
      claim: fc.oneof(fc.constant(ID), nasty),
      collections: fc.array(fc.record({ tag: nasty, count: fc.oneof(fc.integer(), nasty) })),
    })
    .map(toJson),
  fc
    .record({
      id: fc.oneof(fc.constant(ID), nasty),
      grants: fc.array(fc.record({ token: nasty, next: fc.nat() })),
    })
    .map(toJson),
  fc
    .record({
      claim: fc.oneof(fc.constant(ID), nasty),
      collection: fc.oneof(fc.constant('receipts'), nasty),
      device: nasty,
    })
    .map(toJson),
  fc
    .record({ id: fc.oneof(fc.constant(ID), nasty), token: nasty, last: fc.maxSafeNat() })
    .map(toJson),
  fc
    .record({
      collection: fc.oneof(fc.constant('receipts'), nasty),
      series: fc.oneof(fc.constant('A'), nasty),
      by: nasty,
      reason: nasty,
    })
    .map(toJson),
  fc.record({ Max: fc.oneof(fc.maxSafeNat(), nasty) }).map(toJson),
  fc
    .array(
      fc.record({
        Type: fc.constantFrom('PUT', 'DELETE', 'X'),
        Id: nasty.map((id) => `Raven/Hilo/${id}`),
        Document: fc.record({ Max: fc.nat() }),
      }),
    )
    .map((Commands) => toJson({ Commands })),
)
const request = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'),
  path: fc.oneof(
    { weight: 8, arbitrary: path },
    {
      weight: 1,
      arbitrary: fc.constantFrom('/topology', '/metrics', '/healthz', '/', '//', '/databases'),
    },
  ),
  query,
  body: json,
  // Mostly what passes the checks of headers, so that much of it gets further.
  headers: fc
    .tuple(
      fc.dictionary(
        fc.constantFrom(
          ...['If-Match', 'If-None-Match', 'Authorization', 'Content-Type'],
          ...(isInWorkerd ? [] : ['Host']),
        ),
        fc.string({ unit: 'grapheme-ascii' }).map((text) => text.trim()),
      ),
      fc.record(
        {
          'Content-Type': fc.oneof(
            { weight: 6, arbitrary: fc.constant('application/json') },
            { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/jsonp', '') },
          ),
          Host: fc.constantFrom(...HOSTS),
          Origin: fc.constantFrom('http://ids.test', 'http://evil.lan', 'null', ''),
          'Sec-Fetch-Site': fc.constantFrom('same-origin', 'cross-site', 'none', 'x'),
        },
        { requiredKeys: ['Content-Type'] },
      ),
    )
    .map(([some, more]) => ({ ...some, ...more })),
})

/** The topology of a database that is not there is answered 503, as RavenDB answers it. */
function isMissingOf(path: string, { status, headers }: Response): boolean {
  return path.startsWith('/topology') && status === 503 && headers.has('Database-Missing')
}

function toJson(value: unknown): string {
  return JSON.stringify(value)
}

function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}

const SQLITE = ['SQLite', async () => ({ dataDir: newFolder() }), REQUESTS] as const
const POSTGRES = [
  'PostgreSQL',
  async () => ({ databaseUrl: await newDatabase() }),
  REQUESTS / 4,
] as const

describe.each(isInWorkerd ? [SQLITE] : [SQLITE, POSTGRES])('%s', (_, storage, numRuns) => {
  test('every answer is documented', { timeout: TIMEOUT }, async () => {
    const log = { info: vi.fn(), error: vi.fn() }
    const { handler } = await newHandler(
      { log, limits: { url: LIMITS.urlLength } },
      await storage(),
    )
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, query, body, headers }) => {
        const hasBody = !['GET', 'HEAD'].includes(method)
        const response = await handler(
          new Request(`http://ids.test${path}?${query}`, {
            method,
            headers,
            ...(hasBody && { body }),
          }),
        )
        const text = await response.text()
        const failed = log.error.mock.calls.find(([what]) => what.err !== undefined)
        if (failed) throw failed[0].err
        if (response.status === 500) expect(DOCUMENTED_500).toContain(JSON.parse(text).Type)
        else if (!isMissingOf(path, response)) expect(DOCUMENTED).toContain(response.status)
        if (response.status >= 400 && method !== 'HEAD' && response.status !== 404)
          expect(JSON.parse(text)).toMatchObject({
            Url: expect.any(String),
            Type: expect.any(String),
            Message: expect.any(String),
            Error: expect.any(String),
          })
        expect(text).not.toMatch(/SELECT |INSERT |node_modules|\.ts:\d/)
      }),
      { numRuns },
    )
  })

  test('a zero byte in an address is the client’s mistake', async () => {
    const { ask } = await newHandler({}, await storage())
    for (const path of [
      'hilo/explain?tag=%00&number=1',
      'hilo/explain?tag=orders&number=1&series=%00',
      'hilo/explain?tag=orders&number=1&period=%00',
      'hilo/series?after=1.%00',
      'hilo/next?tag=%00',
      'docs?id=Raven/Hilo/%00',
    ]) {
      const { status, body } = await ask(`/databases/Shop/${path}`)
      expect([path, status, body.Type]).toEqual([path, 500, 'System.ArgumentException'])
    }
  })
})

test('a token reaches nothing that it is not for', { timeout: TIMEOUT }, async () => {
  const [other, claims, writes] = ['only-another-base', 'only-claims-here', 'only-writes-here']
  const { handler } = await newHandler({
    log: { info() {}, error() {} },
    databases: ['Shop', 'Store'],
    tokens: [
      { token: other, databases: ['Store'] },
      { token: claims, actions: ['claim'] },
      { token: writes, actions: ['document-write', 'seed'] },
    ],
  })
  // By token: what of this database's routes it is for.
  const mayUse: Record<string, RegExp> = {
    [other]: /^$/,
    [claims]: /hilo\/next$/,
    [writes]: /(docs|seed)$/,
    wrong: /^$/,
  }
  await fc.assert(
    fc.asyncProperty(
      request,
      fc.constantFrom(...Object.keys(mayUse)),
      async ({ method, path, query, body }, token) => {
        // A give-back needs its grant token only, and has no effect without one.
        if (method === 'OPTIONS' || path.endsWith('/hilo/return')) return
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
        const hasBody = !['GET', 'HEAD'].includes(method)
        const init = { method, headers, ...(hasBody && { body }) }
        const response = await handler(new Request(`http://ids.test${path}?${query}`, init))
        if (response.status < 300 && path.startsWith('/databases/'))
          expect(path).toMatch(mayUse[token]!)
      },
    ),
    { numRuns: REQUESTS / 2 },
  )
})

testHere(
  'raw bytes on the socket: the server goes on, and nothing stays open',
  {
    timeout: TIMEOUT,
  },
  async () => {
    const openFiles = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)
    const before = openFiles()
    const server = await serve({
      create: true,
      open: true,
      port: 0,
      dataDir: newFolder(),
      log: { info() {}, error() {} },
    })
    const { port } = new URL(server.url)
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 2_000 }),
      fc
        .string()
        .map((text) =>
          Buffer.from(`GET /databases/Shop/hilo/next?tag=${text} HTTP/1.1\r\nHost: x\r\n\r\n`),
        ),
      fc
        .nat(1e9)
        .map((length) =>
          Buffer.from(
            `POST /databases/Shop/hilo/checkin HTTP/1.1\r\nHost: x\r\nContent-Length: ` +
              `${length}\r\n\r\n{`,
          ),
        ),
      fc.constant(Buffer.from(`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)),
      fc.constant(
        Buffer.from(
          'POST /databases/Shop/hilo/checkin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ' +
            'chunked\r\n\r\nfffffffff\r\n',
        ),
      ),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (data) => {
        await new Promise<void>((resolve) => {
          const socket = connect(Number(port), '127.0.0.1', () => socket.end(data))
          socket.on('data', () => socket.destroy())
          socket.on('error', () => {})
          socket.on('close', () => resolve())
        })
      }),
      { numRuns: SOCKETS },
    )
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    await server.close()
    await expect.poll(openFiles).toBeLessThan(before + SOCKETS / 10)
  },
)
