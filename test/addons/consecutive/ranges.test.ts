/** Numbers of ranges that an authority gave: each has an end, most have a last day. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import type { ConsecutiveOptions, NumberRange } from '../../../src/addons/consecutive/index.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import {
  copyProfile,
  currentOf,
  exportOf,
  idsOf,
  inEachStore,
  openTill,
  registry,
} from './devices.js'

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

/** The device's clock; timers go on. */
const clock = (time: string) => vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(time) })

const first: NumberRange = {
  from: 1001,
  to: 1003,
  validUntil: '2027-06-30',
  data: { resolution: '80-21' },
}
const second: NumberRange = { from: 2001, to: 2040, validUntil: '2027-12-31' }
const options = (...ranges: NumberRange[]): { series: ConsecutiveOptions } => ({
  series: { series: 'T3', device: 'Till 3', ranges },
})

inEachStore(() => {
  test('a number of a range has its data; the jump to the next range is no hole', async () => {
    clock('2027-06-01T09:00:00Z')
    const till = openTill(shop, options(first, second))
    expect(await till.receipts.next({ key: 'a' })).toEqual({
      id: 'T3-001001',
      number: 1001,
      period: '1001-1003',
      data: { resolution: '80-21' },
      heard: true,
    })
    till.hilo.goOffline()
    expect(await idsOf(till.receipts, 'b', 'c', 'd', 'e', 'a')).toEqual([
      'T3-001002',
      'T3-001003',
      'T3-002001',
      'T3-002002',
      'T3-001001',
    ])
    expect(await currentOf(till.receipts)).toMatchObject({
      series: 'T3',
      period: '2001-2040',
      last: 2002,
      made: 5,
      left: 38,
      validUntil: '2027-12-31',
    })
    const [report] = await till.receipts.report()
    expect(report!.numbers.map(({ number, data }) => [number, data])).toEqual([
      [1001, first.data],
      [1002, first.data],
      [1003, first.data],
      [2001, undefined],
      [2002, undefined],
    ])
    expect(report!.ranges).toEqual([
      { ...first, left: 0, isOver: true },
      { ...second, left: 38 },
    ])
    till.hilo.goOnline()
    await expect.poll(registry).toMatchObject([
      {
        series: 'T3',
        last: 5,
        periods: [
          { period: '1001-1003', first: 1001, last: 1003 },
          { period: '2001-2040', first: 2001, last: 2002 },
        ],
      },
    ])
  })

  test('after the last number none is made, until the app has another range', async () => {
    clock('2027-06-01T09:00:00Z')
    const { hilo, receipts } = openTill(shop, options(first))
    const told = vi.fn()
    hilo.addEventListener('exhausted', ({ detail }) => told(detail.collection, detail.error.code))
    await idsOf(receipts, 'a', 'b', 'c')
    const all = refusal('exhausted', 'all numbers of its ranges up to 1003 are used')
    await expect(receipts.next({ key: 'd' })).rejects.toEqual(all)
    expect(told.mock.calls).toEqual([['receipts', 'exhausted']])
    expect(await idsOf(receipts, 'c')).toEqual(['T3-001003'])
    expect(await receipts.report()).toMatchObject([
      { last: 1003, left: 0, ranges: [{ left: 0, isOver: true }] },
    ])
    await hilo.close()
    const after = openTill(shop, options(first, second)).receipts
    expect(await idsOf(after, 'd')).toEqual(['T3-002001'])
    expect((await after.report())[0]!.numbers).toHaveLength(4)
  })

  test('after its last day a range makes no number, and its rest is on the report', async () => {
    clock('2027-06-29T09:00:00Z')
    const { receipts } = openTill(shop, options(first))
    await idsOf(receipts, 'a')
    clock('2027-07-02T09:00:00Z')
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(
      refusal('exhausted', 'the range 1001 to 1003 ended on 2027-06-30, with 2 numbers left'),
    )
    expect(await currentOf(receipts)).toMatchObject({ last: 1001, left: 0 })
    expect(await receipts.report()).toMatchObject([
      { ranges: [{ from: 1001, left: 2, isOver: true }] },
    ])
    const after = openTill(shop, options(first, second)).receipts
    expect(await idsOf(after, 'b')).toEqual(['T3-002001'])
    // A range that has given way to the next one makes no number any more.
    clock('2027-06-29T10:00:00Z')
    expect(await after.next({ key: 'c' })).toMatchObject({ number: 2002, isBack: true })
    expect((await after.report())[0]!.ranges).toMatchObject([
      { from: 1001, left: 2, isOver: true },
      { from: 2001, left: 38 },
    ])
  })

  test('a range makes numbers up to the end of its last day', async () => {
    const end = new Date(2027, 5, 30, 23, 59, 59, 999)
    vi.useFakeTimers({ toFake: ['Date'], now: end })
    const { receipts } = openTill(shop, options(first))
    expect(await idsOf(receipts, 'a')).toEqual(['T3-001001'])
    vi.setSystemTime(Number(end) + 1)
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(refusal('exhausted', 'ended on'))
  })

  test('the last day of a range ends at midnight of the shop, not of the machine', async () => {
    const till = (timeZone: string) => {
      const { series } = options({ from: 1, to: 9, validUntil: '2027-06-30' })
      const of = { series: timeZone.includes('Paulo') ? 'T1' : 'T2', timeZone }
      return openTill(shop, { name: newName(), series: { ...series, ...of } }).receipts
    }
    clock('2027-07-01T02:59:59Z')
    const late = till('America/Sao_Paulo')
    expect(await idsOf(late, 'a')).toEqual(['T1-000001'])
    expect(await currentOf(late)).toMatchObject({ left: 8, lasting: 0, validUntil: '2027-06-30' })
    clock('2027-07-01T03:00:00Z')
    const over = refusal('exhausted', 'the range 1 to 9 ended on 2027-06-30, with 8 numbers left')
    await expect(late.next({ key: 'b' })).rejects.toEqual(over)
    expect((await late.report())[0]).toMatchObject({ left: 0, ranges: [{ isOver: true }] })
    clock('2027-06-30T18:29:59Z')
    const early = till('Asia/Kolkata')
    expect(await idsOf(early, 'a')).toEqual(['T2-000001'])
    clock('2027-06-30T18:30:00Z')
    await expect(early.next({ key: 'b' })).rejects.toEqual(over)
  })

  test('of ranges that are taken by three pages at once each number is made once', async () => {
    clock('2027-06-01T09:00:00Z')
    const name = newName()
    const pages = [0, 1, 2].map(() => openTill(shop, { name, ...options(first, second) }).receipts)
    const keys = Array.from({ length: 12 }, (_, i) => `sale ${i}`)
    const made = await Promise.all(keys.map((key, i) => pages[i % 3]!.next({ key })))
    expect(made.map(({ number }) => number).sort((a, b) => a - b)).toEqual([
      1001,
      1002,
      1003,
      ...Array.from({ length: 9 }, (_, i) => 2001 + i),
    ])
  })

  test('a chain goes over the jump, and an export has no hole there', async () => {
    clock('2027-06-01T09:00:00Z')
    const linked = chain({
      text: ({ id, data }, previous) => `${id};${JSON.stringify(data)};${previous}`,
    })
    const { series } = options(first, second)
    const { receipts } = openTill(shop, { series: { ...series, chain: linked } })
    await idsOf(receipts, 'a', 'b', 'c', 'd')
    expect(await receipts.verify()).toMatchObject({ chains: [{}, { count: 4 }], broken: [] })
    const lines = (await exportOf(receipts)).trim().split('\n')
    const [head, row] = lines.map((line) => JSON.parse(line))
    expect(row.text).toBe('T3-001001;{"resolution":"80-21"};')
    expect(head.series[0].ranges).toMatchObject([{ left: 0 }, { left: 39 }])
    expect(JSON.parse(lines.at(-1)!).totals).toMatchObject({ open: 4, holes: 0, unused: 39 })
  })

  test('a copy of the device makes no number of its ranges', async () => {
    clock('2027-06-01T09:00:00Z')
    const [name, copy] = [newName(), newName()]
    const till = openTill(shop, { name, ...options(second) })
    await idsOf(till.receipts, 'a')
    await copyProfile(name, copy)
    expect(await idsOf(till.receipts, 'b')).toEqual(['T3-002002'])
    const copied = openTill(shop, { name: copy, ...options(second) })
    await expect(copied.receipts.next({ key: 'x' })).rejects.toEqual(
      refusal('server-refused', 'The series T3'),
    )
    const anew = openTill(shop, { name: newName(), ...options(second) })
    await expect(anew.receipts.next({ key: 'y' })).rejects.toEqual(
      refusal('server-refused', 'The series T3'),
    )
  })
})

describe('ranges that a person gives at the server', () => {
  const ofServer = { series: { device: 'Till 3', ranges: 'server' as const } }
  const give = (letter: string, range: Omit<NumberRange, 'data'>) =>
    shop.ledger.giveRange({ database: 'default', collection: 'receipts', letter, range })

  inEachStore(() => {
    test('come with the next check-in, and no number is made before', async () => {
      clock('2027-06-01T09:00:00Z')
      const name = newName()
      const { hilo, receipts } = openTill(shop, { name, ...ofServer })
      await receipts.prepare()
      shop.requests.length = 0
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(
        refusal('exhausted', 'the server has not given it a range yet'),
      )
      // It asks the server once more before it gives up.
      expect(shop.requests.map(({ action }) => action)).toEqual(['checkin'])
      await give('A', { from: 2001, to: 2002, validUntil: '2027-12-31' })
      expect(await receipts.next({ key: 'a' })).toMatchObject({ id: 'A-002001', heard: true })
      expect(await currentOf(receipts)).toMatchObject({ left: 1, validUntil: '2027-12-31' })
      hilo.goOffline()
      const page = openTill(shop, { name, ...ofServer })
      page.hilo.goOffline()
      expect(await idsOf(page.receipts, 'b')).toEqual(['A-002002'])
      await expect(page.receipts.next({ key: 'c' })).rejects.toEqual(
        refusal('exhausted', 'up to 2002 are used'),
      )
      await give('A', { from: 3001, to: 3040 })
      page.hilo.goOnline()
      expect(await idsOf(page.receipts, 'c')).toEqual(['A-003001'])
      expect((await page.receipts.report())[0]!.ranges).toMatchObject([{ left: 0 }, { left: 39 }])
      const ranges = [
        { from: 2001, to: 2002, validUntil: '2027-12-31' },
        { from: 3001, to: 3040 },
      ]
      expect(await registry()).toMatchObject([{ series: 'A', ranges }])
    })

    test('of two prefixes count apart, and a prefix that comes back goes on', async () => {
      clock('2027-06-01T09:00:00Z')
      const { hilo, receipts } = openTill(shop, { name: newName(), ...ofServer })
      await receipts.prepare()
      await give('A', { from: 1, to: 2, prefix: 'SETP' })
      await give('A', { from: 1, to: 40, prefix: 'FEA' })
      expect(await idsOf(receipts, 'a', 'b', 'c')).toEqual([
        'A-SETP-000001',
        'A-SETP-000002',
        'A-FEA-000001',
      ])
      hilo.goOffline()
      expect(await idsOf(receipts, 'd')).toEqual(['A-FEA-000002'])
      expect(await currentOf(receipts)).toMatchObject({ period: 'FEA:1-40', last: 2, left: 38 })
      await give('A', { from: 3, to: 3, prefix: 'SETP' })
      hilo.goOnline()
      await expect.poll(async () => (await currentOf(receipts))?.left).toBe(39)
      expect(await idsOf(receipts, 'e', 'f')).toEqual(['A-SETP-000003', 'A-FEA-000003'])
      expect((await receipts.report())[0]!.ranges).toMatchObject([
        { prefix: 'SETP', from: 1, left: 0 },
        { prefix: 'SETP', from: 3, left: 0 },
        { prefix: 'FEA', from: 1, left: 37 },
      ])
      expect(await receipts.verify()).toMatchObject({ broken: [] })
    })

    test('have a prefix that each object has as a name of its own', async () => {
      clock('2027-06-01T09:00:00Z')
      const { receipts } = openTill(shop, { name: newName(), ...ofServer })
      await receipts.prepare()
      await give('A', { from: 1, to: 40, prefix: 'constructor' })
      expect(await idsOf(receipts, 'a')).toEqual(['A-constructor-000001'])
    })

    test('stay with the series: its copy gets another one, without ranges', async () => {
      const [name, copy] = [newName(), newName()]
      const till = openTill(shop, { name, ...ofServer })
      await till.receipts.prepare()
      await give('A', { from: 2001, to: 2040 })
      await idsOf(till.receipts, 'a')
      await copyProfile(name, copy)
      expect(await idsOf(till.receipts, 'b')).toEqual(['A-002002'])
      const copied = openTill(shop, { name: copy, ...ofServer })
      await expect(copied.receipts.next({ key: 'x' })).rejects.toEqual(
        refusal('exhausted', 'the server has not given it a range yet'),
      )
      expect(await currentOf(copied.receipts)).toMatchObject({ series: 'B', left: 0 })
    })
  })

  test('go with a series that is handed over', async () => {
    const till3 = openTill(shop, { name: newName(), ...ofServer })
    await till3.receipts.prepare()
    await give('A', { from: 2001, to: 2040 })
    await idsOf(till3.receipts, 'a')
    await shop.ledger.handOverSeries({
      database: 'default',
      collection: 'receipts',
      letter: 'A',
      to: 'Till 4',
      last: 2001,
      period: '2001-2040',
      by: 'anna',
      reason: 'the till was stolen',
      at: Date.now(),
    })
    const series = { device: 'Till 4', ranges: 'server' as const }
    const till4 = openTill(shop, { name: newName(), series })
    expect(await idsOf(till4.receipts, 'x')).toEqual(['A-002002'])
  })

  test('have a chain and tell of their end', async () => {
    const linked = chain({ text: ({ id }, previous) => `${id};${previous}` })
    const { hilo, receipts } = openTill(shop, {
      series: { ...ofServer.series, chain: linked },
    })
    const told = vi.fn()
    hilo.addEventListener('ending', ({ detail }) => told(detail))
    await receipts.prepare()
    await give('A', { from: 1, to: 10 })
    await idsOf(receipts, ...Array.from({ length: 9 }, (_, i) => `sale ${i}`))
    expect(told.mock.calls).toEqual([
      [{ collection: 'receipts', series: 'A', left: 1, lasting: 1 }],
    ])
    expect(await receipts.verify()).toMatchObject({ chains: [{}, { count: 9 }] })
  })
})

describe('the app hears in time', () => {
  const ends = (hilo: EventTarget) => {
    const told = vi.fn()
    hilo.addEventListener('ending', (event) => told((event as CustomEvent).detail))
    return told
  }

  test('that few numbers are left: once', async () => {
    clock('2027-02-01T09:00:00Z')
    const { hilo, receipts } = openTill(shop, options({ from: 1, to: 20 }))
    const told = ends(hilo)
    await idsOf(receipts, ...Array.from({ length: 17 }, (_, i) => `sale ${i}`))
    expect(told).not.toHaveBeenCalled()
    await idsOf(receipts, 'x', 'y')
    const detail = { collection: 'receipts', series: 'T3', left: 2, lasting: 2 }
    expect(told.mock.calls).toEqual([[detail]])
  })

  test('that few days are left: once', async () => {
    clock('2027-11-20T09:00:00Z')
    const { hilo, receipts } = openTill(shop, options(second))
    const told = ends(hilo)
    await idsOf(receipts, 'a')
    expect(told).not.toHaveBeenCalled()
    clock('2027-12-20T09:00:00Z')
    await idsOf(receipts, 'b', 'c')
    const detail = { left: 38, lasting: 0, validUntil: '2027-12-31' }
    expect(told.mock.calls).toEqual([[{ collection: 'receipts', series: 'T3', ...detail }]])
  })

  test('that most of the numbers end tonight, and few go on', async () => {
    clock('2027-06-30T09:00:00Z')
    const tonight = { from: 1, to: 600, validUntil: '2027-06-30' }
    const later = { from: 601, to: 609, validUntil: '2028-06-30' }
    const { hilo, receipts } = openTill(shop, options(tonight, later))
    const told = ends(hilo)
    await idsOf(receipts, 'a', 'b')
    expect(told.mock.calls).toEqual([
      [{ collection: 'receipts', series: 'T3', left: 608, lasting: 9, validUntil: '2028-06-30' }],
    ])
  })

  test('not while a range that follows is valid for longer', async () => {
    clock('2027-06-20T09:00:00Z')
    const { hilo, receipts } = openTill(shop, options(first, second))
    const told = ends(hilo)
    await idsOf(receipts, 'a', 'b', 'c')
    expect(told).not.toHaveBeenCalled()
  })
})

describe('ranges', () => {
  test('that come later go on above what was made without them', async () => {
    const series = { series: 'T3' }
    const before = openTill(shop, { series })
    await idsOf(before.receipts, 'a', 'b')
    const after = openTill(shop, { series: { ...series, ranges: [{ from: 1, to: 10 }] } })
    expect(await idsOf(after.receipts, 'c')).toEqual(['T3-000003'])
  })

  test('that the app gives no more: the numbers go on above them', async () => {
    const series = { series: 'T3' }
    await idsOf(openTill(shop, { series }).receipts, 'a', 'b')
    const ranges = [{ from: 1, to: 10 }]
    await idsOf(openTill(shop, { series: { ...series, ranges } }).receipts, 'c')
    const after = openTill(shop, { series }).receipts
    const made = [await after.next({ key: 'd' }), await after.next({ key: 'e' })]
    expect(made.map(({ id, isBack }) => [id, isBack])).toEqual([
      ['T3-000004', undefined],
      ['T3-000005', undefined],
    ])
  })

  test('begin at `limits.from` where an old system has used a part', async () => {
    const series = { series: 'T3', limits: { from: 39 }, ranges: [{ from: 1, to: 40 }] }
    const { receipts } = openTill(shop, { series })
    expect(await idsOf(receipts, 'a')).toEqual(['T3-000039'])
    expect(await currentOf(receipts)).toMatchObject({ left: 1 })
  })

  test('of another prefix are not used up, nor after a hand-over', async () => {
    const ranges = [
      { from: 1, to: 2, prefix: 'SETP' },
      { from: 1, to: 9, prefix: 'FEA' },
    ]
    const series = { series: 'T3', ranges }
    const till3 = openTill(shop, { name: newName(), series })
    expect(await idsOf(till3.receipts, 'a', 'b', 'c')).toEqual([
      'T3-SETP-000001',
      'T3-SETP-000002',
      'T3-FEA-000001',
    ])
    await shop.ledger.handOverSeries({
      database: 'default',
      collection: 'receipts',
      letter: 'T3',
      to: 'Till 4',
      last: 2,
      period: 'FEA:1-9',
      by: 'anna',
      reason: 'the till was stolen',
      at: Date.now(),
    })
    const till4 = openTill(shop, { name: newName(), series: { device: 'Till 4', ...series } })
    expect(await idsOf(till4.receipts, 'x')).toEqual(['T3-FEA-000003'])
  })

  test('that are used up say nothing of the day on which the others end', async () => {
    clock('2027-06-01T09:00:00Z')
    const longer = { ...first, validUntil: '2028-12-31' }
    const { receipts } = openTill(shop, options(longer, second))
    await idsOf(receipts, 'a', 'b', 'c')
    expect(await currentOf(receipts)).toMatchObject({ left: 40, validUntil: '2027-12-31' })
  })

  test('give `formatId` their data', async () => {
    const series: ConsecutiveOptions = {
      series: 'T3',
      ranges: [{ from: 990000001, to: 990000009, data: 'SETP' }],
      formatId: (number, _, __, data) => `${data}${number}`,
    }
    expect(await idsOf(openTill(shop, { series }).receipts, 'a')).toEqual(['SETP990000001'])
  })

  test.each<[string, ConsecutiveOptions, string]>([
    ['none', { ranges: [] }, 'ranges is a list of at least one range'],
    ['null', { ranges: null as never }, 'ranges is a list'],
    ['an empty text', { ranges: '' as never }, 'ranges is a list'],
    ['no list', { ranges: first as never }, 'ranges is a list'],
    ['a text', { ranges: 'all' as never }, 'ranges is a list'],
    ['no name', { series: undefined as never }, 'ranges need the option `series`'],
    ['a period', { period: () => '2027' }, 'ranges have no period'],
    ['a range from 0', { ranges: [{ from: 0, to: 9 }] }, 'whole numbers from 1 on'],
    ['an end before its begin', { ranges: [{ from: 9, to: 8 }] }, 'whole numbers from 1 on'],
    ['an overlap', { ranges: [first, { from: 1003, to: 2000 }] }, 'each range begins above'],
    ['a prefix of two words', { ranges: [{ ...first, prefix: 'a b' }] }, 'a prefix is of the form'],
    ['a prefix that is a number', { ranges: [{ ...first, prefix: 5 as never }] }, 'a prefix is'],
    ['a prefix of null', { ranges: [{ ...first, prefix: null as never }] }, 'a prefix is'],
    ['a day of null', { ranges: [{ ...first, validUntil: null as never }] }, 'validUntil is a day'],
    ['no day', { ranges: [{ from: 1, to: 9, validUntil: '2027-02-30' }] }, 'validUntil is a day'],
    ['another key', { ranges: [{ from: 1, to: 9, until: 'x' } as never] }, 'until'],
    ['data that JSON lacks', { ranges: [{ from: 1, to: 9, data: 1n }] }, 'data is what JSON'],
    [
      'a start above all',
      { limits: { from: 1004 } },
      'limits.from is not above all ranges; this is 1004',
    ],
    ['ids that are too long', { limits: { length: 8 } }, 'an id has at most 8 characters'],
  ])('are refused at once with %s', (_, wrong, message) => {
    const series = { series: 'T3', ranges: [first], ...wrong }
    expect(() => openTill(shop, { series })).toThrow(message)
  })
})
