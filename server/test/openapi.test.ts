/**
 * docs/openapi.json says what the server does: its routes, its parameters, and the shape of every
 * body that is sent to it and of every answer.
 */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Hono } from 'hono'
import { expect, test, vi } from 'vitest'
import { Parameters } from '../src/http/messages.js'
import { json, newHandler } from './handlers.js'

interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required: boolean }[]
  responses: Record<string, unknown>
}

const openapi = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
)
const operations = Object.entries<Record<string, Operation>>(openapi.paths).flatMap(
  ([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(openapi, 'openapi')

const pointer = (...keys: string[]) =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** What is wrong with the body of a request, undefined when it is as described. */
function wrongRequest(path: string, method: string, body: unknown): string | undefined {
  const media = ['requestBody', 'content', 'application/json', 'schema']
  const schema = pointer('paths', path, method.toLowerCase(), ...media)
  const validate = ajv.getSchema(`openapi#${schema}`)!
  return validate(body) ? undefined : ajv.errorsText(validate.errors)
}

/** What is wrong with an answer of this operation, undefined when it is as described. */
function complaints(
  path: string,
  method: string,
  status: number,
  body: unknown,
): string | undefined {
  const { responses } = openapi.paths[path][method.toLowerCase()]
  const described = responses[status] ? String(status) : `${String(status)[0]}XX`
  const response = responses[described]
  if (!response) return `${status} is not described`
  const schema = response.$ref
    ? '/components/responses/Refusal/content/application~1json/schema'
    : pointer(
        'paths',
        path,
        method.toLowerCase(),
        'responses',
        described,
        'content',
        'application/json',
        'schema',
      )
  if (!response.$ref && !response.content?.['application/json'])
    return body === undefined || response.content ? undefined : 'a body'
  const validate = ajv.getSchema(`openapi#${schema}`)!
  return validate(body) ? undefined : ajv.errorsText(validate.errors)
}

const CLAIM = 'b3b34e5e-6f0f-4a52-8c4c-1f4be7d0a001'
const STOLEN = { collection: 'receipts', series: 'A', by: 'anna', reason: 'the till was stolen' }
const shop = (path: string) => `/databases/Shop${path}`

/**
 * At least one of each operation, and of each status it describes. `TOKEN` stands for the token of
 * the first claim, `SERIES` for that of the first series.
 */
const REQUESTS: [operationId: string, status: number, path: string, init?: RequestInit][] = [
  ['claim', 201, shop(`/hilo/next?tag=orders&claim=${CLAIM}`)],
  ['claim', 200, shop(`/hilo/next?tag=orders&claim=${CLAIM}`)],
  ['claim', 500, shop('/hilo/next')],
  ['claim', 422, shop('/hilo/next?tag=orders&lastMax=9007199254740000')],
  [
    'claimMany',
    201,
    shop('/hilo/next'),
    json({
      claim: CLAIM.replace('1', '2'),
      collections: [
        { tag: 'a', count: 5 },
        { tag: 'b', count: 5, lastMax: 9e15 },
      ],
    }),
  ],
  [
    'claimMany',
    200,
    shop('/hilo/next'),
    json({
      claim: CLAIM.replace('1', '2'),
      device: 'Till 3',
      collections: [{ tag: 'a', count: 5 }],
    }),
  ],
  ['claimMany', 400, shop('/hilo/next'), json({})],
  ['giveBack', 204, shop('/hilo/return?tag=orders&end=32&last=20&token=TOKEN'), { method: 'PUT' }],
  ['giveBackWithToken', 204, shop('/hilo/return?tag=orders&end=20&last=19&token=TOKEN')],
  [
    'giveBackWithToken',
    204,
    shop('/hilo/return'),
    json({ tag: 'orders', end: 20, last: 18, token: 'TOKEN' }),
  ],
  [
    'giveBackWithToken',
    204,
    shop('/hilo/return'),
    json({ returns: [{ tag: 'orders', end: 18, last: 17, token: 'TOKEN' }] }),
  ],
  [
    'checkIn',
    200,
    shop('/hilo/checkin'),
    json({
      id: CLAIM,
      grants: [
        { token: 'TOKEN', next: 5 },
        { token: 'unheard-of', next: 1 },
      ],
    }),
  ],
  [
    'checkIn',
    200,
    shop('/hilo/checkin'),
    json({ id: CLAIM.replace('1', '3'), grants: [{ token: 'TOKEN', next: 5 }] }),
  ],
  ...[201, 200].map((status): [string, number, string, RequestInit] => [
    'claimMany',
    status,
    shop('/hilo/next'),
    json({
      claim: CLAIM.replace('1', '4'),
      collections: [
        {
          tag: 'orders',
          count: 32,
          lastMax: 32,
          grants: [{ token: 'TOKEN', next: 5 }],
        },
      ],
    }),
  ]),
  ['claimSeries', 201, shop('/hilo/series'), json({ claim: CLAIM, collection: 'receipts' })],
  ['claimSeries', 200, shop('/hilo/series'), json({ claim: CLAIM, collection: 'receipts' })],
  [
    'claimSeries',
    201,
    shop('/hilo/series'),
    json({
      claim: CLAIM.replace('1', '2'),
      collection: 'receipts',
      device: 'Till 3',
      ended: { series: 'A', token: 'SERIES', from: 1, to: 2 },
    }),
  ],
  [
    'claimSeries',
    201,
    shop('/hilo/series'),
    json({ claim: CLAIM.replace('1', '3'), collection: 'receipts', device: 'Till 3' }),
  ],
  ['claimSeries', 400, shop('/hilo/series'), json({})],
  ...[1, 2].map((n): [string, number, string, RequestInit] => [
    'checkInSeries',
    200,
    shop('/hilo/series/checkin'),
    json({ id: CLAIM.replace('1', String(n)), token: 'SERIES', last: 3 }),
  ]),
  [
    'checkInSeries',
    200,
    shop('/hilo/series/checkin'),
    json({ id: CLAIM, token: 'unheard-of', last: 3 }),
  ],
  [
    'claimSeries',
    409,
    shop('/hilo/series'),
    json({ claim: CLAIM.replace('1', '4'), collection: 'receipts', ledger: 'another' }),
  ],
  [
    'checkInSeries',
    409,
    shop('/hilo/series/checkin'),
    json({ id: CLAIM.replace('1', '8'), token: '', last: 0, ledger: 'another' }),
  ],
  [
    'checkInSeries',
    200,
    shop('/hilo/series/checkin'),
    json({
      id: CLAIM.replace('1', '7'),
      token: 'SERIES',
      last: 3,
      link: { at: 3, hash: 'ab' },
      heard: { last: 2, link: { at: 2, hash: 'cd' } },
      register: { at: 7, hash: 'ef' },
    }),
  ],
  ['listSeries', 200, shop('/hilo/series')],
  ['explainNumber', 200, shop('/hilo/explain?tag=orders&number=3')],
  ['explainNumber', 200, shop('/hilo/explain?tag=receipts&number=3&series=A&period=')],
  ['explainNumber', 400, shop('/hilo/explain?tag=orders&number=0')],
  ['handOverSeries', 409, shop('/hilo/series/hand-over'), json({ ...STOLEN, to: 'B', last: 1 })],
  [
    'handOverSeries',
    200,
    shop('/hilo/series/hand-over'),
    json({ ...STOLEN, to: 'B', last: 9, dryRun: true }),
  ],
  [
    'handOverSeries',
    409,
    shop('/hilo/series/hand-over'),
    json({ ...STOLEN, to: 'B', last: 9, period: '2027', newPeriod: true }),
  ],
  ['handOverSeries', 200, shop('/hilo/series/hand-over'), json({ ...STOLEN, to: 'B', last: 9 })],
  ['closeSeries', 200, shop('/hilo/series/close'), json(STOLEN)],
  ['closeSeries', 404, shop('/hilo/series/close'), json({ ...STOLEN, series: 'Z' })],
  ['nextIdentity', 200, shop('/identity/next?name=invoices'), { method: 'POST' }],
  ['seedIdentity', 200, shop('/identity/seed?name=invoices&value=100'), { method: 'POST' }],
  ['readDocuments', 200, shop('/docs?id=Raven/Hilo/orders')],
  ['readDocuments', 404, shop('/docs?id=Raven/Hilo/nothing')],
  ['writeDocument', 201, shop('/docs?id=Raven/Hilo/old'), json({ Max: 5 }, 'PUT')],
  [
    'writeDocument',
    409,
    shop('/docs?id=Raven/Hilo/old'),
    json({ Max: 6 }, 'PUT', { 'If-Match': '' }),
  ],
  [
    'writeDocument',
    412,
    shop('/docs?id=Raven/Hilo/old'),
    json({ Max: 6 }, 'PUT', { 'If-None-Match': '*' }),
  ],
  ['deleteDocument', 204, shop('/docs?id=Raven/Hilo/old'), { method: 'DELETE' }],
  [
    'writeDocuments',
    201,
    shop('/bulk_docs'),
    json({
      Commands: [
        { Type: 'PUT', Id: 'Raven/Hilo/old', Document: { Max: 7 } },
        { Type: 'DELETE', Id: 'Raven/Hilo/old' },
      ],
    }),
  ],
  ['topology', 200, '/topology?name=Shop'],
  ['about', 200, '/'],
  ['health', 200, '/healthz'],
  ['metrics', 200, '/metrics'],
]

test('every route of the server is described, and nothing else', async () => {
  const routes = new Set<string>()
  const mounted = vi.spyOn(Hono.prototype, 'route')
  await newHandler()
  for (const [path, app] of mounted.mock.calls) {
    for (const route of app.routes)
      routes.add(
        `${route.method} ${(path === '/' ? '' : path) + route.path}`.replace(
          ':database',
          '{database}',
        ),
      )
  }
  mounted.mockRestore()
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [...routes].sort(),
  )
})

test('every body has the described shape; every parameter that is read is there', async () => {
  const { ask, handler } = await newHandler()
  const asked = vi.spyOn(Parameters.prototype, 'all')
  const read = new Map<string, Set<string>>()
  let token = ''
  let series = ''
  for (const [id, status, path, init] of REQUESTS) {
    const { method, path: described } = operations.find(
      ({ operation }) => operation.operationId === id,
    )!
    asked.mockClear()
    const isText = id === 'metrics' || id === 'about'
    const sent: RequestInit = {
      method,
      ...init,
      ...(typeof init?.body === 'string' && {
        body: init.body.replace('TOKEN', token).replace('SERIES', series),
      }),
    }
    if (sent.body && status < 400)
      expect(
        wrongRequest(described, method, JSON.parse(String(sent.body))),
        `the body of ${id}`,
      ).toBeUndefined()
    const address = path.replace('TOKEN', token)
    const answer = isText
      ? await handler(new Request(`http://ids.test${address}`))
      : await ask(address, sent)
    expect(answer.status, `${id} ${path}`).toBe(status)
    if (!isText)
      expect(complaints(described, method, status, answer.body), `${id} ${status}`).toBeUndefined()
    read.set(id, new Set([...(read.get(id) ?? []), ...asked.mock.calls.map(([name]) => name)]))
    if (id === 'claimSeries' && status === 201 && series === '')
      series = (answer.body as unknown as { token: string }).token
    if (id === 'claim' && status === 201)
      token = (answer.body as unknown as { Token: string }).Token
  }
  asked.mockRestore()
  expect(new Set(REQUESTS.map(([id]) => id))).toEqual(
    new Set(operations.map(({ operation }) => operation.operationId)),
  )
  for (const { operation } of operations.filter(({ path }) =>
    /\/(hilo|identity|docs|topology)/.test(path),
  )) {
    const described = (operation.parameters ?? [])
      .filter((each) => each.in === 'query')
      .map(({ name }) => name)
    expect(described.sort(), operation.operationId).toEqual(
      [...read.get(operation.operationId)!].sort(),
    )
  }
})
