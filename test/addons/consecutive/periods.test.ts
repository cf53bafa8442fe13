/** Periods, names and first numbers of a series, and the forms that ids have. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import type { ConsecutiveOptions } from '../../../src/addons/consecutive/index.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { currentOf, exportOf, idsOf, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.useRealTimers()
  await shop.close()
})

const refusal = (code: string, message: string) =>
  expect.objectContaining({ name: 'HiloError', code, message: expect.stringContaining(message) })

const period = (date: Date) => String(date.getUTCFullYear())

/** The device's clock; timers go on. */
const clock = (time: string) => vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(time) })

describe('a period', () => {
  test('counts from 1 and turns offline; the report and the server have each of them', async () => {
    clock('2026-12-31T20:00:00Z')
    const { hilo, receipts } = openTill(shop, { series: { period } })
    expect(await idsOf(receipts, 'a', 'b')).toEqual(['A-2026-000001', 'A-2026-000002'])
    hilo.goOffline()
    clock('2027-01-01T08:00:00Z')
    const made = await receipts.next({ key: 'c' })
    expect(made).toEqual({ id: 'A-2027-000001', number: 1, period: '2027', heard: false })
    expect(await currentOf(receipts)).toMatchObject({ period: '2027', last: 1, made: 3, heard: 2 })
    hilo.goOnline()
    expect(await idsOf(receipts, 'd', 'a')).toEqual(['A-2027-000002', 'A-2026-000001'])
    const periods = [
      { period: '2026', first: 1, last: 2 },
      { period: '2027', first: 1, last: 2 },
    ]
    expect(await registry()).toMatchObject([{ series: 'A', last: 4, periods }])
  })

  test('goes on where it stood when the clock went back, and says so', async () => {
    clock('2026-12-31T20:00:00Z')
    const { receipts } = openTill(shop, { series: { period } })
    await idsOf(receipts, 'a', 'b')
    clock('2027-01-01T08:00:00Z')
    await idsOf(receipts, 'c')
    clock('2026-12-31T21:00:00Z')
    expect(await receipts.next({ key: 'd' })).toMatchObject({
      id: 'A-2026-000003',
      isBack: true,
      heard: true,
    })
    expect(await receipts.next({ key: 'e' })).not.toHaveProperty('isBack')
    clock('2027-01-01T09:00:00Z')
    const after = openTill(shop, { series: { period } }).receipts
    expect(await idsOf(after, 'f')).toEqual(['A-2027-000002'])
    const [report] = await after.report()
    expect(report!.numbers.map(({ id, isBack }) => [id, isBack ?? false])).toEqual([
      ['A-2026-000001', false],
      ['A-2026-000002', false],
      ['A-2027-000001', false],
      ['A-2026-000003', true],
      ['A-2026-000004', false],
      ['A-2027-000002', false],
    ])
  })

  test('that two pages turn at once begins once', async () => {
    clock('2026-12-31T20:00:00Z')
    const pages = [0, 1, 2].map(() => openTill(shop, { series: { period } }).receipts)
    await Promise.all(pages.map((receipts, i) => receipts.next({ key: `old ${i}` })))
    clock('2027-01-01T08:00:00Z')
    const keys = Array.from({ length: 12 }, (_, i) => `sale ${i}`)
    const made = await Promise.all(keys.map((key, i) => pages[i % 3]!.next({ key })))
    expect(made.map(({ number }) => number).sort((a, b) => a - b)).toEqual(
      keys.map((_, i) => i + 1),
    )
  })

  test('of a hundred days offline is told in as many check-ins as it takes', async () => {
    const day = (date: Date) => date.toISOString().slice(0, 10)
    const { hilo, receipts } = openTill(shop, { series: { period: day } })
    await receipts.prepare()
    hilo.goOffline()
    for (let i = 0; i < 120; i++) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2027, 0, 1 + i) })
      await idsOf(receipts, `sale ${i}`)
    }
    hilo.goOnline()
    await expect.poll(async () => (await registry())[0]!.periods).toHaveLength(120)
  })
})

describe('the date of a document', () => {
  test('decides its period, in the time zone of the shop', async () => {
    clock('2027-01-01T01:30:00Z')
    const of = (timeZone: string, period: 'year' | 'month' | 'day') =>
      openTill(shop, { name: newName(), series: { timeZone, period } }).receipts
    const made = async (receipts: ReturnType<typeof of>, date?: Date) =>
      (await receipts.next({ key: 'a', ...(date && { date }) })).period
    expect(await made(of('America/Sao_Paulo', 'year'))).toBe('2026')
    expect(await made(of('Europe/Madrid', 'year'))).toBe('2027')
    expect(await made(of('America/Sao_Paulo', 'day'))).toBe('2026-12-31')
    expect(await made(of('Asia/Kolkata', 'month'), new Date('2026-06-30T19:00:00Z'))).toBe(
      '2026-07',
    )
  })

  test('is given to a function of the app, with its parts', async () => {
    clock('2027-03-31T20:00:00Z')
    const series = {
      timeZone: 'Asia/Kolkata',
      period: (_: Date, { year, month }: { year: number; month: number }) =>
        `${month < 4 ? year - 1 : year}`,
    }
    const { receipts } = openTill(shop, { series })
    expect(await receipts.next({ key: 'a' })).toMatchObject({ period: '2027' })
    const date = new Date('2027-03-31T12:00:00Z')
    expect(await receipts.next({ key: 'b', date, by: 'anna' })).toMatchObject({
      period: '2026',
      isBack: true,
    })
    expect((await receipts.report())[0]!.numbers[1]).toMatchObject({
      date: date.toISOString(),
      takenBy: 'anna',
    })
    for (const wrong of [new Date(Number.NaN), '2027-01-01', new Date('0027-01-01T00:00Z'), ''])
      await expect(receipts.next({ key: 'c', date: wrong as Date })).rejects.toEqual(
        refusal('invalid-argument', '`date` is a Date'),
      )
  })

  test('a minute before the last one is no clock gone back', async () => {
    const { receipts } = openTill(shop)
    let time = Date.parse('2027-01-01T12:00:00Z')
    for (const [back, isBack] of [
      [0, undefined],
      [60_000, undefined],
      [60_001, true],
    ] as const) {
      time -= back
      const made = await receipts.next({ key: `${back}`, date: new Date(time) })
      expect(made.isBack).toBe(isBack)
    }
  })

  test('stays what it was when the app goes on with its own', async () => {
    const { hilo, receipts } = openTill(shop, { series: { timeZone: 'UTC', period: 'day' } })
    await receipts.prepare()
    hilo.goOffline()
    const date = new Date('2027-02-27T12:00:00Z')
    const made = []
    for (const key of ['a', 'b', 'c']) {
      made.push(receipts.next({ key, date }))
      date.setUTCDate(date.getUTCDate() + 1)
    }
    const days = (await Promise.all(made)).map(({ period }) => period)
    expect(days).toEqual(['2027-02-27', '2027-02-28', '2027-03-01'])
  })

  test('at midnight is one: number, period, record and report', async () => {
    // The clock moves with each look at it, as that of a busy till does over midnight.
    const times: string[] = []
    const { receipts } = openTill(shop, {
      series: {
        timeZone: 'UTC',
        period: 'day',
        chain: chain({ text: ({ time, period }, previous) => `${time} ${period} ${previous}` }),
      },
    })
    await receipts.next({ key: 'before' })
    let now = Date.parse('2026-12-31T23:59:59.200Z')
    const look = () => {
      now += 100
      return now
    }
    const RealDate = Date
    vi.stubGlobal(
      'Date',
      class extends RealDate {
        constructor(...of: [] | [number]) {
          super(of.length > 0 ? of[0]! : look())
        }
        static override now = look
      },
    )
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const { period } = await receipts.next({ key })
      times.push(period!)
    }
    vi.unstubAllGlobals()
    const [report] = await receipts.report()
    for (const { takenAt, period } of report!.numbers) expect(takenAt.slice(0, 10)).toBe(period)
    const { broken } = await receipts.verify()
    expect(broken).toEqual([])
    expect(new Set(times)).toEqual(new Set(['2026-12-31', '2027-01-01']))
    const lines = (await exportOf(receipts))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const { record, time, period } of lines)
      if (record === 'number') expect(time.slice(0, 10)).toBe(period)
  })

  test('of a counter per client and year: a change of client is no clock gone back', async () => {
    let client = 'ACME'
    const series = {
      timeZone: 'UTC',
      period: (_: Date, { year }: { year: number }) => `${client}-${year}`,
    }
    const { receipts } = openTill(shop, { series })
    const made = []
    for (const [key, of] of ['ACME', 'Bolt', 'ACME', 'Bolt'].entries()) {
      client = of
      made.push(await receipts.next({ key: `${key}` }))
    }
    expect(made.map(({ number, isBack }) => [number, isBack])).toEqual([
      [1, undefined],
      [1, undefined],
      [2, undefined],
      [2, undefined],
    ])
  })
})

describe('a period that is closed', () => {
  const series = { timeZone: 'UTC', period: 'day' as const }

  test('gets no number any more, in any tab, and has its sums in the register', async () => {
    clock('2026-12-30T20:00:00Z')
    const { receipts } = openTill(shop, { series })
    const other = openTill(shop, { series }).receipts
    await idsOf(receipts, 'a', 'b')
    await idsOf(other, 'c')
    await receipts.settle('a', 'confirmed')
    const closing = {
      count: 3,
      first: 'A-2026-12-30-000001',
      last: 'A-2026-12-30-000003',
      open: 2,
      sums: { total: '12.35' },
      by: 'anna',
    }
    const sums = { total: '12.35' }
    expect(await receipts.closePeriod('2026-12-30', { sums, by: 'anna' })).toEqual(closing)
    expect(await receipts.closePeriod('2026-12-30', { by: 'bert' })).toEqual(closing)
    for (const each of [receipts, other])
      await expect(each.next({ key: 'd' })).rejects.toEqual(
        refusal('invalid-argument', 'the period 2026-12-30 was closed after A-2026-12-30-000003'),
      )
    clock('2026-12-31T08:00:00Z')
    expect(await idsOf(other, 'd')).toEqual(['A-2026-12-31-000001'])
    expect((await receipts.report())[0]!.numbers[2]).toMatchObject({ closing })
    expect((await receipts.verify()).broken).toEqual([])
    for (const none of ['2020-01-32', '2020-1-1', '2020'])
      await expect(receipts.closePeriod(none)).rejects.toEqual(
        refusal('invalid-argument', 'this is a period of the series that goes on'),
      )
  })

  test('without a number is closed, too: a day on which nothing was sold', async () => {
    clock('2026-12-30T20:00:00Z')
    const { receipts } = openTill(shop, { series })
    await idsOf(receipts, 'a')
    clock('2026-12-31T20:00:00Z')
    const closing = { count: 0, open: 0, by: 'anna' }
    expect(await receipts.closePeriod('2026-12-31', { by: 'anna' })).toEqual(closing)
    expect(await receipts.closePeriod('2026-12-31')).toEqual(closing)
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(
      refusal('invalid-argument', 'the period 2026-12-31 was closed after no number'),
    )
    const reopened = { reason: 'a late customer', by: 'bert' }
    await receipts.closePeriod('2026-12-31', { reopen: true, ...reopened })
    expect(await idsOf(receipts, 'b')).toEqual(['A-2026-12-31-000001'])
    const lines = (await exportOf(receipts)).trim().split('\n')
    const entries = lines
      .map((line) => JSON.parse(line))
      .filter(({ what, made }) => ['closed', 'reopened'].includes(what) && made === undefined)
    expect(entries).toMatchObject([
      { what: 'closed', series: 'A', period: '2026-12-31', closing },
      { what: 'reopened', series: 'A', period: '2026-12-31', reopened },
    ])
    expect((await receipts.verify()).broken).toEqual([])
  })

  test('is opened again by a person with a reason, and not by itself', async () => {
    clock('2035-06-01T08:00:00Z')
    const { receipts } = openTill(shop, { series: { ...series, period: 'year' } })
    await idsOf(receipts, 'a sale of a wrong clock')
    clock('2026-06-01T08:00:00Z')
    expect(await receipts.next({ key: 'b' })).toMatchObject({ period: '2026', isBack: true })
    await receipts.closePeriod('2026')
    await expect(receipts.next({ key: 'c' })).rejects.toEqual(
      refusal('invalid-argument', 'was closed'),
    )
    await expect(receipts.closePeriod('2026', { reopen: true })).rejects.toEqual(
      refusal('invalid-argument', 'a reason'),
    )
    const lost = [{ reason: 'a shop day' }, { reopen: true, reason: 'a mistake', sums: 1 }]
    for (const options of lost)
      await expect(receipts.closePeriod('2026', options)).rejects.toEqual(
        refusal('invalid-argument', '`reopen`'),
      )
    const reopened = { reason: 'the year is not over', by: 'anna' }
    await receipts.closePeriod('2026', { reopen: true, ...reopened })
    expect(await idsOf(receipts, 'c')).toEqual(['A-2026-000002'])
    expect((await receipts.report())[0]!.numbers[1]).toMatchObject({ reopened })
    expect((await receipts.verify()).broken).toEqual([])
  })

  test('has a name that the server can read: it hears of each number afterwards', async () => {
    const { receipts } = openTill(shop, { series: { period: () => 'closing 7' } })
    await idsOf(receipts, 'a')
    for (const none of ['x'.repeat(65), 'é'.repeat(33), 'a\nb', '\ud800'])
      await expect(receipts.closePeriod(none)).rejects.toEqual(
        refusal('invalid-argument', 'a period'),
      )
    await receipts.closePeriod('é'.repeat(32))
    expect(await receipts.next({ key: 'b' })).toMatchObject({ heard: true })
  })

  test('which is closed while tabs make numbers gets none after the closing', async () => {
    clock('2026-12-30T20:00:00Z')
    const tills = [0, 1, 2].map(() => openTill(shop, { series }).receipts)
    await idsOf(tills[0]!, 'first')
    const keys = Array.from({ length: 12 }, (_, i) => `sale ${i}`)
    const sales = keys.map((key, i) => tills[i % 3]!.next({ key }).catch(() => {}))
    const closing = await tills[1]!.closePeriod('2026-12-30')
    await Promise.all(sales)
    const [report] = await tills[0]!.report()
    expect(report!.numbers).toHaveLength(closing!.count)
    expect(report!.numbers.at(-1)!.id).toBe(closing!.last)
  })
})

test('a series without periods has none that could be closed', async () => {
  const { receipts } = openTill(shop, {})
  await idsOf(receipts, 'a')
  await expect(receipts.closePeriod('2027')).rejects.toEqual(
    refusal('invalid-argument', 'this is a period of the series that goes on'),
  )
  for (const none of ['', 2027])
    await expect(receipts.closePeriod(none as string)).rejects.toEqual(
      refusal('invalid-argument', 'a period is a text'),
    )
  expect(await idsOf(receipts, 'b')).toEqual(['A-000002'])
})

describe('a series', () => {
  test('begins where the old system ended, in its first period only', async () => {
    clock('2026-12-31T20:00:00Z')
    const { receipts } = openTill(shop, { series: { period, limits: { from: 39 }, series: 'T3' } })
    expect(await idsOf(receipts, 'a', 'b')).toEqual(['T3-2026-000039', 'T3-2026-000040'])
    clock('2027-01-01T08:00:00Z')
    expect(await idsOf(receipts, 'c')).toEqual(['T3-2027-000001'])
    const periods = [
      { period: '2026', first: 39, last: 40 },
      { period: '2027', first: 1, last: 1 },
    ]
    expect(await registry()).toMatchObject([{ series: 'T3', periods }])
  })

  test('has a name that no other device gets, and is not told who has it', async () => {
    const series = { series: 'T3', device: 'Till 3' }
    const { receipts } = openTill(shop, { series })
    expect(await receipts.prepare()).toEqual({ series: 'T3', last: 0, made: 0, heard: 0 })
    expect(await receipts.prepare()).toMatchObject({ series: 'T3' })
    const other = openTill(shop, { name: newName(), series: { series: 'T3' } }).receipts
    const error = await other.prepare().catch((thrown) => thrown)
    expect(error).toEqual(refusal('server-refused', "The series T3 of 'receipts' is not free"))
    expect(error.message).not.toContain('Till 3')
    await expect(other.next({ key: 'a' })).rejects.toEqual(refusal('server-refused', 'T3'))
    const third = openTill(shop, { name: newName() }).receipts
    expect(await idsOf(third, 'a')).toEqual(['B-000001'])
  })

  test.each<[string, NonNullable<ConsecutiveOptions['limits']>, string]>([
    ['longer ids', { length: 7 }, 'an id has at most 7 characters'],
    ['longer ids later', { length: 8, to: 10_000_000 }, 'an id has at most 8 characters'],
    ['other characters', { characters: /^[A-Z0-9]+$/ }, 'an id is of the form'],
    ['no number left', { from: 39, to: 38 }, 'the highest number is 38: this series is full'],
  ])('with %s than its limits allow makes no number', async (_, limits, message) => {
    const { from, ...others } = limits
    if (from === undefined) {
      const { receipts } = openTill(shop, { series: { limits: others } })
      const refused = refusal('invalid-argument', message)
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(refused)
      expect(await receipts.report()).toMatchObject([{ series: 'A', numbers: [] }])
    }
    // A name is known before the server is asked.
    expect(() => openTill(shop, { series: { limits, series: 'T3' } })).toThrow(message)
  })

  test.each([
    ['a name without a digit', { series: 'T' }, 'series is 1 to 20 letters, digits'],
    ['a long name', { series: 'T3'.repeat(11) }, 'series is 1 to 20 letters, digits'],
    ['a start without a name', { limits: { from: 39 } }, 'limits.from needs the option `series`'],
    ['a start at 0', { limits: { from: 0 } }, 'are whole numbers from 1 on'],
    ['a period that is none', { period: '2027' as never }, "period is 'year', 'month', 'day'"],
    ['no time zone', { timeZone: 'Sao_Paulo' }, 'timeZone is a name such as'],
    ['a time zone of no name', { timeZone: '' }, 'timeZone is a name such as'],
    ['an end of null', { limits: { to: null as never } }, 'are whole numbers from 1 on'],
    ['a limit of nothing', { limits: { length: 0 } }, 'are whole numbers from 1 on'],
    ['a limit that is no form', { limits: { characters: 'A' as never } }, 'a regular expression'],
  ])('is refused at once with %s', (_, series, message) => {
    expect(() => openTill(shop, { series })).toThrow(message)
  })

  test.each<[string, (date: Date) => unknown, string]>([
    ['nothing', () => undefined, 'what period makes of the date is a text'],
    ['an empty text', () => '', 'what period makes of the date is a text'],
    ['two lines', () => 'a\nb', 'is well-formed Unicode without control'],
    ['a long text', () => 'a'.repeat(65), 'has at most 64 bytes'],
  ])('makes no number in a period that is %s', async (_, wrong, message) => {
    const { receipts } = openTill(shop, { series: { period: wrong as never } })
    await expect(receipts.next({ key: 'a' })).rejects.toEqual(refusal('invalid-argument', message))
  })
})

describe('the form of an id', () => {
  const pad = (number: number, digits: number) => String(number).padStart(digits, '0')
  type Form = NonNullable<ConsecutiveOptions['formatId']>

  test.each<[string, Form, string, string]>([
    ['B-000001', (n, s) => `${s}-${pad(n, 6)}`, 'B', ''],
    ['2026/B/000001', (n, s, p) => `${p}/${s}/${pad(n, 6)}`, 'B', '2026'],
    ['124/G33', (n, s) => `${n}/${s}`, 'G33', ''],
    ['FT 2026B/1', (n, s, p) => `FT ${p}${s}/${n}`, 'B', '2026'],
    ['124/PP1/1', (n, s) => `${n}/${s}`, 'PP1/1', ''],
    ['PP1-B1-124', (n, s) => `${s}-${n}`, 'PP1-B1', ''],
    ['0012-0124', (n, s) => `${pad(Number(s), 4)}-${pad(n, 4)}`, '12', ''],
    ['B001-00000124', (n, s) => `${s}-${pad(n, 8)}`, 'B001', ''],
    ['001-001-000000124', (n, s) => `${s}-${pad(n, 9)}`, '001-001', ''],
    ['00200003040000000124', (n, s) => `${s}${pad(n, 10)}`, '0020000304', ''],
    ['E320000000124', (n, s) => `${s}${pad(n, 10)}`, 'E32', ''],
    ['B0200000124', (n, s) => `${s}${pad(n, 8)}`, 'B02', ''],
    ['SETP990000124', (n, s) => `${s}${n}`, 'SETP990000', ''],
    ['DTE-01-M001P001-000000000000124', (n, s) => `DTE-01-${s}-${pad(n, 15)}`, 'M001P001', ''],
    ['26-27/B/000001', (n, s, p) => `${p}/${s}/${pad(n, 6)}`, 'B', '26-27'],
  ])('can be %s', async (id, formatId, series, of) => {
    const named = /\d/.test(series) ? { series, limits: { from: 124 } } : {}
    // The letter B is the second one.
    if (!('series' in named)) await idsOf(openTill(shop, { name: newName() }).receipts, 'first')
    const { receipts } = openTill(shop, {
      name: newName(),
      series: { ...named, formatId, ...(of && { period: () => of }) },
    })
    expect(await idsOf(receipts, 'a')).toEqual([id])
  })
})
