/** A lost till's series goes to another till: no number is made twice, and what may be is told. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ConsecutiveOptions } from '../../../src/addons/consecutive/index.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { copyProfile, idsOf, inEachStore, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

/** A person hands T3 over to Till 4. */
const handOver = (last: number, stated: { period?: string; newPeriod?: true } = { period: '' }) =>
  shop.ledger.handOverSeries({
    database: 'default',
    collection: 'receipts',
    letter: 'T3',
    to: 'Till 4',
    last,
    ...stated,
    by: 'anna',
    reason: 'the till was stolen',
    at: Date.UTC(2026, 10, 21),
  })

test('a client hands it over by HTTP, above what was heard of it', async () => {
  const till3 = openTill(shop, { name: newName(), series: { device: 'Till 3', series: 'T3' } })
  await idsOf(till3.receipts, 'a', 'b')
  const url = 'https://shop.example.com/databases/default/hilo/series/hand-over'
  const post = async (more: object) => {
    const body = { collection: 'receipts', series: 'T3', to: 'Till 4', by: 'anna', reason: 'lost' }
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...more }),
    })
    return { status: answer.status, body: await answer.json() }
  }
  expect((await post({ last: 0 })).status).toBe(400)
  expect((await post({ last: 1.5 })).status).toBe(400)
  expect((await post({ last: 5, series: 'T9' })).status).toBe(404)
  const low = await post({ last: 1 })
  expect(low).toMatchObject({
    status: 409,
    body: { Message: expect.stringMatching(/up to 2, /) },
  })
  expect((await post({ last: 5, period: '2027' })).status).toBe(409)
  expect(await post({ last: 5 })).toMatchObject({ status: 200, body: { series: 'T3' } })
  const till4 = openTill(shop, { name: newName(), series: { device: 'Till 4' } })
  expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-000006'])
  expect((await post({ last: 9, to: 'Till 5' })).status).toBe(200)
  await shop.ledger.closeSeries({
    database: 'default',
    collection: 'receipts',
    letter: 'T3',
    by: 'anna',
    reason: 'lost',
    at: Date.now(),
  })
  // A series that was closed goes on with another till, and its closing stays on record.
  const { status, body } = await post({ last: 20, to: 'Till 6' })
  expect([status, body.closed]).toEqual([200, undefined])
  expect(body.handOvers.at(-1)).toMatchObject({ to: 'Till 6', closed: { reason: 'lost' } })
})

const yearly = (year: () => string) => ({ period: year })

inEachStore(() => {
  test('the named device goes on; what the lost one made above is doubtful', async () => {
    const [lost, other] = [newName(), newName()]
    const till3 = openTill(shop, { name: lost, series: { device: 'Till 3', series: 'T3' } })
    await idsOf(till3.receipts, 'a', 'b')
    till3.hilo.goOffline()
    await idsOf(till3.receipts, 'c', 'd', 'e')
    // A person has found the receipt of number 3.
    expect(await handOver(3)).toMatchObject({ last: 3 })
    const till4 = openTill(shop, { name: other, series: { device: 'Till 4' } })
    expect(await till4.receipts.prepare()).toEqual({ series: 'T3', last: 3, made: 3, heard: 3 })
    const made = [await till4.receipts.next({ key: 'x' }), await till4.receipts.next({ key: 'y' })]
    expect(made).toMatchObject([
      { id: 'T3-000004', number: 4, heard: true },
      { id: 'T3-000005', number: 5, heard: true },
    ])
    till3.hilo.goOnline()
    await expect
      .poll(async () => (await till3.receipts.report())[0]!.ended)
      .toEqual({
        kind: 'handed-over',
        from: 'Till 3',
        to: 'Till 4',
        by: 'anna',
        reason: 'the till was stolen',
        at: '2026-11-21T00:00:00.000Z',
        last: 3,
        period: '',
        heard: 2,
        doubtful: { from: 4, to: 5 },
      })
    const [ended] = await till3.receipts.report()
    expect(ended!.numbers.map((each) => 'isDoubtful' in each)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ])
    expect(await registry()).toMatchObject([
      { series: 'T3', device: 'Till 4', last: 5, doubtful: { from: 4, to: 5 } },
    ])
    // Its app asks for T3 by name, which is not its own any more.
    await expect(till3.receipts.next({ key: 'f' })).rejects.toMatchObject({
      code: 'server-refused',
      message: expect.stringContaining('T3'),
    })
    expect(await idsOf(till4.receipts, 'z')).toEqual(['T3-000006'])
    expect((await till4.receipts.report())[0]!.numbers.map(({ number }) => number)).toEqual([
      4, 5, 6,
    ])
  })

  test('what a closed series had not told is doubtful, and no other till makes it', async () => {
    const till3 = openTill(shop, { name: newName(), series: { device: 'Till 3' } })
    await idsOf(till3.receipts, 'a')
    shop.isDown = true
    // The check-in that is under way names the first of these only.
    await idsOf(till3.receipts, 'b', 'c', 'd')
    const which = { database: 'default', collection: 'receipts', letter: 'A' }
    const why = { by: 'anna', reason: 'the till was stolen', at: Date.UTC(2026, 10, 21) }
    await shop.ledger.closeSeries({ ...which, ...why })
    shop.isDown = false
    till3.hilo.goOffline()
    till3.hilo.goOnline()
    await expect
      .poll(async () => (await till3.receipts.report())[0]!.ended)
      .toMatchObject({ kind: 'closed', by: 'anna', doubtful: { from: 3, to: 4 } })
    const [ended] = await till3.receipts.report()
    expect(ended!.numbers.filter(({ isDoubtful }) => isDoubtful)).toHaveLength(2)
    expect(await idsOf(till3.receipts, 'e')).toEqual(['B-000001'])
    expect((await registry())[0]).toMatchObject({ last: 2, doubtful: { from: 3, to: 4 } })
    const handOver = (last: number) =>
      shop.ledger.handOverSeries({ ...which, ...why, to: 'Till 4', last, period: '' })
    expect(await handOver(3)).toEqual({ refused: 'heard', period: '', least: 4 })
    expect(await handOver(4)).toMatchObject({ last: 4 })
  })

  test('a number that was taken and not handed out is of nobody', async () => {
    const till3 = openTill(shop, { name: newName(), series: { device: 'Till 3' } })
    await idsOf(till3.receipts, 'a')
    await shop.ledger.handOverSeries({
      database: 'default',
      collection: 'receipts',
      letter: 'A',
      to: 'Till 4',
      last: 7,
      period: '',
      by: 'anna',
      reason: 'lost',
      at: 0,
    })
    expect(await idsOf(till3.receipts, 'b')).toEqual(['B-000001'])
    const [ended] = await till3.receipts.report()
    expect(ended).toMatchObject({
      ended: { kind: 'handed-over', last: 7 },
      numbers: [
        { number: 1, state: 'open' },
        { number: 2, state: 'cancelled', reason: expect.stringContaining('Till 4 goes on') },
      ],
    })
    expect(ended!.ended).not.toHaveProperty('doubtful')
  })

  test('each period goes on where it stood, and a new one begins with 1', async () => {
    let year = '2026'
    const series = { device: 'Till 3', series: 'T3', limits: { from: 39 }, ...yearly(() => year) }
    const till3 = openTill(shop, { name: newName(), series })
    await idsOf(till3.receipts, 'a', 'b')
    year = '2027'
    await idsOf(till3.receipts, 'c')
    till3.hilo.goOffline()
    await handOver(3, { period: '2027' })
    const options = { ...series, device: 'Till 4', limits: {} }
    const till4 = openTill(shop, { name: newName(), series: options })
    expect(await idsOf(till4.receipts, 'x', 'y')).toEqual(['T3-2027-000004', 'T3-2027-000005'])
    year = '2026'
    await idsOf(till3.receipts, 'd')
    expect(await till4.receipts.next({ key: 'z' })).toMatchObject({ number: 41 })
    till3.hilo.goOnline()
    // The person spoke of number 3 of 2027, and this is number 41 of 2026.
    await expect
      .poll(async () => (await till3.receipts.report())[0]!.ended)
      .toMatchObject({ kind: 'handed-over', period: '2027', doubtful: { from: 4, to: 4 } })
    year = '2028'
    expect(await idsOf(till4.receipts, 'n')).toEqual(['T3-2028-000001'])
    expect((await registry())[0]).toMatchObject({
      last: 9,
      periods: [
        { period: '2026', first: 39, last: 41 },
        { period: '2027', first: 1, last: 5 },
        { period: '2028', first: 1, last: 1 },
      ],
    })
  })
})

inEachStore(() => {
  const series = { device: 'Till 3', series: 'T3', timeZone: 'UTC', period: () => today }
  let today = ''
  const closedAtServer = async () =>
    (await registry())[0]!.periods?.filter(({ closed }) => closed).map(({ period }) => period)

  test('a period that the lost till closed gets no number of the other one', async () => {
    today = '2026-12-30'
    const till3 = openTill(shop, { name: newName(), series })
    await idsOf(till3.receipts, 'a', 'b')
    today = '2026-12-31'
    await idsOf(till3.receipts, 'c')
    // A day of which all numbers were heard, the day of the last one, and one without a number.
    for (const each of ['2026-12-30', '2026-12-31', '2027-01-01'])
      await till3.receipts.closePeriod(each)
    await expect.poll(closedAtServer).toEqual(['2026-12-30', '2026-12-31', '2027-01-01'])
    await till3.receipts.closePeriod('2026-12-31', { reopen: true, reason: 'one more sale' })
    await expect.poll(closedAtServer).toEqual(['2026-12-30', '2027-01-01'])
    till3.hilo.goOffline()
    await handOver(1, { period: '2026-12-31' })
    const name = newName()
    const till4 = openTill(shop, { name, series: { ...series, device: 'Till 4' } })
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-2026-12-31-000002'])
    today = '2026-12-30'
    await expect(till4.receipts.next({ key: 'y' })).rejects.toThrow(`${today} was closed`)
    expect(await till4.receipts.closePeriod(today)).toEqual({ count: 2 })
    today = '2027-01-01'
    await expect(till4.receipts.next({ key: 'y' })).rejects.toThrow(`${today} was closed`)
    // A person with a reason opens it on the till that has the series now.
    const reopened = { reopen: true, reason: 'a late customer' }
    expect(await till4.receipts.closePeriod(today, reopened)).toBe(undefined)
    expect(await idsOf(till4.receipts, 'y')).toEqual(['T3-2027-01-01-000001'])
    await expect.poll(closedAtServer).toEqual(['2026-12-30'])
    expect((await till4.receipts.verify()).broken).toEqual([])
    expect((await registry())[0]).toMatchObject({
      periods: [
        { period: '2026-12-30', first: 1, last: 2 },
        { period: '2026-12-31', first: 1, last: 2 },
        { period: '2027-01-01', first: 1, last: 1 },
      ],
    })
  })

  test('a closing without a network is told when there is one', async () => {
    today = '2026-12-30'
    const till3 = openTill(shop, { name: newName(), series })
    await idsOf(till3.receipts, 'a')
    till3.hilo.goOffline()
    await idsOf(till3.receipts, 'b')
    await till3.receipts.closePeriod(today)
    till3.hilo.goOnline()
    await expect.poll(closedAtServer).toEqual([today])
  })

  test('a server that was restored hears of each period, and each closing, again', async () => {
    today = '2026-12-28'
    const till3 = openTill(shop, { name: newName(), series })
    await idsOf(till3.receipts, 'a')
    await till3.receipts.closePeriod(today)
    await expect.poll(closedAtServer).toEqual([today])
    const restore = await shop.backUp()
    for (const [day, key] of [
      ['2026-12-29', 'b'],
      ['2026-12-30', 'c'],
      ['2026-12-31', 'd'],
    ]) {
      today = day!
      await idsOf(till3.receipts, key!)
    }
    await till3.receipts.closePeriod('2026-12-28', { reopen: true, reason: 'one more sale' })
    await till3.receipts.closePeriod('2026-12-29')
    await till3.receipts.closePeriod('2027-01-01')
    await expect.poll(closedAtServer).toEqual(['2026-12-29', '2027-01-01'])
    // Who asks for a number again waits for the answer that is on its way.
    await idsOf(till3.receipts, 'd')
    till3.hilo.goOffline()
    await restore()
    expect(await closedAtServer()).toEqual(['2026-12-28'])
    await shop.ledger.raiseFloors({ database: 'default', by: 1 })
    await shop.ledger.reopenSeries({ database: 'default' })
    const period = '2026-12-31'
    const untold = { refused: 'untold', missing: [] }
    expect(await handOver(1, { period, newPeriod: true })).toEqual(untold)
    till3.hilo.goOnline()
    await expect.poll(closedAtServer).toEqual(['2026-12-29', '2027-01-01'])
    till3.hilo.goOffline()
    expect(await handOver(1, { period })).toMatchObject({ device: 'Till 4' })
    const till4 = openTill(shop, { name: newName(), series: { ...series, device: 'Till 4' } })
    today = '2026-12-29'
    await expect(till4.receipts.next({ key: 'x' })).rejects.toThrow(`${today} was closed`)
    // A day that is open still, of which the server had heard only after the backup.
    today = '2026-12-30'
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-2026-12-30-000002'])
  })

  test('what a server had heard before it was restored is in doubt after a hand-over', async () => {
    today = 'bob'
    const till3 = openTill(shop, { name: newName(), series })
    await idsOf(till3.receipts, 'a')
    const restore = await shop.backUp()
    for (const [client, key] of [
      ['eve', 'b'],
      ['bob', 'c'],
    ]) {
      today = client!
      await idsOf(till3.receipts, key!)
    }
    await idsOf(till3.receipts, 'c')
    till3.hilo.goOffline()
    // Nobody raises the floors, and no device has shown yet what was lost.
    await restore()
    await handOver(2, { period: 'bob' })
    const till4 = openTill(shop, { name: newName(), series: { ...series, device: 'Till 4' } })
    today = 'eve'
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-eve-000001'])
    till3.hilo.goOnline()
    await expect
      .poll(async () => (await till3.receipts.report())[0]!.ended)
      .toMatchObject({ kind: 'handed-over', doubtful: { from: 2, to: 2 } })
  })
})

test('of a till that never reported, no number comes twice', async () => {
  const series = { series: 'T3', ...yearly(() => '2027') }
  const till3 = openTill(shop, { name: newName(), series: { ...series, device: 'Till 3' } })
  await till3.receipts.prepare()
  till3.hilo.goOffline()
  const printed = await idsOf(till3.receipts, 'a', 'b', 'c')
  expect((await registry())[0]).toMatchObject({ last: 0 })
  const refused = { refused: 'periods', known: [] }
  expect(await handOver(3, {})).toEqual(refused)
  expect(await handOver(3, { period: '2072' })).toEqual(refused)
  expect(await handOver(3, { period: '2027', newPeriod: true })).toMatchObject({ device: 'Till 4' })
  const till4 = openTill(shop, { name: newName(), series: { ...series, device: 'Till 4' } })
  printed.push(...(await idsOf(till4.receipts, 'x', 'y')))
  expect(printed).toEqual([1, 2, 3, 4, 5].map((number) => `T3-2027-00000${number}`))
})

describe('a lost till and its copy, which have both made number 3', () => {
  test.each([
    { heard: 'none', first: 'till', ends: { till: 'handed-over', copy: 'copied' } },
    { heard: 'none', first: 'copy', ends: { till: 'copied', copy: 'handed-over' } },
    { heard: 'copy', first: 'till', ends: { till: 'copied', copy: 'handed-over' } },
    { heard: 'copy', first: 'copy', ends: { till: 'copied', copy: 'handed-over' } },
  ] as const)('heard before: $heard, comes back first: $first', async ({ heard, first, ends }) => {
    const [name, other] = [newName(), newName()]
    const series = { device: 'Till 3', series: 'T3' }
    const till = openTill(shop, { name, series })
    await idsOf(till.receipts, 'a', 'b')
    till.hilo.goOffline()
    await copyProfile(name, other)
    if (heard === 'none') shop.isDown = true
    const copy = openTill(shop, { name: other, series: { ...series, wait: 1 } })
    expect(await idsOf(till.receipts, 'c')).toEqual(['T3-000003'])
    expect(await idsOf(copy.receipts, 'x')).toEqual(['T3-000003'])
    copy.hilo.goOffline()
    shop.isDown = false
    expect(await handOver(3)).toMatchObject({ device: 'Till 4', last: 3 })
    const tills = { till, copy }
    const endOf = async (which: keyof typeof tills) => {
      const { receipts, hilo } = tills[which]
      hilo.goOnline()
      await expect.poll(async () => (await receipts.report())[0]!.ended).toBeDefined()
      return (await receipts.report())[0]!
    }
    const second = first === 'till' ? 'copy' : 'till'
    const reports = { [first]: await endOf(first), [second]: await endOf(second) }
    for (const which of [first, second] as const) {
      const { ended, numbers } = reports[which]!
      expect(ended!.kind).toBe(ends[which])
      const isCopy = ends[which] === 'copied'
      expect(numbers.map((each) => 'isDoubtful' in each)).toEqual([false, false, isCopy])
    }
  })
})

describe('a series of ranges that was handed over', () => {
  const ranges = [
    { from: 1001, to: 1003 },
    { from: 2001, to: 2003 },
  ]
  const till = (device: string, more: ConsecutiveOptions) =>
    openTill(shop, { name: newName(), series: { device, series: 'T3', ...more } })

  test('goes on above all of them, whichever a person speaks of', async () => {
    const [, newest] = ranges
    const till3 = till('Till 3', { ranges: [newest!] })
    await idsOf(till3.receipts, 'a', 'b')
    // The range before, of which the server has not heard: all of it was made, too.
    expect(await handOver(1002, { period: '1001-1003', newPeriod: true })).toMatchObject({
      letter: 'T3',
    })
    const till4 = till('Till 4', { ranges })
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-002003'])
  })

  test('goes on in the next one where a person stated a number that is in none', async () => {
    await till('Till 3', { ranges }).receipts.prepare()
    expect(await handOver(2, { period: '1001-1003', newPeriod: true })).toMatchObject({
      letter: 'T3',
    })
    const till4 = till('Till 4', { ranges })
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-002001'])
  })

  test('goes on above all of them, also without ranges', async () => {
    const till3 = till('Till 3', { ranges })
    await idsOf(till3.receipts, 'a')
    await handOver(1002, { period: '1001-1003' })
    await shop.ledger.handOverSeries({
      database: 'default',
      collection: 'receipts',
      letter: 'T3',
      to: 'Till 4',
      last: 1,
      period: '7',
      newPeriod: true,
      by: 'anna',
      reason: 'a book of receipts',
      at: Date.now(),
    })
    const till4 = till('Till 4', {})
    expect(await idsOf(till4.receipts, 'x', 'y')).toEqual(['T3-001003', 'T3-001004'])
  })

  test('goes on above them also where its first numbers were of none', async () => {
    const [name, series] = [newName(), { device: 'Till 3', series: 'T3' }]
    await idsOf(openTill(shop, { name, series }).receipts, 'a')
    await idsOf(openTill(shop, { name, series: { ...series, ranges } }).receipts, 'b')
    expect(await handOver(1)).toMatchObject({ periods: [{ last: 1 }, { last: 1001 }] })
    expect(await idsOf(till('Till 4', {}).receipts, 'x')).toEqual(['T3-001002'])
  })
})

test('each check-in tells of the period, so that a restored server knows it', async () => {
  const series = { device: 'Till 3', series: 'T3', period: () => '2027' }
  const till = openTill(shop, { name: newName(), series })
  await idsOf(till.receipts, 'a', 'b')
  till.hilo.goOffline()
  shop.requests.length = 0
  till.hilo.goOnline()
  await expect
    .poll(() => shop.requests.map(({ body }) => body))
    .toMatchObject([{ last: 2, periods: [{ period: '2027', first: 2, last: 2 }] }])
})

test('a device does not go on with a series that it had', async () => {
  const name = newName()
  const till = openTill(shop, { name, series: { device: 'Till 3' } })
  await idsOf(till.receipts, 'a')
  const closing = { collection: 'receipts', by: 'anna', reason: 'lost', at: 0 }
  await shop.ledger.closeSeries({ database: 'default', letter: 'A', ...closing })
  await expect(idsOf(till.receipts, 'b')).resolves.toEqual(['B-000001'])
  const ledger = await shop.ledger.readName()
  const again = { series: 'A', token: 'a', ledger, database: 'default' }
  shop.answer = (request) => (request.url.endsWith('/series') ? Response.json(again) : undefined)
  await shop.ledger.closeSeries({ database: 'default', letter: 'B', ...closing })
  await expect(till.receipts.next({ key: 'c' })).rejects.toMatchObject({
    code: 'invalid-response',
    message: expect.stringContaining('which had it before'),
  })
  shop.answer = undefined
  expect(await idsOf(till.receipts, 'c')).toEqual(['C-000001'])
})
