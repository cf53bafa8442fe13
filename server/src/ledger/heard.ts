/**
 * The numbers of a series that the ledger has heard of: from its device, from a copy of the device,
 * or from a device that had the series before. Pure.
 */
import { createHash } from 'node:crypto'
import { joined as joinedAll } from '../../../src/core/series-marks.js'
import type { Series, SeriesCheckIn, SeriesPeriod, SeriesRange, ToldPeriod } from './ledger.js'
import type { SeriesRow } from './rows.js'

/**
 * The ledger keeps this many periods of a series, the newest. Each takes some 40 bytes of a row
 * that is written at each check-in.
 */
export const MOST_PERIODS = 1_000

type Told = Pick<SeriesCheckIn, 'last' | 'periods'>

/** How far each period has come, with the newest report added. */
export const joined = (
  known: readonly SeriesPeriod[],
  told: readonly SeriesPeriod[],
): SeriesPeriod[] => joinedAll(known, told).slice(-MOST_PERIODS)

/** The periods of a series; of one without periods its numbers as one. */
export const periodsIn = ({
  periods,
  last,
}: Pick<Series, 'periods' | 'last'>): readonly SeriesPeriod[] =>
  periods.length > 0 || last === 0 ? periods : [{ period: '', first: 1, last }]

/**
 * Was each number of its periods taken? Not so where it had numbers of an authority between its
 * own. Its first periods may be forgotten.
 */
export const isWhole = (series: Pick<Series, 'periods' | 'last'>): boolean =>
  periodsIn(series).reduce((sum, { first, last }) => sum + last - first + 1, 0) <= series.last

/** The periods in the row of a series. */
export const periodsOf = ({ periods, last }: SeriesRow): readonly SeriesPeriod[] =>
  periodsIn({ periods: JSON.parse(periods), last })

/** Nothing where the numbers are those of their places: 1 to `last`. */
export const storedPeriods = (periods: readonly SeriesPeriod[], last: number): string =>
  JSON.stringify(
    periods.every((each) => each.period === '' && each.first === 1 && each.last === last)
      ? []
      : periods,
  )

/**
 * The numbers that a check-in names. Without periods they are those of their places.
 * @param heard so many had been heard of before
 */
function toldIn({ last, periods = [] }: Told, heard: number): readonly SeriesPeriod[] {
  const isPlain = periods.length === 0 && last > heard
  return isPlain ? [{ period: '', first: heard + 1, last }] : periods
}

/** The series when the device that holds it has told of its numbers. */
export function withTold(
  row: SeriesRow,
  { closings = [], ...told }: Told & Pick<SeriesCheckIn, 'closings'>,
): SeriesRow {
  const last = Math.max(row.last, told.last)
  const numbers = joined(periodsOf(row), toldIn(told, row.last))
  // guard: H40 a closing is kept for the device that goes on with the series
  const periods = closings.reduce(withClosing, numbers)
  return { ...row, last, periods: storedPeriods(periods, last) }
}

/** Undefined: the ledger knows of no period. */
export const markOf = ({ periods }: SeriesRow): string | undefined =>
  periods === '[]'
    ? undefined
    : createHash('sha256').update(periods).digest('base64url').slice(0, 16)

/** For an answer to the device. */
export function markedAs(row: SeriesRow): { mark?: string } {
  const mark = markOf(row)
  return mark === undefined ? {} : { mark }
}

function withClosing(
  known: SeriesPeriod[],
  { period, closed, first = 1, last = 0 }: ToldPeriod,
): SeriesPeriod[] {
  const periods = last > 0 ? joined(known, [{ period, first, last }]) : known
  const { closed: _, ...mark } = periods.find((each) => each.period === period) ?? { first, last }
  const done = { ...mark, period, ...(closed && { closed }) }
  const isOther = (each: SeriesPeriod) => each.period !== period
  // Those that are told again come in the order of the device.
  return last > 0 || periods.every(isOther)
    ? [...periods.filter(isOther), done].slice(-MOST_PERIODS)
    : periods.map((each) => (isOther(each) ? each : done))
}

/** The marks of devices that do not hold the series. */
export const othersOf = ({ toldByOthers }: SeriesRow): SeriesPeriod[] => JSON.parse(toldByOthers)

/**
 * The series when a device has told of its numbers that does not hold it any more.
 * @param heard how many numbers it had told of while it did
 */
export function withToldByOther(row: SeriesRow, told: Told, heard: number): SeriesRow {
  const beside = toldIn(told, heard).filter(isBeside(periodsOf(row)))
  const toldByOthers = JSON.stringify(joined(othersOf(row), beside))
  return toldByOthers === row.toldByOthers ? row : { ...row, toldByOthers }
}

const isBeside =
  (known: readonly SeriesPeriod[]) =>
  ({ period, first, last }: SeriesPeriod): boolean =>
    !known.some((each) => each.period === period && each.first <= first && last <= each.last)

/** The series as if its own device had told of all that was heard. */
export function withOthers(row: SeriesRow): SeriesRow {
  const own = periodsOf(row)
  const periods = joined(own, othersOf(row))
  const more = periods.map(
    ({ period, first, last }) =>
      last - (own.find((each) => each.period === period)?.last ?? first - 1),
  )
  const last = more.reduce((sum, each) => sum + each, row.last)
  return { ...row, last, periods: storedPeriods(periods, last), toldByOthers: '[]' }
}

type Span = Pick<SeriesRange, 'from' | 'to' | 'prefix'>

/**
 * The numbers of an authority's range, where a period has the name of one: `2001-3000`, or
 * `SETP:2001-3000` with a prefix. Its device has all of it, also where the ledger has forgotten it.
 */
export function rangeNamed({ period, first, last }: SeriesPeriod): Span | undefined {
  const [, prefix, low, high] = /^(?:([^:]+):)?(\d+)-(\d+)$/.exec(period) ?? []
  const [from, to] = [Number(low ?? 0), Number(high ?? 0)]
  // The name of a fiscal year looks like a range, too: 2026-2027.
  return from <= first && last <= to ? { from, to, prefix } : undefined
}

export const rangeName = ({ from, to, prefix }: Span): string =>
  `${prefix ? `${prefix}:` : ''}${from}-${to}`

/** Numbers of two prefixes are different numbers. Upper and lower case make no other one. */
export const isOfPrefix =
  ({ prefix = '' }: Pick<Span, 'prefix'>) =>
  (other: Pick<Span, 'prefix'>): boolean =>
    prefix.toUpperCase() === (other.prefix ?? '').toUpperCase()

/** The highest number of a prefix that was heard of: its device goes on above it. 0: none was. */
export const highestOf = (row: SeriesRow, of: Pick<Span, 'prefix'>): number =>
  [...periodsOf(row), ...othersOf(row)]
    .filter((each) => isOfPrefix(of)(rangeNamed(each) ?? {}))
    .reduce((highest, { last }) => Math.max(highest, last), 0)

/**
 * Numbers that no other series may get.
 * @param again a range that this series gets. If its own device has numbers of exactly this one,
 * it goes on above them
 */
export function heardIn(row: SeriesRow, again: Span | undefined): Span[] {
  const { doubtfulFrom: first, doubtfulTo: last } = row
  const own = periodsOf(row).filter(({ period }) => !again || period !== rangeName(again))
  // Without periods, numbers are places.
  const doubtful =
    row.periods === '[]' && first !== null ? [{ period: '', first, last: last! }] : []
  return [...own, ...othersOf(row), ...doubtful].map(
    (each) => rangeNamed(each) ?? { from: each.first, to: each.last },
  )
}
