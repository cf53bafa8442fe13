/** Series as pure steps: what they answer, and which rows they change. */
import { expect, test } from 'vitest'
import { toLetter, toPlace } from '../../../src/core/series-letters.js'
import { handOver } from '../../src/ledger/hand-over.js'
import { periodsOf, storedPeriods, withTold, withToldByOther } from '../../src/ledger/heard.js'
import type { SeriesPlace } from '../../src/ledger/ledger.js'
import type { GrantRow, SeriesRow } from '../../src/ledger/rows.js'
import { checkInSeries, claimSeries } from '../../src/ledger/series.js'
import { readPage } from '../../src/ledger/series-pages.js'
import { closeSeries } from '../../src/ledger/series-register.js'
import { collectionOf, contextOf, grantId, grantOf, rowsOf, TOKENS } from './steps.js'

const RECEIPTS = { database: 'shop', collection: 'receipts' }
/** A token has proved that the database is an older copy. */
const PROVEN = [{ database: 'shop', isRestored: true, isDropped: false }]
const LETTERS = { database: 'shop', collection: 'receipts|' }
const row: SeriesRow = {
  ...RECEIPTS,
  grant: grantId(0),
  ordinal: 2,
  name: 'B',
  nameKey: 'b',
  device: 'Till 3',
  last: 5,
  periods: '[]',
  toldByOthers: '[]',
  toldAfter: 0,
  firstShown: '[]',
  registeredAt: 1,
  seenAt: 1,
  closedAt: null,
  closedBy: null,
  reason: null,
  doubtfulFrom: null,
  doubtfulTo: null,
  link: null,
  register: null,
  handOvers: '[]',
  ranges: '[]',
}
const letter = { ...LETTERS, low: 2, high: 2, firstHigh: 2, count: 1, serverTag: '' }
const content = (tokenVersion: number) => ({
  id: grantId(0),
  tokenVersion,
  serial: 1,
  high: 2,
  ...LETTERS,
})
const checkIn = { database: 'shop', id: 'now', last: 6, at: 9 }

test.each([
  [1, 'A'],
  [26, 'Z'],
  [27, 'AA'],
  [52, 'AZ'],
  [53, 'BA'],
  [702, 'ZZ'],
  [703, 'AAA'],
])('series %i is %s, and back', (place, text) => {
  expect(toLetter(place)).toBe(text)
  expect(toPlace(text)).toBe(place)
})

test('a claim is granted one number of the collection that counts the letters', () => {
  const rows = rowsOf({ collections: [collectionOf({ ...LETTERS, max: 1, highWater: 1 })] })
  const claim = { ...RECEIPTS, id: 'a', device: 'Till 3', at: 1 }
  const { answer, changes } = claimSeries(rows, claim, false, contextOf())
  expect(answer).toMatchObject({ ordinal: 2, isRepeat: false })
  expect(changes).toMatchObject({
    collections: [{ ...LETTERS, max: 2, highWater: 2 }],
    newGrants: [{ ...LETTERS, low: 2, high: 2, claim: 'a' }],
    series: [{ ...row, grant: grantId(1), last: 0 }],
  })
})

test('a check-in of the newest token replaces it; of an older one, what it told is kept', () => {
  const rows = rowsOf({ grants: [grantOf({ ...letter, tokenVersion: 3 })], series: [row] })
  const { answer, changes } = checkInSeries(rows, checkIn, content(3), contextOf())
  expect(answer).toEqual({ token: TOKENS.write({ ...content(4), database: 'shop' }) })
  expect(changes).toMatchObject({
    grants: [{ tokenVersion: 4, checkIn: 'now' }],
    series: [{ ...row, last: 6, seenAt: 9 }],
  })
  const toldByOthers = JSON.stringify([{ period: '', first: 6, last: 6 }])
  expect(checkInSeries(rows, checkIn, content(2), contextOf())).toEqual({
    answer: { superseded: true, last: 5 },
    changes: { series: [{ ...row, toldByOthers }] },
  })
  expect(checkInSeries(rows, { ...checkIn, last: 5 }, content(2), contextOf())).toEqual({
    answer: { superseded: true, last: 5 },
    changes: {},
  })
})

test('a ledger that was restored lets the device go on, and distrusts what it knows', () => {
  const rows = rowsOf({ grants: [grantOf({ ...letter, tokenVersion: 3 })], series: [row] })
  const { answer, changes } = checkInSeries(rows, checkIn, content(7), contextOf())
  // No copy of the device has a token of this ledger by chance.
  const tokenVersion = 7 + 1_000_000
  expect(answer).toEqual({ token: TOKENS.write({ ...content(tokenVersion), database: 'shop' }) })
  expect(changes).toMatchObject({ databases: PROVEN, grants: [{ tokenVersion }] })
})

test('of a copy as old as the backup nothing is found where nobody raised the floors', () => {
  const grant = grantOf({ ...letter, tokenVersion: 3 })
  const before = rowsOf({ grants: [grant], series: [row] })
  const ofCopy = checkInSeries(before, { ...checkIn, id: 'copy' }, content(3), contextOf())
  const { grants, series } = ofCopy.changes as { grants: GrantRow[]; series: SeriesRow[] }
  const ofTill = checkInSeries(rowsOf({ grants, series }), checkIn, content(7), contextOf())
  for (const { answer } of [ofCopy, ofTill]) expect(answer).toHaveProperty('token')
})

test('a series of a dropped collection has ended, also while its rows are still there', () => {
  const rows = (dropped: number) =>
    rowsOf({
      grants: [grantOf({ ...letter, tokenVersion: 3 })],
      series: [row],
      serials: [{ ...LETTERS, serial: 1, newest: 1, grant: grantId(0), floor: 0, dropped }],
    })
  const answerTo = (dropped: number) =>
    checkInSeries(rows(dropped), checkIn, content(3), contextOf()).answer
  expect(answerTo(1)).toBe('unknown')
  expect(answerTo(0)).toHaveProperty('token')
})

test('a ledger restored from before the series ends it, and distrusts what it knows', () => {
  const { answer, changes } = checkInSeries(rowsOf({}), checkIn, content(0), contextOf())
  expect(answer).toBe('unknown')
  expect(changes).toEqual({ databases: PROVEN })
})

test('a series is closed once, and none where there is none', () => {
  const closing = { ...RECEIPTS, letter: 'B', by: 'anna', reason: 'stolen', at: 7 }
  const closed = { ...row, closedAt: 7, closedBy: 'anna', reason: 'stolen' }
  expect(closeSeries(rowsOf({ series: [row] }), closing)).toEqual({
    answer: closed,
    changes: { series: [closed] },
  })
  expect(closeSeries(rowsOf({ series: [closed] }), { ...closing, by: 'bob' })).toEqual({
    answer: closed,
    changes: {},
  })
  expect(closeSeries(rowsOf({}), closing)).toEqual({ answer: undefined, changes: {} })
})

test('the newest thousand periods are kept, and a series with so many is not handed over', () => {
  const of = (count: number): SeriesRow => {
    const periods = Array.from({ length: count }, (_, i) => ({ period: `${i}`, first: 1, last: 1 }))
    return { ...row, last: count, periods: JSON.stringify(periods) }
  }
  const done = { to: 'Till 4', by: 'anna', reason: 'lost', at: 7, last: 1, period: '998' }
  const refusalOf = (series: SeriesRow) => {
    const rows = rowsOf({ grants: [grantOf(letter)], series: [series] })
    return handOver(rows, grantId(0), { ...RECEIPTS, letter: 'B', ...done }).answer
  }
  expect(refusalOf(of(999))).toMatchObject({ device: 'Till 4' })
  expect(refusalOf(of(1_000))).toEqual({ refused: 'crowded' })
  const next = { period: '1000', first: 1, last: 1 }
  const told = { last: 1_001, periods: [next] }
  const ofOthers = { ...row, toldByOthers: of(1_000).periods }
  for (const text of [
    withTold(of(1_000), told).periods,
    withToldByOther(ofOthers, told, 0).toldByOthers,
  ]) {
    const kept = JSON.parse(text)
    expect(kept).toHaveLength(1_000)
    expect([kept[0].period, kept[999]]).toEqual(['1', next])
  }
})

test.each([
  ['its places', { period: '', first: 1, last: 5 }],
  ['some of its places', { period: '', first: 1, last: 4 }],
  ['places that began later', { period: '', first: 2, last: 5 }],
  ['a year', { period: '2027', first: 1, last: 5 }],
])('the numbers of a series are read as they were stored, if they are %s', (_, period) => {
  const stored = { ...row, last: 5, periods: storedPeriods([period], 5) }
  expect(periodsOf(stored)).toEqual([period])
})

test('numbers that an earlier device tells are kept if its successor has told only some', () => {
  const of = (first: number, last: number) => [{ period: '2027', first, last }]
  const given = { ...row, last: 6, periods: JSON.stringify(of(20, 25)) }
  const heardOf = (first: number, last: number) =>
    JSON.parse(withToldByOther(given, { last, periods: of(first, last) }, 0).toldByOthers)
  expect([heardOf(20, 25), heardOf(19, 25), heardOf(20, 26)]).toEqual([[], of(19, 25), of(20, 26)])
})

test('a page of series ends with the one that makes it longer than a million letters', async () => {
  const rows = [999_994, 1, 1].map((characters, i): SeriesRow => {
    return { ...row, ordinal: i + 1, periods: 'x'.repeat(characters) }
  })
  const readSeries = async (_: string, { place }: SeriesPlace) =>
    rows.filter(({ ordinal }) => ordinal > place)
  const { rows: listed, next } = await readPage({ readSeries }, 'shop', {})
  expect(listed).toEqual(rows.slice(0, 2))
  expect(next).toEqual({ collection: 'receipts', place: 2 })
})

test('a till that gives way is told with the numbers that no till before it made', () => {
  const span = (first: number, last: number) => ({ period: '2027', first, last })
  const over = { from: 'Till 3', to: 'Till 4', by: 'anna', reason: 'lost', at: 1, restores: 0 }
  const of = { ...over, period: '2027', last: 10, heard: 10, made: 10, tokenVersion: 1 }
  const claim = { id: 'a', by: null }
  const done = [
    { ...of, numbers: [span(1, 10)], others: [], claim },
    { ...of, numbers: [span(11, 19)], others: [span(5, 6)], claim },
  ]
  const given = {
    last: 25,
    periods: JSON.stringify([span(1, 25)]),
    handOvers: JSON.stringify(done),
  }
  const rows = rowsOf({ grants: [grantOf(letter)], series: [{ ...row, ...given }] })
  const asked = { to: 'Till 6', by: 'anna', reason: 'lost', at: 7, last: 25, period: '2027' }
  const { answer } = handOver(rows, grantId(0), { ...RECEIPTS, letter: 'B', ...asked })
  const { handOvers } = answer as SeriesRow
  expect(JSON.parse(handOvers).at(-1)).toMatchObject({ numbers: [span(20, 25)] })
})
