/** The whole series of a device, number by number, for people who have to account for them. */
import type { NumberRow } from './rows.js'
import type { SeriesEnd, SeriesState } from './state.js'

/**
 * - `open`: taken, and neither confirmed nor cancelled.
 * - `confirmed`: on a stored receipt.
 * - `cancelled`: on no receipt; `reason` says why.
 */
export type NumberState = 'open' | 'confirmed' | 'cancelled'

export interface ReportedNumber {
  id: string
  number: number
  state: NumberState
  /** What the number is for. Absent: it was never handed out, and its key got another number. */
  key?: string
  /** Why it was cancelled. */
  reason?: string
  /** It was handed out before the server had heard of it: offline, or the answer was late. */
  isUnheard?: true
  /** Another copy of this device may have made this number, too. */
  isDoubtful?: true
}

export interface SeriesReport {
  /** `'B'` */
  series: string
  /** From 1, each one higher than the one before. */
  numbers: ReportedNumber[]
  /** The highest number that the server has heard of. Absent: the series has ended. */
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
        ({ id, number, state, key, reason, unheard }): ReportedNumber => ({
          id,
          number,
          state,
          ...(key !== undefined && { key }),
          ...(reason !== undefined && { reason }),
          ...(unheard && { isUnheard: true }),
          ...(key !== undefined && isIn(number, doubtful) && { isDoubtful: true }),
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
