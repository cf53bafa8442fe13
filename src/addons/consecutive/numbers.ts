/** The outcome of a call for a number, and the progress of a series. Pure. */
import type { Entry, Link, NumberRange, NumberRow } from '../../device/series-store.js'
import { lastOf } from './rows.js'
import type { Refusal, SeriesState } from './state.js'

/** The outcome of a call for a number. */
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
  /** The period of the last number. Absent: there is none. */
  period?: string
  /** The last number that was made: 0 before the first one. */
  last: number
  /** How many numbers were made, in all periods. */
  made: number
  /** Of how many of them the server has heard. */
  heard: number
  /** How many numbers of its ranges can still be made. Absent: it has none. */
  left?: number
  /** How many of them can still be made in a month. */
  lasting?: number
  /** The last day of these numbers. Absent: they have none. */
  validUntil?: string
}

/** Everything that is stored. */
export interface StoredSeries {
  state: SeriesState
  numbers: NumberRow[]
  /** By chain, in their order. */
  links: Link[]
  /** The register, in its order. */
  entries: Entry[]
  /** Which the app gives now. Absent: none. */
  ranges?: readonly NumberRange[] | undefined
}

/** The series that numbers are made in is the one that the app names, or it names none. */
export const isNamed = (letter: string, series: string | undefined): boolean =>
  series === undefined || series === letter

/** The stored facts of a number that was taken. */
export function takenBefore(
  row: NumberRow,
  { current }: SeriesState,
): { row: NumberRow; begun: string | undefined; isOut: boolean; heard: boolean } {
  const ofCurrent = current?.letter === row.letter ? current : undefined
  const heard = ofCurrent ? row.place <= ofCurrent.heard : row.heard !== false
  const isOut = heard || row.heard === false || row.state !== 'open'
  return { row, begun: ofCurrent?.begun, isOut, heard }
}

/** @param last the last number of the series that goes on */
export function heldSeries(
  { current }: SeriesState,
  last: NumberRow | undefined,
): HeldSeries | undefined {
  if (!current) return undefined
  const { letter: series, heard, after } = current
  const { period, number = 0, place: made = 0 } = last ?? lastOf(after) ?? {}
  return { series, ...(period && { period }), last: number, made, heard }
}
