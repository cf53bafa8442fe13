/** Ranges over RavenDB’s protocol: what a claim sends, and what is made of every answer. */
import { getEventListeners } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HiloError, toFailure } from '../../src/core/errors.js'
import { nextStep } from '../../src/core/failures.js'
import type { Target } from '../../src/device/contract.js'
import { ravenSource } from '../../src/source/raven-source.js'
import { range } from '../support/ranges.js'

const URL_ = 'https://api.example.com'
const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const claim = { id: 'c1', lastBatchSize: 32, lastMax: 0 }
const answer = {
  Prefix: 'orders/',
  Low: 33,
  High: 64,
  LastSize: 32,
  ServerTag: 'B',
  LastRangeAt: '2026-11-21T07:09:21.4660000Z',
  Token: 'token',
}

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Answers every request with this, and remembers what was asked. */
/** What a HiLo server says. */
const REFUSAL = {
  Url: '/',
  Type: 'System.InvalidOperationException',
  Message: 'No.',
  Error: 'System.InvalidOperationException: No.',
}

function serve(body: unknown, init: ResponseInit = { status: 201 }) {
  const fetch = vi.fn(
    async (_url: string, { method }: RequestInit) =>
      new Response(
        typeof body === 'string'
          ? body
          : // A claim is a POST, and answered as one of several.
            JSON.stringify({ ...(method === 'POST' && { collections: [body] }), ...Object(body) }),
        init,
      ),
  )
  vi.stubGlobal('fetch', fetch)
  return fetch
}

const source = (timeout = 1000) => ravenSource({ url: URL_, timeout }, () => ({}))

async function refusal(work: Promise<unknown>): Promise<HiloError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(HiloError)
  return error as HiloError
}

describe('a claim', () => {
  test('carries the name of its device', async () => {
    const fetch = serve({ collections: [answer] })
    const device = 'Till 3'
    await ravenSource({ url: URL_, timeout: 1000, device }, () => ({})).claim(target, claim)
    expect(JSON.parse(String(fetch.mock.calls[0]![1]!.body))).toMatchObject({ device })
  })

  test('becomes a range with the prefix, server tag and grant token of its answer', async () => {
    serve(answer)
    expect(await source().claim(target, claim)).toEqual({
      range: { from: 33, to: 64, prefix: 'orders/', serverTag: 'B', token: 'token' },
    })
  })

  test.each([null, undefined])(
    'has no token and no tag when the answer says %s',
    async (absent) => {
      serve({ ...answer, Token: absent, ServerTag: absent })
      expect((await source().claim(target, claim)).range).toEqual({
        from: 33,
        to: 64,
        prefix: 'orders/',
        serverTag: '',
      })
    },
  )

  test.each([{}, { Claim: 'c1' }])('may name its claim: %j', async (named) => {
    serve({ ...answer, ...named })
    expect((await source().claim(target, claim)).range).toMatchObject({ from: 33, to: 64 })
  })

  test.each<[string, object]>([
    ['names another claim', { Claim: 'c2' }],
    ['has the ids of another collection', { Prefix: 'customers/' }],
    ['has the ids of a longer name', { Prefix: 'orders2/' }],
  ])('that gets an answer which %s got none: a cache sent it', async (_, odd) => {
    serve({ ...answer, ...odd })
    expect(await refusal(source().claim(target, claim))).toMatchObject({
      code: 'no-hilo-server',
      noAnswer: true,
      message: expect.stringMatching(/it answers another request \(.*\{.*A cache in front of it/),
    })
    serve({ collections: [{ ...answer, ...odd }] })
    expect(await source().claimTogether([{ target, claim }])).toEqual([undefined])
  })

  test('takes numbers up to 2^53−1, the last that JavaScript counts exactly', async () => {
    serve({ ...answer, Low: Number.MAX_SAFE_INTEGER, High: Number.MAX_SAFE_INTEGER })
    expect((await source().claim(target, claim)).range.to).toBe(Number.MAX_SAFE_INTEGER)
  })
})

const NO_ROUTE = { ...REFUSAL, Type: 'Raven.Client.Exceptions.Routing.RouteNotFoundException' }

/** As a RavenDB answers a GET: it repeats the tag, and grants as many as were asked for. */
function granted(address: string, low = 33) {
  const { searchParams } = new URL(address)
  return Response.json(
    {
      ...answer,
      Prefix: `${searchParams.get('tag')}/`,
      Low: low,
      High: low - 1 + Number(searchParams.get('lastBatchSize')),
      Token: undefined,
    },
    { status: 201 },
  )
}

describe('a RavenDB behind a cache that ignores the query of addresses', () => {
  const ids = Array.from({ length: 40 }, (_, i) => `claim-${i}`)

  /** Each id is of another device. @returns the claims that were answered with a range */
  async function claimOf(collection: string): Promise<string[]> {
    const cache = new Map<string, Response>()
    vi.stubGlobal('fetch', async (url: string, { method }: RequestInit) => {
      if (method === 'POST') return Response.json(NO_ROUTE, { status: 400 })
      const path = new URL(url).pathname
      if (!cache.has(path)) cache.set(path, granted(url))
      return cache.get(path)!.clone()
    })
    const taken: string[] = []
    for (const id of ids) {
      const device = source()
      const own = { ...target, collection }
      await device.claim(own, { ...claim, id }).catch(() => {})
      const outcome = await device.claim(own, { ...claim, id }).catch((error) => error)
      if (outcome instanceof HiloError) expect(outcome).toMatchObject({ noAnswer: true })
      else {
        expect(outcome.range.prefix).toBe(`${collection}/`)
        taken.push(id)
      }
    }
    return taken
  }

  test('gives its numbers to the device that asked for them, and to no other', async () => {
    expect(await claimOf('customerInvoices')).toEqual([ids[0]])
  })

  test('is found by the size of a range where a name has no letters', async () => {
    const taken = await claimOf('日本')
    expect(taken).toContain(ids[0])
    expect(taken.length).toBeLessThan(ids.length / 2)
  })
})

test.each([31, 33])(
  'a RavenDB that grants %i numbers for 32 answers another request',
  async (size) => {
    vi.stubGlobal('fetch', async (url: string, { method }: RequestInit) =>
      method === 'POST'
        ? Response.json(NO_ROUTE, { status: 400 })
        : granted(url.replace('lastBatchSize=32', `lastBatchSize=${size}`)),
    )
    const device = source()
    await refusal(device.claim(target, claim))
    expect(await refusal(device.claim(target, claim))).toMatchObject({ noAnswer: true })
  },
)

describe('a claim is a POST, whose id no proxy logs', () => {
  /** A RavenDB knows claims by GET only. */
  const ravenDb = () => {
    const fetch = vi.fn(async (url: string, { method }: RequestInit) =>
      method === 'POST' ? Response.json(NO_ROUTE, { status: 400 }) : granted(url),
    )
    vi.stubGlobal('fetch', fetch)
    return fetch
  }
  const methods = (fetch: ReturnType<typeof ravenDb>) =>
    fetch.mock.calls.map(([url, { method }]) => [method, new URL(url).pathname])
  const shop = '/databases/Shop/hilo/next'

  test('from the first one on, and its address says nothing', async () => {
    const fetch = serve(answer)
    await source().claim(target, claim)
    const [url, { method, body }] = fetch.mock.calls[0]!
    expect([method, url]).toEqual(['POST', `${URL_}${shop}`])
    expect(JSON.parse(String(body))).toMatchObject({ claim: 'c1', collections: [{ count: 32 }] })
  })

  test('that a busy server refuses is no GET, whatever another claim has found', async () => {
    let refuseOther = () => {}
    const fetch = vi.fn(async (url: string, { method }: RequestInit) => {
      if (method === 'GET') return granted(url)
      if (fetch.mock.calls.length > 1) return Response.json(NO_ROUTE, { status: 400 })
      await new Promise<void>((resolve) => {
        refuseOther = resolve
      })
      return Response.json(REFUSAL, { status: 503, headers: { 'Retry-After': '7' } })
    })
    vi.stubGlobal('fetch', fetch)
    const asked = source()
    const busy = refusal(asked.claim(target, claim))
    await refusal(asked.claim(target, { ...claim, id: 'c2' }))
    await asked.claim(target, { ...claim, id: 'c2' })
    refuseOther()
    expect(await busy).toMatchObject({ code: 'server-unreachable', retryAfter: 7000 })
    expect(methods(fetch as never).map(([method]) => method)).toEqual(['POST', 'POST', 'GET'])
  })

  test('to a RavenDB it is a GET, once that database has refused a POST', async () => {
    const fetch = ravenDb()
    const asked = source()
    expect(asked.isPlain('Shop')).toBe(false)
    expect(await refusal(asked.claim(target, claim))).toMatchObject({ status: 404 })
    expect(asked.isPlain('Shop')).toBe(true)
    for (const id of ['c1', 'c2'])
      expect((await asked.claim(target, { ...claim, id })).range).toMatchObject({ from: 33 })
    expect(asked.isPlain('Other')).toBe(false)
    expect(methods(fetch)).toEqual([
      ['POST', shop],
      ['GET', shop],
      ['GET', shop],
    ])
  })

  test('one that shows a token is never a GET, which would show none', async () => {
    const fetch = ravenDb()
    const shown = { ...claim, shown: [{ token: 't1', next: 1 }] }
    const asked = source()
    expect(await refusal(asked.claim(target, shown))).toMatchObject({ status: 404 })
    expect(asked.isPlain('Shop')).toBe(false)
    expect(methods(fetch)).toEqual([['POST', shop]])
  })

  test.each([403, 500, 503])('a refusal of another kind (%i) makes no GET', async (status) => {
    const fetch = serve(REFUSAL, { status })
    await refusal(source().claim(target, claim))
    expect(fetch).toHaveBeenCalledOnce()
  })
})

test('requests are never answered from a cache, and carry headers and credentials', async () => {
  const fetch = serve(answer)
  await ravenSource({ url: URL_, timeout: 1000, credentials: 'include' }, async () => ({
    Authorization: 'Bearer 1',
  })).claim(target, claim)
  expect(fetch.mock.calls[0]![1]).toMatchObject({
    method: 'POST',
    cache: 'no-store',
    credentials: 'include',
    headers: { Authorization: 'Bearer 1' },
  })
})

test('headers are asked for before each request, so that tokens may change', async () => {
  const fetch = serve(answer)
  let asked = 0
  const asking = ravenSource({ url: URL_, timeout: 1000 }, () => ({ 'X-Token': `${++asked}` }))
  await asking.claim(target, claim)
  await asking.giveBack(target, range(1, 5))
  expect(fetch.mock.calls.map(([, init]) => init.headers)).toEqual([
    { 'X-Token': '1', 'Content-Type': 'application/json' },
    { 'X-Token': '2' },
  ])
})

test('nobody listens to the deadline after the answer: Deno would stay alive for it', async () => {
  serve(answer)
  const deadline = vi.spyOn(AbortSignal, 'timeout')
  await source().claim(target, claim)
  const signals = deadline.mock.results.map(({ value }) => value as AbortSignal)
  deadline.mockRestore()
  expect(signals.map((each) => getEventListeners(each, 'abort').length)).toEqual([0, 0])
})

test('headers that never come fail the request after the timeout, and are named', async () => {
  const fetch = serve(answer)
  const waiting = ravenSource({ url: URL_, timeout: 30 }, () => new Promise(() => {})).claim(
    target,
    claim,
  )
  expect(await refusal(waiting)).toMatchObject({
    code: 'server-unreachable',
    message: expect.stringMatching(/^`headers` did not answer within 30 ms\./),
  })
  expect(fetch).not.toHaveBeenCalled()
})

test('when the app cannot make headers, nothing is sent, and the cause says why', async () => {
  const fetch = serve(answer)
  const signedOut = new Error('signed out')
  const asking = ravenSource({ url: URL_, timeout: 1000 }, () => Promise.reject(signedOut)).claim(
    target,
    claim,
  )
  const error = await refusal(asking)
  expect(error).toMatchObject({ code: 'server-unreachable', cause: signedOut })
  expect(error.message).toMatch(/^`headers` failed: signed out\./)
  expect(fetch).not.toHaveBeenCalled()
})

describe('an answer that is no range', () => {
  test.each<[string, unknown]>([
    ['is not JSON', '<!doctype html><title>Sign in</title>'],
    ['is empty', ''],
    ['is cut off', '{"Prefix":"orders/","Low":1'],
    ['is null', 'null'],
    ['is a list', '[1,32]'],
    ['is a number', '32'],
    ['lacks Low', { ...answer, Low: undefined }],
    ['lacks High', { ...answer, High: undefined }],
    ['lacks Prefix', { ...answer, Prefix: undefined }],
    ['lacks Prefix, and names a ledger', { ...answer, Prefix: undefined, Ledger: 'first' }],
    ['has numbers as text', { ...answer, Low: '33', High: '64' }],
  ])('because it %s is none of a HiLo server, and shown', async (_, body) => {
    serve(body)
    const error = await refusal(source().claim(target, claim))
    expect(error.code).toBe('no-hilo-server')
    expect(error.message).toContain(URL_)
    expect(error.message).toContain('Check `url`, that the server runs')
  })

  test.each<[string, unknown]>([
    ['ends before it begins', { ...answer, Low: 64, High: 33 }],
    ['has fractions', { ...answer, Low: 33.5 }],
    ['is below zero', { ...answer, Low: -5 }],
    ['has a tag that is no text', { ...answer, ServerTag: 7 }],
    ['has a token that is no text', { ...answer, Token: {} }],
  ])('because it %s is refused, and shown', async (_, body) => {
    serve(body)
    const error = await refusal(source().claim(target, claim))
    expect(error.code).toBe('invalid-response')
    expect(error.message).toContain(URL_)
    expect(error.message).toContain('Look into its log.')
  })

  test.each([2 ** 53, 1e300])(
    'because it reaches %s, which JavaScript cannot count through, is refused as unsafe-range',
    async (High) => {
      serve({ ...answer, High })
      const error = await refusal(source().claim(target, claim))
      expect(error.code).toBe('unsafe-range')
      expect(error.message).toContain('2^53')
    },
  )

  test('because it overflows to Infinity is refused', async () => {
    serve('{"collections":[{"Prefix":"orders/","Low":1,"High":1e999}]}')
    expect((await refusal(source().claim(target, claim))).code).toBe('unsafe-range')
  })
})

describe('a refusal', () => {
  test.each([
    [401, 'headers'],
    [403, 'credentials'],
    [404, '`database`'],
    [409, 'until its cause is removed'],
    [429, 'later'],
    [500, 'later'],
  ])('with %i says what to look at', async (status, advice) => {
    serve(REFUSAL, { status })
    const error = await refusal(source().claim(target, claim))
    expect(error).toMatchObject({ code: 'server-refused', status })
    expect(error.message).toContain(`answered ${status}`)
    expect(error.message).toContain(advice)
  })

  test('is RavenDB’s 404, when it has no such route: the app has to ask again', async () => {
    serve(
      { Type: 'Raven.Client.Exceptions.Routing.RouteNotFoundException', Message: 'No handler' },
      { status: 400 },
    )
    const error = await refusal(source().claim(target, claim))
    expect(error).toMatchObject({ code: 'server-refused', status: 404 })
    expect(error.message).toContain('answered 400: No handler. Check `url` and `database`')
  })

  test('passes on what the server itself said', async () => {
    serve(
      { Url: '/', Type: 'System.ArgumentException', Message: 'tag is required', Error: 'at …' },
      { status: 500 },
    )
    expect((await refusal(source().claim(target, claim))).message).toContain(
      'answered 500: tag is required',
    )
  })

  test.each<[string, number | undefined]>([
    ['7', 7000],
    ['0', undefined],
    ['-7', undefined],
    ['soon', undefined],
    ['99999999999', 3_600_000],
    ['Sun, 22 Nov 2026 12:00:30 GMT', 30_000],
    ['Sun, 22 Nov 2026 11:00:00 GMT', undefined],
    ['Mon, 22 Nov 2027 12:00:00 GMT', 3_600_000],
  ])('with Retry-After: %s asks for a pause of %s ms', async (header, retryAfter) => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 10, 22, 12))
    serve(REFUSAL, { status: 429, headers: { 'Retry-After': header } })
    expect((await refusal(source().claim(target, claim))).retryAfter).toBe(retryAfter)
  })

  test.each([
    [408, 'It is asked again later.'],
    [410, 'It is asked again later.'],
    [429, 'It is asked again later.'],
    [400, 'It is refused again until its cause is removed.'],
  ])('with %i says whether it is asked again', async (status, what) => {
    serve(REFUSAL, { status })
    expect((await refusal(source().claim(target, claim))).message).toContain(what)
  })

  test.each([
    ['a give-back', () => source().giveBack(target, range(1, 5))],
    ['a check-in', () => source().checkIn(target, { id: 'k', grants: [] })],
  ])('of %s has the same error', async (_, ask) => {
    serve(REFUSAL, { status: 403 })
    expect(await refusal(ask())).toMatchObject({ code: 'server-refused', status: 403 })
  })
})

describe('what is no refusal of a HiLo server', () => {
  test.each([
    [403, '<html>Forbidden</html>'],
    [404, '<html>Not found</html>'],
    [407, ''],
    [401, { error: 'sign in' }],
    [403, { Message: 'Forbidden' }],
    [402, 'null'],
    [500, 'oops'],
  ])('%i with %j is no answer, and says what to check', async (status, body) => {
    serve(body, { status, headers: { 'Retry-After': '7' } })
    const error = await refusal(source().claim(target, claim))
    expect(error).toMatchObject({
      code: 'no-hilo-server',
      status,
      noAnswer: true,
      retryAfter: 7000,
    })
    expect(error.message).toContain(`answered ${status}`)
    expect(error.message).toContain('passes `/databases` on')
    expect(nextStep(toFailure(error, 'storage-failed'))).toBe('same')
  })
})

test.each([
  ['61', 60_000],
  ['60', 60_000],
  ['59', 59_000],
  ['3600', 60_000],
])('Retry-After: %s of a proxy asks for a pause of %s ms', async (header, retryAfter) => {
  serve('<html>', { status: 503, headers: { 'Retry-After': header } })
  expect((await refusal(source().claim(target, claim))).retryAfter).toBe(retryAfter)
})

test('only a refusal that says so makes a claim smaller', async () => {
  const stepAfter = async (status: number, Type: string) => {
    serve({ ...REFUSAL, Type }, { status })
    const error = await refusal(source().claim(target, claim))
    return nextStep(toFailure(error, 'storage-failed'))
  }
  expect(await stepAfter(422, 'System.ArgumentOutOfRangeException')).toBe('smaller')
  for (const status of [400, 402, 403, 409, 413, 422, 451])
    expect(await stepAfter(status, 'System.InvalidOperationException')).toBe('forget')
})

describe('a server that is down behind its proxy', () => {
  test.each([502, 503, 504, 511, 520, 530])(
    'and so answers %i is as unreachable as a silent one',
    async (status) => {
      serve('<html>', { status, headers: { 'Retry-After': '7' } })
      const error = await refusal(source().claim(target, claim))
      expect(error).toMatchObject({ code: 'server-unreachable', status, retryAfter: 7000 })
      expect(error.message).toContain(`answered ${status}`)
      expect(error.message).toContain('asked again later')
    },
  )

  test('leaves it open whether an identity was taken', async () => {
    serve('', { status: 504 })
    const error = await refusal(source().nextIdentity('Shop', 'invoices', 'key'))
    expect(error.code).toBe('server-unreachable')
    expect(error.message).toContain('same key')
  })

  test('passes on what it says itself', async () => {
    serve({ ...REFUSAL, Message: 'More claims than it can grant.' }, { status: 503 })
    const { code, message } = await refusal(source().claim(target, claim))
    expect(code).toBe('server-unreachable')
    expect(message).toContain('answered 503: More claims than it can grant.')
    expect(message).toContain('It cannot serve now.')
  })
})

describe('a server of another origin that cannot be reached', () => {
  const failedFetch = () => vi.stubGlobal('fetch', () => Promise.reject(new TypeError('failed')))

  test('may not allow this page: the message names it, CORS and cors.origins', async () => {
    failedFetch()
    vi.stubGlobal('location', { origin: 'https://shop.example.com' })
    const { code, message } = await refusal(source().claim(target, claim))
    expect(code).toBe('server-unreachable')
    expect(message).toContain(
      'reached, or does not allow https://shop.example.com (CORS, `cors.origins`). It is asked',
    )
  })

  test.each([Error, TypeError])(
    'is not blamed when the app could not make the headers: %o',
    async (Thrown) => {
      vi.stubGlobal('location', { origin: 'https://shop.example.com' })
      const asking = ravenSource({ url: URL_, timeout: 1000 }, () =>
        Promise.reject(new Thrown('signed out')),
      )
      const { message } = await refusal(asking.claim(target, claim))
      expect(message).toMatch(/^`headers` failed: signed out\. It is asked again/)
    },
  )

  test.each([
    ['of the same origin', 'https://api.example.com'],
    ['asked by Node', undefined],
  ])('%s, no CORS can be the cause', async (_, origin) => {
    failedFetch()
    if (origin) vi.stubGlobal('location', { origin })
    expect((await refusal(source().claim(target, claim))).message).not.toContain('CORS')
  })
})

test('a give-back is one PUT that names the range', async () => {
  const fetch = serve('', { status: 200 })
  await source().giveBack(target, range(17, 32))
  expect(fetch.mock.calls).toMatchObject([
    [`${URL_}/databases/Shop/hilo/return?tag=orders&end=32&last=16`, { method: 'PUT' }],
  ])
})

test('a give-back of a grant is one POST with the token in its body', async () => {
  const fetch = serve('', { status: 200 })
  await source().giveBack(target, range(17, 32, { token: 't' }))
  expect(fetch.mock.calls).toMatchObject([
    [
      `${URL_}/databases/Shop/hilo/return`,
      {
        method: 'POST',
        body: '{"tag":"orders","end":32,"last":16,"token":"t"}',
        headers: { 'Content-Type': 'application/json' },
      },
    ],
  ])
})

describe('a check-in', () => {
  const request = { id: 'k', grants: [{ token: 't', next: 5 }] }

  test('posts its tokens as JSON', async () => {
    const fetch = serve({ grants: [{ token: 'new', high: 32 }] }, { status: 200 })
    expect(await source().checkIn(target, request)).toEqual({
      grants: [{ token: 'new', high: 32 }],
    })
    expect(fetch.mock.calls).toMatchObject([
      [
        `${URL_}/databases/Shop/hilo/checkin`,
        {
          method: 'POST',
          body: JSON.stringify(request),
          headers: { 'Content-Type': 'application/json' },
        },
      ],
    ])
  })

  test('takes an answer without grants for that of somebody else', async () => {
    serve({ login: 'https://hotel.example/' }, { status: 200 })
    expect(await refusal(source().checkIn(target, request))).toMatchObject({
      code: 'no-hilo-server',
      noAnswer: true,
    })
  })

  test.each<[unknown]>([
    [{ grants: {} }],
    [{ grants: [null] }],
    [{ grants: [{ token: 't' }] }],
    [{ grants: [{ high: 5 }] }],
  ])('refuses an answer that does not say what became of each grant: %j', async (body) => {
    serve(body, { status: 200 })
    expect((await refusal(source().checkIn(target, request))).code).toBe('invalid-response')
  })
})

test.each<[string, object, () => Promise<unknown>]>([
  [
    'a check-in',
    { id: 'another', grants: [] },
    () => source().checkIn(target, { id: 'k', grants: [] }),
  ],
  [
    'an identity',
    { Claim: 'another', NewIdentityValue: 7 },
    () => source().nextIdentity('Shop', 'invoices', 'key'),
  ],
])('an answer that names another request is none to %s: it was repeated', async (_, body, ask) => {
  serve(body, { status: 200 })
  expect(await refusal(ask())).toMatchObject({
    code: 'no-hilo-server',
    noAnswer: true,
    message: expect.stringContaining('it answers another request'),
  })
})

describe('a server that cannot be reached', () => {
  let server: Server | undefined

  afterEach(async () => {
    server?.closeAllConnections()
    await new Promise((done) => (server ? server.close(done) : done(0)))
    server = undefined
  })

  /** A server that does this with every request. */
  const misbehave = (act: (socket: Socket) => void) => listen((request) => act(request.socket))

  test('because it hangs fails after the timeout, and is not asked again for as long', async () => {
    const url = await misbehave(() => {})
    const error = await refusal(ravenSource({ url, timeout: 30 }, () => ({})).claim(target, claim))
    expect(error).toMatchObject({ code: 'server-unreachable', retryAfter: 30 })
    expect(error.message).toContain('did not answer within 30 ms')
  })

  test('because the connection is reset says so, with the cause', async () => {
    const url = await misbehave((socket) => socket.resetAndDestroy())
    const error = await refusal(
      ravenSource({ url, timeout: 5000 }, () => ({})).claim(target, claim),
    )
    expect(error.code).toBe('server-unreachable')
    expect(error.message).toContain('could not be reached')
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(error.retryAfter).toBeUndefined()
  })

  async function listen(answer: RequestListener): Promise<string> {
    server = createServer(answer)
    await new Promise<void>((listening) => server!.listen(0, '127.0.0.1', listening))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  test('under this address redirects: a refusal names where to', async () => {
    const url = await listen(({ url, method }, response) => {
      if (url!.startsWith('/old')) response.writeHead(301, { Location: `/new/${method}` }).end()
      else
        response.writeHead(500).end(JSON.stringify({ ...REFUSAL, Message: `${method} has no tag` }))
    })
    const moved = ravenSource({ url: `${url}/old`, timeout: 5000 }, () => ({}))
    const { message } = await refusal(moved.checkIn(target, { id: 'c', grants: [] }))
    const said = `${url}/old, redirected to ${url}/new/POST, answered 500: GET has no tag.`
    expect(message).toContain(said)
    const shown = { ...claim, shown: [{ token: 't1', next: 1 }] }
    for (const first of [claim, shown])
      expect((await refusal(moved.claim(target, first))).message).toContain(said)
  })

  test('under this address answers elsewhere: a range is a range', async () => {
    const url = await listen(({ url }, response) => {
      const isOld = url!.startsWith('/old')
      if (isOld) response.writeHead(307, { Location: url!.replace('old', 'new') }).end()
      else response.writeHead(201).end(JSON.stringify({ collections: [answer] }))
    })
    const moved = ravenSource({ url: `${url}/old`, timeout: 5000 }, () => ({}))
    expect((await moved.claim(target, claim)).range).toMatchObject({ from: 33, to: 64 })
  })
})
