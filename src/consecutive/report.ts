/** The whole series of a device, number by number, for people who have to account for them. */
import type { ChainFlag, NumberRow } from '../core/series-store.js'
import type { SeriesEnd, SeriesState } from './state.js'

/**
 * - `open`: taken, and neither confirmed nor cancelled.
 * - `confirmed`: on a stored receipt.
 * - `cancelled`: on no receipt; `reason` says why.
 */
export type NumberState = 'open' | 'confirmed' | 'cancelled'

export interface ReportedNumber {
  id: string
  /** Absent: the series has no periods. */
  period?: string
  number: number
  state: NumberState
  /** What the number is for. Absent: it was never handed out, and its key got another number. */
  key?: string
  /** Why it was cancelled. */
  reason?: string
  /** It was handed out before the server had heard of it: offline, or the answer was late. */
  isUnheard?: true
  /** Its period had given way to another one before: the device's clock went back. */
  isBack?: true
  /** Another copy of this device may have made this number, too. */
  isDoubtful?: true
  /** What did not fit in the chain when it was made. */
  flags?: ChainFlag[]
}

export interface SeriesReport {
  /** `'B'` */
  series: string
  /**
   * In the order of making. Each period counts from 1, or the first one from `start`, each number
   * higher by one than the one before.
   */
  numbers: ReportedNumber[]
  /** Of how many of them the server has heard. Absent: the series has ended. */
  told?: number
  /** Why no number is made in this series any more. */
  ended?: SeriesEnd
}

export function reportOf(
  { ended, current }: SeriesState,
  rows: readonly NumberRow[],
): SeriesReport[] {
  const numbersOf = (letter: string, doubtful?: { from: number; to: number }) =>
    rows
      .filter((row) => row.letter === letter)
      .map(
        ({
          id,
          place,
          period,
          number,
          state,
          key,
          reason,
          unheard,
          isBack,
          flags,
        }): ReportedNumber => ({
          id,
          ...(period && { period }),
          number,
          state,
          ...(key !== undefined && { key }),
          ...(reason !== undefined && { reason }),
          ...(unheard && { isUnheard: true }),
          ...(isBack && { isBack: true }),
          ...(key !== undefined && isIn(place, doubtful) && { isDoubtful: true }),
          ...(flags && { flags }),
        }),
      )
  const reports = ended.map(({ letter, reason }): SeriesReport => {
    const doubtful = reason.kind === 'copied' ? reason.doubtful : undefined
    return { series: letter, numbers: numbersOf(letter, doubtful), ended: reason }
  })
  if (!current) return reports
  const { letter, told } = current
  return [...reports, { series: letter, numbers: numbersOf(letter), told }]
}

const isIn = (number: number, range: { from: number; to: number } | undefined): boolean =>
  range !== undefined && range.from <= number && number <= range.to
