/** The whole series of a device, number by number, for people that have to account for them. */
import type { Entry, NumberRange, NumberRow } from '../../device/series-store.js'
import { dayIn } from './moment.js'
import { type HeldSeries, heldSeries, type StoredSeries } from './numbers.js'
import { present } from './present.js'
import { aboveOf, dataOf, isOver, prefixIn, restOf, unmadeIn } from './ranges.js'
import { nameOf } from './register.js'
import { doubtfulIn, type SeriesEnd } from './state.js'

export type NumberState = NumberRow['state']

/** A state that a number got. */
export interface Settlement extends Pick<NumberRow, 'state' | 'reason' | 'by' | 'ref'> {
  /** By the device's clock: ISO 8601, in UTC. */
  at: string
}

export interface ReportedNumber
  extends Omit<
    NumberRow,
    'letter' | 'place' | 'period' | 'range' | 'open' | 'page' | 'isBack' | 'link'
  > {
  /** Absent: the series has no periods. `1001-2000`: the range that it is of. */
  period?: string
  /** Of its range. */
  data?: unknown
  /** Each state that it got, in order. Absent: it is open. */
  settled?: Settlement[]
  /** Its date is more than a minute before that of the number before: the clock went back. */
  isBack?: true
  /** Another device may have made this number, too. */
  isDoubtful?: true
}

/** A range on the report. */
export interface ReportedRange extends NumberRange {
  /** Numbers of it that were not made. */
  left: number
  /** None of them will be made: all are, its last day has passed, or another range has begun. */
  isOver?: true
}

export interface SeriesReport extends Partial<HeldSeries> {
  /** `'B'` */
  series: string
  /**
   * In the order of making. Each period counts from 1, or the first one from `start`, a range from
   * its first number, each number higher by one than the one before.
   */
  numbers: ReportedNumber[]
  /** Those that an authority gave, the lowest first. Absent: there are none. */
  ranges?: ReportedRange[]
  /** Why no number is made in this series any more. */
  ended?: SeriesEnd
}

/** @param last the last number of the series that goes on */
export function reportOf(
  {
    state,
    numbers: rows,
    entries,
    ranges: given,
    dayAt = dayIn(undefined),
  }: Omit<StoredSeries, 'links'>,
  last = rows.findLast(({ letter }) => letter === state.current?.letter),
): SeriesReport[] {
  const settled = settlementsIn(entries)
  const listed = (letter: string, ranges: readonly NumberRange[], reason?: SeriesEnd) => {
    const of = rows.filter((row) => row.letter === letter)
    const doubtful = reason && doubtfulIn(reason)
    const reported = reportedRanges(of, ranges, dayAt(new Date()))
    return {
      series: letter,
      numbers: of.map((row) => reportedNumber(row, settled.get(nameOf(row)), doubtful)),
      ...(reported.length > 0 && { ranges: reported }),
    }
  }
  const reports = state.ended.map(
    ({ letter, reason }): SeriesReport => ({ ...listed(letter, [], reason), ended: reason }),
  )
  const held = heldSeries(state, last)
  if (!held) return reports
  const rest = given && restOf(given, aboveOf(state.current!, last, given), dayAt)
  return [...reports, { ...held, ...listed(held.series, given ?? []), ...rest }]
}

/** @param given the ranges that the app or the server gives now */
function reportedRanges(
  rows: readonly NumberRow[],
  given: readonly NumberRange[],
  today: string,
): ReportedRange[] {
  const known = [...rows.flatMap(({ range }) => range ?? []), ...given]
  const ranges = new Map(known.map((range) => [`${range.prefix} ${range.from}`, range]))
  const place = ({ prefix }: NumberRange) => known.findIndex((each) => each.prefix === prefix)
  return [...ranges.values()]
    .sort((a, b) => place(a) - place(b) || a.from - b.from)
    .map((range) => {
      const { from, to, prefix = '' } = range
      const made = rows.filter(({ period }) => prefixIn(period) === prefix)
      const last = made.at(-1)?.number ?? 0
      const of = made.findLast(({ number }) => from <= number && number <= to)
      const left = unmadeIn(range, of?.number ?? 0)
      const isGiven = given.some((each) => each.from === from && each.prefix === range.prefix)
      const isPast = left === 0 || last > to || isOver(range, today) || !isGiven
      return { ...range, left, ...(isPast && { isOver: true }) }
    })
}

/** By the name of their number. */
function settlementsIn(entries: readonly Entry[]): Map<string, Settlement[]> {
  const settled = new Map<string, Settlement[]>()
  for (const { what, series, made, state, at, reason, by, ref } of entries) {
    if (what !== 'settled') continue
    const name = nameOf({ letter: series!, place: made! })
    const of = settled.get(name) ?? []
    of.push({ state: state!, at, ...present({ reason, by, ref }) })
    settled.set(name, of)
  }
  return settled
}

const reportedNumber = (
  { letter, place, period, range, open, page, isBack, link, ...row }: NumberRow,
  settled: Settlement[] | undefined,
  doubtful: { from: number; to: number } | undefined,
): ReportedNumber => ({
  ...row,
  ...(period && { period }),
  ...dataOf(range),
  ...(settled && { settled }),
  ...(isBack && { isBack: true }),
  ...(row.key !== undefined && isIn(place, doubtful) && { isDoubtful: true }),
})

const isIn = (number: number, range: { from: number; to: number } | undefined): boolean =>
  range !== undefined && range.from <= number && number <= range.to
