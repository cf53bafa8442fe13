/** What a ledger promises when a person hands the series of a lost device over to another one. */
import { expect } from 'vitest'
import type { SeriesClaim, SeriesHandOver, SeriesPeriod } from '../src/ledger/ledger.js'
import { AT, type Bench, newId, type Promises } from './ledger-bench.js'

const KEY = { collection: 'receipts', letter: 'T3' }
const DONE = { by: 'anna', reason: 'the till was stolen', at: AT + 5 }

/** Till 3 has the series T3. */
async function lostTill({ ledger, database }: Bench) {
  const claim = (change: Partial<SeriesClaim>) => {
    const asked = { database, collection: 'receipts', id: newId(), device: 'Till 3', at: AT }
    return ledger.claimSeries({ ...asked, ...change })
  }
  const given = async (change: Partial<SeriesClaim>) => {
    const outcome = await claim(change)
    if ('refused' in outcome) throw new Error(outcome.refused)
    return outcome
  }
  const checkIn = (token: string, last: number, periods?: SeriesPeriod[]) =>
    ledger.checkInSeries({ database, id: newId(), token, last, periods, at: AT + 1 })
  const tell = async (token: string, last: number, periods?: SeriesPeriod[]) => {
    const result = await checkIn(token, last, periods)
    if (result === 'unknown' || 'superseded' in result) throw new Error('The series has ended.')
    return result.token
  }
  const handOver = (change: Partial<SeriesHandOver> = {}) =>
    ledger.handOverSeries({
      database: database.toUpperCase(),
      ...KEY,
      to: 'Till 4',
      last: 131,
      period: '',
      ...DONE,
      ...change,
    })
  const { token } = await given({ name: 'T3' })
  return { token, claim, given, checkIn, tell, handOver }
}

export function describeHandOvers(promise: Promises): void {
  promise(
    'a device with another name still gets what was handed over under the old one',
    async (bench) => {
      const { ledger, database } = bench
      const { token, given, tell, handOver } = await lostTill(bench)
      await tell(token, 128)
      await handOver()
      const rename = (device: string) => ledger.renameDevice({ database, ...KEY, device })
      await rename('Till 9')
      expect(await given({ device: 'Till 4' })).toMatchObject({ name: 'T3' })
      expect(await rename('Till 7')).toMatchObject({ device: 'Till 7' })
    },
  )

  promise(
    'after several hand-overs, each number is told with the till that made it, and each is listed',
    async (bench) => {
      const { ledger, database } = bench
      const { token, given, checkIn, handOver } = await lostTill(bench)
      const link = { at: 128, hash: 'AB' }
      const register = { at: 140, hash: 'CD' }
      const first = { database, id: newId(), token, last: 128, at: AT + 1, link, register }
      const periods = [
        { period: '2026', first: 1, last: 120 },
        { period: '2027', first: 1, last: 8 },
      ]
      const lost = await ledger.checkInSeries({ ...first, periods })
      if (typeof lost === 'string' || 'superseded' in lost) throw new Error('The series ended.')
      await handOver({ period: '2027', last: 10 })
      // What it made of another period is told before the other one asks.
      await checkIn(lost.token, 131, [{ period: '2026', first: 121, last: 121 }])
      const second = await given({ device: 'Till 4' })
      await checkIn(second.token, 141, [
        { period: '2027', first: 11, last: 19 },
        { period: '2028', first: 1, last: 1 },
      ])
      await handOver({ to: 'Till 5', period: '2027', last: 19, at: AT + 7 })
      const third = await given({ device: 'Till 5' })
      await checkIn(third.token, 143, [{ period: '2027', first: 20, last: 21 }])
      const makers = async (number: number, period: string) => {
        const asked = { database, collection: 'receipts', number, series: 't3', period }
        const [found] = (await ledger.explain(asked)).series
        return found!.heard.map(({ device }) => device)
      }
      expect(await makers(120, '2026')).toEqual(['Till 3'])
      expect(await makers(121, '2026')).toEqual(['Till 3'])
      expect(await makers(10, '2027')).toEqual(['Till 3'])
      expect(await makers(11, '2027')).toEqual(['Till 4'])
      expect(await makers(19, '2027')).toEqual(['Till 4'])
      expect(await makers(1, '2028')).toEqual(['Till 4'])
      expect(await makers(20, '2027')).toEqual(['Till 5'])
      expect(await makers(22, '2027')).toEqual([])
      const [listed] = await ledger.series(database)
      expect(listed!.handOvers).toMatchObject([
        {
          from: 'Till 3',
          to: 'Till 4',
          isTaken: true,
          link: { ...link, last: 128 },
          register,
          numbers: [
            { period: '2026', first: 1, last: 121 },
            { period: '2027', first: 1, last: 10 },
          ],
        },
        {
          from: 'Till 4',
          to: 'Till 5',
          numbers: [
            { period: '2027', first: 11, last: 19 },
            { period: '2028', first: 1, last: 1 },
          ],
        },
      ])
      expect(listed!.handOvers[1]!.link).toBeUndefined()
      expect(listed!.handOvers[1]!.register).toBeUndefined()
    },
  )

  promise('closing and handing over come in any order', async (bench) => {
    const { ledger, database } = bench
    const { token, claim, given, checkIn, tell, handOver } = await lostTill(bench)
    const lost = await tell(token, 128)
    const closing = { by: 'bob', reason: 'stolen', at: AT + 3 }
    const close = () => ledger.closeSeries({ database, ...KEY, ...closing })
    await close()
    expect(await claim({ name: 'T3', device: 'Till 4' })).toEqual({ refused: 'taken' })
    await handOver()
    const [listed] = await ledger.series(database)
    expect(listed!.closed).toBeUndefined()
    expect(listed).toMatchObject({ handOvers: [{ closed: closing }] })
    // The person closes it once more, before the other till has it: nobody gets it.
    await close()
    expect(await claim({ name: 'T3', device: 'Till 4' })).toEqual({ refused: 'taken' })
    expect(await handOver()).toMatchObject({ device: 'Till 4', handOvers: [{}, {}] })
    const taken = await given({ device: 'Till 4' })
    expect(taken).toMatchObject({ name: 'T3', after: { last: 131 } })
    const answer = await checkIn(lost, 128)
    expect(answer).toMatchObject({ superseded: true, handedOver: { from: 'Till 3' } })
    expect(answer).not.toHaveProperty('handedOver.numbers')
    await close()
    expect(await checkIn(taken.token, 132)).toMatchObject({ closed: closing })
  })

  promise(
    'the named device goes on above the stated number, under the same name',
    async (bench) => {
      const { ledger, database } = bench
      const { token, given, checkIn, tell, handOver } = await lostTill(bench)
      const lost = await tell(token, 128)
      const over = { ...DONE, from: 'Till 3', to: 'Till 4', last: 131, period: '', heard: 128 }
      expect(await handOver()).toMatchObject({ letter: 'T3', device: 'Till 4', last: 131 })
      expect((await given({ device: 'Till 5' })).name).toBe('B')
      const id = newId()
      const taken = await given({ id, device: 'Till 4' })
      const after = { last: 131, periods: [{ period: '', first: 1, last: 131 }] }
      expect(taken).toMatchObject({ name: 'T3', isRepeat: false, after })
      expect(await given({ id, device: 'Till 4' })).toEqual({ ...taken, isRepeat: true })
      expect((await given({ device: 'Till 4' })).name).toBe('C')
      expect(await checkIn(lost, 140)).toEqual({ superseded: true, last: 128, handedOver: over })
      const next = await tell(taken.token, 132)
      await expect(given({ id, device: 'Till 4' })).rejects.toThrow('spent')
      const [listed] = await ledger.series(database)
      expect(listed).toMatchObject({
        letter: 'T3',
        last: 132,
        periods: [],
        doubtful: { from: 132, to: 140 },
        handedOver: { ...over, isTaken: true },
      })
      await tell(next, 133)
      expect(await checkIn(next, 134)).toEqual({ superseded: true, last: 133 })
    },
  )

  promise(
    'a claim of what was handed over is answered again to whom it was answered, and to nobody else',
    async (bench) => {
      const { claim, given, handOver } = await lostTill(bench)
      await handOver()
      const own = { id: newId(), device: 'Till 4', by: 'anna' }
      const taken = await given(own)
      for (const by of [undefined, 'berta'])
        expect(await claim({ ...own, by })).toMatchObject({ refused: 'spent' })
      expect(await given(own)).toEqual({ ...taken, isRepeat: true })
    },
  )

  promise(
    'in doubt is each number that a lost device has made above the stated one',
    async (bench) => {
      const { ledger, database } = bench
      const { token, checkIn, handOver } = await lostTill(bench)
      await handOver()
      for (const [last, doubtful] of [
        [131, undefined],
        [132, { from: 132, to: 132 }],
      ] as const) {
        await checkIn(token, last)
        expect((await ledger.series(database))[0]!.doubtful).toEqual(doubtful)
      }
    },
  )

  promise('a lower number than was heard is refused, with what was heard', async (bench) => {
    const { token, checkIn, tell, handOver } = await lostTill(bench)
    const lost = await tell(token, 131)
    expect(await handOver({ last: 130 })).toMatchObject({ refused: 'heard', least: 131 })
    // The answer to the first check-in was lost to a copy, which tells of what it made.
    expect(await checkIn(token, 9)).toEqual({ superseded: true, last: 131 })
    await tell(lost, 132)
    expect(await handOver({ last: 131 })).toMatchObject({ refused: 'heard', least: 132 })
    expect(await handOver({ last: 132 })).toMatchObject({ last: 132 })
  })

  promise('numbers that a copy has told of count as heard', async (bench) => {
    const { token, claim, tell, handOver } = await lostTill(bench)
    await tell(token, 5)
    await claim({ device: '', ended: { letter: 'T3', token, from: 6, to: 6 } })
    expect(await handOver({ last: 5 })).toMatchObject({ refused: 'heard', least: 6 })
    await claim({ device: '', ended: { letter: 'T3', token, from: 6, to: 9 } })
    expect(await handOver({ last: 8 })).toMatchObject({ refused: 'heard', least: 9 })
    expect(await handOver({ last: 9 })).toMatchObject({ last: 9 })
  })

  promise('a series with periods goes on in each of them where it stood', async (bench) => {
    const { ledger, database } = bench
    const { token, given, checkIn, tell, handOver } = await lostTill(bench)
    const known = [
      { period: '2026', first: 39, last: 45 },
      { period: '2027', first: 1, last: 3 },
    ]
    const first = await tell(token, 10, known)
    expect(await handOver({ last: 5 })).toEqual({ refused: 'periods', known: ['2026', '2027'] })
    expect(await handOver({ period: '2027', last: 2 })).toMatchObject({
      refused: 'heard',
      least: 3,
    })
    const lost = await tell(first, 10)
    // It keeps no mark, so nobody asks it to tell the periods again.
    expect(await checkIn(lost, 10)).not.toHaveProperty('again')
    await handOver({ period: '2027', last: 5 })
    const other = { refused: 'heard', least: 45 }
    expect(await handOver({ period: '2026', last: 5 })).toMatchObject(other)
    const { after } = await given({ device: 'Till 4', name: 'T3' })
    expect(after).toEqual({
      last: 12,
      periods: [known[0], { period: '2027', first: 1, last: 5 }],
    })
    // What it made in a period of which nobody spoke, the other one may make, too.
    await checkIn(lost, 12, [{ period: '2028', first: 1, last: 2 }])
    expect((await ledger.series(database))[0]).toMatchObject({ doubtful: { from: 11, to: 12 } })
  })

  promise(
    'of a till that never reported, a person says which period it had, or that it had none',
    async (bench) => {
      const { ledger, database } = bench
      const { given, handOver } = await lostTill(bench)
      const unknown = { refused: 'periods', known: [] }
      expect(await handOver({ period: undefined })).toEqual(unknown)
      expect(await handOver({ period: undefined, newPeriod: true })).toEqual(unknown)
      expect(await handOver({ period: '2027' })).toEqual(unknown)
      const periods = [{ period: '2027', first: 1, last: 131 }]
      expect(await handOver({ period: '2027', newPeriod: true })).toMatchObject({ periods })
      expect((await given({ device: 'Till 4' })).after).toEqual({ last: 131, periods })
      await given({ name: 'T5', device: 'Till 5' })
      const plain = await handOver({ letter: 'T5', to: 'Till 6', period: '' })
      expect(plain).toMatchObject({ last: 131, periods: [] })
      expect((await ledger.series(database))[1]!.handedOver).toMatchObject({ period: '' })
    },
  )

  promise(
    'a period of which nothing was heard is refused, unless a person calls it new',
    async (bench) => {
      const { token, given, checkIn, tell, handOver } = await lostTill(bench)
      const known = [
        { period: '2025', first: 1, last: 901 },
        { period: '2026', first: 1, last: 124 },
      ]
      const lost = await tell(token, 1025, known)
      const refused = { refused: 'periods', known: ['2025', '2026'] }
      for (const period of [undefined, '', '2062', '2026 ', 'FY2026'])
        expect(await handOver({ period })).toEqual(refused)
      // 2026 is known, so a person who calls it new speaks of another one.
      expect(await handOver({ period: '2026', newPeriod: true })).toEqual(refused)
      const third = { period: '2027', first: 1, last: 7 }
      const asked = { period: '2027', newPeriod: true, last: 7 }
      expect(await handOver(asked)).toMatchObject({ periods: [...known, third] })
      expect((await given({ device: 'Till 4' })).after).toEqual({
        last: 1032,
        periods: [...known, third],
      })
      expect(await checkIn(lost, 1033, [{ ...third, last: 8 }])).toMatchObject({ superseded: true })
    },
  )

  promise('a series that goes on in a period that had ended keeps their order', async (bench) => {
    const { token, given, tell, handOver } = await lostTill(bench)
    const known = [
      { period: '2026', first: 1, last: 124 },
      { period: '2027', first: 1, last: 3 },
    ]
    await tell(token, 127, known)
    await handOver({ period: '2026', last: 131 })
    const { after } = await given({ device: 'Till 4' })
    expect(after).toEqual({ last: 134, periods: [{ ...known[0], last: 131 }, known[1]] })
  })

  promise('without periods none has to be said, and none can be', async (bench) => {
    const { token, given, tell, handOver } = await lostTill(bench)
    const lost = await tell(token, 5)
    const refused = { refused: 'periods', known: [''] }
    expect(await handOver({ period: '2027' })).toEqual(refused)
    expect(await handOver({ period: '2027', newPeriod: true })).toEqual(refused)
    expect(await handOver({ period: undefined, last: 7, dryRun: true })).toMatchObject({ last: 7 })
    // Its app has made a number with a period since: the next one may be of it, or not.
    await tell(lost, 6, [{ period: '2027', first: 1, last: 1 }])
    const known = ['', '2027']
    expect(await handOver({ period: undefined })).toEqual({ refused: 'periods', known })
    expect(await handOver({ period: '', last: 7 })).toMatchObject({ last: 8 })
    expect((await given({ device: 'Till 4' })).after!.periods).toEqual([
      { period: '', first: 1, last: 7 },
      { period: '2027', first: 1, last: 1 },
    ])
  })

  promise('a range is a period that is known, and the stated number is in it', async (bench) => {
    const { ledger, database } = bench
    const { token, given, tell, handOver } = await lostTill(bench)
    await ledger.giveRange({ database, ...KEY, range: { from: 2001, to: 3000 } })
    const [period, known] = ['2001-3000', ['2001-3000']]
    for (const asked of [{ period: undefined }, { period: '' }, { period: '2001-300' }])
      expect(await handOver({ ...asked, last: 2005 })).toEqual({ refused: 'periods', known })
    const outside = { refused: 'outside', from: 2001, to: 3000 }
    for (const last of [131, 2000, 3001])
      expect(await handOver({ period, last })).toMatchObject(outside)
    await handOver({ period, last: 2005 })
    const after = { last: 5, periods: [{ period, first: 2001, last: 2005 }] }
    const taken = await given({ device: 'Till 4' })
    expect(taken).toMatchObject({ after, ranges: [{ from: 2001, to: 3000 }] })
    // One that only the app knows.
    const range = { period: '4001-5000', first: 4001, last: 4002 }
    await tell(taken.token, 7, [range])
    const next = { to: 'Till 5', period: '4001-5000' }
    expect(await handOver({ ...next, last: 131 })).toMatchObject({ refused: 'outside' })
    await handOver({ ...next, last: 4010 })
    expect((await given({ device: 'Till 5' })).after).toEqual({
      last: 15,
      periods: [after.periods[0], { ...range, last: 4010 }],
    })
    expect(token).not.toBe(taken.token)
  })

  promise('what would be done is told, and nothing is changed', async (bench) => {
    const { ledger, database } = bench
    const { token, given, tell, handOver } = await lostTill(bench)
    const lost = await tell(token, 5)
    const before = await ledger.series(database)
    const planned = { device: 'Till 4', last: 131, handedOver: { from: 'Till 3', last: 131 } }
    expect(await handOver({ dryRun: true })).toMatchObject(planned)
    expect(await handOver({ dryRun: true, last: 4 })).toMatchObject({ refused: 'heard', least: 5 })
    expect(await ledger.series(database)).toEqual(before)
    expect((await given({ device: 'Till 4' })).name).toBe('B')
    await tell(lost, 6)
  })

  promise(
    'a hand-over that is repeated changes nothing, also when the other device has the series',
    async (bench) => {
      const { ledger, database } = bench
      const { token, given, tell, handOver } = await lostTill(bench)
      await tell(token, 128)
      const first = await handOver()
      expect(await handOver({ at: AT + 9, by: 'bob' })).toEqual(first)
      const taken = await given({ device: 'Till 4' })
      const [listed] = await ledger.series(database)
      expect(await handOver({ at: AT + 9 })).toEqual(listed)
      const holds = await tell(taken.token, 132)
      const [made] = await ledger.series(database)
      expect(await handOver({ at: AT + 9 })).toEqual(made)
      expect(await handOver({ last: 140 })).toEqual({ refused: 'holder', letter: 'T3' })
      await tell(holds, 133)
      // It was lost, too, and a new device has its name.
      const closing = { database, ...KEY, by: 'anna', reason: 'lost', at: AT }
      await ledger.closeSeries(closing)
      await handOver({ last: 140 })
      expect((await given({ device: 'Till 4' })).after).toMatchObject({ last: 140 })
    },
  )

  promise(
    'what the lost device tells before the other one asks is not made again',
    async (bench) => {
      const { token, given, checkIn, tell, handOver } = await lostTill(bench)
      const known = { period: '2026', first: 1, last: 124 }
      const lost = await tell(token, 124, [known])
      await handOver({ period: '2026' })
      const told = [
        { period: '2026', first: 125, last: 135 },
        { period: '2027', first: 1, last: 2 },
      ]
      expect(await checkIn(lost, 137, told)).toMatchObject({ superseded: true })
      const id = newId()
      const periods = [{ ...known, last: 135 }, told[1]]
      const taken = await given({ id, device: 'Till 4' })
      expect(taken.after).toEqual({ last: 137, periods })
      expect(await given({ id, device: 'Till 4' })).toEqual({ ...taken, isRepeat: true })
      // What it tells later, the next one does not make again.
      const later = { period: '2028', first: 1, last: 2 }
      await checkIn(lost, 139, [later])
      const next = { to: 'Till 5', period: '2027' }
      expect(await handOver({ ...next, last: 1 })).toMatchObject({ refused: 'heard', least: 2 })
      await handOver({ ...next, last: 2 })
      expect(await given({ device: 'Till 5' })).toMatchObject({
        after: { periods: [...periods, later] },
      })
    },
  )

  promise('the same without periods', async (bench) => {
    const { ledger, database } = bench
    const { token, given, checkIn, tell, handOver } = await lostTill(bench)
    const lost = await tell(token, 128)
    await handOver()
    await checkIn(lost, 140)
    const after = { last: 140, periods: [{ period: '', first: 1, last: 140 }] }
    const taken = await given({ device: 'Till 4' })
    expect(taken.after).toEqual(after)
    await tell(taken.token, 141)
    expect((await ledger.series(database))[0]).toMatchObject({ last: 141, periods: [] })
  })

  promise(
    'one that is missing, or for a device with a series, is not handed over',
    async (bench) => {
      const { ledger, database } = bench
      const { given, handOver } = await lostTill(bench)
      expect(await handOver({ letter: 'T9' })).toEqual({ refused: 'missing' })
      expect(await handOver({ period: '2027', collection: 'bills' })).toEqual({
        refused: 'missing',
      })
      const { name: letter } = await given({ device: 'Till 4' })
      expect(await handOver()).toEqual({ refused: 'holder', letter })
      const closing = { database, collection: 'receipts', by: 'anna', reason: 'lost', at: AT }
      await ledger.closeSeries({ ...closing, letter })
      await handOver()
      await ledger.closeSeries({ ...closing, letter: 'T3' })
      expect((await given({ device: 'Till 4' })).name).toBe('C')
    },
  )

  promise(
    'who had a series does not get it handed over; nobody gets it from two',
    async (bench) => {
      const { token, given, checkIn, handOver } = await lostTill(bench)
      await handOver({ to: 'Till 3' })
      const ended = { letter: 'T3', token, from: 1, to: 0 }
      expect((await given({ ended })).name).toBe('B')
      const second = await given({ device: 'Till 3' })
      expect(second.name).toBe('T3')
      await handOver({ to: 'Till 6', last: 200 })
      const lost = await checkIn(token, 133)
      expect(lost).toMatchObject({ superseded: true, last: 0, handedOver: { to: 'Till 3' } })
      expect(await checkIn(second.token, 205)).toMatchObject({
        superseded: true,
        last: 131,
        handedOver: { from: 'Till 3', to: 'Till 6' },
      })
    },
  )

  promise('two devices of one name: only one gets the series', async (bench) => {
    const { given, handOver } = await lostTill(bench)
    await handOver()
    const both = await Promise.all([1, 2].map(() => given({ device: 'Till 4' })))
    expect(both.map(({ name }) => name).sort()).toEqual(['B', 'T3'])
  })

  promise('one that was dropped tells nobody who had it', async (bench) => {
    const { ledger, database } = bench
    const { token, checkIn, handOver } = await lostTill(bench)
    await handOver()
    await ledger.drop({ database, collection: 'receipts|', at: AT })
    expect(await checkIn(token, 140)).toBe('unknown')
    expect(JSON.stringify(await ledger.series(database))).not.toContain('Till')
  })
}
