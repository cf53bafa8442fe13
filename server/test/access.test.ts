/** Who may ask the server: tokens, the application’s own answer, other sites. */
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Action, HandlerOptions, Wanted } from '../src/index.js'
import { type Ask, isInWorkerd, json, newHandler, testHere } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const DOCUMENT = '/databases/Shop/docs?id=Raven/Hilo/orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

let ask: Ask
beforeEach(async () => {
  ask = (await newHandler()).ask
})

describe('who may ask', () => {
  const TOKENS = ['correct-horse-battery', 'staple-staple-staple']
  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

  test('with tokens: a request without one of them is refused', async () => {
    const { ask } = await newHandler({ tokens: TOKENS, databases: ['Shop'] })
    for (const init of [
      {},
      bearer('wrong'),
      bearer(`${TOKENS[0]}x`),
      bearer(''),
      { headers: { Authorization: TOKENS[0]! } },
    ])
      expect(await ask(NEXT, init)).toMatchObject({
        status: 403,
        body: { Type: expect.stringContaining('AuthorizationException') },
      })
    for (const token of TOKENS) expect((await ask(NEXT, bearer(token))).status).toBe(201)
    expect((await ask('/topology?name=Shop')).status).toBe(403)
  })

  testHere('a token may be listed as its hash, which itself lets nobody in', async () => {
    const hash = `sha256:${createHash('sha256').update(TOKENS[0]!).digest('hex')}`
    const { ask } = await newHandler({ tokens: [hash], databases: ['Shop'] })
    expect((await ask(NEXT, bearer(TOKENS[0]!))).status).toBe(201)
    expect((await ask(NEXT, bearer(hash))).status).toBe(403)
    for (const tokens of [[hash, TOKENS[0]!], ['sha256:0123456789abcdef']])
      await expect(newHandler({ tokens, databases: ['Shop'] })).rejects.toThrow(
        tokens.length === 2 ? 'the same token as entry 0' : '64 hexadecimal digits',
      )
  })

  testHere.each<[string, unknown]>([
    ['tokens().0: a token has at least 16 characters', ['guess']],
    ['tokens().0: a token is a text, or', [undefined]],
    [
      'tokens().0: Unrecognized key: "database". Did you mean databases',
      [{ token: TOKENS[0], database: [] }],
    ],
    ['tokens(): has to be a list', TOKENS[0]],
    ['tokens(): has to be a list', Promise.resolve(TOKENS)],
  ])('a function whose tokens cannot be used lets nobody in: %s', async (reason, returned) => {
    const error = vi.fn<(details: { err?: Error }, message: string) => void>()
    const log = { error, info() {} }
    const tokens = () => returned as string[]
    const { ask } = await newHandler({ tokens, databases: ['Shop'], log })
    for (const token of [TOKENS[0]!, 'guess'])
      expect((await ask(NEXT, bearer(token))).status).toBe(500)
    expect(error.mock.calls[0]![0].err!.message).toContain(reason)
  })

  testHere('tokens can change while the server runs', async () => {
    let tokens = [TOKENS[0]!]
    const { ask } = await newHandler({ tokens: () => tokens, databases: ['Shop'] })
    expect((await ask(NEXT, bearer(TOKENS[0]!))).status).toBe(201)
    tokens = [TOKENS[1]!]
    expect((await ask(NEXT, bearer(TOKENS[0]!))).status).toBe(403)
    expect((await ask(NEXT, bearer(TOKENS[1]!))).status).toBe(201)
  })

  testHere('the application decides what is asked for', async () => {
    const asked: unknown[] = []
    const { ask } = await newHandler({
      databases: ['Shop'],
      authorize: (request, wanted) => {
        asked.push(wanted)
        return request.headers.get('X-User') === 'anna' && wanted.tag !== 'secret'
      },
    })
    const anna = { 'X-User': 'anna' }
    expect((await ask(NEXT)).status).toBe(403)
    expect((await ask(NEXT, { headers: anna })).status).toBe(201)
    expect((await ask('/databases/Shop/hilo/next?tag=secret', { headers: anna })).status).toBe(403)
    const claim = json({
      claim: ID,
      collections: [
        { tag: 'orders', count: 50 },
        { tag: 'secret', count: 1 },
      ],
    })
    expect(
      (await ask('/databases/Shop/hilo/next', { ...claim, headers: { ...claim.headers, ...anna } }))
        .status,
    ).toBe(403)
    expect((await ask(`${RETURN}&end=32&last=1`, { method: 'PUT' })).status).toBe(403)
    expect((await ask(CHECK_IN, json({ id: ID, grants: [] }))).status).toBe(403)
    expect((await ask('/databases/Shop/docs?id=Raven/Hilo/orders')).status).toBe(403)
    expect(
      (await ask('/databases/Shop/docs?id=Raven/Hilo/orders', json({ Max: 1 }, 'PUT'))).status,
    ).toBe(403)
    expect(asked).toContainEqual({
      action: 'claim',
      database: 'Shop',
      tag: 'orders',
      count: 50,
    })
    expect((await ask(NEXT, { headers: anna })).body.Low).toBe(33)
  })

  test('a give-back with an authorization that is no header is refused', async () => {
    const { ask } = await newHandler({ databases: ['Shop'], tokens: TOKENS })
    for (const authorization of ['Bearer тайна', 'Bearer a\r\nHost: b', 'Bearer \0']) {
      const body = JSON.stringify({ tag: 'orders', end: 32, last: 1, token: 't', authorization })
      expect(await ask('/databases/Shop/hilo/return', { method: 'POST', body })).toMatchObject({
        status: 403,
        body: { Message: expect.stringContaining('Authorization: Bearer') },
      })
    }
  })

  testHere('a token for a database that is not listed is a mistake', async () => {
    const token = { token: TOKENS[0]!, databases: ['Shop', 'Shpo'] }
    await expect(newHandler({ databases: ['shop'], tokens: [token] })).rejects.toThrow(
      "tokens.0.databases.1: is 'Shpo', which is not among databases",
    )
    await newHandler({ databases: 'any', tokens: [token] })
  })

  testHere('a database that is listed in two ways is a mistake: it is one', async () => {
    await expect(newHandler({ databases: ['Shop', 'Depot', 'sHOP'] })).rejects.toThrow(
      "databases.2: is 'sHOP', which is listed already: case makes no difference",
    )
  })

  /** A request of each action, and the tag that `authorize` hears of. */
  const ACTIONS: [action: Action, path: string, init?: RequestInit, tag?: string][] = [
    ['claim', NEXT, {}, 'orders'],
    ['give-back', `${RETURN}&end=32&last=1`, { method: 'PUT' }, 'orders'],
    ['check-in', CHECK_IN, json({ id: ID, grants: [] })],
    ['identity', '/databases/Shop/identity/next?name=bills', { method: 'POST' }, 'bills|'],
    ['series', '/databases/Shop/hilo/series', json({ claim: ID, collection: 'bills' }), 'bills'],
    ['series', '/databases/Shop/hilo/series/checkin', json({ id: ID, token: 'none', last: 1 })],
    ['series-list', '/databases/Shop/hilo/series'],
    [
      'series-close',
      '/databases/Shop/hilo/series/close',
      json({ collection: 'bills', series: 'A', by: 'anna', reason: 'stolen' }),
      'bills',
    ],
    [
      'series-hand-over',
      '/databases/Shop/hilo/series/hand-over',
      json({ collection: 'bills', series: 'A', to: 'B', last: 9, by: 'anna', reason: 'stolen' }),
      'bills',
    ],
    ['explain', '/databases/Shop/hilo/explain?tag=orders&number=3', {}, 'orders'],
    ['seed', '/databases/Shop/identity/seed?name=bills&value=9', { method: 'POST' }, 'bills|'],
    ['document-read', DOCUMENT, {}, 'orders'],
    ['document-read', '/databases/Shop/docs?id=Raven/ServerPrefixForHilo'],
    ['document-write', DOCUMENT, json({ Max: 1 }, 'PUT'), 'orders'],
    ['document-write', DOCUMENT, { method: 'DELETE' }, 'orders'],
    ['document-write', '/databases/Shop/bulk_docs', json({ Commands: [] })],
    [
      'document-write',
      '/databases/Shop/bulk_docs',
      json({ Commands: [{ Type: 'DELETE', Id: 'Raven/Hilo/orders' }] }),
      'orders',
    ],
    ['status', '/metrics'],
  ]

  describe('who may not ask is told no mistake of the request, nor which databases exist', () => {
    const DATABASES = ['Shop', 'Depot']
    /** None can be read. `Shpo` is not there. A Worker has no metrics. */
    const MISTAKEN = ACTIONS.filter(([action]) => !isInWorkerd || action !== 'status').flatMap(
      ([action, path, init]) =>
        [...DATABASES, 'Shpo'].map((database) => {
          const [bare] = path.replace('/Shop/', `/${database}/`).split('?') as [string]
          const body = init?.body === undefined ? {} : { body: '{"claim": ' }
          return { action, database, path: `${bare}?limit=x`, init: { ...init, ...body } }
        }),
    )
    const body = '{"authorization": "Bearer guessed"}'
    MISTAKEN.push({
      action: 'give-back',
      database: 'Shop',
      path: '/databases/Shop/hilo/return',
      init: { method: 'POST', body },
    })

    async function expectRefused(
      options: Omit<HandlerOptions, 'ledger'>,
      requests: typeof MISTAKEN,
      sent?: string,
    ) {
      const { ask } = await newHandler({ databases: DATABASES, ...options })
      for (const { path, init } of requests) {
        const headers = { ...init.headers, ...(sent && bearer(sent).headers) }
        const { status, body } = await ask(path, { ...init, headers })
        expect({ path, status, said: body.Message }).toEqual({
          path,
          status: 403,
          said: expect.stringContaining('Forbidden'),
        })
      }
    }

    test('without a token', () => expectRefused({ tokens: TOKENS }, MISTAKEN))

    test('with a token of another database', () =>
      expectRefused(
        { tokens: [{ token: TOKENS[0]!, databases: ['Depot'] }] },
        MISTAKEN.filter(({ database }) => database !== 'Depot'),
        TOKENS[0],
      ))

    test('with a token for other actions', async () => {
      const other = { token: TOKENS[0]!, actions: ['status' as const] }
      const isOther = ({ action }: { action: Action }) => action !== 'status'
      await expectRefused({ tokens: [other] }, MISTAKEN.filter(isOther), TOKENS[0])
    })

    testHere('where the application says no', () =>
      expectRefused({ authorize: () => false }, MISTAKEN),
    )
  })

  testHere('who may ask is told the mistake, and the application is asked once', async () => {
    const authorize = vi.fn(() => true)
    const { ask } = await newHandler({ databases: ['Shop'], authorize })
    const put = json({ Max: -1 }, 'PUT')
    expect((await ask(DOCUMENT, put)).status).toBe(400)
    expect((await ask(DOCUMENT.replace('Shop', 'Shpo'))).status).toBe(500)
    expect(authorize).toHaveBeenCalledTimes(2)
    authorize.mockReturnValue(false)
    expect((await ask(DOCUMENT)).status).toBe(403)
    expect(authorize).toHaveBeenCalledTimes(3)
  })

  /** The actions of which every request gets through. */
  async function allowedBy(options: Omit<HandlerOptions, 'ledger'>, headers = {}) {
    const { handler } = await newHandler({ databases: ['Shop'], serverPrefix: 'S/', ...options })
    const refused = new Set<Action>()
    for (const [action, path, init] of ACTIONS) {
      const request = new Request(`http://ids.test${path}`, {
        ...init,
        headers: { ...init?.headers, ...headers },
      })
      if ((await handler(request)).status === 403) refused.add(action)
    }
    return [...new Set(ACTIONS.map(([action]) => action))].filter((each) => !refused.has(each))
  }

  const EVERYDAY = ['claim', 'give-back', 'check-in', 'identity', 'series']
  const DOCUMENTS = ['document-read', 'document-write']
  const SERIES = ['series-list', 'series-close', 'series-hand-over']
  const BY_NAME = [...SERIES, 'explain', 'seed', ...DOCUMENTS, 'status']

  testHere('a token may do all but what moves a counter to any number or shows it', async () => {
    const headers = bearer(TOKENS[0]!).headers
    expect(await allowedBy({ tokens: TOKENS }, headers)).toEqual(EVERYDAY)
    expect(await allowedBy({})).toHaveLength(EVERYDAY.length + BY_NAME.length)
  })

  testHere('a token may do the actions that are named with it, and nothing else', async () => {
    const { headers } = bearer(TOKENS[0]!)
    for (const actions of [['claim', 'give-back'], BY_NAME, ['status']] as Action[][])
      expect(await allowedBy({ tokens: [{ token: TOKENS[0]!, actions }] }, headers)).toEqual(
        actions,
      )
  })

  testHere(
    'a token of some databases is refused in others, and for the metrics of all',
    async () => {
      const { ask } = await newHandler({
        databases: ['Shop', 'Store'],
        tokens: [{ token: TOKENS[0]!, databases: ['shop'] }, TOKENS[1]!],
      })
      const paths = ['/databases/Store/hilo/next?tag=orders', '/topology?name=Store', '/metrics']
      for (const path of paths) {
        const { status, body } = await ask(path, bearer(TOKENS[0]!))
        expect([status, body.Message]).toEqual([
          403,
          expect.stringContaining('this token is not for'),
        ])
      }
      for (const path of paths.slice(0, 2))
        expect((await ask(path, bearer(TOKENS[1]!))).status, path).toBeLessThan(300)
      for (const path of [NEXT, '/topology?name=Shop'])
        expect((await ask(path, bearer(TOKENS[0]!))).status, path).toBeLessThan(300)
    },
  )

  testHere('the application is told the action, and its answer allows or refuses any', async () => {
    const asked: Wanted[] = []
    const all = await allowedBy({ authorize: (_, wanted) => asked.push(wanted) > 0 })
    expect(all).toEqual([...new Set(ACTIONS.map(([action]) => action))])
    expect(asked).toEqual(
      ACTIONS.map(([action, , , tag]) => ({
        action,
        database: action === 'status' ? undefined : 'Shop',
        tag,
        count: action === 'claim' ? 32 : action === 'identity' ? 1 : 0,
      })),
    )
    const mayClaim = { authorize: (_: Request, { action }: Wanted) => action === 'claim' }
    expect(await allowedBy(mayClaim)).toEqual(['claim'])
    const { headers } = bearer(TOKENS[0]!)
    expect(await allowedBy({ tokens: TOKENS, ...mayClaim }, headers)).toEqual(['claim'])
    const allowsAll = { tokens: TOKENS, authorize: () => true }
    expect(await allowedBy(allowsAll, headers)).toHaveLength(EVERYDAY.length + BY_NAME.length)
    const scoped = { tokens: [{ token: TOKENS[0]!, actions: ['seed' as const] }] }
    expect(await allowedBy({ ...scoped, authorize: () => true }, headers)).toEqual(['seed'])
  })

  testHere('a give-back needs the right to claim, though it shows its grant token', async () => {
    const authorize = vi.fn((_: Request, { action }: Wanted) => action === 'claim')
    const { ask } = await newHandler({ databases: ['Shop'], tokens: TOKENS, authorize })
    const claim = async (id: string) => {
      const body = { claim: id, collections: [{ tag: 'orders', count: 32 }] }
      const { headers } = json(body, 'POST', bearer(TOKENS[0]!).headers)
      const answer = await ask('/databases/Shop/hilo/next', { ...json(body), headers })
      return answer.body.collections[0]
    }
    const { Token: token } = await claim(ID)
    const giveBack = (change: object = {}, init: RequestInit = {}) =>
      ask('/databases/Shop/hilo/return', {
        method: 'POST',
        body: JSON.stringify({ tag: 'orders', end: 32, last: 10, token, ...change }),
        ...init,
      })
    expect((await giveBack()).status).toBe(403)
    expect((await giveBack({ authorization: 'Bearer guessed' })).status).toBe(403)
    expect((await claim(ID.replace('6', '7'))).Low).toBe(33)
    const authorization = `Bearer ${TOKENS[1]}`
    const inHeader = { headers: { Authorization: 'Bearer guessed' } }
    expect((await giveBack({ authorization }, inHeader)).status).toBe(403)
    expect((await giveBack({ authorization, token: 'guessed' })).status).toBe(204)
    expect((await giveBack({ authorization })).status).toBe(204)
    const [request, wanted] = authorize.mock.lastCall!
    expect(request.headers.get('Authorization')).toBe(authorization)
    expect(wanted).toEqual({ action: 'claim', database: 'Shop', tag: 'orders', count: 0 })
    expect((await claim(ID.replace('6', '8'))).Low).toBe(11)
    const { Token: other } = await claim(ID.replace('6', '9'))
    authorize.mockImplementation((_, { tag }) => tag === 'orders')
    const returns = ['orders', 'secret'].map((tag) => ({ tag, end: 96, last: 64, token: other }))
    const several = () =>
      ask('/databases/Shop/hilo/return', json({ returns }, 'POST', bearer(TOKENS[1]!).headers))
    expect((await several()).status).toBe(403)
    returns.pop()
    expect((await several()).status).toBe(204)
    const inText = { method: 'POST', body: JSON.stringify({ returns }) }
    expect((await ask('/databases/Shop/hilo/return', inText)).status).toBe(403)
    inText.body = JSON.stringify({ returns, authorization })
    expect((await ask('/databases/Shop/hilo/return', inText)).status).toBe(204)
    expect((await ask(`${RETURN}&end=64&last=40`, { method: 'POST' })).status).toBe(403)
    expect((await ask(`${RETURN}&end=64&last=40`, { method: 'PUT' })).status).toBe(403)
  })

  testHere('a claim that is repeated under another token is answered with no grant', async () => {
    const { ask, ledger } = await newHandler({ databases: ['Shop'], tokens: TOKENS })
    const body = { claim: ID, collections: [{ tag: 'orders', count: 32 }] }
    const claim = (token: string, path: string, change: object) =>
      ask(path, json({ ...body, ...change }, 'POST', bearer(token).headers))
    const [till, other] = TOKENS as [string, string]
    for (const [path, change] of [
      ['/databases/Shop/hilo/next', {}],
      ['/databases/Shop/hilo/series', { collection: 'receipts' }],
    ] as const) {
      const first = await claim(till, path, change)
      expect(first.status).toBe(201)
      const foreign = await claim(other, path, change)
      expect(foreign).toMatchObject({ status: 410 })
      expect(JSON.stringify(foreign.body)).not.toMatch(/"Token"|"token"|"Low"/)
      expect(await claim(till, path, change)).toMatchObject({ status: 200, body: first.body })
    }
    expect(await ledger.status()).toMatchObject([{ collection: 'orders', outstanding: 32 }, {}])
  })

  testHere.each([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['throws an answer', () => Promise.reject(new Response(null, { status: 302 }))],
    ['says something that is not true', () => Promise.resolve('yes' as unknown as boolean)],
  ])('where the application %s, nothing is granted', async (_, authorize) => {
    const log = { info() {}, error() {} }
    const { ask, ledger } = await newHandler({ authorize, databases: 'any', log })
    expect((await ask('/databases/Shop/hilo/next?tag=orders')).status).toBeGreaterThanOrEqual(403)
    expect(await ledger.status()).toEqual([])
  })

  testHere(
    'with tokens or an answer of the application the databases have to be listed',
    async () => {
      for (const options of [{ tokens: TOKENS }, { authorize: () => true }])
        await expect(newHandler(options)).rejects.toThrow(
          'databases: is missing: with tokens or authorize, list the databases that exist, ' +
            'as in ["Shop"]',
        )
      const { ask } = await newHandler({ authorize: () => true, databases: 'any' })
      expect((await ask(NEXT)).status).toBe(201)
      expect((await (await newHandler()).ask(NEXT)).status).toBe(201)
    },
  )

  test('no other site by default', async () => {
    const preflight = await ask(NEXT, {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.test', 'Access-Control-Request-Method': 'PUT' },
    })
    expect(preflight.headers.get('Access-Control-Allow-Origin')).toBeNull()
    for (const site of ['cross-site', 'same-site']) {
      const headers = { Origin: 'https://app.test', 'Sec-Fetch-Site': site }
      expect(await ask(NEXT, { headers })).toMatchObject({
        status: 403,
        body: { Message: expect.stringContaining('cors.origins') },
      })
      expect((await ask(NEXT, { headers: { 'Sec-Fetch-Site': site } })).status).toBe(403)
    }
    expect(
      (
        await ask(NEXT, {
          headers: { Origin: 'https://proxy.test', 'Sec-Fetch-Site': 'same-origin' },
        })
      ).body.Low,
    ).toBe(1)
  })

  test('a listed site, its preflights included, even where tokens are asked for', async () => {
    const { ask } = await newHandler({
      cors: { origins: ['https://app.test'] },
      databases: ['Shop'],
      tokens: TOKENS,
    })
    for (const method of ['GET', 'PUT', 'POST']) {
      const { status, headers } = await ask(NEXT, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.test',
          'Access-Control-Request-Method': method,
          'Access-Control-Request-Headers': 'authorization,content-type,if-match,if-none-match',
        },
      })
      expect(status).toBe(204)
      expect(headers.get('Access-Control-Allow-Origin')).toBe('https://app.test')
      expect(headers.get('Access-Control-Allow-Methods')).toContain(method)
      expect(headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toBe(
        'content-type,authorization,if-match,if-none-match',
      )
    }
    const headers = {
      Origin: 'https://app.test',
      'Sec-Fetch-Site': 'cross-site',
      Authorization: `Bearer ${TOKENS[0]}`,
    }
    const answer = await ask(NEXT, { headers })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('https://app.test')
    const refusal = await ask(NEXT, { headers: { ...headers, Authorization: 'Bearer x' } })
    expect([refusal.status, refusal.headers.get('Access-Control-Allow-Origin')]).toEqual([
      403,
      'https://app.test',
    ])
    expect(
      (await ask(NEXT, { headers: { ...headers, Origin: 'https://app.test.evil' } })).status,
    ).toBe(403)
  })
})
