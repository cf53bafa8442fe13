/** Pages of other sites, on plain http too, where browsers send no `Sec-Fetch-Site`. */
import { describe, expect, test } from 'vitest'
import { json, newHandler, testHere } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const DOCUMENT = '/databases/Shop/docs?id=Raven/Hilo/orders'
const EVIL = 'http://evil.lan'

describe('a page of another site on plain http', () => {
  test('cannot move a counter, write or delete a document, or use an identity', async () => {
    const { ask } = await newHandler()
    const headers = { Host: 'ids.lan:8080', Origin: EVIL }
    const commands = { Commands: [{ Type: 'DELETE', Id: 'Raven/Hilo/orders' }] }
    const requests: [path: string, init: RequestInit][] = [
      [`${NEXT}&lastMax=9000000`, {}],
      [DOCUMENT, json({ Max: 9_000_000 }, 'PUT')],
      [DOCUMENT, { method: 'DELETE' }],
      ['/databases/Shop/bulk_docs', json(commands)],
      ['/databases/Shop/identity/next?name=invoices', { method: 'POST' }],
      ['/databases/Shop/identity/seed?name=invoices&value=9000000', { method: 'POST' }],
    ]
    expect((await ask(NEXT)).body.Low).toBe(1)
    for (const [path, init] of requests)
      expect(
        await ask(path, { ...init, headers: { ...init.headers, ...headers } }),
        path,
      ).toMatchObject({ status: 403, body: { Message: expect.stringContaining(EVIL) } })
    expect((await ask(NEXT)).body.Low).toBe(33)
    const invoice = await ask('/databases/Shop/identity/next?name=invoices', { method: 'POST' })
    expect(invoice.body).toEqual({ NewIdentityValue: 1 })
  })

  test.each([
    ['ids.lan:8080', 'http://ids.lan:8080', 201],
    ['ids.lan', 'http://ids.lan', 201],
    ['IDS.lan:80', 'http://ids.lan', 201],
    ['ids.lan', 'https://ids.lan', 201],
    ['[::1]:8080', 'http://[::1]:8080', 201],
    ['10.0.0.7:8080', 'http://ids.lan:8080', 403],
    ['ids.lan:8080', 'http://ids.lan', 403],
    ['ids.lan', 'http://evil.ids.lan', 403],
    ['ids.lan', 'null', 403],
    ['ids.lan', 'ids.lan', 403],
    ['ids.lan', 'http://ids.lan.', 403],
    ['ids.lan', 'http://evil.lan@ids.lan', 403],
    ['ids.lan', 'http://ids.lan/evil', 403],
    ['ids.lan', 'http://ids.lan, http://evil.lan', 403],
  ])('of host %s asked from origin %s is answered %i', async (host, origin, status) => {
    const { ask } = await newHandler()
    expect((await ask(NEXT, { headers: { Host: host, Origin: origin } })).status).toBe(status)
  })

  // workerd drops a header without a value, and has no address for such a host.
  testHere.each([
    ['ids lan', 'http://ids.lan'],
    ['ids.lan', ''],
  ])('of host %s asked from origin %s is refused', async (host, origin) => {
    const { ask } = await newHandler()
    expect((await ask(NEXT, { headers: { Host: host, Origin: origin } })).status).toBe(403)
  })

  test.each(['', 'x', 'Cross-Site', 'cross-site', 'same-site', 'same-origin, cross-site'])(
    'gains nothing by Sec-Fetch-Site: %s',
    async (site) => {
      const { ask } = await newHandler()
      const headers = { Host: 'ids.lan', Origin: EVIL, 'Sec-Fetch-Site': site }
      expect((await ask(NEXT, { headers })).status).toBe(403)
    },
  )

  test('is served where its origin is listed, or is the public URL', async () => {
    const { ask } = await newHandler({
      cors: { origins: ['http://app.lan'] },
      publicUrl: 'https://ids.example.com',
    })
    for (const origin of ['http://app.lan', 'https://ids.example.com'])
      expect((await ask(NEXT, { headers: { Host: '10.0.0.7', Origin: origin } })).status).toBe(201)
  })
})

describe('a page of an app', () => {
  const APPS = ['capacitor://localhost', 'ionic://localhost', 'tauri://localhost', 'app://shop.x-1']

  test.each(APPS)('of %s is served where that is listed', async (origin) => {
    const { ask } = await newHandler({ cors: { origins: APPS } })
    const headers = { Host: 'ids.lan', Origin: origin, 'Sec-Fetch-Site': 'cross-site' }
    const answered = await ask(NEXT, { headers })
    expect(answered.status).toBe(201)
    expect(answered.headers.get('Access-Control-Allow-Origin')).toBe(origin)
    const preflight = { ...headers, 'Access-Control-Request-Method': 'POST' }
    expect(
      (await ask(NEXT, { method: 'OPTIONS', headers: preflight })).headers.get(
        'Access-Control-Allow-Origin',
      ),
    ).toBe(origin)
  })

  test.each(['capacitor://localhost', 'null', 'capacitor://LOCALHOST', 'app://shop.x-1/'])(
    'of %s is refused where another one is listed',
    async (origin) => {
      const { ask } = await newHandler({ cors: { origins: ['app://shop.x-1', 'ionic://x'] } })
      for (const headers of [{}, { 'Sec-Fetch-Site': 'cross-site' }])
        expect(
          (await ask(NEXT, { headers: { ...headers, Host: 'localhost', Origin: origin } })).status,
        ).toBe(403)
    },
  )

  testHere.each([
    'null',
    '*',
    'file://',
    'app://shop/',
    'App://shop',
    'app:shop',
    'app://a b',
    'app://u@h',
  ])('%s is no origin that can be listed', async (origin) => {
    await expect(newHandler({ cors: { origins: [origin] } })).rejects.toThrow(
      'cors.origins.0: an origin is scheme, host and port only',
    )
  })
})

describe('a body', () => {
  const id = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'
  const requests: [path: string, init: RequestInit][] = [
    ['/databases/Shop/hilo/next', json({ claim: id, collections: [{ tag: 'orders', count: 1 }] })],
    ['/databases/Shop/hilo/checkin', json({ id, grants: [] })],
    [DOCUMENT, json({ Max: 1 }, 'PUT')],
    [
      '/databases/Shop/bulk_docs',
      json({ Commands: [{ Type: 'DELETE', Id: 'Raven/Hilo/orders' }] }),
    ],
  ]

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'text/plain; x=application/json',
    'application/jsonp',
    undefined,
  ])('of type %s is refused, since a page of another site can send it', async (type) => {
    const { ask } = await newHandler()
    for (const [path, { method, body }] of requests) {
      const headers = new Headers(type === undefined ? {} : { 'Content-Type': type })
      // A blob without a type sends none.
      const init = { method: method!, headers, body: new Blob([String(body)]) }
      expect(await ask(path, init), path).toMatchObject({
        status: 400,
        body: { Message: expect.stringContaining("'Content-Type: application/json'") },
      })
    }
    expect((await ask(NEXT)).body.Low).toBe(1)
  })

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/json;charset=x'])(
    'of type %s is read',
    async (type) => {
      const { ask } = await newHandler()
      for (const [path, init] of requests) {
        const { status } = await ask(path, { ...init, headers: { 'Content-Type': type } })
        expect(status, path).toBeLessThan(300)
      }
    },
  )
})

describe('hosts', () => {
  test('that are not listed are refused, also when a name server points them here', async () => {
    const { ask } = await newHandler({ hosts: ['ids.lan', 'localhost:8080', '[::1]'] })
    const statusOf = async (host: string, origin = `http://${host}`) =>
      (await ask(NEXT, { headers: { Host: host, Origin: origin } })).status
    for (const host of ['ids.lan', 'IDS.LAN:8080', 'localhost:8080', '[::1]:8080'])
      expect(await statusOf(host), host).toBe(201)
    for (const host of ['evil.lan', 'localhost:8081', 'localhost', 'ids.lan.evil.lan'])
      expect(await statusOf(host), host).toBe(403)
    expect(await ask(NEXT, { headers: { Host: 'evil.lan' } })).toMatchObject({
      status: 403,
      body: { Message: expect.stringMatching(/'evil\.lan'.*hosts/) },
    })
  })

  test('do not matter for health, which load balancers ask by address', async () => {
    const { ask } = await newHandler({ hosts: ['ids.lan'] })
    expect((await ask('/healthz', { headers: { Host: '10.0.0.7' } })).status).toBe(200)
  })

  testHere.each(['https://ids.lan', 'ids.lan/', '*.lan', ''])(
    'cannot be called %j',
    async (host) => {
      await expect(newHandler({ hosts: [host] })).rejects.toThrow('hosts.0: a host is')
    },
  )
})
