/** What a stranger's options and functions do: a refusal that says why, never a number twice. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { expectWhole, idsOf, inEachStore, openTill } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
  vi.stubGlobal('navigator', {})
})
afterEach(async () => {
  vi.useRealTimers()
  await shop.close()
})

const refusal = (message: RegExp) =>
  expect.objectContaining({
    name: 'HiloError',
    code: 'invalid-argument',
    message: expect.stringMatching(message),
  })

const fails = (why: string) => () => {
  throw new Error(why)
}

inEachStore(() => {
  describe('formatId', () => {
    test('that makes one text of two numbers makes no second number', async () => {
      const { receipts } = openTill(shop, { series: { formatId: (_, series) => `R${series}` } })
      await idsOf(receipts, 'a')
      await expect(receipts.next({ key: 'b' })).rejects.toEqual(refusal(/formatId makes RA of two/))
      const { receipts: right } = openTill(shop)
      expect(await idsOf(right, 'b')).toEqual(['A-000002'])
      expectWhole(await right.report())
    })

    test('that leaves the period out makes no number in the second one', async () => {
      let year = '2026'
      const formatId = (number: number, letter: string) => `R${letter}${number}`
      const series = { period: () => year, formatId }
      const { receipts } = openTill(shop, { series })
      await idsOf(receipts, 'a', 'b')
      year = '2027'
      await expect(receipts.next({ key: 'c' })).rejects.toEqual(refusal(/makes RA1 of two numbers/))
      year = '2026'
      expect(await idsOf(receipts, 'c')).toEqual(['RA3'])
    })

    test('that leaves the series out is refused before the first number', () => {
      const leavesOut = { formatId: (number: number) => `INV-${number}` }
      for (const series of [leavesOut, { ...leavesOut, series: 'T3' }])
        expect(() => openTill(shop, { series })).toThrow(
          /series in its text, because each device has a series of its own; this is INV-1/,
        )
    })

    test('that knows the one series of its till is taken', async () => {
      const formatId = (number: number) => `INV-T3-${number}`
      const { receipts } = openTill(shop, { series: { series: 'T3', formatId } })
      expect(await idsOf(receipts, 'a')).toEqual(['INV-T3-1'])
    })

    test('that writes the series in another way is taken', async () => {
      const formatId = (number: number, series: string) => `${series.toLowerCase()}-${number}`
      const { receipts } = openTill(shop, { series: { series: 'T3', formatId } })
      expect(await idsOf(receipts, 'a')).toEqual(['t3-1'])
    })

    test('that makes one text of two series makes no number in the second one', async () => {
      const formatId = (number: number, letter: string) => `${letter === 'B' ? 'B' : 'R'}${number}`
      const series = { formatId }
      const { receipts } = openTill(shop, { series })
      await idsOf(receipts, 'a')
      await idsOf(openTill(shop, { name: newName() }).receipts, 'of another device')
      await shop.ledger.closeSeries({
        database: 'default',
        collection: 'receipts',
        letter: 'A',
        by: 'anna',
        reason: 'a try',
        at: Date.now(),
      })
      await expect(receipts.next({ key: 'b' })).rejects.toEqual(refusal(/makes R1 of two numbers/))
    })
  })

  test('after the highest number that is safe none is made', async () => {
    const from = Number.MAX_SAFE_INTEGER
    const { receipts } = openTill(shop, { series: { series: 'T3', limits: { from } } })
    expect(await idsOf(receipts, 'a')).toEqual([`T3-${from}`])
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(refusal(/this series is full/))
    const [report] = await receipts.report()
    expect(report!.numbers).toHaveLength(1)
  })

  test.each(['\ud800', 'a\udc00', '\0', 'a\0b'])(
    'a key that is no well-formed text gets none: %j',
    async (key) => {
      const { receipts } = openTill(shop)
      await expect(receipts.next({ key })).rejects.toEqual(refusal(/a key is well-formed Unicode/))
      await expect(receipts.settle('a', 'cancelled', { reason: key })).rejects.toEqual(
        refusal(/a reason is well-formed/),
      )
    },
  )

  test.each(['a\nb', '__proto__', 'ключ 🧾'])('a key of its own: %j', async (key) => {
    const { receipts } = openTill(shop)
    expect(await idsOf(receipts, 'a', key, 'a', key)).toEqual([
      'A-000001',
      'A-000002',
      'A-000001',
      'A-000002',
    ])
    await receipts.settle(key, 'confirmed')
    expect((await receipts.unfinished()).map((open) => open.key)).toEqual(['a'])
  })

  test.each<[string, Parameters<typeof chain>[0]]>([
    ['digest that rejects', { text: () => 'x', digest: async () => fails('broken')() }],
    ['digest that makes a text', { text: () => 'x', digest: (() => 'abc') as never }],
    ['digest that makes a number', { text: () => 'x', digest: (() => 5) as never }],
    ['digest that makes nothing', { text: () => 'x', digest: (() => undefined) as never }],
    ['digest that makes no byte', { text: () => 'x', digest: () => new Uint8Array() }],
    ['initial that rejects', { text: () => 'x', initial: async () => fails('broken')() }],
    ['text that is a promise', { text: (async () => 'x') as never }],
    ['text that throws', { text: fails('broken') }],
    ['encoding that throws', { text: () => 'x', encoding: fails('broken') }],
    ['encoding that makes no text', { text: () => 'x', encoding: (() => null) as never }],
  ])('a chain with a %s makes no number, and stops no key', async (_, options) => {
    const series = { chain: chain(options) }
    const { receipts } = openTill(shop, { series })
    const refused = refusal(/^No record was made: the chain's (digest|initial|text|encoding) /)
    await expect(receipts.next({ key: 'a', content: 1 })).rejects.toEqual(refused)
    await expect(receipts.record({ key: 'b', kind: 'event' })).rejects.toEqual(refused)
    expect(await receipts.unfinished()).toEqual([])
    const right = openTill(shop, { series: { chain: chain({ text: (_, before) => before }) } })
    expect(await right.receipts.next({ key: 'a', content: 1 })).toMatchObject({ number: 1 })
    expect((await right.receipts.verify()).broken).toEqual([])
  })
})

test('a period that fails makes no number, and the refusal says why', async () => {
  const { receipts } = openTill(shop, { series: { period: fails('no calendar') } })
  await expect(receipts.next({ key: 'a' })).rejects.toEqual(refusal(/period failed: no calendar/))
})

test.each<unknown>([
  '+012027-12-31',
  '-000001-01-01',
  ['2027-12-31'],
  new Date(0),
  20271231,
  '2027-02-29',
])('a range is not valid until %j', (validUntil) => {
  const ranges = [{ from: 1, to: 9, validUntil: validUntil as string }]
  expect(() => openTill(shop, { series: { series: 'T3', ranges } })).toThrow(
    expect.objectContaining({ code: 'invalid-argument' }),
  )
})

test('a record without options is refused as one of no key', async () => {
  const series = { chain: chain({ text: () => 'x' }) }
  const { receipts } = openTill(shop, { series })
  await expect(receipts.record(undefined as never)).rejects.toEqual(refusal(/kind|key/))
})

test.each(['done', 'open', 'toString', null])('no number is settled as %j', async (state) => {
  const { receipts } = openTill(shop)
  await idsOf(receipts, 'a')
  await expect(receipts.settle('a', state as never)).rejects.toEqual(
    refusal(/a number is settled as confirmed, cancelled, voided, refused/),
  )
})
