/**
 * Without the network, or with a server that refuses: ids go on while there are some, then callers
 * are told why not.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import { HiloError } from '../../src/core/errors.js'
import { TOO_MANY } from '../../src/core/wire.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { FakePage } from '../support/page.js'
import { errorOf, newShop, quiet, refusal, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  await shop.close()
})

/** Everything that is there, one by one. */
async function drain(hilo: ReturnType<Shop['open']>['hilo']): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const id = await hilo.nextId('orders').catch((error: HiloError) => error)
    if (typeof id !== 'string') return ids
    ids.push(id)
  }
}

describe('without the network', () => {
  test('a page that starts goes on from what an earlier one left', async () => {
    const first = shop.open()
    await first.hilo.nextIds('orders', 3)
    await first.hilo.close()
    shop.isDown = true
    const { hilo } = shop.open()
    expect(await hilo.nextId('orders')).toBe('orders/4-A')
  })

  test('a caller without a timeout is refused, too, when the log-in has expired', async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    const refused = expect(
      hilo.nextId('orders', { timeout: Number.POSITIVE_INFINITY }),
    ).rejects.toMatchObject({ code: 'server-refused', status: 401 })
    await eventually(() => expect(hilo.status('orders').lastError).toBeDefined())
    shop.answer = () => refusal(401)
    shop.isDown = false
    await refused
  })

  test('an app finds out by an event, once per call that was refused', async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    const heard: unknown[] = []
    hilo.addEventListener('exhausted', ({ detail }) => heard.push(detail))
    const error = await errorOf(hilo.nextId('orders'))
    expect(heard).toEqual([{ collection: 'orders', error }])
  })
})

describe('the switch of the app', () => {
  test('off, nothing is sent and ids go on; on again, so does the server', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 50)
    hilo.goOffline()
    expect(hilo.status().online).toBe(false)
    const before = shop.requests.length
    const ids = await drain(hilo)
    expect(ids.length).toBeGreaterThanOrEqual(50)
    expect((await errorOf(hilo.reserve('orders', 500))).message).toContain('goOnline')
    expect(shop.requests).toHaveLength(before)
    hilo.goOnline()
    const next = await hilo.nextId('orders')
    expect(ids).not.toContain(next)
    expect(hilo.status().online).toBe(true)
  })
})

test('switched off, a page that goes sends nothing; its surplus stays here', async () => {
  const { hilo, page } = shop.open({ reserve: 4 })
  await hilo.nextId('orders')
  await hilo.reserve('orders', 40)
  await hilo.reserve('orders', 4)
  const { available } = hilo.status('orders')
  hilo.goOffline()
  const before = shop.requests.length
  page.leave()
  const next = shop.open({ reserve: 4 }).hilo
  next.goOffline()
  expect(await drain(next)).toHaveLength(available)
  expect(shop.requests).toHaveLength(before)
})

test('switched off, a page takes back at once what it was to give back', async () => {
  const { hilo } = shop.open({ reserve: 4 })
  await hilo.reserve('orders', 40)
  await hilo.reserve('orders', 4)
  const kinds = async () => (await hilo.inspect('orders')).segments.map(({ kind }) => kind)
  await eventually(async () => expect(await kinds()).toContain('offered'))
  hilo.goOffline()
  await eventually(async () => expect(await kinds()).not.toContain('offered'))
})

describe('a call that waits', () => {
  /** A server that takes its time, for ever. */
  const hang = () => {
    vi.stubGlobal(
      'fetch',
      (_: string, { signal }: RequestInit) =>
        new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason))),
    )
  }

  test('rejects after its own timeout, and no id was burnt', async () => {
    const answering = fetch
    hang()
    const { hilo } = shop.open()
    expect(await errorOf(hilo.nextId('orders', { timeout: 20 }))).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('20 ms'),
    })
    vi.stubGlobal('fetch', answering)
    await hilo.close()
    expect(await shop.open().hilo.nextId('orders')).toBe('orders/1-A')
  })

  test('rejects when its signal is aborted, with the reason', async () => {
    hang()
    const { hilo } = shop.open()
    const off = new AbortController()
    const waiting = errorOf(hilo.nextIds('orders', 5, { signal: off.signal }))
    off.abort('left the form')
    expect(await waiting).toMatchObject({ code: 'aborted', cause: 'left the form' })
  })

  test('with a signal that is already aborted takes nothing, though there is plenty', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    expect((await errorOf(hilo.nextId('orders', { signal: AbortSignal.abort() }))).code).toBe(
      'aborted',
    )
    expect(await hilo.nextId('orders')).toBe('orders/2-A')
  })
})

describe('a server that is down behind its proxy', () => {
  test.each([502, 503, 504])(
    'and so answers %i counts as unreachable everywhere',
    async (status) => {
      const { hilo } = shop.open()
      await hilo.nextId('orders')
      expect(hilo.status().online).toBe(true)
      shop.answer = () => new Response('<html>', { status })
      expect((await errorOf(hilo.reserve('orders', 500))).code).toBe('server-unreachable')
      expect((await errorOf(hilo.nextIdentity('invoices'))).code).toBe('server-unreachable')
      expect(hilo.status().online).toBe(false)
    },
  )
})

describe('release, while a proxy says that the server is down', () => {
  test.each([502, 503, 504])('and so answers %i, keeps the numbers and says so', async (status) => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 100)
    shop.answer = () => new Response('<html>', { status })
    expect((await errorOf(hilo.release())).code).toBe('server-unreachable')
    shop.answer = undefined
    expect(await shop.max()).toBe(100)
    shop.isDown = true
    expect(await hilo.nextIds('orders', 100)).toHaveLength(100)
  })
})

describe('a device that never got an id from this address', () => {
  test('says so, and what to check, while nothing of a HiLo server answers', async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    const heard: string[] = []
    hilo.addEventListener('exhausted', ({ detail }) => heard.push(detail.error.code))
    const calls = [hilo.nextId('orders'), hilo.reserve('orders', 50)]
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error.code).toBe('no-hilo-server')
      expect(error.message).toContain('No id ever came from there. Check `url`, that')
      expect(error.message).toContain('passes `/databases` on')
    }
    expect(heard).toEqual(['no-hilo-server'])
    expect(hilo.status().online).toBe(false)
    expect(hilo.status('orders').state).toBe('exhausted')
    shop.isDown = false
    hilo.goOnline()
    expect(await hilo.nextId('orders')).toBe('orders/1-A')
  })

  test.each([502, 503])('says so when a proxy answers %i for it', async (status) => {
    shop.answer = () => new Response('<html>', { status })
    const { code, message } = await errorOf(shop.open().hilo.nextId('orders'))
    expect(code).toBe('no-hilo-server')
    expect(message.match(/that the server runs/g)).toHaveLength(1)
  })

  test('names the policy of the page that forbids it', async () => {
    const window = new EventTarget()
    vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
    vi.stubGlobal('fetch', async (address: string) => {
      const event = new Event('securitypolicyviolation')
      queueMicrotask(() => window.dispatchEvent(Object.assign(event, { blockedURI: address })))
      throw new TypeError('Failed to fetch')
    })
    const { message } = await errorOf(shop.open().hilo.nextId('orders'))
    expect(message).toMatch(/content security policy .*connect-src/)
    expect(message).not.toContain('that the server runs')
  })

  test('names the sign-in page that it was redirected to', async () => {
    shop.answer = () => {
      const page = new Response('<!doctype html><title>Sign in</title>')
      const url = 'https://shop.example.com/login'
      return Object.defineProperties(page, { redirected: { value: true }, url: { value: url } })
    }
    const { code, message } = await errorOf(shop.open().hilo.nextId('orders'))
    expect(code).toBe('no-hilo-server')
    expect(message).toMatch(/redirected to https:\/\/shop.example.com\/login.*sign in/)
    expect(message).not.toContain('that the server runs')
  })

  test('names what a test without IndexedDB needs', async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    vi.stubGlobal('indexedDB', undefined)
    const { message } = await errorOf(hilo.nextId('orders'))
    expect(message).toContain('offline-hilo/testing')
    expect(message).not.toContain('that the server runs')
  })

  test('knows a HiLo server that is up and cannot serve', async () => {
    shop.answer = () => refusal(503)
    expect((await errorOf(shop.open().hilo.nextId('orders'))).code).toBe('exhausted')
  })

  test('blames no server when the function of the app fails', async () => {
    const { hilo } = shop.open({ headers: () => Promise.reject(new Error('no token')) })
    const { code, message } = await errorOf(hilo.nextId('orders'))
    expect(code).toBe('exhausted')
    expect(message).toContain('`headers` failed: no token')
  })

  test('looks through its storage once for all collections that fail together', async () => {
    shop.isDown = true
    const read = vi.spyOn(IndexedDbStore.prototype, 'read')
    const { hilo } = shop.open()
    const names = Array.from({ length: 20 }, (_, i) => `list${i}`)
    await Promise.all(names.map((name) => errorOf(hilo.nextId(name))))
    expect(read.mock.calls.length).toBeLessThanOrEqual(2 * names.length)
  })

  test('blames no server where the storage cannot say whether it ever answered', async () => {
    shop.isDown = true
    const failure = new HiloError('storage-failed', 'The disk is full.')
    vi.spyOn(IndexedDbStore.prototype, 'keys').mockRejectedValue(failure)
    const { hilo } = shop.open()
    expect((await errorOf(hilo.nextId('orders'))).code).toBe('exhausted')
  })

  test('is not the device whose storage was cleared under a page with ids from there', async () => {
    const name = newName()
    const { hilo } = shop.open({ name })
    await hilo.nextId('orders')
    shop.isDown = true
    await new Promise((resolve) => {
      Object.assign(indexedDB.deleteDatabase(name), { onsuccess: resolve })
    })
    const { code, message } = await errorOf(hilo.nextIds('orders', 500))
    expect(code).toBe('exhausted')
    expect(message).not.toContain('No id ever came from there')
  })
})

const granted = (range: { Low: number; High: number; Prefix?: string }) =>
  Response.json({ collections: [{ Prefix: 'orders/', LastSize: 32, ServerTag: 'A', ...range }] })

describe('a message has at most forty words', () => {
  const html = '<!doctype html>\n<html lang="en">\n  <head>\n    <title>Sign in</title>'
  const words = ({ message }: HiloError) => message.split(/\s+/).length

  test.each<[string, () => Response]>([
    ['that nobody answers', () => Response.error()],
    ['that a page answers', () => new Response(html)],
    ['that a proxy answers', () => new Response(html, { status: 502 })],
    ['that a gateway answers', () => new Response(html, { status: 403 })],
    ['that a cache answers', () => granted({ Low: 1, High: 32, Prefix: 'lines/' })],
    ['whose answer is odd', () => granted({ Low: 5, High: 4 })],
    ['that is refused', () => refusal(401)],
    ['that is busy', () => refusal(503)],
  ])('of a request %s, also with ids', async (_, answer) => {
    vi.stubGlobal('location', {
      origin: 'https://app.example.com',
      href: 'https://app.example.com',
    })
    const ask = async () => {
      const response = answer()
      if (response.type === 'error') throw new TypeError('Failed to fetch')
      return response
    }
    shop.answer = ask
    const { hilo } = shop.open()
    expect(words(await errorOf(hilo.nextId('orders')))).toBeLessThanOrEqual(40)
    shop.answer = undefined
    hilo.goOnline()
    await eventually(() => hilo.nextIds('orders', 3))
    shop.answer = ask
    expect(words(await errorOf(hilo.nextIds('orders', 1_000)))).toBeLessThanOrEqual(40)
  })
})

describe('a server that is not well', () => {
  test.each<[string, string, () => Response]>([
    ['401', 'server-refused', () => refusal(401)],
    ['403', 'server-refused', () => refusal(403)],
    ['404', 'server-refused', () => refusal(404)],
    ['409', 'server-refused', () => refusal(409)],
    ['429', 'exhausted', () => refusal(429, { 'Retry-After': '60' })],
    ['500', 'exhausted', () => refusal(500)],
    ['503', 'exhausted', () => refusal(503)],
    ['a page of HTML', 'no-hilo-server', () => new Response('<!doctype html>')],
    ['High below Low', 'invalid-response', () => granted({ Low: 5, High: 4 })],
    ['numbers beyond 2^53', 'unsafe-range', () => granted({ Low: 2 ** 53, High: 2 ** 53 + 32 })],
  ])(
    'and answers with %s makes the call fail with %s, and leaves the device unharmed',
    async (_, code, answer) => {
      shop.answer = answer
      const { hilo } = shop.open()
      const error = await errorOf(hilo.nextId('orders'))
      expect(error.code).toBe(code)
      expect(error.message.length).toBeGreaterThan(40)
      shop.answer = undefined
      await hilo.close()
      expect(await shop.open().hilo.nextId('orders')).toBe('orders/1-A')
    },
  )

  test('and names a pause tells the caller how long it is', async () => {
    shop.answer = () => refusal(503, { 'Retry-After': '7' })
    const error = await errorOf(shop.open().hilo.nextId('orders'))
    expect(error).toMatchObject({ code: 'exhausted', retryAfter: 7_000 })
  })

  test('and grants what this device holds already is not believed', async () => {
    const { hilo } = shop.open()
    const ids = await hilo.nextIds('orders', 16)
    shop.answer = () => granted({ Low: 17, High: 48 })
    ids.push(...(await drain(hilo)))
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('an answer 200 that is none of a HiLo server', () => {
  const signIn = () => new Response('<!doctype html><title>Sign in</title>', { status: 200 })

  test('does not end `ready`, and the claim it hid is sent again as it was', async () => {
    shop.answer = signIn
    const { hilo } = shop.open({ collections: { orders: {} } })
    const ready = hilo.ready.then(() => 'ready')
    await eventually(() => expect(hilo.status('orders').lastError?.code).toBe('no-hilo-server'))
    expect(hilo.status().online).toBe(false)
    const [first] = shop.requests
    shop.answer = undefined
    hilo.goOnline()
    expect(await ready).toBe('ready')
    const claims = shop.requests.filter(({ action }) => action === 'next')
    expect(claims[1]!.query).toEqual(first!.query)
    expect(await hilo.nextId('orders')).toBe('orders/1-A')
  })

  test('takes nothing back: release keeps the numbers', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 100)
    shop.answer = signIn
    expect((await errorOf(hilo.release())).code).toBe('no-hilo-server')
    shop.answer = undefined
    expect(await shop.max()).toBe(100)
    shop.isDown = true
    expect(await hilo.nextIds('orders', 100)).toHaveLength(100)
  })
})

describe('a claim that is too large for the server', () => {
  beforeEach(() => {
    shop.answer = (request) =>
      Number(new URL(request.url).searchParams.get('lastBatchSize')) > 10_000
        ? Response.json({ Type: TOO_MANY, Message: 'At most 10,000.' }, { status: 422 })
        : undefined
  })

  test('is made smaller: a large reserve is filled all the same', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 20_000)
    expect(hilo.status('orders')).toMatchObject({ reserve: 20_000, state: 'ready' })
    expect(hilo.status('orders').available).toBeGreaterThanOrEqual(20_000)
  })

  test('leaves nothing behind when all are refused: the next page claims anew', async () => {
    const granted = shop.answer
    shop.answer = () => Response.json({ Type: 'Error', Message: 'Not for you.' }, { status: 403 })
    const { hilo } = shop.open()
    expect((await errorOf(hilo.reserve('orders', 20_000))).code).toBe('server-refused')
    shop.answer = granted
    expect(hilo.status('orders').reserve).toBe(32)
    await hilo.close()
    const next = shop.open().hilo
    expect(await next.nextId('orders')).toBe('orders/1-A')
    expect(await shop.max()).toBeLessThan(200)
  })
})

test('release gives back what other collections hold that this page has not used', async () => {
  const first = shop.open()
  await first.hilo.nextId('orders')
  await first.hilo.nextIds('invoices', 3)
  await first.hilo.nextId('orders', { database: 'Other' })
  first.page.leave()
  const { hilo } = shop.open()
  await hilo.release()
  expect([await shop.max('orders'), await shop.max('invoices')]).toEqual([1, 3])
  expect(Object.keys(hilo.status().collections)).toEqual([])
  expect(await shop.open().hilo.nextId('orders', { database: 'Other' })).toBe('orders/2-A')
})

describe('a device with more than its reserve, offline while the browser says online', () => {
  async function withSurplus() {
    const { hilo } = shop.open()
    await hilo.reserve('orders', 1_000)
    await hilo.reserve('orders', 32)
    await quiet()
    await hilo.close()
    await quiet()
  }
  /** After its first id, the page has come to rest. */
  const availableIn = async (hilo: Hilo) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await hilo.nextId('orders')
    await quiet()
    await vi.advanceTimersByTimeAsync(2_000)
    vi.useRealTimers()
    await quiet()
    return hilo.status('orders').available
  }

  test('shows after a reload as many ids as before', async () => {
    await withSurplus()
    shop.isDown = true
    const { hilo, page } = shop.open()
    const before = await availableIn(hilo)
    expect(hilo.status().online).toBe(false)
    page.leave()
    await quiet()
    expect(await availableIn(shop.openIn(new FakePage()))).toBe(before - 1)
  })

  test('gives them back when it is left once the server has answered again', async () => {
    await withSurplus()
    shop.isDown = true
    const { hilo, page } = shop.open()
    await availableIn(hilo)
    shop.isDown = false
    page.enter()
    hilo.goOnline()
    await availableIn(hilo)
    expect(hilo.status().online).toBe(true)
    shop.requests.length = 0
    page.leave()
    await quiet()
    expect(shop.requests.map(({ action }) => action)).toContain('return')
  })
})
