import { describe, expect, test, vi } from 'vitest'
import { type HandlerOptions, LedgerUnavailable, serve } from '../../src/server/index.js'
import { newFolder } from './folders.js'
import { newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

describe('operation', () => {
  test('metrics tell what was granted, returned, free and refused, behind the tokens', async () => {
    const { handler } = await newHandler({ tokens: ['correct-horse-battery'] })
    const headers = { Authorization: 'Bearer correct-horse-battery' }
    const get = (path: string, init: RequestInit = { headers }) => handler(new Request(new URL(path, 'http://ids.test'), init))
    const { Lease } = (await (await get(`${NEXT}&claim=${ID}`)).json()) as { Lease: string }
    await get(`${NEXT}&claim=${ID}`)
    await get(NEXT)
    await get(`${RETURN}&end=32&last=10&lease=${Lease}`, { method: 'PUT', headers })
    await get('/nothing')
    const text = await (await get('/metrics')).text()
    for (const line of [
      'hilo_grants_total 2',
      'hilo_repeated_claims_total 1',
      'hilo_ids_granted_total 64',
      'hilo_ids_returned_total 22',
      'hilo_ids_free 22',
      'hilo_refusals_total{status="404"} 1',
      'hilo_claim_seconds_count 3',
      'hilo_claims_per_commit_sum 3',
    ])
      expect(text.split('\n')).toContain(line)
    expect((await get('/metrics', {})).status).toBe(403)
    expect((await get('/healthz', {})).status).toBe(200)
  })

  test('requests are logged when asked for, without their query', async () => {
    const log = { info: vi.fn(), error: vi.fn() }
    await (await newHandler({ log })).ask(NEXT)
    expect(log.info).not.toHaveBeenCalled()
    await (await newHandler({ log, logRequests: true })).ask(`${NEXT}&lease=secret`)
    expect(log.info).toHaveBeenCalledExactlyOnceWith(
      { method: 'GET', path: '/databases/Shop/hilo/next', status: 201, ms: expect.any(Number) },
      'request',
    )
  })

  test.each([
    [{ nodeTag: 'a1' }, 'nodeTag: a node tag has 1 to 4 capital letters'],
    [{ publicUrl: 'https://ids.test/path' }, 'publicUrl: is an http or https URL without a path'],
    [{ databases: [] }, 'databases: is empty'],
    [{ databases: ['a/b'] }, "databases.0: a database's name"],
    [{ cors: { origins: ['*'] } }, 'cors.origins.0: an origin is scheme, host and port only'],
    [{ tokens: ['short'] }, 'tokens.0: a token has at least 16 characters'],
    [{ limits: { count: 0 } }, 'limits.count'],
    [{ limits: { requestsPerSecond: 5 } }, 'clientOf: is missing'],
    [{ limit: {} }, '"limit"'],
  ])('options %j are refused', async (options, message) => {
    await expect(newHandler(options as HandlerOptions)).rejects.toThrow(message)
  })
})

describe('limits', () => {
  test('a body or a URL that is too large', async () => {
    const { ask } = await newHandler({ limits: { body: 100, url: 200 } })
    expect((await ask(CHECK_IN, { method: 'POST', body: 'x'.repeat(101) })).status).toBe(413)
    const stream = new Blob(['x'.repeat(101)]).stream()
    expect((await ask(CHECK_IN, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).status).toBe(413)
    expect((await ask(`${NEXT}&x=${'x'.repeat(200)}`)).status).toBe(414)
  })

  test('a range that grows by itself stops at the limit', async () => {
    const { ask } = await newHandler({ limits: { count: 100 } })
    const { LastRangeAt } = (await ask(NEXT)).body
    expect((await ask(`${NEXT}&lastBatchSize=90&lastRangeAt=${LastRangeAt}`)).body.LastSize).toBe(100)
    expect((await ask(`${NEXT}&lastBatchSize=101`)).status).toBe(422)
  })

  test('requests of one client, told by what the application says', async () => {
    const { ask } = await newHandler({ limits: { requestsPerSecond: 1 }, clientOf: (request) => request.headers.get('X-User')! })
    const statuses = async (user: string) => {
      const answers = await Promise.all(Array.from({ length: 11 }, () => ask(NEXT, { headers: { 'X-User': user } })))
      return answers.map(({ status }) => status)
    }
    expect(await statuses('anna')).toEqual([...Array(10).fill(201), 429])
    expect(await statuses('ben')).toEqual([...Array(10).fill(201), 429])
    const refusal = await ask(NEXT, { headers: { 'X-User': 'anna' } })
    expect(Number(refusal.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect((await ask('/healthz', { headers: { 'X-User': 'anna' } })).status).toBe(200)
  })

  test('requests of one address', async () => {
    const server = await serve({ port: 0, dataDir: newFolder(), limits: { requestsPerSecond: 1 } })
    const answers = await Promise.all(Array.from({ length: 12 }, () => fetch(server.url + NEXT)))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2)
    await server.close()
  })

  test('collections of a database', async () => {
    const { ask } = await newHandler({}, { dataDir: newFolder(), limits: { collections: 1 } })
    await ask(NEXT)
    expect(await ask('/databases/Shop/hilo/next?tag=lines')).toMatchObject({
      status: 422,
      body: { Message: expect.stringContaining('limits.collections') },
    })
  })
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
