/** Series over HTTP. The ledger's own promises are in ledger-series.ts. */
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openLedger } from '../src/index.js'
import { backUp } from '../src/sqlite/backup.js'
import { newFolder } from './folders.js'
import { type Ask, json, newHandler, testHere } from './handlers.js'

const SERIES = '/databases/Shop/hilo/series'
const CHECK_IN = `${SERIES}/checkin`
const CLOSE = `${SERIES}/close`
const HAND_OVER = `${SERIES}/hand-over`
const STOLEN = { collection: 'receipts', series: 'A', by: 'anna', reason: 'stolen' }
const id = (n: number) => `b3b34e5e-6f0f-4a52-8c4c-1f4be7d0a${String(n).padStart(3, '0')}`
const till = (n: number, device?: string) =>
  json({ claim: id(n), collection: 'receipts', ...(device && { device }) })

test('a device gets a letter: 201 first, 200 again; 410 once it was checked in', async () => {
  const { ask } = await newHandler()
  const first = await ask(SERIES, till(1))
  expect(first).toMatchObject({ status: 201, body: { series: 'A' } })
  expect(await ask(SERIES, till(1))).toMatchObject({ status: 200, body: first.body })
  expect((await ask(SERIES, till(2))).body.series).toBe('B')
  await ask(CHECK_IN, json({ id: id(3), token: first.body.token, last: 1 }))
  expect(await ask(SERIES, till(1))).toMatchObject({
    status: 410,
    body: { Message: expect.stringContaining('a copy of the device') },
  })
})

test('who asks for a series reads nothing of the series of others', async () => {
  const { ask } = await newHandler()
  await ask(SERIES, till(1, 'Till 3'))
  expect((await ask(SERIES, till(2, 'Till 3'))).body).toEqual({
    claim: id(2),
    series: 'B',
    token: expect.any(String),
    ledger: expect.any(String),
    database: 'shop',
  })
  const times = { registered: expect.any(String), seen: expect.any(String) }
  const of = { collection: 'receipts', device: 'Till 3', last: 0, ...times }
  expect((await ask(SERIES)).body).toEqual({
    series: [
      { ...of, series: 'A' },
      { ...of, series: 'B' },
    ],
  })
})

testHere('a device with a series of another ledger is refused: also in the log', async () => {
  const lines: object[] = []
  const log = { info: () => {}, warn: () => {}, error: (line: object) => void lines.push(line) }
  const { ask, ledger } = await newHandler({ log })
  const before = (await ask(SERIES, till(1))).body
  const name = await ledger.readName()
  expect(before.ledger).toBe(name)
  const held = { ledger: 'otherotherother2' }
  const asked = { claim: id(2), collection: 'receipts', device: 'Till 4' }
  const told = { id: id(3), token: before.token, last: 1 }
  await ledger.handOverSeries({
    ...{ database: 'Shop', collection: 'receipts', letter: 'A', to: 'Till 4', last: 1 },
    ...{ period: '', newPeriod: true },
    ...{ by: 'anna', reason: 'stolen', at: 0 },
  })
  const refused = { status: 409, body: { Ledger: name, ServerTag: 'A' } }
  expect(await ask(SERIES, json({ ...asked, ...held }))).toMatchObject(refused)
  expect(lines).toHaveLength(1)
  expect(await ask(CHECK_IN, json({ ...told, ...held }))).toMatchObject(refused)
  // Nothing was changed.
  expect((await ask(SERIES)).body.series).toMatchObject([
    { series: 'A', handedOver: { taken: false } },
  ])
  expect(lines).toEqual([{ database: 'shop', held: held.ledger, ledger: name }])
  expect((await ask('/healthz')).body.others).toEqual({ shop: [held.ledger] })
  expect(await ask(SERIES, json({ ...asked, ledger: name }))).toMatchObject({ status: 201 })
  expect((await ask(CHECK_IN, json({ ...told, ledger: name }))).body).toMatchObject({
    superseded: true,
    ledger: name,
  })
})

testHere('without a token a check-in only asks which ledger answers', async () => {
  const { ask, handler, ledger } = await newHandler()
  const question = (held: string) =>
    ask(CHECK_IN, json({ id: id(1), token: '', last: 0, ledger: held }))
  const name = (await ledger.readName())!
  expect((await question(name)).body).toEqual({ id: id(1), unknown: true, ledger: name })
  await ledger.follow({ database: 'Shop', name: 'otherotherother2', above: 7 })
  expect(await question('otherotherother2')).toMatchObject({
    status: 409,
    body: { Ledger: name, Above: 7 },
  })
  const metrics = await handler(new Request('http://ids.test/metrics'))
  expect(await metrics.text()).toContain('hilo_unknown_tokens_total 0\n')
  // A letter is a number of the collection that counts them.
  expect((await ask(SERIES, till(1))).body.series).toBe('H')
})

testHere('a check-in: the new token, who closed it, a copy, and what nobody knows', async () => {
  const { ask, ledger } = await newHandler()
  const { body } = await ask(SERIES, till(1))
  const checkIn = (token: string, n: number, last: number) =>
    ask(CHECK_IN, json({ id: id(n), token, last }))
  const second = await checkIn(body.token, 2, 4)
  expect(second).toMatchObject({ status: 200, body: { token: expect.any(String) } })
  expect((await checkIn(body.token, 3, 6)).body).toEqual({ id: id(3), superseded: true, last: 4 })
  expect((await checkIn('unheard-of', 4, 6)).body).toEqual({ id: id(4), unknown: true })
  const key = { database: 'Shop', collection: 'receipts', letter: 'A' }
  await ledger.closeSeries({ ...key, by: 'anna', reason: 'stolen', at: 0 })
  const closed = { at: '1970-01-01T00:00:00.000Z', by: 'anna', reason: 'stolen' }
  expect((await checkIn(second.body.token, 5, 6)).body).toMatchObject({ closed })
  expect((await ask(SERIES)).body.series).toMatchObject([{ series: 'A', last: 6, closed }])
})

testHere('a series that was handed over goes on; the lost device hears of it', async () => {
  const { ask, ledger } = await newHandler()
  const lost = (await ask(SERIES, till(1, 'Till 3'))).body
  const { token } = (await ask(CHECK_IN, json({ id: id(9), token: lost.token, last: 4 }))).body
  const by = { by: 'anna', reason: 'stolen' }
  const key = { database: 'Shop', collection: 'receipts', letter: 'A', period: '' }
  await ledger.handOverSeries({ ...key, ...by, to: 'Till 4', last: 6, at: 0 })
  const answer = await ask(SERIES, till(2, 'Till 4'))
  expect(answer).toMatchObject({
    status: 201,
    body: { series: 'A', after: { last: 6, periods: [{ period: '', first: 1, last: 6 }] } },
  })
  const handedOver = {
    ...by,
    at: '1970-01-01T00:00:00.000Z',
    from: 'Till 3',
    to: 'Till 4',
    last: 6,
    period: '',
    heard: 4,
  }
  expect((await ask(CHECK_IN, json({ id: id(8), token, last: 8 }))).body).toEqual({
    id: id(8),
    superseded: true,
    last: 4,
    handedOver,
  })
  // It shows a token that the lost device has shown before: it is a copy of it.
  expect((await ask(CHECK_IN, json({ id: id(7), token: lost.token, last: 8 }))).body).toEqual({
    id: id(7),
    superseded: true,
    last: 4,
  })
  const listed = { series: 'A', device: 'Till 4', last: 6 }
  const taken = { ...handedOver, taken: true }
  expect((await ask(SERIES)).body.series).toMatchObject([
    { ...listed, handedOver: taken, handOvers: [taken] },
  ])
  const range = { from: 1001, to: 2000 }
  await ledger.giveRange({ ...key, range })
  expect((await ask(SERIES)).body.series).toMatchObject([{ ...listed, ranges: [range] }])
  const path = '/databases/Shop/hilo/explain?tag=receipts&number=7'
  expect((await ask(path)).body.text).toContain(
    'anna handed the series over to Till 4 1970-01-01T00:00:00.000Z, after number 6 of Till 3',
  )
})

test('a hand-over is of a period that is known, or called new, and may only be tried', async () => {
  const { ask } = await newHandler()
  const { token } = (await ask(SERIES, till(1, 'Till 3'))).body
  const handOver = (more: object) =>
    ask(HAND_OVER, json({ ...STOLEN, to: 'Till 4', last: 131, ...more }))
  const refused = async (more: object, message: string) =>
    expect(await handOver(more)).toMatchObject({
      status: 409,
      body: { Message: expect.stringContaining(message) },
    })
  await refused({}, 'no number of series A, so it does not know whether its numbers have a period')
  await refused(
    {},
    'say "period": "2027" with "newPeriod": true. A-000131 has none: say "period": ""',
  )
  await refused({ period: '2027' }, 'no number of series A, so 2027 is no period that it knows')
  const periods = [{ period: '2026', first: 1, last: 124 }]
  await ask(CHECK_IN, json({ id: id(2), token, last: 124, periods }))
  await refused({}, 'these periods of series A: 2026. Say with "period" of which "last" is')
  await refused({ period: '2062' }, 'these periods of series A: 2026. 2062 is not one of them')
  await refused({ period: '2026', last: 123 }, 'up to 124')
  const planned = { status: 200, body: { device: 'Till 4', periods: [{ last: 131 }] } }
  expect(await handOver({ period: '2026', dryRun: true })).toMatchObject(planned)
  expect((await ask(SERIES)).body.series).toMatchObject([{ device: 'Till 3', periods }])
  expect(await handOver({ period: '2026' })).toMatchObject(planned)
  expect((await ask(SERIES)).body.series).toMatchObject([planned.body])
})

testHere('letters that raised floors have made long are taken as they were given', async () => {
  const { ask, ledger } = await newHandler()
  await ask(SERIES, till(1))
  await ledger.raiseFloors({ database: 'Shop', by: 1e9 })
  const { series, token } = (await ask(SERIES, till(2))).body
  expect(series).toBe('CFDGSXN')
  expect((await ask(CLOSE, json({ ...STOLEN, series }))).status).toBe(200)
  const ended = { series, token, from: 1, to: 2 }
  const next = await ask(SERIES, json({ claim: id(3), collection: 'receipts', ended }))
  expect(next).toMatchObject({ status: 201, body: { series: 'CFDGSXO' } })
})

testHere('the metrics count series and copies', async () => {
  const { ask, handler } = await newHandler()
  const { body } = await ask(SERIES, till(1))
  await ask(SERIES, till(1))
  for (const n of [2, 3]) await ask(CHECK_IN, json({ id: id(n), token: body.token, last: 1 }))
  const text = await (await handler(new Request('http://ids.test/metrics'))).text()
  expect(text).toContain('hilo_series_total 1\n')
  expect(text).toContain('hilo_forks_total 1\n')
})

test.each([
  ['no claim', SERIES, { collection: 'receipts' }, 400, 'asked for by JSON'],
  ['a claim that is no UUID', SERIES, { claim: 'a', collection: 'receipts' }, 400, 'a UUID'],
  ['no collection', SERIES, { claim: id(1), collection: '' }, 400, 'A series is asked for by JSON'],
  [
    'the letters themselves',
    SERIES,
    { claim: id(1), collection: 'receipts|' },
    500,
    "end with '|'",
  ],
  [
    'a long name of a device',
    SERIES,
    { claim: id(1), collection: 'receipts', device: 'é'.repeat(65) },
    400,
    'up to 128 bytes',
  ],
  [
    'a control character in it',
    SERIES,
    { claim: id(1), collection: 'receipts', device: 'a\n' },
    400,
    'control characters',
  ],
  [
    'an absurd letter before',
    SERIES,
    {
      claim: id(1),
      collection: 'receipts',
      ended: { series: 'ZZZZZZ', token: '', from: 1, to: 0 },
    },
    422,
    "saw number 321272406 of 'receipts|', but this server has granted only up to 0: too far apart",
  ],
  ['a closing without a reason', CLOSE, { ...STOLEN, reason: '' }, 400, 'is closed by JSON'],
  ['a closing by nobody', CLOSE, { ...STOLEN, by: undefined }, 400, 'is closed by JSON'],
  ['a long reason', CLOSE, { ...STOLEN, reason: 'é'.repeat(513) }, 400, 'up to 1024 bytes'],
  ['a closing of no letter', CLOSE, { ...STOLEN, series: 'a-' }, 400, 'is closed by JSON'],
  ['a hand-over without a number', HAND_OVER, { ...STOLEN, to: 'B' }, 400, 'handed over by JSON'],
  [
    'a hand-over that is a text when it is tried',
    HAND_OVER,
    { ...STOLEN, to: 'B', last: 1, dryRun: 'yes' },
    400,
    'handed over by JSON',
  ],
  ['a check-in without a token', CHECK_IN, { id: id(1), last: 1 }, 400, 'checks in by JSON'],
])('%s is refused, and gives no letter', async (_, path, body, status, message) => {
  const { ask } = await newHandler()
  expect(await ask(path, json(body))).toMatchObject({
    status,
    body: { Message: expect.stringContaining(message) },
  })
  expect((await ask(SERIES, till(1))).body.series).toBe('A')
})

const newLog = () => ({ info: vi.fn(), error: vi.fn() })
const ENDED = expect.stringContaining('THE SERVER HAS CLOSED A SERIES')
const lineOf = (reason: string) => [
  {
    database: 'Shop',
    collection: 'receipts',
    series: 'A',
    reason: expect.stringContaining(reason),
  },
  ENDED,
]

/** @param n of the request, so that each has an id of its own */
const reports = async (ask: Ask, n: number, token: string, more: object) =>
  (await ask(CHECK_IN, json({ id: id(n), token, last: 1, ...more }))).body

testHere('a series whose records were changed on its device is closed: a line, once', async () => {
  const log = newLog()
  const { ask } = await newHandler({ log })
  const { token } = (await ask(SERIES, till(1))).body
  const link = { at: 1, hash: 'aa' }
  const first = await reports(ask, 2, token, { link })
  const heard = { last: 1, link: { at: 1, hash: 'bb' } }
  const second = await reports(ask, 3, first.token, { heard })
  expect(second.closed).toMatchObject({ by: 'the server' })
  expect(second).not.toHaveProperty('ended')
  expect(await reports(ask, 3, first.token, { heard })).toEqual(second)
  await reports(ask, 4, second.token, { heard })
  expect(log.error.mock.calls).toEqual([lineOf('records were changed on the device')])
})

testHere('a series whose hand-over a restore had forgotten is closed: a line, once', async () => {
  const [before, dataDir] = [newFolder(), newFolder()]
  const log = newLog()
  const { ask, ledger } = await newHandler({}, { dataDir: before })
  const { token: lost } = (await ask(SERIES, till(1, 'Till 3'))).body
  await reports(ask, 5, lost, {})
  backUp(before, join(dataDir, 'hilo.db'))
  const handedOver = await ask(HAND_OVER, json({ ...STOLEN, to: 'Till 4', last: 1 }))
  expect(handedOver.status).toBe(200)
  const { token } = (await ask(SERIES, till(2, 'Till 4'))).body
  await ledger.close()
  const restored = await openLedger({ dataDir })
  await restored.raiseFloors({ database: 'Shop', by: 1_000 })
  await restored.close()
  const again = await newHandler({ log }, { dataDir })
  const answer = await reports(again.ask, 3, token, { last: 2 })
  expect(answer.closed).toMatchObject({ by: 'the server' })
  await reports(again.ask, 4, answer.token, { last: 2 })
  expect(log.error.mock.calls).toEqual([lineOf('a restore had forgotten that a person')])
})
