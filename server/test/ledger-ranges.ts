/** What a ledger promises when a person gives a series numbers of an authority. */
import { expect } from 'vitest'
import type { SeriesClaim, SeriesPeriod, SeriesRange } from '../src/ledger/ledger.js'
import { AT, type Bench, newId, type Promises } from './ledger-bench.js'

/** Two tills have the series A and B. */
async function twoTills({ ledger, database }: Bench) {
  const claim = async (collection = 'receipts', device = 'Till', ended?: SeriesClaim['ended']) => {
    const asked = { database, collection, id: newId(), device, ended, at: AT }
    const outcome = await ledger.claimSeries(asked)
    if ('refused' in outcome) throw new Error(outcome.refused)
    return outcome.token
  }
  const checkIn = (token: string, last = 0, periods?: SeriesPeriod[]) =>
    ledger.checkInSeries({ database, id: newId(), token, last, periods, at: AT + 1 })
  /** @returns the next token */
  const tell = async (token: string, last: number, periods?: SeriesPeriod[]) => {
    const result = await checkIn(token, last, periods)
    if (result === 'unknown' || 'superseded' in result) throw new Error('The series has ended.')
    return result.token
  }
  const give = (letter: string, range: SeriesRange, collection = 'receipts') =>
    ledger.giveRange({ database: database.toUpperCase(), collection, letter, range })
  const close = (letter: string) => ledger.closeSeries({ ...RECEIPTS, database, letter, ...DONE })
  const handOver = (letter: string, last: number, period: string) =>
    ledger.handOverSeries({ ...RECEIPTS, database, letter, to: 'Till 4', last, period, ...DONE })
  return { a: await claim(), b: await claim(), claim, checkIn, tell, give, close, handOver }
}

const RECEIPTS = { collection: 'receipts' }
const DONE = { by: 'anna', reason: 'the till was stolen', at: AT + 5 }

export function describeRanges(promise: Promises): void {
  promise('its device hears of it with the next check-in, and the list has it', async (bench) => {
    const { a, b, checkIn, give } = await twoTills(bench)
    const range = { from: 2001, to: 3000, validUntil: '2027-12-31', data: '80-21' }
    expect(await give('A', range)).toMatchObject({ letter: 'A', ranges: [range] })
    expect(await give('A', { from: 1, to: 9 })).toMatchObject({
      ranges: [{ from: 1, to: 9 }, range],
    })
    expect(await checkIn(a)).toMatchObject({ ranges: [{ from: 1, to: 9 }, range] })
    expect(await checkIn(b)).not.toHaveProperty('ranges')
    const { ledger, database } = bench
    expect(await ledger.series(database)).toMatchObject([
      { letter: 'A', ranges: [{ from: 1, to: 9 }, range] },
      { letter: 'B', ranges: [] },
    ])
  })

  promise('a number is given once in a collection, and to no closed series', async (bench) => {
    const { ledger, database } = bench
    const { claim, give } = await twoTills(bench)
    await give('A', { from: 2001, to: 3000 })
    const refused = { refused: 'overlap', letter: 'A', from: 2001, to: 3000 }
    for (const [from, to] of [
      [2001, 3000],
      [1, 2001],
      [3000, 3001],
      [2100, 2200],
      [1, 9_999],
    ] as const)
      for (const letter of ['A', 'B']) expect(await give(letter, { from, to })).toEqual(refused)
    expect(await give('B', { from: 3001, to: 4000 })).toMatchObject({ letter: 'B' })
    expect(await give('C', { from: 5001, to: 6000 })).toEqual({ refused: 'missing' })
    await claim('invoices')
    expect(await give('A', { from: 2001, to: 3000 }, 'invoices')).toMatchObject({ letter: 'A' })
    const closing = { database, collection: 'receipts', by: 'anna', reason: 'moved', at: AT }
    await ledger.closeSeries({ ...closing, letter: 'A' })
    expect(await give('A', { from: 5001, to: 6000 })).toEqual({ refused: 'closed' })
    expect(await give('B', { from: 2001, to: 2002 })).toEqual(refused)
  })

  promise('numbers below the last one, which nobody would make, are not given', async (bench) => {
    const { a, claim, tell, give } = await twoTills(bench)
    await give('A', { from: 2001, to: 3000 })
    const next = await tell(a, 5, [{ period: '2001-3000', first: 2001, last: 2005 }])
    const below = { refused: 'below', last: 2005 }
    expect(await give('A', { from: 1, to: 9 })).toEqual(below)
    expect(await give('A', { from: 1_500, to: 2_000 })).toEqual(below)
    expect(await give('B', { from: 1, to: 9 })).toMatchObject({ letter: 'B' })
    expect(await give('A', { from: 3001, to: 3100 })).toMatchObject({ letter: 'A' })
    // Of a year, or of a lost copy: the device goes on above all of its numbers.
    const last = await tell(next, 6, [{ period: '2026', first: 9000, last: 9000 }])
    expect(await give('A', { from: 8_000, to: 8_999 })).toEqual({ refused: 'below', last: 9000 })
    // Its device has this one already: the ledger had forgotten it.
    await tell(last, 7, [{ period: '5001-6000', first: 5001, last: 5001 }])
    expect(await give('A', { from: 5_001, to: 6_000 })).toMatchObject({ letter: 'A' })
    await claim()
    expect(await give('C', { from: 8_000, to: 8_999 })).toMatchObject({ letter: 'C' })
  })

  promise(
    'numbers of another prefix begin anew, in the order in which they came',
    async (bench) => {
      const { ledger, database } = bench
      const { a, b, tell, checkIn, give } = await twoTills(bench)
      const first = { from: 1, to: 1_000, prefix: 'SETP', validUntil: '2027-06-30' }
      const second = { from: 1, to: 500, prefix: 'FEA' }
      await give('A', first)
      const next = await tell(a, 1_000, [{ period: 'SETP:1-1000', first: 1, last: 1_000 }])
      expect(await give('A', { ...first, from: 1_000, to: 2_000 })).toMatchObject({
        refused: 'overlap',
      })
      expect(await give('A', second)).toMatchObject({ ranges: [first, second] })
      const third = { from: 1_001, to: 2_000, prefix: 'SETP' }
      expect(await give('A', third)).toMatchObject({ ranges: [first, third, second] })
      // An authority writes its prefix in one way; a person may write it in another.
      for (const prefix of ['FEA', 'fea'])
        expect(await give('B', { from: 1, to: 9, prefix })).toMatchObject({
          refused: 'overlap',
          letter: 'A',
        })
      expect(await checkIn(next)).toMatchObject({ ranges: [first, third, second] })
      const ofB = await tell(b, 3, [{ period: 'NEW:1-99', first: 1, last: 3 }])
      expect(await give('A', { from: 50, to: 60, prefix: 'NEW' })).toEqual({
        refused: 'heard',
        letter: 'B',
        from: 1,
        to: 99,
      })
      expect(await give('B', { from: 1, to: 99, prefix: 'NEW' })).toMatchObject({ letter: 'B' })
      // All of it was made, and what is below it would be lost.
      const used = { from: 501, to: 510, prefix: 'OLD' }
      await give('B', used)
      await tell(ofB, 13, [{ period: 'OLD:501-510', first: 501, last: 510 }])
      expect(await give('B', { ...used, from: 1, to: 500 })).toEqual({
        refused: 'below',
        last: 510,
      })
      const over = { to: 'Till 4', last: 1_000, period: 'SETP:1-1000', ...DONE }
      expect(
        await ledger.handOverSeries({ ...RECEIPTS, database, letter: 'A', ...over }),
      ).toMatchObject({ last: 1_000 })
    },
  )

  promise(
    'of four gifts at once, by four servers, that overlap three are refused',
    async (bench) => {
      await twoTills(bench)
      const ledgers = await Promise.all(['A', 'B', 'A', 'B'].map(() => bench.open()))
      const { database } = bench
      const gifts = ledgers.map((ledger, i) => {
        const range = { from: 1 + i, to: 9 + i }
        return ledger.giveRange({ database, collection: 'receipts', letter: 'AB'[i % 2]!, range })
      })
      const done = await Promise.all(gifts)
      for (const ledger of ledgers) await ledger.close()
      expect(done.filter((each) => 'refused' in each && each.refused === 'overlap')).toHaveLength(3)
      const given = (await bench.ledger.series(database)).flatMap(({ ranges }) => ranges)
      expect(given).toHaveLength(1)
    },
  )

  promise(
    'after a restore, a range whose numbers were heard of goes to no other series',
    async (bench) => {
      const { a, tell, give } = await twoTills(bench)
      // The ledger forgot that it gave the range. The device has it, and goes on.
      await tell(a, 1, [{ period: '2001-3000', first: 2001, last: 2001 }])
      const refused = { refused: 'heard', letter: 'A', from: 2001, to: 3000 }
      expect(await give('B', { from: 2001, to: 3000 })).toEqual(refused)
      // What is left of it is the device's, too.
      expect(await give('B', { from: 2002, to: 3000 })).toEqual(refused)
      expect(await give('B', { from: 2999, to: 4000 })).toEqual(refused)
      expect(await give('A', { from: 2001, to: 4000 })).toEqual(refused)
      expect(await give('B', { from: 3001, to: 4000 })).toMatchObject({ letter: 'B' })
      // The same range, so that the list has it again.
      expect(await give('A', { from: 2001, to: 3000 })).toMatchObject({ letter: 'A' })
      expect(await give('B', { from: 2002, to: 3000 })).toMatchObject({ refused: 'overlap' })
    },
  )

  promise('a number that was heard of in no range is in no range later', async (bench) => {
    const { a, b, claim, tell, give, close } = await twoTills(bench)
    // The range that its device uses since is of its app.
    await tell(await tell(a, 124), 125, [{ period: '8001-9000', first: 8001, last: 8001 }])
    const mixed = [
      { period: '', first: 501, last: 510 },
      { period: '2026', first: 39, last: 200 },
    ]
    await tell(b, 12, mixed)
    const heard = (letter: string, from: number, to: number) => ({
      refused: 'heard',
      letter,
      from,
      to,
    })
    await claim()
    for (const letter of ['A', 'B', 'C']) {
      expect(await give(letter, { from: 124, to: 150 })).toEqual(heard('A', 1, 124))
      expect(await give(letter, { from: 505, to: 506 })).toEqual(heard('B', 501, 510))
      expect(await give(letter, { from: 200, to: 300 })).toEqual(heard('B', 39, 200))
    }
    await close('A')
    expect(await give('C', { from: 100, to: 101 })).toEqual(heard('A', 1, 124))
    await claim('invoices')
    expect(await give('A', { from: 100, to: 101 }, 'invoices')).toMatchObject({ letter: 'A' })
    expect(await give('C', { from: 201, to: 500 })).toMatchObject({ letter: 'C' })
    // The name of a fiscal year looks like a range. It is none: its numbers are others.
    await claim()
    const token = await claim()
    await tell(token, 3, [{ period: '2026-2099', first: 1, last: 3 }])
    expect(await give('D', { from: 2050, to: 2060 })).toMatchObject({ letter: 'D' })
  })

  promise(
    'what a person stated, a lost device told, or a copy told was heard of, too',
    async (bench) => {
      const { a, b, claim, checkIn, tell, give, handOver } = await twoTills(bench)
      const lost = await tell(a, 4, [{ period: '2001-3000', first: 2001, last: 2004 }])
      await handOver('A', 2010, '2001-3000')
      await claim()
      await claim('receipts', 'Till 4')
      const heard = (letter: string, from: number, to: number) => ({
        refused: 'heard',
        letter,
        from,
        to,
      })
      expect(await give('B', { from: 2005, to: 2006 })).toEqual(heard('A', 2001, 3000))
      const later = { period: '4001-5000', first: 4001, last: 4002 }
      expect(await checkIn(lost, 12, [later])).toMatchObject({ superseded: true })
      // Also not to the device that goes on: it knows nothing of them.
      for (const letter of ['A', 'B'])
        expect(await give(letter, { from: 4001, to: 5000 })).toEqual(heard('A', 4001, 5000))

      // Two copies of one device: the second one tells, and gets another series.
      await tell(b, 5)
      expect(await checkIn(b, 7)).toMatchObject({ superseded: true })
      expect(await give('A', { from: 7, to: 8 })).toEqual(heard('B', 6, 7))
      await claim('receipts', '', { letter: 'B', token: b, from: 6, to: 9 })
      expect(await give('A', { from: 9, to: 10 })).toEqual(heard('B', 6, 9))
      // A has made higher numbers already.
      expect(await give('D', { from: 10, to: 20 })).toMatchObject({ letter: 'D' })
    },
  )
}
