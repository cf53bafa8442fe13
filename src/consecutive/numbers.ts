/**
 * Where the numbers of a series are stored: {@link SeriesStore} is what IndexedDB and the memory of
 * a test have in common.
 */
import type { Draft, Link, Sealed } from './links.js'
import type { Make, NumberRow } from './rows.js'
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

/** A number whose link has to be made first. */
export interface Drafted {
  draft: Draft
}

/** The series that a device makes its next number in. */
export interface HeldSeries {
  /** `'B'` */
  series: string
  /** The period of the last number. Absent: there is none. */
  period?: string
  /** The last number that was made: 0 before the first one. */
  last: number
  /** How many numbers were made, in all periods. */
  made: number
  /** Of how many of them the server has heard. */
  told: number
}

export interface Step<T> {
  state: SeriesState
  result: T
}

/** Everything that is stored. */
export interface StoredSeries {
  state: SeriesState
  numbers: NumberRow[]
  /** By chain, in their order. */
  links: Link[]
}

/** The series of one collection on one device. Each method is one atomic, durable step. */
export interface SeriesStore {
  /**
   * The number of a key: the one that it has, or the next. Undefined: there is no series.
   */
  take(make: Make): Promise<Taken | undefined>
  /**
   * The record of a key without a number: the one that it has, or the next of the chain. Undefined:
   * its chain is the series', and there is none.
   */
  record(key: string, sealed: Sealed): Promise<Link | undefined>
  /**
   * Changes what is stored of the number of a key.
   * @param change returns what is stored instead; the same object: nothing is
   */
  settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void>
  /** One step of what the device knows of its series. */
  change<T>(step: (state: SeriesState) => Step<T>): Promise<T>
  /** One step that needs the numbers of which the server has not heard. It may change them. */
  changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T>
  /** Undefined: there is no series to make a number in. */
  current(): Promise<HeldSeries | undefined>
  /** Numbers that are neither confirmed nor cancelled. They count as handed out. */
  open(): Promise<NumberRow[]>
  /** In one read. */
  all(): Promise<StoredSeries>
  close(): void
}

/** What is known of a number that was taken. */
export function takenBefore(
  row: NumberRow,
  { current }: SeriesState,
): { row: NumberRow; begun: string | undefined; isOut: boolean; heard: boolean } {
  const ofCurrent = current?.letter === row.letter ? current : undefined
  const heard = ofCurrent ? row.place <= ofCurrent.told : !row.unheard
  const isOut = heard || row.unheard === 1 || row.state !== 'open'
  return { row, begun: ofCurrent?.begun, isOut, heard }
}

/** @param last the last number of the series that goes on */
export function heldSeries(
  { current }: SeriesState,
  last: NumberRow | undefined,
): HeldSeries | undefined {
  if (!current) return undefined
  const { letter: series, told } = current
  const { period, number = 0, place: made = 0 } = last ?? {}
  return { series, ...(period && { period }), last: number, made, told }
}
