/** The whole series of a device, number by number, for people who have to account for them. */
import type { ChainFlag, NumberRange, NumberRow } from '../core/series-store.js'
import { type HeldSeries, heldSeries } from './numbers.js'
import { dataOf, type ReportedRange, reportedRanges, restOf } from './ranges.js'
import { doubtfulIn, type SeriesEnd, type SeriesState } from './state.js'

/**
 * - `open`: taken, and nothing else yet.
 * - `confirmed`: on a stored receipt.
 * - `cancelled`: on no receipt; `reason` says why.
 * - `voided`: on a stored receipt that a later record has voided; `reason` says why.
 * - `refused`: the authority has refused the receipt; `reason` says why.
 */
export type NumberState = NumberRow['state']

export interface ReportedNumber {
  id: string
  /** Absent: the series has no periods. `1001-2000`: the range that it is of. */
  period?: string
  number: number
  /** Of its range. */
  data?: unknown
  state: NumberState
  /** What the number is for. Absent: it was never handed out, and its key got another number. */
  key?: string
  /** Why it was cancelled, voided or refused. */
  reason?: string
  /** When it was taken, by the device's clock: ISO 8601, in UTC. */
  takenAt: string
  /** When it got its state. Absent: it is open. */
  settledAt?: string
  /** Who gave it its state. Absent: the app did not say. */
  by?: string
  /** The other document, as the app said. */
  ref?: string
  /** False: it was handed out before the server had heard of it. Absent: it was not. */
  heard?: false
  /** The device's clock went back before: to another day, or into a period that had ended. */
  isBack?: true
  /** Another device may have made this number, too. */
  isDoubtful?: true
  /** What did not fit in the chain when it was made. */
  flags?: ChainFlag[]
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

export function reportOf(
  state: SeriesState,
  rows: readonly NumberRow[],
  given: readonly NumberRange[] | undefined,
  last = rows.findLast(({ letter }) => letter === state.current?.letter),
): SeriesReport[] {
  const { ended, current } = state
  const reports = ended.map(({ letter, reason }): SeriesReport => {
    const of = rows.filter((row) => row.letter === letter)
    return { series: letter, ...listed(of, [], doubtfulIn(reason)), ended: reason }
  })
  if (!current) return reports
  const { letter } = current
  const of = rows.filter((row) => row.letter === letter)
  const held = heldSeries(state, last)!
  return [
    ...reports,
    { ...held, ...listed(of, given ?? []), ...(given && restOf(given, held.last)) },
  ]
}

function listed(
  rows: readonly NumberRow[],
  given: readonly NumberRange[],
  doubtful?: { from: number; to: number },
): Pick<SeriesReport, 'numbers' | 'ranges'> {
  const ranges = reportedRanges(rows, given)
  return {
    numbers: rows.map((row) => reported(row, doubtful)),
    ...(ranges.length > 0 && { ranges }),
  }
}

const reported = (
  { letter, place, period, range, open, page, isBack, link, ...row }: NumberRow,
  doubtful: { from: number; to: number } | undefined,
): ReportedNumber => ({
  ...row,
  ...(period && { period }),
  ...dataOf(range),
  ...(isBack && { isBack: true }),
  ...(row.key !== undefined && isIn(place, doubtful) && { isDoubtful: true }),
})

const isIn = (number: number, range: { from: number; to: number } | undefined): boolean =>
  range !== undefined && range.from <= number && number <= range.to
