/** A number of a series as it is stored, and how that changes. Pure. */
import { HiloError } from '../core/errors.js'

/** A number that was made. */
export interface NumberRow {
  letter: string
  number: number
  /** As it was written when it was made: `B-000124`. */
  id: string
  state: 'open' | 'confirmed' | 'cancelled'
  /** What it is for. Absent: it was never handed out, and its key got another number. */
  key?: string
  /** Why it was cancelled. */
  reason?: string
  /** Set while the number is neither confirmed nor cancelled; an index finds it by this. */
  open?: 1
  /** It was handed out before the server had heard of it. */
  unheard?: 1
}

/** Makes the id of a number. */
export type FormatNumber = (number: number, letter: string) => string

/** The row of a number that is made now. */
export const newNumber = (
  letter: string,
  number: number,
  key: string,
  format: FormatNumber,
  checkIn: string | undefined,
): NumberRow => ({
  letter,
  number,
  id: format(number, letter),
  key,
  state: 'open',
  open: 1,
  ...(checkIn === undefined && { unheard: 1 }),
})

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
