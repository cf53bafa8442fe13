/** A number of a series as it is stored, and how that changes. Pure. */
import { brief, shown } from '../../core/brief.js'
import { HiloError } from '../../core/errors.js'
import type { SeriesMark } from '../../core/series-marks.js'
import type { Closing, NumberRange, NumberRow, SettledState } from '../../device/series-store.js'
import type { Sealed } from './links.js'
import { present } from './present.js'
import { aboveOf, type DayAt, type Progress, placeIn, type Ranges, rangesOf } from './ranges.js'

/** Makes the id of a number. */
export type FormatNumber = (
  number: number,
  letter: string,
  period: string | undefined,
  data?: unknown,
) => string

/** The input for a new number. */
export interface Make {
  key: string
  format: FormatNumber
  /** The name of the series that it has to be of. Undefined: of any. */
  series?: string | undefined
  /** The first number of the series. Default: 1. */
  start?: number
  /** @returns one instant: when the number is made, its document's date, and its period */
  moment(now?: Date): Moment
  dayAt: DayAt
  /** The person that takes it. */
  by?: string | undefined
  /** Which an authority gave: they are in the place of periods. */
  ranges?: Ranges | undefined
  /** The page that takes it. Undefined: others cannot tell whether that page lives. */
  page?: string | undefined
  /**
   * The id of the check-in that names the number, and is stored with it. Undefined: the number is
   * handed out before the server hears of it.
   */
  checkIn: string | undefined
  /** The hash of the app's content. Undefined: the app gave none. */
  content?: string | undefined
  /** Of its record, as the app said. Undefined: the app said none. */
  kind?: string | undefined
  /** Its record in the chain. Absent: the series has no chain. */
  sealed?: Sealed | undefined
}

interface Moment {
  now: Date
  date: Date
  /** Empty: it has none. */
  period: string
}

/** A number that is made at one instant. */
export type Making = Make & Moment

/** A document may be so much older than the one before without being called back in time. */
const BACK_MS = 60_000

type Last = Pick<NumberRow, 'place' | 'period' | 'number'> &
  Partial<Pick<NumberRow, 'takenAt' | 'date' | 'range'>>

/** Was a period closed or opened again? By its last number, where it has one. */
export type PeriodEnd = Pick<NumberRow, 'closing' | 'reopened'>

/** @param row the last number that this device has made in the period */
export function endOf(
  { empty = {}, after }: Partial<Pick<Before, 'empty' | 'after'>>,
  period: string,
  row?: PeriodEnd,
): PeriodEnd {
  if (row) return row
  if (Object.hasOwn(empty, period)) return empty[period]!
  const mark = after?.periods.find((each) => each.period === period)
  // guard: H40 what another device has closed stays closed when this one goes on with the series
  return mark?.closed ? { closing: { count: mark.last - mark.first + 1 } } : {}
}

/** The state of the series where a number is made. */
export interface Before extends Progress {
  letter: string
  /** The last number of the series. */
  last: Last | undefined
  /** The last number of the period. */
  ofPeriod: Pick<NumberRow, 'number' | 'closing'> | undefined
  /** Periods that were closed before they had a number. */
  empty?: Readonly<Record<string, PeriodEnd>>
  /** Which the server gave to the series. */
  given?: readonly NumberRange[] | undefined
}

/**
 * The row of a number that is made now.
 * @throws HiloError `invalid-argument`
 */
export function newNumber(before: Before, make: Making): NumberRow {
  const { letter, after, given } = before
  const { key, format, ranges, page, checkIn, content, sealed, now, date, by } = make
  const last = before.last ?? lastOf(after)
  const list = ranges && rangesOf(ranges, given)
  const made = list
    ? placeIn(list, aboveOf(before, last, list), make.dayAt(now))
    : placeAfter({ ...before, last }, make)
  const { period, number, range } = made
  const dateBefore = before.last?.date ?? before.last?.takenAt
  const isBack = dateBefore !== undefined && date.getTime() < Date.parse(dateBefore) - BACK_MS
  return {
    letter,
    place: (last?.place ?? 0) + 1,
    period,
    ...(range && { range }),
    number,
    id: format(number, letter, (range ? range.prefix : period) || undefined, range?.data),
    key,
    state: 'open',
    takenAt: now.toISOString(),
    ...(date !== now && { date: date.toISOString() }),
    open: 1,
    ...present({ takenBy: by, content, kind: sealed?.kind, page }),
    ...(checkIn === undefined && { heard: false }),
    ...(isBack && { isBack: 1 }),
  }
}

/** Does the next number of the series need no other number to be known than this one? */
export const isEnough = (row: Last | undefined, { ranges, period }: Making): boolean =>
  ranges !== undefined || row?.period === period

/** Where the next number of a period is. */
function placeAfter(
  { last, after, highest, ...before }: Before,
  { period, start = 1 }: Making,
): { period: string; number: number; range?: undefined } {
  const { closing } = endOf({ ...before, after }, period, before.ofPeriod)
  // guard: H40 a period that was closed gets no number
  if (closing) throw closed(period, closing)
  // guard: H28 a series that was handed over goes on above what was made
  const ofPeriod = before.ofPeriod ?? lastOf(after, period)
  // The ids of ranges without a prefix have no period either.
  // guard: H28 a number without a period is above those of ranges
  const isAfterRange = period === '' && last?.range !== undefined && !last.range.prefix
  // guard: H28 a number without a period is above all that was made before a hand-over
  const least = period === '' ? aboveOf({ highest, after }, undefined, [])({}) : 0
  const above = Math.max(least, (isAfterRange ? last : ofPeriod)?.number ?? 0)
  return { period, number: above ? above + 1 : last ? 1 : start }
}

/** The last number of a series that was handed over, or of one period of it. */
export function lastOf(
  after: SeriesMark | undefined,
  period = after?.periods.findLast(({ last }) => last > 0)?.period,
): Pick<NumberRow, 'place' | 'period' | 'number'> | undefined {
  const mark = after?.periods.find((each) => each.period === period)
  return mark && { place: after!.last, period: mark.period, number: mark.last }
}

/** @returns the number, which the page that asked last is in the middle of */
export const takenBy = (row: NumberRow, page: string | undefined): NumberRow =>
  row.state === 'open' && page !== undefined && page !== row.page ? { ...row, page } : row

export const numberOf = ({ period, number }: Pick<NumberRow, 'period' | 'number'>) => ({
  ...(period && { period }),
  number,
})

/** @returns the number, which is handed out although the server has not heard of it */
export const handedOut = (row: NumberRow): NumberRow => ({ ...row, heard: false })

/** From which states a number gets to one. */
export const FROM = {
  confirmed: ['open', 'refused'],
  cancelled: ['open'],
  voided: ['confirmed'],
  refused: ['open', 'confirmed', 'refused'],
}

/** The person that gives a number its state, and the reason. */
export type Why = Pick<NumberRow, 'reason' | 'by' | 'ref'>

/** Have these got one state, for one reason? */
export const isAlike = (a: Partial<NumberRow>, b: Partial<NumberRow>): boolean =>
  (['state', 'reason', 'by', 'ref'] as const).every((field) => a[field] === b[field])

/**
 * The number in its new state; the same object where it has that already.
 * @throws HiloError `invalid-argument`
 */
export function settledAs(row: NumberRow, state: SettledState, why: Why): NumberRow {
  // An authority may refuse a receipt twice, for two reasons.
  if (row.state === state && (state !== 'refused' || isAlike(row, { ...why, state }))) return row
  // guard: H28 a number that was settled keeps its state
  if (!FROM[state].includes(row.state)) throw settledBefore(row)
  const { open, page, by, reason, ref, ...rest } = row
  return {
    ...rest,
    state,
    settledAt: new Date().toISOString(),
    ...why,
  }
}

function settledBefore({ id, state, reason }: NumberRow): HiloError {
  const because = reason === undefined ? '' : ` (${brief(reason, 12)})`
  const advice =
    state === 'confirmed'
      ? " Correct its receipt by another one, and settle this one as 'voided'."
      : ''
  return new HiloError(
    'invalid-argument',
    state === 'open'
      ? `${id} is open, so no receipt has it yet: settle it as 'confirmed' or 'cancelled'.`
      : `${id} was ${state}${because}. Nothing was changed.${advice}`,
  )
}

export const noNumber = (key: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made for the key ${shown(key)}. Nothing was changed. Take a number ` +
      'with next({ key }) first.',
  )

/** @throws HiloError `invalid-argument` where the key's number was made with other content */
export function mustBeSame(
  id: string,
  key: string,
  was: string | undefined,
  is: string | undefined,
) {
  // guard: H28 a key has one content
  if (is !== undefined && is !== was)
    throw other(id, key, 'content', `The hash of that is ${was ?? 'none'}, of this ${is}`)
}

/** @throws HiloError `invalid-argument` where the key's number was made with another date */
export function mustBeOfDate({ id, date, takenAt }: NumberRow, { key, ...make }: Making) {
  const [was, is] = [date ?? takenAt, make.date.toISOString()]
  // A date that the app did not give is the time of its call.
  // guard: H28 a key has one date
  if (make.date !== make.now && is !== was)
    throw other(id, key, 'date', `That is ${was}, this ${is}`)
}

const other = (id: string, key: string, what: string, which: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `Nothing was made or changed: ${id} was made for the key ${shown(key)} with other ` +
      `${what}. ${which}. Another document takes another key. For the number of this one, ask ` +
      `without ${what}.`,
  )

const closed = (period: string, { last = 'no number' }: Closing): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made: the period ${period} was closed after ${last}. Give the document a date ` +
      'of a later period. If it was closed by mistake, closePeriod() with `reopen` opens it again.',
  )

export const sameText = ({ id }: NumberRow): HiloError =>
  new HiloError('invalid-argument', `No number was made: formatId makes ${id} of two numbers.`)
