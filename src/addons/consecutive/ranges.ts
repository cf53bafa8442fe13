/**
 * Ranges of numbers that an authority gave: of which one the next number is, and how many are left.
 * Pure. Guarantees that a number is above each one before it, and of a range that is valid today.
 */
import { DAY_MS } from '../../core/day.js'
import { HiloError } from '../../core/errors.js'
import type { SeriesMark } from '../../core/series-marks.js'
import { RANGE_PREFIX } from '../../core/wire.js'
import type { NumberRange, NumberRow } from '../../device/series-store.js'

/** So many days before the end the app is told: an authority takes some to give a range. */
const SOON_DAYS = 30

/** The numbers that can be made of ranges now. */
export interface Rest {
  /** Numbers that can still be made. */
  left: number
  /** How many of them can still be made in a month. */
  lasting: number
  /** The last day of the range that is valid for longest. Absent: a range has no last day. */
  validUntil?: string
}

/** The ranges that a series has: the app's, or those that its server gave. */
export type Ranges = readonly NumberRange[] | 'server'

export const rangesOf = (
  ranges: Ranges,
  given: readonly NumberRange[] = [],
): readonly NumberRange[] => (ranges === 'server' ? given : ranges)

/** The `data` of a range, for each of its numbers. */
export const dataOf = (range: NumberRange | undefined): { data?: unknown } =>
  range?.data === undefined ? {} : { data: range.data }

/** A range stands where other series have a period: `1001-2000`, `SETP:1-1000`. */
const periodOf = ({ from, to, prefix }: NumberRange): string =>
  `${prefix ? `${prefix}:` : ''}${from}-${to}`

/** The prefix of a number, by its period. Empty: it has none. */
export const prefixIn = (period: string): string => /^([^:]+):\d+-\d+$/.exec(period)?.[1] ?? ''

/** Numbers of this range up to this one were made: those of two prefixes are different numbers. */
export type Above = (range: Pick<NumberRange, 'prefix'>) => number

/** How far the numbers of a series have come. */
export interface Progress {
  /** Of each prefix that has given way to another one: its highest number. */
  highest?: Readonly<Record<string, number>> | undefined
  /** The last number of the device that had the series before. */
  after?: SeriesMark | undefined
}

/** @param last the last number of the series */
export const aboveOf =
  (
    { highest = {}, after }: Progress,
    last: Pick<NumberRow, 'number' | 'period'> | undefined,
    ranges: readonly NumberRange[],
  ): Above =>
  ({ prefix = '' }) => {
    // guard: H28 a range makes no number below one of the device that had the series before
    const marks = (after?.periods ?? []).map(({ period, last: number }) => {
      const range = ranges.find((each) => periodOf(each) === period)
      // A person may have stated one that is none of its range, of which all may be used.
      return { period, number: range && number < range.from ? range.to : number }
    })
    const made = [...marks, ...(last ? [last] : [])].filter((of) => prefixIn(of.period) === prefix)
    // A prefix may be called `constructor`, which each object has.
    const left = Object.hasOwn(highest, prefix) ? highest[prefix]! : 0
    return Math.max(left, ...made.map(({ number }) => number))
  }

/** The day of an instant, `2027-12-31`, in the time zone of the series. */
export type DayAt = (at: Date) => string

/** As an authority gives it. */
export const isPrefix = (prefix: unknown): boolean =>
  typeof prefix === 'string' && RANGE_PREFIX.test(prefix)

/** `2027-12-31` */
export function isDay(text: unknown): boolean {
  if (typeof text !== 'string' || text.length !== 10) return false
  const date = new Date(`${text}T00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${text}T`)
}

export const isOver = ({ validUntil }: NumberRange, day: string): boolean =>
  validUntil !== undefined && validUntil < day

/** @param above numbers up to this one were made */
export const unmadeIn = ({ from, to }: NumberRange, above: number): number =>
  Math.max(0, to - Math.max(from - 1, above))

/** How many can still be made on a day. */
const leftIn = (range: NumberRange, above: number, day: string): number =>
  isOver(range, day) ? 0 : unmadeIn(range, above)

/**
 * Where the next number is.
 * @param day on which it is made
 * @throws HiloError `exhausted`
 */
export function placeIn(
  ranges: readonly NumberRange[],
  above: Above,
  day: string,
): { range: NumberRange; number: number; period: string } {
  // guard: H28 a range makes no number above its end, and none after its last day
  const range = ranges.find((each) => leftIn(each, above(each), day) > 0)
  if (!range) throw exhausted(ranges, above)
  return { range, number: Math.max(range.from, above(range) + 1), period: periodOf(range) }
}

const sumOn = (day: string, ranges: readonly NumberRange[], above: Above): number =>
  ranges.reduce((sum, each) => sum + leftIn(each, above(each), day), 0)

export function restOf(ranges: readonly NumberRange[], above: Above, dayAt: DayAt): Rest {
  const today = dayAt(new Date())
  const soon = dayAt(new Date(Date.now() + SOON_DAYS * DAY_MS))
  const left = sumOn(today, ranges, above)
  const open = ranges.filter((each) => leftIn(each, above(each), today) > 0)
  const days = open.flatMap(({ validUntil }) => validUntil ?? []).sort()
  const isUntil = left > 0 && days.length === open.length
  const lasting = sumOn(soon, ranges, above)
  return { left, lasting, ...(isUntil && { validUntil: days.at(-1)! }) }
}

/** Can a tenth of the numbers still be made in a month, or less? */
export const isEnding = (
  ranges: readonly NumberRange[],
  { lasting }: Rest,
  dayAt: DayAt,
): boolean => lasting * 10 <= sumOn(dayAt(new Date()), ranges, () => 0)

function exhausted(ranges: readonly NumberRange[], above: Above): HiloError {
  const expired = ranges.find((each) => unmadeIn(each, above(each)) > 0)
  const last = ranges.at(-1)
  const why = !last
    ? 'the server has not given it a range yet'
    : expired
      ? `the range ${expired.from} to ${expired.to} ended on ${expired.validUntil}, with ` +
        `${unmadeIn(expired, above(expired))} numbers left`
      : `all numbers of its ranges up to ${last.to} are used`
  return new HiloError(
    'exhausted',
    `No number was made: ${why}. Give this series another range of the authority.`,
  )
}
