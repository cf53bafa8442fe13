/**
 * The steps of a series whose store reads and writes all of it at once, as the memory of a test
 * does. Pure: each step returns what is stored then.
 */
import { draftOf, follows, type Link, markOf, type Sealed } from './links.js'
import type { Drafted, Step, StoredSeries, Taken } from './numbers.js'
import { takenBefore } from './numbers.js'
import { handedOut, type Make, type NumberRow, newNumber, noNumber } from './rows.js'
import { readState, type SeriesState, withNamed } from './state.js'

export interface WholeStep<T> {
  stored: StoredSeries
  result: T
}

export const NOTHING_STORED: StoredSeries = { state: readState(undefined), numbers: [], links: [] }

/** @param link of the number, if it was made already */
export function takeIn(
  stored: StoredSeries,
  make: Make,
  link: Link | undefined,
): WholeStep<Taken | Drafted | undefined> {
  const { state, numbers, links } = stored
  const { key, checkIn, period, sealed } = make
  const { current } = state
  const known = numbers.find((row) => row.key === key)
  const before = known && takenBefore(known, state)
  if (before?.isOut || !current) return { stored, result: before?.isOut ? before : undefined }
  if (current.refused) return { stored, result: { refused: current.refused } }
  if (before) {
    if (checkIn !== undefined) return { stored, result: before }
    const row = handedOut(before.row)
    return { stored: withRows(stored, [row]), result: { ...before, row, isOut: true } }
  }
  const { letter, begun } = current
  const ofSeries = numbers.filter((row) => row.letter === letter)
  const ofPeriod = ofSeries.findLast((row) => row.period === period)
  const last = ofSeries.at(-1)
  const made = newNumber({ letter, isFirst: state.ended.length === 0, last, ofPeriod }, make)
  const draft = sealed && draftOf(made, sealed, lastOf(links, sealed.sealing.chainOf(letter)), last)
  if (draft && !follows(link, draft)) return { stored, result: { draft } }
  const row = link ? { ...made, ...markOf(link) } : made
  return {
    stored: {
      state: checkIn === undefined ? state : withNamed(state, row, checkIn),
      numbers: [...numbers, row],
      links: link ? [...links, link] : links,
    },
    result: { row, begun, isOut: checkIn === undefined, heard: false },
  }
}

export function recordIn(
  stored: StoredSeries,
  key: string,
  { sealing, kind, content }: Sealed,
  link: Link | undefined,
): WholeStep<Link | Drafted | undefined> {
  const { state, numbers, links } = stored
  const letter = state.current?.letter
  const chain = sealing.chainOf(letter)
  const known = links.find((each) => each.key === key)
  if (known || chain === undefined) return { stored, result: known }
  const last = numbers.findLast((row) => row.letter === letter)?.link
  const expected = last?.chain === chain ? last : undefined
  const draft = { chain, record: { kind, content }, key, before: lastOf(links, chain), expected }
  if (!follows(link, draft)) return { stored, result: { draft } }
  return { stored: { ...stored, links: [...links, link] }, result: link }
}

const lastOf = (links: readonly Link[], chain: string | undefined): Link | undefined =>
  links.findLast((each) => each.chain === chain)

export function settleIn(
  stored: StoredSeries,
  key: string,
  change: (row: NumberRow) => NumberRow,
): WholeStep<undefined> {
  const known = stored.numbers.find((row) => row.key === key)
  if (!known) throw noNumber(key)
  return { stored: withRows(stored, [change(known)]), result: undefined }
}

export function changeUntoldIn<T>(
  stored: StoredSeries,
  step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
): WholeStep<T> {
  const { letter, told } = stored.state.current ?? { letter: '', told: 0 }
  const untold = stored.numbers.filter((row) => row.letter === letter && row.place > told)
  const { state, rows, result } = step(stored.state, untold)
  return { stored: withRows({ ...stored, state }, rows), result }
}

/** In the place of what was stored of these numbers. */
function withRows(stored: StoredSeries, rows: readonly NumberRow[]): StoredSeries {
  const isSame = (a: NumberRow, b: NumberRow) => a.letter === b.letter && a.place === b.place
  const numbers = stored.numbers.map((old) => rows.find((row) => isSame(row, old)) ?? old)
  return { ...stored, numbers }
}
