/**
 * How far a series of a lost device has come, by what a person states. Pure. Guarantees that
 * whoever goes on with it begins above every number that the ledger has heard of.
 */
import { joined, MOST_PERIODS, periodsOf, rangeName, rangeNamed } from './heard.js'
import type {
  HandOverRefusal,
  SeriesHandOver,
  SeriesMark,
  SeriesPeriod,
  StatedPeriod,
} from './ledger.js'
import type { SeriesRow } from './rows.js'
import { rangesOf } from './series-row.js'

/** How far a series has come, when a person is right. */
interface StatedMark extends SeriesMark {
  period: string
  /** Of each period that the person has named. */
  stated: readonly SeriesPeriod[]
}

/**
 * @param row with all that was heard of
 * @param isUntold the device may have made more numbers, of which a restored ledger has forgotten
 */
export function markAfter(
  row: SeriesRow,
  { last, period: asked, newPeriod = false, otherPeriods }: SeriesHandOver,
  isUntold: boolean,
): StatedMark | HandOverRefusal {
  // guard: H28 a hand-over is of a period that is known, or that a person calls new
  const period = statedPeriod(row, asked, newPeriod)
  if (period === undefined) return { refused: 'periods', known: namesIn(row) }
  const others = otherPeriods?.map((each) => each.period)
  const missing = namesLeftOut(row, [period, ...(others ?? [])])
  const isAll = missing.length === 0 && (others !== undefined || period === '')
  // guard: H28 what a restored ledger has forgotten is told, or stated, before a series goes on
  if (isUntold && !isAll) return { refused: 'untold', missing }
  const mark: StatedMark = { last: row.last, period, periods: periodsOf(row), stated: [] }
  const done = [...(otherPeriods ?? []), { period, last }].reduce<StatedMark | HandOverRefusal>(
    (before, each) => ('refused' in before ? before : withStated(row, before, each)),
    mark,
  )
  if ('refused' in done) return done
  // A copy of the lost device may have told of numbers that it made.
  const least = Math.max(row.last, row.doubtfulTo ?? 0)
  // guard: H28 a hand-over begins above numbers in doubt
  if (done.last < least) return { refused: 'heard', period, least: last + least - done.last }
  return done
}

function withStated(
  row: SeriesRow,
  { periods, stated, ...before }: StatedMark,
  { period, last }: StatedPeriod,
): StatedMark | HandOverRefusal {
  // A number of a period that is forgotten would be made again.
  if (periods.length >= MOST_PERIODS) return { refused: 'crowded' }
  const known = periods.find((each) => each.period === period)
  const range =
    rangesOf(row).find((each) => rangeName(each) === period) ?? (known && rangeNamed(known))
  if (range && (last < range.from || range.to < last))
    return { refused: 'outside', from: range.from, to: range.to, period, last }
  const { from } = rangeNamed({ period, first: last, last }) ?? { from: 1 }
  const first = known?.first ?? Math.min(from, last)
  const heard = known?.last ?? Math.max(0, first - 1)
  // guard: H28 a hand-over begins above all that was heard
  if (last < heard) return { refused: 'heard', period, least: heard }
  const mark = { period, first, last }
  return {
    ...before,
    last: before.last + last - heard,
    periods: joined(periods, [mark]),
    stated: [...stated, mark],
  }
}

/** Periods that may have numbers after those that were heard of, besides these. */
const namesLeftOut = (row: SeriesRow, stated: readonly string[]): string[] =>
  periodsOf(row)
    .filter((each) => !each.closed && rangeNamed(each)?.to !== each.last)
    .map(({ period }) => period)
    .filter((period) => !stated.includes(period))

/** Periods of which numbers were heard, and ranges that were given. */
const namesIn = (row: SeriesRow): string[] => [
  ...new Set([...periodsOf(row).map(({ period }) => period), ...rangesOf(row).map(rangeName)]),
]

/**
 * The period of which a person speaks. Undefined: that may be a mistake, and the other device would
 * begin at 1, where its own numbers have another period.
 */
function statedPeriod(
  row: SeriesRow,
  period: string | undefined,
  isNew: boolean,
): string | undefined {
  const heard = periodsOf(row).map((each) => each.period)
  const names = namesIn(row)
  const isPlain = heard.length > 0 && heard.every((each) => each === '')
  if (period === undefined) return isPlain && names.length === 1 ? '' : undefined
  const isStated = names.includes(period)
    ? !(isNew && heard.includes(period))
    : period === ''
      ? names.length === 0
      : isNew && !isPlain
  return isStated ? period : undefined
}
