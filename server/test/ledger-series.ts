/** What a ledger promises about series of consecutive numbers: one device each, and who has it. */
import { expect } from 'vitest'
import type {
  Ledger,
  SeriesClaim,
  SeriesPage,
  SeriesPeriod,
  SeriesResult,
} from '../src/ledger/ledger.js'
import { AT, newId, type Promises } from './ledger-bench.js'

const AGAIN = { id: '', last: 0 }

function seriesOf(ledger: Ledger, database: string) {
  const begin = async (change: Partial<SeriesClaim> = {}) => {
    const claim = { database, collection: 'receipts', id: newId(), device: '', at: AT, ...change }
    const outcome = await ledger.claimSeries(claim)
    if ('refused' in outcome) throw new Error(outcome.refused)
    return outcome
  }
  return {
    begin,
    checkIn: (token: string, last: number, id = newId()) =>
      ledger.checkInSeries({ database, id, token, last, at: AT + 1 }),
    list: () => ledger.series(database),
  }
}

const tokenOf = (result: SeriesResult): string => {
  if (result === 'unknown' || 'superseded' in result) throw new Error('The series has ended.')
  return result.token
}

export function describeSeries(promise: Promises): void {
  promise(
    'each device gets the next letter; names are compared lower-cased, and each collection ' +
      'counts its own',
    async ({ ledger, database }) => {
      const { begin } = seriesOf(ledger, database)
      const letters = [
        (await begin()).ordinal,
        (await begin({ collection: 'Receipts' })).ordinal,
        (await begin({ collection: 'bills' })).ordinal,
        (await begin({ database: database.toUpperCase() })).ordinal,
      ]
      expect(letters).toEqual([1, 2, 1, 3])
    },
  )

  promise(
    'a claim of a series that is repeated gets the same one, until that was checked in',
    async ({ ledger, database }) => {
      const { begin, checkIn } = seriesOf(ledger, database)
      const id = newId()
      const first = await begin({ id })
      expect(await begin({ id })).toEqual({ ...first, isRepeat: true })
      await checkIn(first.token, 1)
      await expect(begin({ id })).rejects.toThrow('spent')
      expect((await begin()).ordinal).toBe(2)
    },
  )

  promise(
    'the token of a series that is shown as that of a range changes nothing',
    async ({ ledger, database, claim }) => {
      const { begin, checkIn } = seriesOf(ledger, database)
      const { token } = await begin()
      const shown = [{ token, next: 1 }]
      const request = { database, id: newId(), at: AT }
      expect(await ledger.checkIn({ ...request, grants: shown })).toEqual(['unknown'])
      expect(await claim({ id: newId(), shown })).toMatchObject({ results: ['unknown'] })
      await ledger.checkIn({ ...request, id: newId(), grants: [], spent: [token] })
      expect(await checkIn(token, 7)).toEqual({ token: expect.any(String) })
    },
  )

  promise(
    'a database has as many series as collections are allowed; who has one still gets its answer',
    async ({ open, database }) => {
      const ledger = await open({ collections: 3 })
      const { begin, list } = seriesOf(ledger, database)
      const id = newId()
      const first = await begin({ id })
      await begin({ collection: 'bills' })
      await begin()
      await expect(begin()).rejects.toThrow('full')
      expect(await begin({ id })).toEqual({ ...first, isRepeat: true })
      expect(await list()).toHaveLength(3)
      await ledger.close()
    },
  )

  promise(
    'a name is one series for ever, also when that is closed; a repeated claim gets it again',
    async ({ ledger, database }) => {
      const { begin, list } = seriesOf(ledger, database)
      const id = newId()
      const first = await begin({ id, name: 'T3', device: 'Till 3' })
      expect(first).toMatchObject({ ordinal: 1, name: 'T3', isRepeat: false })
      expect(await begin({ id, name: 'T3' })).toEqual({ ...first, isRepeat: true })
      expect(await begin({ id })).toEqual({ ...first, isRepeat: true })
      const key = { database, collection: 'receipts', letter: 'T3' }
      await ledger.closeSeries({ ...key, by: 'anna', reason: 'stolen', at: AT })
      const other = { database, collection: 'receipts', id: newId(), device: '', at: AT }
      expect(await ledger.claimSeries({ ...other, name: 'T3' })).toEqual({ refused: 'taken' })
      expect(await begin({ collection: 'bills', name: 'T3' })).toMatchObject({ name: 'T3' })
      expect(await begin()).toMatchObject({ ordinal: 2, name: 'B' })
      expect((await list()).map(({ letter }) => letter)).toEqual(['T3', 'T3', 'B'])
    },
  )

  promise('T3 and t3 are one name, in whichever letters it is written', async (bench) => {
    const { ledger, database } = bench
    const { begin, list } = seriesOf(ledger, database)
    const id = newId()
    await begin({ id, name: 'T3' })
    const other = { database, collection: 'receipts', id: newId(), device: '', at: AT }
    expect(await ledger.claimSeries({ ...other, name: 't3' })).toEqual({ refused: 'taken' })
    expect(await begin({ id, name: 't3' })).toMatchObject({ name: 'T3', isRepeat: true })
    await begin({ name: 'straße-1' })
    const same = ['STRASSE-1', 'ＳＴＲＡＳＳＥ-1', 'ſtraſſe-1']
    for (const name of same)
      expect(await ledger.claimSeries({ ...other, id: newId(), name })).toEqual({
        refused: 'taken',
      })
    expect(await begin({ name: 'straẞe-2' })).toMatchObject({ name: 'straẞe-2' })
    const closing = { database, collection: 'receipts', by: 'anna', reason: 'lost', at: AT }
    expect(await ledger.closeSeries({ ...closing, letter: 't3' })).toMatchObject({ letter: 'T3' })
    const asked = { database, collection: 'receipts', number: 1, series: 'STRASSE-2' }
    expect((await ledger.explain(asked)).series).toMatchObject([{ series: 'straẞe-2' }])
    expect((await list()).map(({ letter }) => letter)).toEqual(['T3', 'straße-1', 'straẞe-2'])
  })

  promise('the register knows each period from its first to its last number', async (bench) => {
    const { ledger, database } = bench
    const { begin, list } = seriesOf(ledger, database)
    let { token } = await begin()
    const tell = async (last: number, periods: SeriesPeriod[]) => {
      const request = { database, id: newId(), token, last, periods, at: AT }
      token = tokenOf(await ledger.checkInSeries(request))
    }
    await tell(3, [{ period: '2026', first: 39, last: 41 }])
    await tell(6, [
      { period: '2026', first: 42, last: 42 },
      { period: '2027', first: 1, last: 2 },
    ])
    await tell(7, [{ period: '2026', first: 43, last: 43 }])
    expect(await list()).toMatchObject([
      {
        last: 7,
        periods: [
          { period: '2026', first: 39, last: 43 },
          { period: '2027', first: 1, last: 2 },
        ],
      },
    ])
  })

  promise(
    'a check-in replaces the token and keeps the highest number; its repetition is answered alike',
    async ({ ledger, database }) => {
      const { begin, checkIn, list } = seriesOf(ledger, database)
      const { token } = await begin({ device: 'Till 3' })
      const id = newId()
      const second = tokenOf(await checkIn(token, 7, id))
      expect(second).not.toBe(token)
      expect(tokenOf(await checkIn(token, 7, id))).toBe(second)
      await checkIn(second, 5)
      expect(await list()).toEqual([
        {
          database,
          collection: 'receipts',
          letter: 'A',
          device: 'Till 3',
          last: 7,
          periods: [],
          registeredAt: AT,
          seenAt: AT + 1,
          closed: undefined,
          doubtful: undefined,
          link: undefined,
          handedOver: undefined,
          handOvers: [],
          ranges: [],
        },
      ])
    },
  )

  promise(
    'of two copies of a device, the second to check in is told how far the other one was heard',
    async ({ ledger, database }) => {
      const { begin, checkIn, list } = seriesOf(ledger, database)
      const { token } = await begin()
      const first = tokenOf(await checkIn(token, 9))
      expect(await checkIn(token, 12)).toEqual({ superseded: true, last: 9 })
      expect(tokenOf(await checkIn(first, 10))).not.toBe(first)
      const ended = { letter: 'A', token, from: 5, to: 12 }
      expect((await begin({ ended })).ordinal).toBe(2)
      const [copied] = await list()
      expect(copied).toMatchObject({ last: 10, doubtful: { from: 5, to: 12 } })
    },
  )

  promise('numbers in doubt are kept, also where the claim is refused', async (bench) => {
    const { ledger, database } = bench
    const { begin, list } = seriesOf(ledger, database)
    const { token } = await begin({ name: 'T3' })
    // A till's app asks for its series by name, which it has lost.
    const again = { name: 'T3', ended: { letter: 'T3', token, from: 5, to: 12 } }
    await expect(begin(again)).rejects.toThrow('taken')
    expect((await list())[0]).toMatchObject({ doubtful: { from: 5, to: 12 } })
  })

  promise(
    'a device that has changed what was heard, or lost its end, is found: its series is closed',
    async ({ ledger, database }) => {
      const { begin, list } = seriesOf(ledger, database)
      const link = (at: number) => ({ at, hash: `hash ${at}` })
      const tell = (token: string, last: number, heard?: object, id = newId()) =>
        ledger.checkInSeries({ database, id, token, last, link: link(last), ...heard, at: AT })
      const told = (last: number, of = link(last)) => ({ heard: { last, link: of } })
      const lies: (object | undefined)[] = [
        told(2, { at: 2, hash: 'another' }),
        { heard: { last: 2 } },
        told(1),
        undefined,
      ]
      for (const lie of lies) {
        const { token, name } = await begin()
        const first = tokenOf(await tell(token, 1))
        const second = tokenOf(await tell(first, 2, told(1)))
        const id = newId()
        const result = await tell(second, 3, lie, id)
        const reason = expect.stringContaining('stored of its number 2 is not what')
        const ended = { database, collection: 'receipts', letter: name }
        expect(result).toMatchObject({ closed: { by: 'the server', reason }, ended })
        // It was closed before.
        expect({ ...((await tell(second, 3, lie, id)) as object), ended }).toEqual(result)
        const closed = (await list()).find(({ letter }) => letter === name)
        expect(closed).toMatchObject({ link: { last: 2, ...link(2) }, closed: { reason } })
      }
      const { token, name: letter } = await begin()
      const closing = { database, collection: 'receipts', letter, by: 'anna', reason: 'lost' }
      const first = tokenOf(await tell(token, 1))
      await ledger.closeSeries({ ...closing, at: AT })
      const lie = told(1, { at: 1, hash: 'another' })
      expect(await tell(first, 2, lie)).toMatchObject({ closed: { by: 'anna' } })
    },
  )

  promise(
    'a check-in that is repeated, and a ledger that heard of less, accuse nobody',
    async (bench) => {
      const { ledger, database } = bench
      const { begin } = seriesOf(ledger, database)
      const link = (at: number) => ({ at, hash: `hash ${at}` })
      const { token } = await begin()
      const request = { database, at: AT, token, link: link(2), last: 2, heard: undefined }
      const id = newId()
      const next = tokenOf(await ledger.checkInSeries({ ...request, id }))
      expect(await ledger.checkInSeries({ ...request, id })).toEqual({ token: next })
      const heard = { last: 5, link: link(5) }
      const later = { ...request, id: newId(), token: next, last: 6, link: undefined, heard }
      expect(await ledger.checkInSeries(later)).toEqual({ token: expect.any(String) })
    },
  )

  promise(
    'the last entry of a register is kept, whatever a shorter one or a copy tells',
    async ({ ledger, database }) => {
      const { begin, list } = seriesOf(ledger, database)
      const entry = (at: number) => ({ at, hash: `entry ${at}` })
      const tell = async (token: string, at?: number) =>
        ledger.checkInSeries({
          ...{ database, id: newId(), token, last: 1, at: AT },
          register: at === undefined ? undefined : entry(at),
        })
      const { token } = await begin()
      let newest = tokenOf(await tell(token, 12))
      for (const [told, kept] of [
        [undefined, 12],
        [9, 12],
        [14, 14],
      ]) {
        newest = tokenOf(await tell(newest, told))
        expect(await list()).toMatchObject([{ register: entry(kept!) }])
      }
      expect(await tell(token, 99)).toMatchObject({ superseded: true })
      const closing = { database, collection: 'receipts', by: 'anna', reason: 'lost', at: AT }
      await ledger.closeSeries({ ...closing, letter: 'A' })
      expect(await tell(newest, 15)).toMatchObject({ closed: { by: 'anna' } })
      expect(await list()).toMatchObject([{ register: entry(14) }])
    },
  )

  promise('a device gets another name, and goes on', async ({ ledger, database }) => {
    const { begin, checkIn, list } = seriesOf(ledger, database)
    const { token } = await begin()
    const key = { database: database.toUpperCase(), collection: 'RECEIPTS', letter: 'A' }
    expect(await ledger.renameDevice({ ...key, device: 'Till 9' })).toMatchObject({ letter: 'A' })
    expect(await ledger.renameDevice({ ...key, letter: 'B', device: 'X' })).toBeUndefined()
    expect(await checkIn(token, 3)).toEqual({ token: expect.any(String) })
    expect(await list()).toMatchObject([{ device: 'Till 9', last: 3 }])
  })

  promise(
    'a series that was closed says so at each check-in; the first closing counts',
    async ({ ledger, database }) => {
      const { begin, checkIn, list } = seriesOf(ledger, database)
      const { token } = await begin()
      const key = { database: database.toUpperCase(), collection: 'RECEIPTS', letter: 'A' }
      const closing = { ...key, by: 'anna', reason: 'the till was stolen', at: AT + 5 }
      const closed = { at: AT + 5, by: 'anna', reason: 'the till was stolen' }
      expect(await ledger.closeSeries(closing)).toMatchObject({ letter: 'A', closed })
      expect(await ledger.closeSeries({ ...closing, by: 'bob' })).toMatchObject({ closed })
      expect(await ledger.closeSeries({ ...closing, letter: 'B' })).toBeUndefined()
      const result = await checkIn(token, 3)
      expect(result).toEqual({ token: expect.any(String), closed })
      expect(await checkIn(tokenOf(result), 3)).toMatchObject({ closed })
      expect(await list()).toMatchObject([{ last: 3, closed }])
    },
  )

  promise(
    'a token that this ledger never wrote, or of another database, is unknown',
    async ({ ledger, database, take }) => {
      const { begin, checkIn } = seriesOf(ledger, database)
      const { token } = await begin()
      expect(await checkIn('unheard-of', 1)).toBe('unknown')
      const request = { ...AGAIN, id: newId(), database: `${database}-b`, token, at: AT }
      expect(await ledger.checkInSeries(request)).toBe('unknown')
      expect(await checkIn((await take()).token, 1)).toBe('unknown')
    },
  )

  promise(
    'a device that has had a letter gets a later one, whatever the ledger has forgotten',
    async ({ ledger, database }) => {
      const { begin } = seriesOf(ledger, database)
      const ended = { letter: 'AB', token: 'of a ledger that is gone', from: 1, to: 0 }
      expect((await begin({ ended })).ordinal).toBe(29)
    },
  )

  promise('a list comes in pages, each series once', async ({ ledger, database }) => {
    const { begin, list } = seriesOf(ledger, database)
    const collections = ['bills', 'Ähren', 'bills', 'a|b', ...Array(41).fill('receipts')]
    for (const collection of collections) await begin({ collection })
    const nameOf = ({ collection, letter }: { collection: string; letter: string }) =>
      `${collection} ${letter}`
    const paged: string[] = []
    let after: SeriesPage['next']
    do {
      const { series, next } = await ledger.seriesPage({ database, after, limit: 7 })
      expect(series).toHaveLength(next ? 7 : 45 % 7)
      paged.push(...series.map(nameOf))
      after = next
    } while (after)
    expect(new Set(paged).size).toBe(45)
    expect((await list()).map(nameOf)).toEqual(paged)
    expect((await ledger.seriesPage({ database })).series.map(nameOf)).toEqual(paged)
    expect(await ledger.seriesPage({ database: `${database}x` })).toEqual({ series: [] })
  })

  promise(
    'a token of access has as many series as it may; those that are closed do not count',
    async ({ ledger, database }) => {
      const { begin } = seriesOf(ledger, database)
      const own = { by: 'anna', most: 2 }
      const id = newId()
      await begin({ ...own, id })
      await Promise.all([
        begin({ ...own, collection: 'bills' }),
        expect(begin(own)).rejects.toThrow('many'),
      ])
      expect((await begin({ ...own, id })).isRepeat).toBe(true)
      await begin({ ...own, by: 'berta' })
      const closing = { letter: 'A', by: 'a person', reason: 'lost', at: AT }
      await ledger.closeSeries({ database, collection: 'receipts', ...closing })
      await begin(own)
      await expect(begin(own)).rejects.toThrow('many')
    },
  )

  promise('a floor keeps letters from being given again', async ({ ledger, database }) => {
    const { begin } = seriesOf(ledger, database)
    await begin()
    await ledger.raiseFloor({ database, collection: 'receipts|', floor: 5 })
    expect((await begin()).ordinal).toBe(6)
  })

  promise('servers on one storage give no letter twice', async ({ open, database }) => {
    const ledgers = await Promise.all([open(), open(), open()])
    const work = Array.from({ length: 15 }, (_, i) =>
      seriesOf(ledgers[i % 3]!, database).begin({ device: `Till ${i}` }),
    )
    const letters = (await Promise.all(work)).map(({ ordinal }) => ordinal)
    expect(letters.sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1))
    expect(await ledgers[0]!.series(database)).toHaveLength(15)
    await Promise.all(ledgers.map((each) => each.close()))
  })
}
