/** What a ledger promises when a person gives a series numbers of an authority. */
import { expect } from 'vitest'
import type { SeriesRange } from '../src/ledger/ledger.js'
import { AT, type Bench, newId, type Promises } from './ledger-bench.js'

/** Two tills have the series A and B. */
async function twoTills({ ledger, database }: Bench) {
  const claim = async (collection = 'receipts') => {
    const asked = { database, collection, id: newId(), device: 'Till', at: AT }
    const outcome = await ledger.claimSeries(asked)
    if ('refused' in outcome) throw new Error(outcome.refused)
    return outcome.token
  }
  const checkIn = (token: string) =>
    ledger.checkInSeries({ database, id: newId(), token, last: 0, at: AT + 1 })
  const give = (letter: string, range: SeriesRange, collection = 'receipts') =>
    ledger.giveRange({ database: database.toUpperCase(), collection, letter, range })
  return { a: await claim(), b: await claim(), claim, checkIn, give }
}

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
}
