/**
 * A number of a series as it is stored, and where it is stored: {@link SeriesStore} is what
 * IndexedDB and the memory of a test have in common.
 */
import { HiloError } from '../core/errors.js'
import type { CurrentSeries, SeriesState } from './state.js'

/** A number that was made. */
export interface NumberRow {
  letter: string
  number: number
  /** As it was written when it was made: `B-000124`. */
  id: string
  state: 'open' | 'confirmed' | 'cancelled'
  /** What it is for. Absent: it was confirmed, and its key forgotten. */
  key?: string
  /** Why it was cancelled. */
  reason?: string
  /** Set while the number is neither confirmed nor cancelled; an index finds it by this. */
  open?: 1
  /** When it was confirmed, while its key is remembered: milliseconds since the epoch. */
  confirmedAt?: number
}

/** The series that a device makes its next number in. */
export interface HeldSeries {
  /** `'B'` */
  series: string
  /** The highest number that was made: 0 before the first one. */
  last: number
  /** The highest number that the server has heard of. */
  told: number
}

/** Makes the id of a number. */
export type FormatNumber = (number: number, letter: string) => string

/** The series of one collection on one device. Each method is one atomic, durable step. */
export interface SeriesStore {
  /** The number of a key: the one that it has, or the next. Undefined: there is no series. */
  take(key: string, format: FormatNumber): Promise<NumberRow | undefined>
  /**
   * Changes what is stored of the number of a key.
   * @param change returns what is stored instead; the same object: nothing is
   * @param forgetBefore forgets keys of numbers that were confirmed then or earlier
   */
  settle(key: string, change: (row: NumberRow) => NumberRow, forgetBefore?: number): Promise<void>
  /** One step of what the device knows of its series, whose last number is `last`. */
  change<T>(
    step: (state: SeriesState, last: number) => { state: SeriesState; result: T },
  ): Promise<T>
  /** Undefined: there is no series to make a number in. */
  current(): Promise<HeldSeries | undefined>
  /** Numbers that are neither confirmed nor cancelled. */
  open(): Promise<NumberRow[]>
  /** Everything that is stored, in one read. */
  all(): Promise<{ state: SeriesState; numbers: NumberRow[] }>
  close(): void
}

/** The row of a number that is made now. */
export const newNumber = (
  { letter }: CurrentSeries,
  number: number,
  key: string,
  format: FormatNumber,
): NumberRow => ({ letter, number, id: format(number, letter), key, state: 'open', open: 1 })

/** @returns the row without its key */
export const forgotten = ({ key: _, confirmedAt, ...row }: NumberRow): NumberRow => row

export const noNumber = (key: string): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made for the key ${JSON.stringify(key)}, or it was confirmed so long ago that ` +
      'the key is forgotten. Nothing was changed. Take a number with next({ key }) first.',
  )
