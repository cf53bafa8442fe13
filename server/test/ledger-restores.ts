/** What a ledger promises that is an older copy of itself, restored from a backup. */
import { expect } from 'vitest'
import type { SeriesCheckIn, SeriesClaim, SeriesHandOver } from '../src/ledger/ledger.js'
import { AT, type Bench, grantOf, held, newId, type Promises, span } from './ledger-bench.js'

const BY = 1_000

/** A ledger with a series T3, and what a person and other tills ask of it after a restore. */
async function tillsOf({ ledger, database }: Bench) {
  const key = { database, collection: 'receipts' }
  const claim = (change: Partial<SeriesClaim>) =>
    ledger.claimSeries({ ...key, id: newId(), device: 'Till', at: AT, ...change })
  const note = (letter: string) =>
    ledger.noteSeries({ ...key, database: database.toUpperCase(), letter, at: AT + 1 })
  const give = (letter: string, from: number, again?: boolean) =>
    ledger.giveRange({ ...key, letter, range: { from, to: from + 999 }, again })
  const reopen = () => ledger.reopenSeries({ database: database.toUpperCase() })
  const handOver = (to: string, change: object = {}) => {
    const done = { by: 'anna', reason: 'stolen', at: AT + 5, ...change }
    return ledger.handOverSeries({ ...key, letter: 'T3', to, last: 131, period: '', ...done })
  }
  await claim({ name: 'T3' })
  return { key, claim, note, give, reopen, handOver }
}

export function describeRestores(promise: Promises): void {
  promise(
    'a token that the ledger wrote and cannot know: its database grants nothing any more, under ' +
      'whichever server; others go on',
    async (bench) => {
      const { open, ledger, database, claim, take, checkIn, lost, wish } = bench
      const grant = await take()
      const invoices = { database, name: 'invoices|' }
      const claimed = newId()
      await ledger.nextIdentities([{ ...invoices, id: claimed, at: 0 }])
      expect(await checkIn(newId(), await lost())).toEqual(['superseded'])
      expect(await ledger.restored()).toContain(database)
      const other = await open()
      for (const each of [ledger, other]) {
        expect(await each.claim([wish(), wish({ collection: 'new' })])).toMatchObject([
          { refused: 'restored', max: 32 },
          { refused: 'restored' },
        ])
        expect(await each.nextIdentities([{ ...invoices, id: claimed, at: 0 }])).toEqual([
          { refused: 'restored', value: 1 },
        ])
        const seed = { ...invoices, value: 7, isForced: true }
        expect(await each.seedIdentity(seed)).toMatchObject({ refused: 'restored' })
        const write = { database, collection: 'orders', max: 100 }
        expect(await each.write([write])).toMatchObject({ refused: 'restored' })
      }
      await other.close()
      expect(held((await checkIn(newId(), grant.token))[0]).high).toBe(32)
      expect(await checkIn(newId(), grant.token)).toEqual(['superseded'])
      expect(await claim({ database: `${database}-other` })).toMatchObject({ grant: { low: 1 } })
    },
  )

  promise('a claim proves it, too, and gets nothing', async ({ ledger, database, claim, lost }) => {
    const id = newId()
    const shown = [{ token: await lost(), next: 1 }]
    expect(await claim({ id, shown })).toMatchObject({ refused: 'restored' })
    expect(await claim({ id })).toMatchObject({ refused: 'restored' })
    expect(await ledger.restored()).toContain(database)
  })

  promise(
    'claims of one commit that prove it of two databases prove it of both',
    async ({ ledger, database, wish, lost }) => {
      const names = [database, `${database}-two`, `${database}-three`]
      const claims = await Promise.all(
        names.map(async (database, i) =>
          wish({
            database,
            id: newId(),
            shown: i < 2 ? [{ token: await lost({ database }), next: 1 }] : [],
          }),
        ),
      )
      expect(await ledger.claim(claims)).toMatchObject([
        { refused: 'restored' },
        { refused: 'restored' },
        { grant: { low: 1 } },
      ])
      const found = await ledger.restored()
      expect(names.map((name) => found.includes(name))).toEqual([true, true, false])
    },
  )

  promise(
    'a token that its grant has left behind, as a copied profile shows it, proves nothing',
    async ({ ledger, database, take, checkIn }) => {
      const { token } = await take()
      await checkIn(newId(), token)
      expect(await checkIn(newId(), token)).toEqual(['superseded'])
      expect(await ledger.restored()).not.toContain(database)
      expect(span(await take())).toEqual([33, 64])
    },
  )

  promise(
    'raised floors: everything goes on above what may have been granted, new names included, and ' +
      'the tokens that proved it prove nothing any more',
    async ({ ledger, database, take, giveBack, checkIn, lost, wish }) => {
      const [first, second] = [await take(), await take()]
      await giveBack(first, 32, 0)
      const invoices = { database, name: 'invoices|' }
      await ledger.nextIdentities([{ ...invoices, at: 0 }])
      const proofs = [
        await lost(),
        await lost({ collection: 'new', serial: 1 }),
        await lost({ id: first.token.split('.')[0]!, serial: 1, tokenVersion: 7 }),
      ]
      await checkIn(newId(), proofs[0]!)
      expect(await ledger.raiseFloors({ database: database.toUpperCase(), by: BY })).toEqual({
        collections: 1,
        identities: 1,
        floor: BY,
        usedUp: [],
      })
      expect(await ledger.restored()).not.toContain(database)
      for (const proof of proofs) expect(await checkIn(newId(), proof)).toEqual(['superseded'])
      expect(await giveBack(second, 64, 40)).toBe(24)
      const news = await Promise.all([
        take(),
        take({ collection: 'new' }),
        ledger.claim([wish({ collection: 'newer' })]).then(([outcome]) => grantOf(outcome!)),
      ])
      expect(news.map(span)).toEqual([
        [64 + BY + 1, 64 + BY + 32],
        [BY + 1, BY + 32],
        [BY + 1, BY + 32],
      ])
      const identities = [invoices, { database, name: 'new|' }].map((key) => ({ ...key, at: 0 }))
      expect(await ledger.nextIdentities(identities)).toEqual([
        { value: BY + 2 },
        { value: BY + 1 },
      ])
      const later = await lost({ serial: 3e9 })
      await checkIn(newId(), later)
      expect(await ledger.restored()).toContain(database)
      await ledger.raiseFloors({ database, by: BY })
      expect(span(await take({ collection: 'newest' }))).toEqual([2 * BY + 1, 2 * BY + 32])
    },
  )

  promise(
    'floors that were raised by less than was lost: a token of what was granted above them stops ' +
      'the database again, also in a collection that is not there; what is known proves nothing',
    async ({ ledger, database, claim, take, giveBack, checkIn, lost }) => {
      const [gone, kept] = [await take(), await take()]
      await giveBack(gone, 32, 0)
      await checkIn(newId(), await lost())
      await ledger.raiseFloors({ database, by: BY })
      await ledger.prune({ settledBefore: AT + 1, heardBefore: 0 })
      const other = { database, collection: 'new', serial: 1 }
      for (const known of [
        gone.token,
        kept.token,
        await lost({ high: 64 + BY }),
        await lost({ ...other, high: BY }),
      ])
        await checkIn(newId(), known)
      expect(span(await take())).toEqual([65 + BY, 96 + BY])
      for (const [high, unknown] of [
        [65 + BY, {}],
        [50 * BY, { serial: 1 }],
        [900 * BY, other],
      ] as const) {
        const shown = [{ token: await lost({ ...unknown, high }), next: 1 }]
        expect(await claim({ id: newId(), shown })).toMatchObject({ refused: 'restored' })
        await ledger.raiseFloors({ database, by: high })
        expect(await claim({ id: newId(), shown })).toMatchObject({ results: ['superseded'] })
      }
    },
  )

  promise(
    'once a floor was raised, no version that a client read before the restore is expected again',
    async ({ ledger, database }) => {
      const [orders, lines, unknown] = ['orders', 'lines', 'new'].map((collection) => ({
        database,
        collection,
        max: 32,
      }))
      await ledger.write([orders!, lines!])
      // After the backup, a client has read a document of 64, and another one has written 96.
      const outcomes = async (of: { database: string; collection: string }) => {
        const known = []
        for (let version = 0; version < 50; version++) {
          const outcome = await ledger.write([{ ...of, max: 96, version }])
          known.push('refused' in outcome ? outcome.refused : version)
        }
        return new Set(known)
      }
      await ledger.raiseFloor({ ...lines!, floor: BY })
      expect(await outcomes(lines!)).toEqual(new Set(['conflict']))
      await ledger.raiseFloors({ database, by: BY })
      for (const of of [orders!, lines!, unknown!])
        expect(await outcomes(of)).toEqual(new Set(['conflict']))
    },
  )

  promise(
    'a document that is not there yet begins above the floor, in the version that it then has',
    async ({ ledger, database }) => {
      await ledger.raiseFloors({ database, by: BY })
      const key = { database, collection: 'orders' }
      const mark = await ledger.read(key)
      expect(mark.max).toBe(BY)
      const write = { ...key, max: 32, version: 0 }
      expect(await ledger.write([write])).toMatchObject({ refused: 'conflict', mark })
      const { version } = mark
      expect(await ledger.write([{ ...write, max: BY + 32, version }])).toEqual([
        { max: BY + 32, version: version + 1 },
      ])
    },
  )

  promise(
    'floors that would pass 2^53−1 are not raised, and nothing is granted yet',
    async ({ ledger, database, take, checkIn, lost, claim }) => {
      await take()
      await checkIn(newId(), await lost())
      for (const by of [Number.MAX_SAFE_INTEGER - 31, 1e12 + 1, 0, 1.5, Number.NaN])
        await expect(ledger.raiseFloors({ database, by })).rejects.toThrow('Nothing was changed')
      expect(await claim()).toMatchObject({ refused: 'restored' })
    },
  )

  promise(
    'a collection near 2^53−1 is used up when floors are raised, and the others go on',
    async ({ ledger, database, take, checkIn, lost, claim }) => {
      await take()
      const lines = { database, collection: 'lines' }
      await ledger.raiseFloor({ ...lines, floor: Number.MAX_SAFE_INTEGER - BY })
      await checkIn(newId(), await lost())
      expect(await ledger.raiseFloors({ database, by: BY })).toEqual({
        collections: 2,
        identities: 0,
        floor: BY,
        usedUp: ['lines'],
      })
      expect(await claim({ ...lines, id: newId(), count: 1 })).toEqual({
        refused: 'overflow',
        max: Number.MAX_SAFE_INTEGER,
      })
      expect(span(await take())).toEqual([32 + BY + 1, 64 + BY])
      expect(await ledger.raiseFloors({ database, by: BY })).toMatchObject({ usedUp: ['lines'] })
    },
  )

  promise(
    'after a restore, no name of a series is given before a person has listed those that exist',
    async (bench) => {
      const { ledger, database, checkIn, lost } = bench
      const { claim, note, reopen } = await tillsOf(bench)
      const id = newId()
      expect(await claim({ id, name: 'T5' })).toMatchObject({ name: 'T5' })
      expect(await ledger.unlisted()).not.toContain(database)
      await checkIn(newId(), await lost())
      expect(await claim({ name: 'T9' })).toMatchObject({ refused: 'restored' })
      expect(await reopen()).toBe(false)
      expect(await note('T9')).toMatchObject({ refused: 'restored' })
      await ledger.raiseFloors({ database, by: BY })
      expect(await ledger.unlisted()).toContain(database)
      expect(await claim({ name: 'T9' })).toEqual({ refused: 'unlisted' })
      // Who has one gets its answer; letters go on above all that were given.
      expect(await claim({ id, name: 'T5' })).toMatchObject({ name: 'T5', isRepeat: true })
      expect(await claim({})).toMatchObject({ ordinal: BY + 3 })
      expect(await note('T9')).toMatchObject({ letter: 'T9', last: 0 })
      expect(await note('t9')).toMatchObject({ letter: 'T9' })
      expect(await claim({ name: 'T9' })).toEqual({ refused: 'taken' })
      expect(await claim({ name: 'T10' })).toEqual({ refused: 'unlisted' })
      expect(await reopen()).toBe(true)
      expect(await claim({ name: 't9' })).toEqual({ refused: 'taken' })
      expect(await claim({ name: 'T10' })).toMatchObject({ name: 'T10' })
      expect(await ledger.unlisted()).not.toContain(database)
      // A person may hand the series of a till over that the backup does not know.
      const done = { by: 'anna', reason: 'stolen', at: AT + 5, last: 7, period: '' }
      await ledger.handOverSeries({
        ...done,
        database,
        collection: 'receipts',
        letter: 'T9',
        to: 'x',
      })
      expect(await claim({ device: 'x' })).toMatchObject({ name: 'T9', after: { last: 7 } })
    },
  )

  promise(
    'the floor of letters alone, and another ledger that is followed, close the names, too',
    async (bench) => {
      const { ledger, database } = bench
      const { claim, reopen } = await tillsOf(bench)
      await ledger.raiseFloor({ database, collection: 'orders', floor: 5 })
      expect(await claim({ name: 'T4' })).toMatchObject({ name: 'T4' })
      await ledger.raiseFloor({ database, collection: 'receipts|', floor: 5 })
      expect(await claim({ name: 'T5' })).toEqual({ refused: 'unlisted' })
      expect(await reopen()).toBe(true)
      expect(await claim({ name: 'T5' })).toMatchObject({ name: 'T5' })
      await ledger.follow({ database, name: 'abcdefghjkmnpqrs', above: 50 })
      expect(await claim({ name: 'T6' })).toEqual({ refused: 'unlisted' })
    },
  )

  promise(
    'after a restore, only ranges that were given before it are given, until they are listed',
    async (bench) => {
      const { ledger, database, checkIn, lost } = bench
      const { give, handOver, reopen } = await tillsOf(bench)
      await checkIn(newId(), await lost())
      // Once the floors are raised, it would be void.
      expect(await handOver('Till 4')).toEqual({ refused: 'restored' })
      expect(await give('T3', 1)).toEqual({ refused: 'restored' })
      expect(await give('T3', 1, true)).toEqual({ refused: 'restored' })
      await ledger.raiseFloors({ database, by: BY })
      expect(await give('T3', 2001)).toEqual({ refused: 'unlisted' })
      expect(await give('T3', 1, true)).toMatchObject({ ranges: [{ from: 1, to: 1_000 }] })
      await reopen()
      expect(await give('T3', 1)).toMatchObject({ refused: 'overlap' })
      expect(await give('T3', 2001)).toMatchObject({ ranges: [{ from: 1 }, { from: 2001 }] })
    },
  )

  promise(
    'a hand-over from before a restore is given to nobody: the backup may not know who got it',
    async (bench) => {
      const { ledger, database } = bench
      const { claim, reopen, handOver } = await tillsOf(bench)
      await handOver('Till 4')
      await ledger.raiseFloors({ database, by: BY })
      expect(await claim({ device: 'Till 4' })).toEqual({ refused: 'unlisted' })
      const again = { at: AT + 9, dryRun: true }
      expect(await handOver('Till 4', again)).toMatchObject({ handedOver: { at: AT + 9 } })
      await reopen()
      expect(await claim({ device: 'Till 4' })).toMatchObject({ ordinal: BY + 2 })
      expect(await handOver('Till 5')).toMatchObject({ handedOver: { isTaken: false } })
      expect(await claim({ device: 'Till 5' })).toMatchObject({ name: 'T3', after: { last: 131 } })
    },
  )

  promise(
    'after a restore, a series goes on with another till when its own has told all its periods, ' +
      'or a person has said the last number of each',
    async (bench) => {
      const { ledger, database } = bench
      const { claim, note, reopen, handOver } = await tillsOf(bench)
      const [bob, eve, may] = ['bob', 'eve', 'may'].map((period) => ({ period, first: 1, last: 5 }))
      const begun = await claim({ name: 'T5', device: 'Till 5' })
      if ('refused' in begun) throw new Error(begun.refused)
      const tell = async (token: string, told: Partial<SeriesCheckIn>) => {
        const asked = { database, id: newId(), token, last: 15, at: AT, ...told }
        const result = await ledger.checkInSeries(asked)
        if (result === 'unknown' || 'superseded' in result) throw new Error('The series ended.')
        return result
      }
      const before = await tell(begun.token, { periods: [bob!, eve!, may!] })
      const to = (device: string, of: Partial<SeriesHandOver> = {}) =>
        handOver(device, { letter: 'T5', period: 'may', last: 9, ...of })
      const dry = { dryRun: true }
      expect(await to('x', dry)).toMatchObject({ letter: 'T5' })
      await ledger.raiseFloors({ database, by: BY })
      await reopen()
      const untold = { refused: 'untold', missing: ['bob', 'eve'] }
      expect(await to('x')).toEqual(untold)
      // It was told something else before the restore: it says all of it once more.
      const first = await tell(before.token, { mark: 'other', periods: [may!] })
      expect(first).toMatchObject({ again: true })
      expect(await to('x')).toEqual(untold)
      const closings = [{ period: 'eve', closed: false, first: 1, last: 7 }]
      await tell(first.token, { mark: first.mark, periods: [may!], closings })
      const known = [bob, { ...eve, last: 7 }, { ...may, last: 9 }]
      expect(await to('x', dry)).toMatchObject({ periods: expect.arrayContaining(known) })

      await ledger.raiseFloors({ database, by: BY })
      await reopen()
      const eveAt = (last: number) => ({ period: 'eve', last })
      const bobAt = (last: number) => ({ period: 'bob', last })
      expect(await to('x', { otherPeriods: [bobAt(8)] })).toMatchObject({ missing: ['eve'] })
      expect(await to('x', { otherPeriods: [bobAt(8), eveAt(6)] })).toEqual({
        ...{ refused: 'heard', period: 'eve', least: 7 },
      })
      const otherPeriods = [bobAt(8), eveAt(7), { period: 'zoe', last: 2 }]
      const stated = { otherPeriods, at: AT + 6 }
      const done = { handedOver: { otherPeriods, heard: 15, at: AT + 6 }, last: 15 + 3 + 2 + 4 }
      expect(await to('Till 6', stated)).toMatchObject(done)
      expect(await to('Till 6', { ...stated, at: AT + 7 })).toMatchObject(done)
      const taken = await claim({ device: 'Till 6' })
      const periods = [
        { ...bob, last: 8 },
        { ...eve, last: 7 },
        { ...may, last: 9 },
        { period: 'zoe', first: 1, last: 2 },
      ]
      if (!('after' in taken)) throw new Error('It was not handed over.')
      expect(taken.after).toEqual({ last: 24, periods: expect.arrayContaining(periods) })
      const makers = async (period: string) => {
        const asked = { database, collection: 'receipts', series: 'T5', number: 2, period }
        return (await ledger.explain(asked)).series[0]!.heard.map(({ device }) => device)
      }
      expect(await makers('zoe')).toEqual(['Till 5'])
      // It has told all at once, since it knows what the server has.
      await ledger.raiseFloors({ database, by: BY })
      await reopen()
      expect(await to('y', dry)).toMatchObject({ refused: 'untold' })
      await tell(taken.token, { last: 24, periods: [{ ...may!, last: 9 }], mark: taken.mark })
      expect(await to('y', dry)).toMatchObject({ last: 24 })
      await to('y', { period: 'kim', newPeriod: true, last: 4 })
      expect(await makers('kim')).toEqual(['Till 6'])

      // Of one that the backup does not have, nobody knows a period.
      await note('T8')
      const ofListed = { letter: 'T8', period: '2027', newPeriod: true }
      expect(await handOver('x', ofListed)).toEqual({ refused: 'untold', missing: [] })
      const alone = { ...ofListed, otherPeriods: [] }
      expect(await handOver('x', alone)).toMatchObject({ letter: 'T8' })
    },
  )

  promise(
    'each server is told once that a database grants nothing, and once more after it went on',
    async ({ open, database, checkIn, lost, wish }) => {
      const other = await open()
      const told: string[] = []
      other.onRestored((name) => told.push(name))
      const toldOfThis = () => told.filter((name) => name === database)
      await checkIn(newId(), await lost())
      for (let i = 0; i < 3; i++) await other.claim([wish()])
      await other.restored()
      expect(toldOfThis()).toHaveLength(1)
      await other.raiseFloors({ database, by: BY })
      await other.claim([wish()])
      const grants = [{ token: await lost({ serial: 3e9 }), next: 1 }]
      await other.checkIn({ database, id: newId(), at: 0, grants })
      expect(toldOfThis()).toHaveLength(2)
      await other.close()
    },
  )

  promise(
    'a server that did nothing while the floors were raised is told of the next restore, too',
    async ({ open, ledger, database, checkIn, lost }) => {
      const other = await open()
      const told: string[] = []
      other.onRestored((name) => told.push(name))
      const toldOfThis = () => told.filter((name) => name === database)
      await checkIn(newId(), await lost())
      await other.restored()
      expect(toldOfThis()).toHaveLength(1)
      await ledger.raiseFloors({ database, by: BY })
      await checkIn(newId(), await lost({ serial: 3e9 }))
      await other.restored()
      expect(toldOfThis()).toHaveLength(2)
      await other.close()
    },
  )
}
