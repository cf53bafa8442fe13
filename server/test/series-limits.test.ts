/** What one token can do to the register of series, and what one request may read of it. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../src/core/wire.js'
import { createHiloHandler, type HandlerOptions, type ScopedToken } from '../src/index.js'
import { type Ask, json, newHandler, testHere } from './handlers.js'

const SERIES = '/databases/Shop/hilo/series'
const CHECK_IN = `${SERIES}/checkin`
const EXPLAIN = '/databases/Shop/hilo/explain?tag=receipts&number=1'
const TILL = 'the-token-of-one-till'
const OTHER = 'the-token-of-another-till'
const PERSON = 'the-token-of-a-person'

const tokens: ScopedToken[] = [
  { token: TILL, actions: ['series'] },
  { token: OTHER, actions: ['series'] },
  { token: PERSON, actions: ['series-list', 'series-close', 'explain', 'series'], devices: 1_000 },
]
const options = (limits: HandlerOptions['limits'] = {}): Omit<HandlerOptions, 'ledger'> => ({
  open: false,
  databases: ['Shop'],
  tokens,
  limits: { seriesPerToken: 3, ...limits },
})

const as = (token: string) => ({ Authorization: `Bearer ${token}` })
const begin = (ask: Ask, token: string, change: object = {}) =>
  ask(SERIES, json({ claim: randomUUID(), collection: 'receipts', ...change }, 'POST', as(token)))
const statuses = async (answers: ReturnType<Ask>[]) =>
  (await Promise.all(answers)).map(({ status }) => status).sort()
const list = async (ask: Ask, query = '') =>
  (await ask(SERIES + query, { headers: as(PERSON) })).body
const close = (ask: Ask, series: string) =>
  ask(
    `${SERIES}/close`,
    json({ collection: 'receipts', series, by: 'anna', reason: 'lost' }, 'POST', as(PERSON)),
  )

describe('the series of a token', () => {
  test('are few, also when it asks for many at once; other tokens have their own', async () => {
    const { ask } = await newHandler(options())
    const names = Array.from({ length: 10 }, (_, i) => ({ series: `T${i}` }))
    const asked = names.map((name, i) =>
      begin(ask, TILL, { ...name, collection: i % 2 ? 'receipts' : 'bills' }),
    )
    expect(await statuses(asked)).toEqual([201, 201, 201, ...Array(7).fill(422)])
    expect(await begin(ask, TILL)).toMatchObject({
      status: 422,
      body: { Message: expect.stringContaining('limits.seriesPerToken') },
    })
    expect(await begin(ask, OTHER)).toMatchObject({ status: 201 })
    expect((await list(ask)).series).toHaveLength(4)
  })

  test('may be more for each device that uses it', async () => {
    const { ask } = await newHandler({
      ...options(),
      tokens: [{ token: TILL, actions: ['series'], devices: 2 }],
    })
    expect(await statuses(Array.from({ length: 7 }, () => begin(ask, TILL)))).toEqual([
      ...Array(6).fill(201),
      422,
    ])
  })

  test('are given again to a repeated claim, and more when a person closes one', async () => {
    const { ask } = await newHandler(options())
    const claim = randomUUID()
    expect(await begin(ask, TILL, { claim })).toMatchObject({ status: 201, body: { series: 'A' } })
    await begin(ask, TILL)
    await begin(ask, TILL)
    expect(await begin(ask, TILL, { claim })).toMatchObject({ status: 200, body: { series: 'A' } })
    expect((await begin(ask, TILL)).status).toBe(422)
    expect((await close(ask, 'B')).status).toBe(200)
    expect((await begin(ask, TILL)).body.series).toBe('D')
    expect((await begin(ask, TILL)).status).toBe(422)
  })

  testHere('are counted in the ledger: a server that starts knows them', async () => {
    const { ask, ledger } = await newHandler(options())
    for (let i = 0; i < 3; i++) await begin(ask, TILL)
    const log = { info: () => {}, error: () => {} }
    const handler = createHiloHandler({ ...options(), ledger, log })
    const { body, ...init } = json(
      { claim: randomUUID(), collection: 'receipts' },
      'POST',
      as(TILL),
    )
    const again = await handler(new Request(`http://ids.test${SERIES}`, { ...init, body: body! }))
    expect(again.status).toBe(422)
  })
})

test('who asks for a name that is taken hears that it is, and nothing of who has it', async () => {
  const { ask } = await newHandler(options())
  const { body } = await begin(ask, OTHER, { series: 'T7', device: 'Till 7' })
  await ask(CHECK_IN, json({ id: randomUUID(), token: body.token, last: 8_641 }, 'POST', as(OTHER)))
  const refused = await begin(ask, TILL, { series: 'T7' })
  expect(refused).toMatchObject({
    status: 422,
    body: { Message: expect.stringContaining('offline-hilo-server series') },
  })
  expect(JSON.stringify(refused.body)).not.toMatch(/Till 7|8641|8,641|202\d-/)
})

describe('a list of series', () => {
  test('comes in pages, each series once, and tells where the next one begins', async () => {
    const { ask } = await newHandler(options())
    for (const collection of ['receipts', 'bills', 'Ähren|1', 'receipts', 'receipts'])
      await begin(ask, PERSON, { collection })
    const seen: string[] = []
    let after: string | undefined
    for (let pages = 0; pages === 0 || after !== undefined; pages++) {
      expect(pages).toBeLessThan(4)
      const query = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
      const { series, next } = await list(ask, `?limit=2${query}`)
      expect(series.length).toBeLessThanOrEqual(2)
      seen.push(
        ...series.map((each: { collection: string; series: string }) =>
          [each.collection, each.series].join(' '),
        ),
      )
      after = next
    }
    const whole = await list(ask)
    expect(whole).not.toHaveProperty('next')
    expect(seen).toEqual(
      whole.series.map((each: { collection: string; series: string }) =>
        [each.collection, each.series].join(' '),
      ),
    )
    expect(seen).toHaveLength(5)
  })

  test.each(['?limit=0', '?limit=101', '?limit=x', '?after=x', '?after=1.'])(
    'with %s is refused',
    async (query) => {
      const { ask } = await newHandler(options())
      expect((await ask(SERIES + query, { headers: as(PERSON) })).status).toBeOneOf([400, 500])
    },
  )

  test('and one number explained are small, whatever tills have told', {
    timeout: 60_000,
  }, async () => {
    const { ask } = await newHandler(
      options({ seriesPerToken: 100, rowsPerHour: 1_000_000, requestsPerHour: 100_000 }),
    )
    const many = 24
    for (let i = 0; i < many; i++) {
      let token = (await begin(ask, TILL)).body.token
      for (let told = 0; told < 10; told++) {
        const periods = Array.from({ length: LIMITS.periods }, (_, at) => ({
          period: `${told * LIMITS.periods + at}`.padStart(LIMITS.periodBytes, '2'),
          first: 1,
          last: 9,
        }))
        const asked = { id: randomUUID(), token, last: told + 1, periods }
        token = (await ask(CHECK_IN, json(asked, 'POST', as(TILL)))).body.token
      }
    }
    const found: string[] = []
    const sizes: number[] = []
    for (let after = ''; ; ) {
      const { body } = await ask(SERIES + after, { headers: as(PERSON) })
      sizes.push(JSON.stringify(body).length)
      found.push(...body.series.map(({ series }: { series: string }) => series))
      if (body.next === undefined) break
      after = `?after=${encodeURIComponent(body.next)}`
    }
    expect(new Set(found).size).toBe(many)
    expect(found).toHaveLength(many)
    expect(Math.max(...sizes)).toBeLessThan(3_000_000)
    const { body } = await ask(EXPLAIN, { headers: as(PERSON) })
    expect(JSON.stringify(body).length).toBeLessThan(6_000_000)
    expect(body.more).toBe(true)
    expect(body.text).toContain('--series')
    const one = (await ask(`${EXPLAIN}&series=X`, { headers: as(PERSON) })).body
    expect(one.series).toMatchObject([{ series: 'X' }])
    expect(one).not.toHaveProperty('more')
  })
})
