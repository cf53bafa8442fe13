/** documentSource against stores in memory. Real stores are in document-stores.test.ts. */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Failure } from '../../src/core/errors.js'
import type { Target } from '../../src/device/contract.js'
import type { GrantedRange } from '../../src/device/state.js'
import { type DocumentOptions, documentSource } from '../../src/source/index.js'
import { newShop, type Shop } from '../support/shop.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const url = 'https://store.example.com/counters/{collection}.json'
const ADDRESS = 'https://store.example.com/counters/orders.json'
const LONG = 60_000

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A store in memory whose ETag is a hash of the content, as object stores have it. */
class Store {
  documents = new Map<string, string>()
  requests: { method: string; url: string; headers: Headers; body: string }[] = []
  honours = { 'If-Match': true, 'If-None-Match': true }
  /** Called first: may answer in place of the store, or change the store before it answers. */
  before: (method: string, url: string) => Response | undefined | Promise<Response | undefined> =
    () => undefined
  /** Called when the store has written. */
  after: (method: string, url: string) => void = () => {}

  etag = (content: string) => `"${createHash('md5').update(content).digest('hex')}"`
  max = () => JSON.parse(this.documents.get(ADDRESS)!).Max
  puts = () => this.requests.filter(({ method }) => method === 'PUT')

  fetch = async (
    address: string,
    { method = 'GET', headers, body }: RequestInit,
  ): Promise<Response> => {
    const given = new Headers(headers)
    this.requests.push({ method, url: address, headers: given, body: String(body ?? '') })
    const answered = await this.before(method, address)
    if (answered) return answered
    const stored = this.documents.get(address)
    if (method === 'GET')
      return stored === undefined
        ? new Response('', { status: 404 })
        : new Response(stored, { headers: { ETag: this.etag(stored) } })
    const match = this.honours['If-Match'] && given.get('If-Match')
    if (match && (stored === undefined || match !== this.etag(stored)))
      return new Response('', { status: 412 })
    if (this.honours['If-None-Match'] && given.get('If-None-Match') === '*' && stored !== undefined)
      return new Response('', { status: 412 })
    this.documents.set(address, String(body))
    this.after(method, address)
    return new Response('', { status: 201 })
  }
}

const claimOf = (more: object = {}) => ({ id: 'c1', lastBatchSize: 32, lastMax: 0, ...more })

async function outcomeOf(
  store: Store,
  more: object = {},
  options: Partial<DocumentOptions> = {},
  timeout = LONG,
): Promise<GrantedRange | Failure> {
  const answer = await documentSource({ url, key: 'store', fetch: store.fetch, ...options }).claim(
    target,
    claimOf(more),
    timeout,
  )
  return 'grant' in answer ? answer.grant : answer.failure
}
const rangeOf = async (...args: Parameters<typeof outcomeOf>) => {
  const outcome = await outcomeOf(...args)
  if (!('range' in outcome)) throw new Error(outcome.message)
  return outcome.range
}

describe('a claim', () => {
  test('makes the document when there is none, and moves it up afterwards', async () => {
    const store = new Store()
    expect(await rangeOf(store)).toEqual({ from: 1, to: 32, prefix: 'orders/', serverTag: '' })
    expect(await rangeOf(store)).toMatchObject({ from: 33, to: 64 })
    expect(store.max()).toBe(64)
  })

  test('takes as many as it wants, at least the capacity', async () => {
    const store = new Store()
    expect(await rangeOf(store, { lastBatchSize: 500 })).toMatchObject({ from: 1, to: 500 })
    const source = documentSource({ url, key: 'store', fetch: store.fetch, capacity: 100 })
    const first = await source.claim(target, claimOf(), LONG)
    expect(first).toMatchObject({ grant: { range: { from: 501, to: 600 } } })
  })

  test('is above what this device has seen, even of a document from a backup', async () => {
    const store = new Store()
    await rangeOf(store)
    expect(await rangeOf(store, { lastMax: 1000 })).toMatchObject({ from: 1001, to: 1032 })
  })

  test('keeps the other fields of the document, and takes the server prefix from it', async () => {
    const store = new Store()
    store.documents.set(ADDRESS, '{"Max":64,"note":"do not delete","ServerPrefix":"NorthServer/"}')
    expect(await rangeOf(store)).toEqual({
      from: 65,
      to: 96,
      prefix: 'orders/NorthServer/',
      serverTag: '',
    })
    expect(JSON.parse(store.documents.get(ADDRESS)!)).toEqual({
      Max: 96,
      Claims: ['c1 65-96'],
      note: 'do not delete',
      ServerPrefix: 'NorthServer/',
    })
  })

  test('of a document whose server prefix ends in a digit is refused', async () => {
    const store = new Store()
    store.documents.set(ADDRESS, '{"Max":64,"ServerPrefix":"S1"}')
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    expect(await source.claim(target, claimOf(), LONG)).toMatchObject({
      failure: { code: 'invalid-response', message: expect.stringContaining('ends in a digit') },
    })
    expect(store.max()).toBe(64)
  })

  test('that loses a race reads again and takes more: the numbers are the winner’s', async () => {
    const store = new Store()
    await rangeOf(store)
    let races = 2
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    store.before = (method) => {
      if (method === 'PUT' && store.puts().length > 4 && races-- > 0)
        store.documents.set(ADDRESS, `{"Max":${store.max() + 10}}`)
      return undefined
    }
    // The first claim of a source also tests the store.
    await source.claim(target, claimOf(), LONG)
    const answer = await source.claim(target, claimOf(), LONG)
    expect(answer).toMatchObject({ grant: { range: { from: 85, to: 84 + 4 * 32 } } })
  })

  test('whose document is deleted meanwhile makes it again, above what was seen', async () => {
    const store = new Store()
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    await source.claim(target, claimOf(), LONG)
    await source.claim(target, claimOf(), LONG)
    store.before = (method) => {
      if (method !== 'PUT' || !store.documents.delete(ADDRESS)) return undefined
      return new Response('', { status: 404 })
    }
    expect(await source.claim(target, claimOf({ lastMax: 64 }), LONG)).toMatchObject({
      grant: { range: { from: 65 } },
    })
  })

  test('behind a proxy that finds nothing, not even a place for it, is asked once', async () => {
    const methods: unknown[] = []
    const fetch = async (_: string, { method = 'GET' }: RequestInit) => {
      methods.push(method)
      return new Response('', { status: 404 })
    }
    const source = documentSource({ url, key: 'store', fetch })
    expect(await source.claim(target, claimOf(), LONG)).toMatchObject({
      failure: { code: 'server-unreachable', message: expect.stringContaining('404') },
    })
    expect(methods).toEqual(['GET', 'PUT'])
  })

  test('of many devices at once: every number goes to one of them', async () => {
    const store = new Store()
    const sources = Array.from({ length: 8 }, () =>
      documentSource({ url, key: 'store', fetch: store.fetch }),
    )
    const answers = await Promise.all(
      sources.flatMap((source) =>
        Array.from({ length: 5 }, () => source.claim(target, claimOf(), LONG)),
      ),
    )
    const ranges = answers
      .map((answer) => (answer as { grant: GrantedRange }).grant.range)
      .sort((a, b) => a.from - b.from)
    for (const [i, range] of ranges.entries())
      expect(range.from).toBe(i === 0 ? 1 : ranges[i - 1]!.to + 1)
    expect(store.max()).toBe(ranges.at(-1)!.to)
  })

  test('whose answer was lost leaves a gap, and no device gets its numbers', async () => {
    const store = new Store()
    await rangeOf(store)
    let isLost = true
    store.after = () => {
      if (isLost) throw new TypeError('connection reset')
    }
    expect(await outcomeOf(store)).toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining('could not be reached'),
    })
    isLost = false
    expect(await rangeOf(store)).toMatchObject({ from: 65, to: 96 })
  })

  test.each([
    ['to a write of another device', () => new Response('', { status: 201 })],
    ['that the write of another device got', () => Response.json({ Claims: ['c0 33-64'] })],
  ])('that gets an answer %s got none', async (_, answer) => {
    const store = new Store()
    await rangeOf(store)
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    await source.claim(target, claimOf(), LONG)
    store.before = (method) => (method === 'PUT' ? answer() : undefined)
    expect(await source.claim(target, claimOf(), LONG)).toMatchObject({
      failure: {
        code: 'no-hilo-server',
        noAnswer: true,
        message: expect.stringContaining('took a write, and does not show its `Claims`'),
      },
    })
    store.before = () => undefined
    expect(await rangeOf(store)).toMatchObject({ from: 65 })
  })

  test('of a store that keeps Max alone gets its range', async () => {
    const store = new Store()
    store.after = () => store.documents.set(ADDRESS, `{"Max":${store.max()}}`)
    expect(await rangeOf(store)).toMatchObject({ from: 1, to: 32 })
    expect(await rangeOf(store)).toMatchObject({ from: 33, to: 64 })
    store.before = (method) => (method === 'PUT' ? new Response('', { status: 201 }) : undefined)
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    expect(await source.claim(target, claimOf(), LONG)).toHaveProperty('failure')
    expect(store.max()).toBe(64)
  })

  test('is proved by its text in the document, also when others have written since', async () => {
    const store = new Store()
    await rangeOf(store)
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    await source.claim(target, claimOf(), LONG)
    let others = 15
    store.after = () => {
      while (others-- > 0) {
        const { Max, Claims } = JSON.parse(store.documents.get(ADDRESS)!)
        const claims = [...Claims, `c2 ${Max + 1}-${Max + 32}`].slice(-16)
        store.documents.set(ADDRESS, JSON.stringify({ Max: Max + 32, Claims: claims }))
      }
    }
    expect(await source.claim(target, claimOf(), LONG)).toMatchObject({
      grant: { range: { from: 65, to: 96 } },
    })
  })

  test('whose fetch fails in the app says so', async () => {
    const fetch = () => Promise.reject(new Error('signed out'))
    const answer = await documentSource({ url, key: 'store', fetch }).claim(target, claimOf(), LONG)
    const message = expect.stringContaining('failed: signed out.')
    expect(answer).toMatchObject({ failure: { code: 'server-unreachable', message } })
  })

  test('that loses every race fails, to be tried again later', async () => {
    const store = new Store()
    store.documents.set(ADDRESS, '{"Max":0}')
    store.before = (method) => (method === 'PUT' ? new Response('', { status: 409 }) : undefined)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const outcome = outcomeOf(store)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await outcome).toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining('409'),
    })
    expect(store.max()).toBe(0)
  })

  test('that loses races until its timeout writes nothing more', async () => {
    const store = new Store()
    store.documents.set(ADDRESS, '{"Max":0}')
    let asked = 0
    store.before = (method) => {
      asked++
      return method === 'PUT' ? new Response('', { status: 409 }) : undefined
    }
    vi.spyOn(Math, 'random').mockReturnValue(1)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    expect(await outcomeOf(store, {}, {}, 30)).toMatchObject({
      message: expect.stringContaining('within 30 ms'),
    })
    const before = asked
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked).toBe(before)
  })
})

describe('a store', () => {
  test('that ignores If-Match is refused, and what it wrote is a gap, no duplicate', async () => {
    const store = new Store()
    store.honours['If-Match'] = false
    store.documents.set(ADDRESS, '{"Max":64}')
    expect(await outcomeOf(store)).toMatchObject({
      code: 'server-refused',
      message: expect.stringContaining('If-Match does not hold'),
    })
    expect(store.max()).toBeGreaterThan(64)
  })

  test('that ignores If-None-Match is refused: two devices could make one document', async () => {
    const store = new Store()
    store.honours['If-None-Match'] = false
    expect(await outcomeOf(store)).toMatchObject({
      code: 'server-refused',
      message: expect.stringContaining('If-None-Match does not hold'),
    })
    expect(store.max()).toBeGreaterThan(32)
  })

  test('is tested once per page, not at every claim', async () => {
    const store = new Store()
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    for (let i = 0; i < 4; i++) await source.claim(target, claimOf(), LONG)
    expect(store.puts()).toHaveLength(4 + 2)
  })

  test.each<[string, Response, string, string]>([
    [
      'without an ETag',
      new Response('{"Max":1}'),
      'invalid-response',
      'Access-Control-Expose-Headers',
    ],
    [
      'with a weak ETag',
      new Response('{"Max":1}', { headers: { ETag: 'W/"1"' } }),
      'invalid-response',
      `The document ${ADDRESS} cannot be used: its ETag is weak`,
    ],
    [
      'with something else there',
      new Response('<html>', { headers: { ETag: '"1"' } }),
      'no-hilo-server',
      `The document ${ADDRESS} cannot be used: it is not JSON: <html>. Nothing was taken.`,
    ],
    [
      'with a document of another kind',
      new Response('{"Count":1}', { headers: { ETag: '"1"' } }),
      'invalid-response',
      'no document',
    ],
    [
      'with a document of RavenDB’s that has no Max',
      Response.json({ Results: [{ max: 64, '@metadata': { '@change-vector': 'A:1' } }] }),
      'invalid-response',
      'no document',
    ],
    [
      'with a negative Max',
      new Response('{"Max":-1}', { headers: { ETag: '"1"' } }),
      'invalid-response',
      'no document',
    ],
    [
      'with a Max that is no whole number',
      new Response('{"Max":1.5}', { headers: { ETag: '"1"' } }),
      'invalid-response',
      'no document',
    ],
    [
      'that is at the end of the numbers',
      new Response(`{"Max":${2 ** 53 - 2}}`, { headers: { ETag: '"1"' } }),
      'unsafe-range',
      '2^53',
    ],
    [
      'that answers 403',
      new Response('{"Message":"Sign in first."}', { status: 403 }),
      'server-refused',
      `${ADDRESS} answered 403: Sign in first.`,
    ],
    ['that answers 503', new Response('', { status: 503 }), 'server-unreachable', '503'],
  ])('%s is not written to', async (_, response, code, message) => {
    const store = new Store()
    store.before = () => response.clone()
    expect(await outcomeOf(store)).toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
    expect(store.puts()).toEqual([])
  })
})

describe('the sign-in page of a network, which answers everything with 200', () => {
  const page = () =>
    new Response('<!doctype html><title>Sign in</title>', {
      headers: { 'Content-Type': 'text/html' },
    })

  test.each(['GET', 'PUT'])('is as good as no answer to a %s', async (method) => {
    const store = new Store()
    store.documents.set(ADDRESS, '{"Max":32}')
    const source = documentSource({ url, key: 'store', fetch: store.fetch })
    await source.claim(target, claimOf(), LONG)
    store.before = (asked) => (asked === method ? page() : undefined)
    const answer = await source.claim(target, claimOf(), LONG)
    expect(answer).toMatchObject({
      failure: {
        code: 'no-hilo-server',
        noAnswer: true,
        message: expect.stringMatching(
          / https:\S+ cannot be used: it is not JSON: <!doctype html>/,
        ),
      },
    })
    expect(store.max()).toBe(64)
    store.before = () => undefined
    expect(await source.claim(target, claimOf(), LONG)).toMatchObject({
      grant: { range: { from: 65 } },
    })
  })
})

/**
 * Answers as RavenDB 2 and 3 do. Each document has its own address. A write names the version that
 * the document must have, a GUID, in `If-Match` or in `If-None-Match`; the GUID of zeros means that
 * there is no document. Any other text there is an error.
 */
class OldRaven {
  readonly origin = 'https://raven.example.com'
  documents = new Map<string, { content: string; etag: string }>()
  isQuoting = true
  refuses = ''
  #writes = 0

  store = (id: string, content: object): void => {
    this.documents.set(id, {
      content: JSON.stringify(content),
      etag: `01000000-0000-0001-0000-${String(++this.#writes).padStart(12, '0')}`,
    })
  }
  max = () => JSON.parse(this.documents.get('Raven/Hilo/orders')!.content).Max
  source = (options: Partial<DocumentOptions> = {}) =>
    documentSource({
      url: `${this.origin}/databases/{database}/docs/Raven/Hilo/{collection}`,
      key: 'raven',
      fetch: this.fetch,
      ...options,
    })

  fetch = async (
    address: string,
    { method = 'GET', headers, body }: RequestInit,
  ): Promise<Response> => {
    const [, id] = /^\/databases\/Shop\/docs\/(.*)$/.exec(new URL(address).pathname) ?? []
    if (id === undefined) throw new Error(`Nobody asks for ${address}.`)
    if (id === this.refuses) return new Response('', { status: 503 })
    const stored = this.documents.get(id)
    if (method === 'GET') {
      const quote = this.isQuoting ? '"' : ''
      return stored
        ? new Response(stored.content, { headers: { ETag: quote + stored.etag + quote } })
        : new Response('', { status: 404 })
    }
    const given = new Headers(headers)
    const condition = (given.get('If-None-Match') ?? given.get('If-Match'))?.replace(
      this.isQuoting ? /^"(.*)"$/ : /^$/,
      '$1',
    )
    if (condition === undefined || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(condition))
      return new Response('', { status: 400 })
    const actual = stored?.etag ?? '00000000-0000-0000-0000-000000000000'
    if (condition !== actual)
      return Response.json(
        { ActualETag: actual, ExpectedETag: condition, Error: 'PUT attempted' },
        { status: 409 },
      )
    this.store(id, JSON.parse(String(body)))
    return Response.json({ Key: id, ETag: this.documents.get(id)!.etag }, { status: 201 })
  }
}

describe.each([
  ['3', true],
  ['2', false],
])('RavenDB %s', (_, isQuoting) => {
  const newRaven = () => Object.assign(new OldRaven(), { isQuoting })
  const rangeFrom = async (source: ReturnType<typeof documentSource>) => {
    const answer = await source.claim(target, claimOf(), LONG)
    if ('failure' in answer) throw new Error(answer.failure.message)
    return answer.grant.range
  }

  test('its document is made and moved up, and never moved by two devices at once', async () => {
    const raven = newRaven()
    expect(await rangeFrom(raven.source())).toEqual({
      from: 1,
      to: 32,
      prefix: 'orders/',
      serverTag: '',
    })
    const sources = Array.from({ length: 4 }, () => raven.source())
    const ranges = (
      await Promise.all(sources.flatMap((source) => [1, 2, 3].map(() => rangeFrom(source))))
    ).sort((a, b) => a.from - b.from)
    for (const [i, { from }] of ranges.entries())
      expect(from).toBe(i === 0 ? 33 : ranges[i - 1]!.to + 1)
    expect(raven.max()).toBe(ranges.at(-1)!.to)
  })

  test('two devices that make the document at once get different numbers', async () => {
    const raven = newRaven()
    const ranges = await Promise.all([rangeFrom(raven.source()), rangeFrom(raven.source())])
    const [first, second] = ranges.sort((a, b) => a.from - b.from)
    expect(second!.from).toBe(first!.to + 1)
  })

  test('a claim goes on where RavenDB’s own clients left the document', async () => {
    const raven = newRaven()
    raven.store('Raven/Hilo/orders', { Max: 96 })
    expect(await rangeFrom(raven.source())).toMatchObject({ from: 97, to: 128 })
    expect(raven.max()).toBe(128)
  })

  test('its server prefix is read, too: orders/NorthServer/1', async () => {
    const raven = newRaven()
    raven.store('Raven/ServerPrefixForHilo', { ServerPrefix: 'NorthServer/' })
    expect(await rangeFrom(raven.source())).toMatchObject({
      from: 1,
      prefix: 'orders/NorthServer/',
    })
    expect(await rangeFrom(raven.source())).toMatchObject({
      from: 33,
      prefix: 'orders/NorthServer/',
    })
  })

  test('a server prefix that ends in a digit is refused: two numbers would be one id', async () => {
    const raven = newRaven()
    raven.store('Raven/ServerPrefixForHilo', { ServerPrefix: 'S1' })
    const refused = {
      failure: {
        code: 'invalid-response',
        message: expect.stringContaining('"S1" ends in a digit, and ids would be two numbers\'.'),
      },
    }
    expect(await raven.source().claim(target, claimOf(), LONG)).toMatchObject(refused)
    raven.store('Raven/Hilo/orders', { Max: 96 })
    expect(await raven.source().claim(target, claimOf(), LONG)).toMatchObject(refused)
    expect(raven.max()).toBe(96)
  })

  test('no range is taken while the prefix cannot be read', async () => {
    const raven = newRaven()
    raven.refuses = 'Raven/ServerPrefixForHilo'
    expect(await raven.source().claim(target, claimOf(), LONG)).toMatchObject({
      failure: { code: 'server-unreachable', status: 503 },
    })
    expect(raven.documents.size).toBe(0)
  })
})

test('an address is filled in and encoded, and every request carries the headers', async () => {
  const store = new Store()
  let token = 0
  const headers = async () => ({ Authorization: `Bearer ${++token}` })
  const source = documentSource({
    url: 'https://store.example.com/{database}/{collection}',
    key: 'store',
    fetch: store.fetch,
    headers,
  })
  await source.claim({ ...target, collection: 'a b/c' }, claimOf(), LONG)
  expect(new Set(store.requests.map((request) => request.url))).toEqual(
    new Set(['https://store.example.com/Shop/a%20b%2Fc']),
  )
  expect(store.requests.map((request) => request.headers.get('Authorization'))).toEqual(
    store.requests.map((_, i) => `Bearer ${i + 1}`),
  )
})

test.each<[string, object]>([
  ['no url', { url: undefined }],
  ['an empty url', { url: '' }],
  ['a url with something else to fill in', { url: 'https://store.example.com/{tag}' }],
  ['a capacity of 0', { capacity: 0 }],
  ['a capacity that is no whole number', { capacity: 1.5 }],
  ['a path where there is no page', { url: '/counters/{collection}.json' }],
  ['an empty key', { key: '' }],
  [
    'a url with a signature, which changes',
    { url: 'https://store.example.com/{collection}?sv=2025-01-05&sig=abc' },
  ],
])('%s is refused', (_, wrong) => {
  expect(() => documentSource({ url, ...wrong } as DocumentOptions)).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringContaining(`\`${Object.keys(wrong)[0]}\``),
    }),
  )
})

test.each<[string, Partial<DocumentOptions>]>([
  ['headers', { headers: { 'X-Tenant': 'A' } }],
  ['headers that are asked for', { headers: () => ({}) }],
  ['a fetch', { fetch: () => fetch(url) }],
])('%s without a key are refused: they may choose the counter', (_, options) => {
  expect(() => documentSource({ url, ...options })).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringContaining('`key`'),
    }),
  )
})

test.each<[string, NonNullable<DocumentOptions['headers']>]>([
  ['an object', { 'X-Tenant': 'north' }],
  ['a Headers', new Headers({ 'X-Tenant': 'north' })],
  ['pairs', [['X-Tenant', 'north']]],
  ['a function that makes a Headers', async () => new Headers({ 'X-Tenant': 'north' })],
])('headers that are %s are sent with each request', async (_, headers) => {
  const store = new Store()
  vi.stubGlobal('fetch', store.fetch)
  const source = documentSource({ url, key: 'north', headers })
  expect(await source.claim(target, claimOf(), LONG)).toHaveProperty('grant')
  expect(store.requests.length).toBeGreaterThan(0)
  for (const sent of store.requests) expect(sent.headers.get('X-Tenant')).toBe('north')
})

test.each([undefined, null, 'https://x'])('options that are %j are refused', (options) => {
  expect(() => documentSource(options as never)).toThrow(
    expect.objectContaining({ code: 'invalid-argument' }),
  )
})

test('an option with a wrong name is refused, with the known ones', () => {
  const wrong = { url, capcity: 64 } as DocumentOptions
  expect(() => documentSource(wrong)).toThrow(/`options\.capcity`.*capacity/)
})

test('fetch is called without an object: browsers refuse it as a method of another', async () => {
  const store = new Store()
  const answer = await documentSource({
    url,
    key: 'store',
    fetch(this: unknown, ...request) {
      if (this !== undefined) throw new TypeError('Illegal invocation')
      return store.fetch(...request)
    },
  }).claim(target, claimOf(), LONG)
  expect(answer).toHaveProperty('grant')
})

describe('as the source of a page', () => {
  let shop: Shop
  beforeEach(async () => {
    shop = await newShop()
  })
  afterEach(() => shop.close())

  /** One store per tenant, and the tenant is a header. */
  const tenantSource = (stores: Record<string, Store>, tenant: string) =>
    documentSource({
      url,
      key: tenant,
      headers: { 'X-Tenant': tenant },
      fetch: (address, init) =>
        stores[new Headers(init.headers).get('X-Tenant')!]!.fetch(address, init),
    })

  test('ranges of two tenants that a header tells apart are kept apart by their keys', async () => {
    const stores = { A: new Store(), B: new Store() }
    stores.B.documents.set(ADDRESS, '{"Max":700}')
    const first = shop.open({ source: tenantSource(stores, 'A') })
    expect(await first.hilo.nextNumber('orders')).toBe(1)
    first.page.leave()
    const second = shop.open({ source: tenantSource(stores, 'B') })
    expect(await second.hilo.nextNumber('orders')).toBe(701)
  })

  test('one relative url in two folders of a site is two documents, with own ranges', async () => {
    const store = new Store()
    store.documents.set('https://shop.example.com/south/counters/orders.json', '{"Max":700}')
    vi.stubGlobal('fetch', store.fetch)
    const openIn = (folder: string) => {
      vi.stubGlobal('location', { href: `https://shop.example.com/${folder}/index.html` })
      return shop.open({ source: documentSource({ url: 'counters/{collection}.json' }) })
    }
    const north = openIn('north')
    expect(await north.hilo.nextNumber('orders')).toBe(1)
    north.page.leave()
    expect(await openIn('south').hilo.nextNumber('orders')).toBe(701)
    expect(new Set(store.requests.map((request) => request.url))).toEqual(
      new Set([
        'https://shop.example.com/north/counters/orders.json',
        'https://shop.example.com/south/counters/orders.json',
      ]),
    )
  })

  test('a page that was opened with a password in its address asks without it', async () => {
    const store = new Store()
    vi.stubGlobal('fetch', store.fetch)
    vi.stubGlobal('location', { href: 'https://user:secret@shop.example.com/' })
    const { hilo } = shop.open({ source: documentSource({ url: '{collection}.json' }) })
    await hilo.nextId('orders')
    expect(store.requests[0]!.url).toBe('https://shop.example.com/orders.json')
  })

  test('a relative url means the page at the start, wherever the app navigates later', async () => {
    const store = new Store()
    vi.stubGlobal('fetch', store.fetch)
    vi.stubGlobal('location', { href: 'https://shop.example.com/north/' })
    const { hilo } = shop.open({ source: documentSource({ url: '{collection}.json' }) })
    vi.stubGlobal('location', { href: 'https://shop.example.com/south/' })
    await hilo.nextId('orders')
    expect(store.requests[0]!.url).toBe('https://shop.example.com/north/orders.json')
  })
})
