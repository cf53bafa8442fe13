/** Who may ask the server: tokens, the application’s own answer, other sites. */
import { beforeEach, describe, expect, test } from 'vitest'
import { type Ask, json, newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const RETURN = '/databases/Shop/hilo/return?tag=orders'
const CHECK_IN = '/databases/Shop/hilo/checkin'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

let ask: Ask
beforeEach(async () => {
  ask = (await newHandler()).ask
})

describe('who may ask', () => {
  const TOKENS = ['correct-horse-battery', 'staple-staple-staple']
  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

  test('with tokens: nobody without one of them', async () => {
    const { ask } = await newHandler({ tokens: TOKENS })
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

  test('tokens can change while the server runs', async () => {
    let tokens = [TOKENS[0]!]
    const { ask } = await newHandler({ tokens: () => tokens })
    expect((await ask(NEXT, bearer(TOKENS[0]!))).status).toBe(201)
    tokens = [TOKENS[1]!]
    expect((await ask(NEXT, bearer(TOKENS[0]!))).status).toBe(403)
    expect((await ask(NEXT, bearer(TOKENS[1]!))).status).toBe(201)
  })

  test('the application decides what is asked for', async () => {
    const asked: unknown[] = []
    const { ask } = await newHandler({
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
    expect((await ask(CHECK_IN, json({ id: ID, leases: [] }))).status).toBe(403)
    expect((await ask('/databases/Shop/docs?id=Raven/Hilo/orders')).status).toBe(403)
    expect(
      (await ask('/databases/Shop/docs?id=Raven/Hilo/orders', json({ Max: 1 }, 'PUT'))).status,
    ).toBe(403)
    expect(asked).toContainEqual({ database: 'Shop', tag: 'orders', count: 50 })
    expect((await ask(NEXT, { headers: anna })).body.Low).toBe(33)
  })

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
    const { ask } = await newHandler({ cors: { origins: ['https://app.test'] }, tokens: TOKENS })
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
