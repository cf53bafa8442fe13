/**
 * Where the numbers of a series are stored: {@link SeriesStore} is what IndexedDB and the memory of
 * a test have in common.
 */
import type { FormatNumber, NumberRow } from './rows.js'
import type { Refusal, SeriesState } from './state.js'

/** What became of a call for a number. */
export type Taken =
  | {
      row: NumberRow
      /** Of the series that the number belongs to, while that goes on. */
      begun?: string | undefined
      /** It may be handed out. Else the server has to hear of it first. */
      isOut: boolean
      /** The server had heard of it before it was handed out. */
      heard: boolean
    }
  /** The server refuses this device: no number is handed out. */
  | { refused: Refusal }

/** The series that a device makes its next number in. */
export interface HeldSeries {
  /** `'B'` */
  series: string
  /** The highest number that was made: 0 before the first one. */
  last: number
  /** The highest number that the server has heard of. */
  told: number
}

export interface Step<T> {
  state: SeriesState
  result: T
}

/** The series of one collection on one device. Each method is one atomic, durable step. */
export interface SeriesStore {
  /**
   * The number of a key: the one that it has, or the next. Undefined: there is no series.
   * @param checkIn the id of the check-in that names a new number, and is stored with it.
   * Undefined: the number is handed out before the server hears of it
   */
  take(key: string, format: FormatNumber, checkIn: string | undefined): Promise<Taken | undefined>
  /**
   * Changes what is stored of the number of a key.
   * @param change returns what is stored instead; the same object: nothing is
   */
  settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void>
  /** One step of what the device knows of its series, whose last number is `last`. */
  change<T>(step: (state: SeriesState, last: number) => Step<T>): Promise<T>
  /** One step that needs the numbers of which the server has not heard. It may change them. */
  changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T>
  /** Undefined: there is no series to make a number in. */
  current(): Promise<HeldSeries | undefined>
  /** Numbers that are neither confirmed nor cancelled. They count as handed out. */
  open(): Promise<NumberRow[]>
  /** Everything that is stored, in one read. */
  all(): Promise<{ state: SeriesState; numbers: NumberRow[] }>
  close(): void
}

/** What is known of a number that was taken. */
export function takenBefore(
  row: NumberRow,
  { current }: SeriesState,
): { row: NumberRow; begun: string | undefined; isOut: boolean; heard: boolean } {
  const ofCurrent = current?.letter === row.letter ? current : undefined
  const heard = ofCurrent ? row.number <= ofCurrent.told : !row.unheard
  const isOut = heard || row.unheard === 1 || row.state !== 'open'
  return { row, begun: ofCurrent?.begun, isOut, heard }
}
