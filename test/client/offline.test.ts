/**
 * Without the network, or with a server that refuses: ids go on while there are some, then callers
 * are told why not.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import { HiloError } from '../../src/core/errors.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { eventually } from '../support/eventually.js'
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

describe('a device that never got an id from this address', () => {
  test('says so, and what to check, while nothing of a HiLo server answers', async () => {
    shop.isDown = true
    const { hilo } = shop.open()
    const heard: string[] = []
    hilo.addEventListener('exhausted', ({ detail }) => heard.push(detail.error.code))
    const calls = [hilo.nextId('orders'), hilo.reserve('orders', 50)]
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error.code).toBe('no-hilo-server')
      expect(error.message).toContain('This device never got an id from there. Check `url`, that')
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

  test('blames no server where the storage cannot say whether it ever answered', async () => {
    shop.isDown = true
    const failure = new HiloError('storage-failed', 'The disk is full.')
    vi.spyOn(IndexedDbStore.prototype, 'keys').mockRejectedValue(failure)
    const { hilo } = shop.open()
    expect((await errorOf(hilo.nextId('orders'))).code).toBe('exhausted')
  })
})

const granted = (range: { Low: number; High: number; Prefix?: string }) =>
  Response.json({ collections: [{ Prefix: 'orders/', LastSize: 32, ServerTag: 'A', ...range }] })

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
