/** A number of a series as it is stored, and how that changes. Pure. */
import { HiloError } from '../core/errors.js'
import type { NumberRow } from '../core/series-store.js'
import type { Sealed } from './links.js'

/** Makes the id of a number. */
export type FormatNumber = (number: number, letter: string, period: string | undefined) => string

/** What a number is made of. */
export interface Make {
  key: string
  format: FormatNumber
  /** The number of the first one on this device. Default: 1. */
  start?: number
  /** Empty: it has none. */
  period: string
  /** A period that has given way to another one gets no number any more. */
  refusesBack?: boolean
  /**
   * The id of the check-in that names the number, and is stored with it. Undefined: the number is
   * handed out before the server hears of it.
   */
  checkIn: string | undefined
  /** Its record in the chain. Absent: the series has no chain. */
  sealed?: Sealed | undefined
}

/** What is known where a number is made. */
export interface Before {
  letter: string
  /** Is it the first series of this device? */
  isFirst: boolean
  /** The last number of the series. */
  last: Pick<NumberRow, 'place' | 'period' | 'number'> | undefined
  /** The last number of the period. */
  ofPeriod: Pick<NumberRow, 'number'> | undefined
}

/**
 * The row of a number that is made now.
 * @throws HiloError `invalid-argument`
 */
export function newNumber({ letter, isFirst, last, ofPeriod }: Before, make: Make): NumberRow {
  const { key, format, start = 1, period, checkIn } = make
  const isBack = ofPeriod !== undefined && last?.period !== period
  if (isBack && make.refusesBack) throw wentBack(period, last?.period)
  const begin = isFirst && !last ? start : 1
  const number = ofPeriod ? ofPeriod.number + 1 : begin
  return {
    letter,
    place: (last?.place ?? 0) + 1,
    period,
    number,
    id: format(number, letter, period || undefined),
    key,
    state: 'open',
    open: 1,
    ...(checkIn === undefined && { unheard: 1 }),
    ...(isBack && { isBack: 1 }),
  }
}

/** How far each period of these numbers has come; undefined where numbers are places. */
export function marksOf(
  rows: readonly NumberRow[],
): { period: string; first: number; last: number }[] | undefined {
  const marks = new Map<string, { period: string; first: number; last: number }>()
  for (const { period, number } of rows) {
    const { first = number, last = number } = marks.get(period) ?? {}
    marks.set(period, { period, first: Math.min(first, number), last: Math.max(last, number) })
  }
  const isPlain = rows.every((row) => row.period === '' && row.number === row.place)
  return isPlain ? undefined : [...marks.values()]
}

/** @returns the number, which is handed out although the server has not heard of it */
export const handedOut = (row: NumberRow): NumberRow => ({ ...row, unheard: 1 })

/** @returns the number, which nobody ever saw: its key gets another one */
export function neverOut({ key: _, open, ...row }: NumberRow, why: string): NumberRow {
  return { ...row, state: 'cancelled', reason: `It was never handed out: ${why}.` }
}

export const noNumber = (key: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made for the key ${JSON.stringify(key)}. Nothing was changed. Take a number ` +
      'with next({ key }) first.',
  )

const wentBack = (period: string | undefined, last: string | undefined): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made: ${last || 'a time without periods'} has begun after ${period}, and the ` +
      "clock of this device says that it is back there. Set the device's clock, and ask again.",
  )
