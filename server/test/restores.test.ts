/** What clients and operators see of a database that was restored from a backup. */
import { randomUUID } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openLedger } from '../src/index.js'
import { grantTokens, newGrantId } from '../src/ledger/grant-token.js'
import type { Ledger, Series } from '../src/ledger/ledger.js'
import { backUp } from '../src/sqlite/backup.js'
import { newFolder, runIn, secretIn } from './folders.js'
import { json, newHandler } from './handlers.js'

const HILO = '/databases/Shop/hilo'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'
const idOf = (n: number) => ID.replace('6', String(n))

async function newServer() {
  const dataDir = newFolder()
  const log = { info: vi.fn(), error: vi.fn() }
  const server = await newHandler({ log }, { dataDir })
  const lost = grantTokens([secretIn(dataDir)]).write({
    database: 'shop',
    collection: 'orders',
    id: newGrantId(),
    tokenVersion: 0,
    serial: 7,
    high: 224,
  })
  const metrics = async () =>
    (await (await server.handler(new Request('http://ids.test/metrics'))).text()).split('\n')
  return { ...server, dataDir, log, lost, metrics }
}

test('from the first proof on: 503 for now, not ready, a metric, one log line', async () => {
  const { ask, ledger, log, lost, metrics } = await newServer()
  await ask(`${HILO}/next?tag=orders`)
  expect((await ask('/healthz')).status).toBe(200)
  expect(await metrics()).toContain('hilo_databases_restored 0')
  const grants = [{ token: lost, next: 1 }]
  expect(await ask(`${HILO}/checkin`, json({ id: ID, grants }))).toMatchObject({
    status: 200,
    body: { grants: [{ superseded: true }] },
  })
  const collections = ['orders', 'lines'].map((tag) => ({ tag, count: 32 }))
  for (const [path, init] of [
    [`${HILO}/next?tag=orders`],
    [`${HILO}/next?tag=orders&claim=${idOf(1)}`],
    [`${HILO}/next`, json({ claim: idOf(2), collections })],
    ['/databases/Shop/identity/next?name=invoices|', { method: 'POST' }],
    ['/databases/Shop/identity/seed?name=invoices|&value=7', { method: 'POST' }],
    ['/databases/Shop/docs?id=Raven/Hilo/orders', json({ Max: 100 }, 'PUT')],
    ['/databases/Shop/docs?id=Raven/Hilo/orders', { method: 'DELETE' }],
    ['/healthz?database=*'],
    ['/healthz?database=SHOP'],
  ] as [string, RequestInit?][]) {
    const { status, headers, body } = await ask(path, init)
    expect([path, status, headers.get('Retry-After')]).toEqual([path, 503, '30'])
    expect(body).toMatchObject({
      Type: 'System.TimeoutException',
      Message: expect.stringMatching(/'shop' grants nothing: .* raise-floor/i),
    })
  }
  for (const path of ['/healthz', '/healthz?database=Store'])
    expect(await ask(path)).toMatchObject({
      status: 200,
      body: { status: 'ok', stopped: ['shop'] },
    })
  expect((await ask('/databases/Store/hilo/next?tag=orders')).status).toBe(201)
  expect((await ask('/databases/Shop/docs?id=Raven/Hilo/orders')).status).toBe(200)
  expect(await metrics()).toContain('hilo_databases_restored 1')
  expect(await metrics()).toContain('hilo_refusal_reasons_total{reason="restored"} 9')
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { database: 'shop' },
    expect.stringContaining('RESTORED FROM A BACKUP'),
  )
  await ledger.raiseFloors({ database: 'Shop', by: 1_000 })
  expect((await ask('/healthz?database=Shop')).status).toBe(200)
  expect((await ask(`${HILO}/next?tag=orders`)).body).toMatchObject({ Low: 1_033 })
})

test('/healthz of a stopped database that was dropped is 503, and that of all is 200', async () => {
  const { ask, ledger, lost } = await newServer()
  await ask(`${HILO}/checkin`, json({ id: ID, grants: [{ token: lost, next: 1 }] }))
  await ledger.drop({ database: 'Shop', at: Date.now() })
  expect((await ask(`${HILO}/next?tag=orders`)).status).toBe(503)
  expect((await ask('/healthz?database=Shop')).status).toBe(503)
  expect(await ask('/healthz?database=*')).toMatchObject({ status: 200, body: { stopped: [] } })
  await ledger.raiseFloors({ database: 'Shop', by: 1_000 })
  expect((await ask('/healthz?database=Shop')).status).toBe(200)
  expect((await ask(`${HILO}/next?tag=orders`)).status).toBe(201)
})

test('a counter that went back: 503, until its floor is raised as the answer says', async () => {
  const { ask, ledger, log, metrics, dataDir } = await newServer()
  await ask(`${HILO}/next?tag=orders`)
  runIn(
    dataDir,
    "UPDATE hilo_collections SET max = 0, high_water = 0, serial = 0 WHERE collection = 'orders'",
  )
  const refused = await ask(`${HILO}/next?tag=orders`)
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '30'])
  const message = expect.stringMatching(
    /'orders' of shop .*1 to 32 .*raise-floor shop 'orders' 32/i,
  )
  expect(refused.body).toMatchObject({ Type: 'System.TimeoutException', Message: message })
  expect(await metrics()).toContain('hilo_refusal_reasons_total{reason="went-back"} 1')
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { reason: message },
    'A COUNTER WENT BACK: NOTHING OF IT IS GRANTED.',
  )
  expect((await ask(`${HILO}/next?tag=lines`)).status).toBe(201)
  await ledger.raiseFloor({ database: 'Shop', collection: 'orders', floor: 32 })
  expect((await ask(`${HILO}/next?tag=orders`)).body).toMatchObject({ Low: 33 })
})

test('a claim that shows the token proves it, and its batch is refused as a whole', async () => {
  const { ask, lost } = await newServer()
  const collections = [
    { tag: 'orders', count: 32, grants: [{ token: lost, next: 1 }] },
    { tag: 'lines', count: 32 },
  ]
  expect((await ask(`${HILO}/next`, json({ claim: ID, collections }))).status).toBe(503)
  expect((await ask('/healthz?database=Shop')).status).toBe(503)
})

test.each<[string, (token: string) => [path: string, init: RequestInit]]>([
  ['spent', (token) => [`${HILO}/checkin`, json({ id: ID, grants: [], spent: [token] })]],
  ['returned', (token) => [`${HILO}/return`, json({ tag: 'orders', end: 224, last: 200, token })]],
])(
  'a token of a range that is %s proves it, though its device asks for nothing',
  async (_, show) => {
    const { ask, lost } = await newServer()
    await ask(...show(lost))
    expect((await ask(`${HILO}/next?tag=orders`)).status).toBe(503)
  },
)

test.each([
  ['with numbers in doubt', 1],
  ['without', 3],
])('the token of a named series that its device has ended proves it, %s', async (_, from) => {
  const { ask, dataDir } = await newServer()
  const token = grantTokens([secretIn(dataDir)]).write({
    database: 'shop',
    collection: 'receipts|',
    id: newGrantId(),
    tokenVersion: 0,
    serial: 7,
    high: 1,
  })
  const ended = { series: 'T3', token, from, to: 2 }
  const claim = { claim: ID, collection: 'receipts', ended }
  expect((await ask(`${HILO}/series`, json(claim))).status).toBe(503)
  expect((await ask('/healthz?database=Shop')).status).toBe(503)
})

test('a token that another secret has signed proves nothing; it is counted', async () => {
  const { ask, ledger, log, metrics } = await newServer()
  const { lost: foreign } = await newServer()
  const grants = [{ token: foreign, next: 1 }]
  for (let n = 1; n < 4; n++)
    expect(await ask(`${HILO}/checkin`, json({ id: idOf(n), grants }))).toMatchObject({
      status: 200,
      body: { grants: [{ unknown: true }] },
    })
  expect(await ledger.restored()).toEqual([])
  expect(await metrics()).toContain('hilo_unknown_tokens_total 3')
  expect(log.error).toHaveBeenCalledExactlyOnceWith(
    { database: 'Shop' },
    expect.stringContaining('another secret'),
  )
})

test('a range given after the backup goes to no other till, once a number is heard', async () => {
  const [lost, restored] = [newFolder(), newFolder()]
  const at = Date.now()
  const database = 'Shop'
  const receipts = { database, collection: 'receipts' }
  const range = { from: 310000002001, to: 310000003000, data: 'E31' }
  const before = await openLedger({ create: true, dataDir: lost })
  const claim = async (name: string) => {
    const claimed = { ...receipts, id: randomUUID(), name, device: name, at }
    return (await before.claimSeries(claimed)) as { token: string }
  }
  const [{ token }] = [await claim('T3'), await claim('T4')]
  const tell = async (ledger: Ledger, token: string, last: number) => {
    const periods = [{ period: '310000002001-310000003000', first: range.from, last: range.from }]
    const told = { database, id: randomUUID(), token, last, ...(last > 0 && { periods }), at }
    return ((await ledger.checkInSeries(told)) as { token: string }).token
  }
  await before.close()
  cpSync(lost, restored, { recursive: true })

  const last = await openLedger({ dataDir: lost })
  await last.giveRange({ ...receipts, letter: 'T3', range })
  const next = await tell(last, await tell(last, token, 0), 1)
  await last.close()

  const again = await openLedger({ dataDir: restored })
  onTestFinished(() => again.close())
  await tell(again, next, 1)
  expect(await again.restored()).toEqual(['shop'])
  await again.raiseFloors({ database, by: 1_000 })
  const [{ ranges, periods }] = (await again.series(database)) as [Series]
  expect([ranges, periods]).toMatchObject([[], [{ first: 310000002001, last: 310000002001 }]])
  const { from, to } = range
  const refused = { refused: 'heard', letter: 'T3', from, to }
  expect(await again.giveRange({ ...receipts, letter: 'T4', range, again: true })).toEqual(refused)
  expect(await again.giveRange({ ...receipts, letter: 'T3', range, again: true })).toMatchObject({
    ranges: [range],
  })
  // Who lists what was given before may know of an older range, too.
  const older = { from: 1, to: 9 }
  const given = await again.giveRange({ ...receipts, letter: 'T3', range: older, again: true })
  expect(given).toMatchObject({ ranges: [older, range] })
})

test('two restores from one backup: the second adds what the first one raised', async () => {
  const [dataDir, backup] = [newFolder(), newFolder()]
  const lost = await newHandler({}, { dataDir })
  const spans: number[][] = []
  const claim = async ({ ask }: Pick<typeof lost, 'ask'>, times: number) => {
    for (let i = 0; i < times; i++) {
      const { Low, High } = (await ask(`${HILO}/next?tag=orders`)).body
      spans.push([Low, High])
    }
  }
  await claim(lost, 3)
  backUp(dataDir, join(backup, 'hilo.db'))
  await claim(lost, 2)
  const restored = async (by: number) => {
    const place = newFolder()
    cpSync(backup, place, { recursive: true })
    const server = await newHandler({}, { dataDir: place })
    await server.ledger.raiseFloors({ database: 'Shop', by })
    return server
  }
  const raised = 1_000
  await claim(await restored(raised), 2)
  // What `hilo_ids_granted_total` has counted since, and the raise.
  await claim(await restored(4 * 32 + raised), 40)
  const sorted = spans.toSorted(([a], [b]) => a! - b!)
  expect(sorted.filter(([low], i) => i > 0 && sorted[i - 1]![1]! >= low!)).toEqual([])
})
