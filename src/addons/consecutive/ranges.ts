/**
 * Ranges of numbers that an authority gave: of which one the next number is, and what is left.
 * Pure. Guarantees that a number is above each one before it, and of a range that is valid today.
 */
import { HiloError } from '../../core/errors.js'
import type { SeriesMark } from '../../core/wire.js'
import type { NumberRange, NumberRow } from '../../device/series-store.js'

const DAY_MS = 86_400_000
/** So many days before the end the app is told: an authority takes some to give a range. */
const SOON_DAYS = 30

/** What can be made of ranges now. */
export interface Rest {
  /** Numbers that can still be made. */
  left: number
  /** The last day of the range that is valid for longest. Absent: a range has no last day. */
  validUntil?: string
}

/** A range on the report. */
export interface ReportedRange extends NumberRange {
  /** Numbers of it that were not made. */
  left: number
  /** None of them will be made: all are, its last day has passed, or another range has begun. */
  isOver?: true
}

/** The ranges that a series has: the app's, or those that its server gave. */
export type Ranges = readonly NumberRange[] | 'server'

export const rangesOf = (
  ranges: Ranges,
  given: readonly NumberRange[] = [],
): readonly NumberRange[] => (ranges === 'server' ? given : ranges)

/** What each of its numbers says of a range. */
export const dataOf = (range: NumberRange | undefined): { data?: unknown } =>
  range?.data === undefined ? {} : { data: range.data }

/** A range stands where other series have a period. */
const periodOf = ({ from, to }: NumberRange): string => `${from}-${to}`

/** The end of a day by this device's clock. */
const endOf = (day: string): number => Date.parse(`${day}T23:59:59.999`)

/** `2027-12-31` */
export function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00Z`)
  const isWritten = text.length === 10 && !Number.isNaN(date.getTime())
  return isWritten && date.toISOString().startsWith(`${text}T`)
}

const isOver = ({ validUntil }: NumberRange): boolean =>
  validUntil !== undefined && endOf(validUntil) < Date.now()

/** @param above numbers up to this one were made */
const leftIn = ({ from, to }: NumberRange, above: number): number =>
  Math.max(0, to - Math.max(from - 1, above))

/**
 * Where the next number is.
 * @param after what the device made that had the series before
 * @throws HiloError `exhausted`
 */
export function placeIn(
  ranges: readonly NumberRange[],
  last: Partial<Pick<NumberRow, 'number'>> | undefined,
  after?: SeriesMark,
): { range: NumberRange; number: number; period: string } {
  // guard: H28 a range makes no number below one of the device that had the series before
  const above = Math.max(last?.number ?? 0, highestOf(after, ranges))
  // guard: H28 a range makes no number above its end, and none after its last day
  const range = ranges.find((each) => leftIn(each, above) > 0 && !isOver(each))
  if (!range) throw exhausted(ranges, above)
  return { range, number: Math.max(range.from, above + 1), period: periodOf(range) }
}

/** The highest number that the device before has made: a person may have stated a wrong one. */
export const highestOf = (after: SeriesMark | undefined, ranges: readonly NumberRange[]): number =>
  Math.max(
    0,
    ...(after?.periods ?? []).map(({ period, last }) => {
      const range = ranges.find((each) => periodOf(each) === period)
      // It is none of its range, of which all may be used.
      return range && last < range.from ? range.to : last
    }),
  )

/** @param above numbers up to this one were made */
export function restOf(ranges: readonly NumberRange[], above: number): Rest {
  const open = ranges.filter((each) => leftIn(each, above) > 0 && !isOver(each))
  const left = open.reduce((sum, each) => sum + leftIn(each, above), 0)
  const days = open.flatMap(({ validUntil }) => validUntil ?? []).sort()
  return { left, ...(left > 0 && days.length === open.length && { validUntil: days.at(-1)! }) }
}

/** Is a tenth of the numbers left, or a month? */
export function isEnding(ranges: readonly NumberRange[], { left, validUntil }: Rest): boolean {
  const all = ranges.filter((each) => !isOver(each)).reduce((sum, each) => sum + leftIn(each, 0), 0)
  const isSoon = validUntil !== undefined && endOf(validUntil) - Date.now() < SOON_DAYS * DAY_MS
  return left * 10 <= all || isSoon
}

/**
 * The ranges of a series.
 * @param rows all its numbers
 * @param given what the app gives now
 */
export function reportedRanges(
  rows: readonly NumberRow[],
  given: readonly NumberRange[],
): ReportedRange[] {
  const known = [...rows.flatMap(({ range }) => range ?? []), ...given]
  const ranges = [...new Map(known.map((range) => [range.from, range])).values()]
  const last = rows.at(-1)?.number ?? 0
  return ranges
    .sort((a, b) => a.from - b.from)
    .map((range) => {
      const { from, to } = range
      const made = rows.filter(({ number }) => from <= number && number <= to)
      const left = leftIn(range, made.at(-1)?.number ?? 0)
      const isPast =
        left === 0 || last > to || isOver(range) || !given.some((of) => of.from === from)
      return { ...range, left, ...(isPast && { isOver: true }) }
    })
}

function exhausted(ranges: readonly NumberRange[], above: number): HiloError {
  const expired = ranges.find((each) => leftIn(each, above) > 0)
  const last = ranges.at(-1)
  const why = !last
    ? 'the server has not given it a range yet'
    : expired
      ? `the range ${expired.from} to ${expired.to} ended on ${expired.validUntil}, with ` +
        `${leftIn(expired, above)} numbers left`
      : `all numbers of its ranges up to ${last.to} are used`
  return new HiloError(
    'exhausted',
    `No number was made: ${why}. Give this series another range of the authority.`,
  )
}
