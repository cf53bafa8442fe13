/**
 * The requests of a device about its series, and the changes that each answer makes. Pure.
 * Guarantees that a series starts once, and that a series that has ended never goes on.
 */
import { HiloError } from '../../core/errors.js'
import {
  MOST_PERIODS,
  type SeriesAnswer,
  type SeriesCheckInAnswer,
  type SeriesCheckInRequest,
  type SeriesHandedOver,
  type SeriesRequest,
} from '../../core/wire.js'
import type { NumberRange, NumberRow } from '../../device/series-store.js'
import { present } from './present.js'
import {
  type CurrentSeries,
  checkInOf,
  doubtfulIn,
  linkOf,
  type Refusal,
  type SeriesEnd,
  type SeriesState,
} from './state.js'

/** One of a check-in's is that of the number before. */
const MOST_TOLD = MOST_PERIODS - 1

/** @param id of the claim, if none is under way */
export function withClaim(
  state: SeriesState,
  id: string,
): { state: SeriesState; result: Pick<SeriesRequest, 'claim' | 'ended' | 'ledger'> | undefined } {
  // guard: H34 between two ledgers no series begins
  if (state.current || state.stopped) return { state, result: undefined }
  const { claim = id, ended, ledger } = state
  const before = ended.at(-1)
  const doubtful = before && doubtfulIn(before.reason)
  return {
    state: state.claim === claim ? state : { ...state, claim },
    result: {
      claim,
      ...present({ ledger }),
      ...(before && {
        ended: {
          series: before.letter,
          token: before.token,
          ...(doubtful ?? { from: 1, to: 0 }),
        },
      }),
    },
  }
}

/** Ignores the answer to a claim that is not under way: it came twice, or too late. */
export function withSeries(
  state: SeriesState,
  claim: string,
  { series: letter, token, ledger, after, mark, ranges }: SeriesAnswer,
): SeriesState {
  const { claim: underWay, ...kept } = state
  // guard: H28 a series is begun once
  if (underWay !== claim) return state
  // guard: H34 a series is of the ledger that gave the one before
  if ((kept.ledger ?? ledger) !== ledger) return state
  const heard = after?.last ?? 0
  const goesOn = present({ after, mark })
  const current = { letter, begun: claim, token, heard, ...goesOn, ...given(ranges) }
  return { ...kept, ledger, current }
}

const given = (ranges: SeriesAnswer['ranges']): Pick<CurrentSeries, 'ranges'> =>
  ranges ? { ranges: ranges as NumberRange[] } : {}

/** The server refuses the claim for good: the next one has another id. */
export function withoutClaim(state: SeriesState, claim: string): SeriesState {
  const { claim: underWay, ...rest } = state
  return underWay === claim ? rest : state
}

/**
 * @param unheard the numbers of which the server has not heard. Undefined: they are not known
 * @param id of the check-in, if none is under way
 * @param last the last number of which it has heard, as it is stored now
 * @returns the check-in to send; undefined: there is no series, or the numbers have to be known
 */
export function withCheckIn(
  state: SeriesState,
  unheard: readonly NumberRow[] | undefined,
  id: string,
  last?: NumberRow,
): { state: SeriesState; result: SeriesCheckInRequest | undefined } {
  const { current, ledger, tail } = state
  if (!current) return { state, result: undefined }
  const register = tail && linkOf({ at: tail.place, hash: tail.hash })
  const { token, mark } = current
  const shown = { token, ledger, ...(register && { register }), ...(mark && { mark }) }
  // guard: H28 a check-in is sent again under its id
  if (current.checkIn) return { state, result: { ...current.checkIn, ...shown } }
  if (!unheard) return { state, result: undefined }
  const checkIn = checkInOf(current, firstPeriods(unheard), last, id)
  return { state: { ...state, current: { ...current, checkIn } }, result: { ...checkIn, ...shown } }
}

/** As many of these numbers as one check-in can name. */
function firstPeriods(rows: readonly NumberRow[]): readonly NumberRow[] {
  const periods = new Set<string | undefined>()
  const end = rows.findIndex(({ period }) => periods.add(period).size > MOST_TOLD)
  return end < 0 ? rows : rows.slice(0, end)
}

/** The server refuses this device. */
export function withRefusal(state: SeriesState, id: string, refused: Refusal): SeriesState {
  const { current } = state
  if (current?.checkIn?.id !== id) return state
  return { ...state, current: { ...current, refused } }
}

/**
 * Ignores the answer to a check-in that is not under way: it came twice, or too late.
 * @param unheard the numbers of which the server had not heard
 * @param all the numbers of the series
 * @returns also those numbers that nobody will see, because the series has ended
 */
export function withCheckInAnswer(
  state: SeriesState,
  unheard: readonly NumberRow[],
  id: string,
  answer: SeriesCheckInAnswer,
  all: readonly NumberRow[] = unheard,
): { state: SeriesState; rows: NumberRow[] } {
  const { current } = state
  if (current?.checkIn?.id !== id) return { state, rows: [] }
  const { checkIn, refused, ...checkedIn } = current
  if ('token' in answer && !answer.closed) {
    const { token, ranges, mark, again } = answer
    const { closings = [], mark: _, ...rest } = checkedIn
    // guard: H40 what a restored server has forgotten of the periods is told again
    const untold = again
      ? periodsOf(current, all)
      : closings.filter((each) => !checkIn.closings?.some(isSameClosing(each)))
    const checked = {
      ...rest,
      ...(untold.length > 0 && { closings: untold }),
      ...{ token, heard: checkIn.last, ...given(ranges), ...(mark && { mark }) },
    }
    return { state: { ...state, current: checked }, rows: [] }
  }
  const seen = all.filter((row) => row.place <= current.heard || isSeen(row))
  const isHeard = 'token' in answer
  const [reason, why] = endOf(answer, seen, isHeard ? checkIn.last : current.heard)
  const token = isHeard ? answer.token : current.token
  return ended({ ...state, current: { ...current, token } }, unheard, reason, why)
}

type PeriodClosing = NonNullable<SeriesCheckInRequest['closings']>[number]

/** All that the device knows of the periods of its series. */
function periodsOf(
  { after, empty = {} }: CurrentSeries,
  rows: readonly NumberRow[],
): PeriodClosing[] {
  const periods = new Map<string, PeriodClosing>()
  const add = (period: string, isClosed: unknown, first = 0, last = first) => {
    const before = periods.get(period)
    const numbers = last && { first: Math.min(before?.first ?? first, first), last }
    periods.set(period, { ...before, period, closed: !!isClosed, ...numbers })
  }
  for (const { period, first, last, closed } of after?.periods ?? [])
    add(period, closed, first, last)
  for (const { period, number, closing } of rows) add(period, closing, number)
  for (const period of Object.keys(empty))
    if (!rows.some((row) => row.period === period)) add(period, empty[period]!.closing)
  return [...periods.values()]
}

const isSameClosing = (one: PeriodClosing) => (other: PeriodClosing) =>
  one.period === other.period && one.closed === other.closed

// guard: H28 a number of a series that has ended is not handed out
const isSeen = ({ state, heard }: NumberRow): boolean => state !== 'open' || heard === false

/**
 * @param why no number of it is handed out
 * @returns also those numbers that nobody will see
 */
export function ended(
  state: SeriesState,
  unheard: readonly NumberRow[],
  reason: SeriesEnd,
  why: string,
): { state: SeriesState; rows: NumberRow[] } {
  return {
    state: withEnd(state, reason),
    rows: unheard.filter((row) => !isSeen(row)).map((row) => neverOut(row, why)),
  }
}

/**
 * @param seen numbers that were handed out
 * @param heard so many the server had heard of
 */
function endOf(
  answer: SeriesCheckInAnswer,
  seen: readonly NumberRow[],
  heard: number,
): [reason: SeriesEnd, why: string] {
  const handedOver = 'handedOver' in answer ? answer.handedOver : undefined
  // A server that was restored from a backup may have forgotten what it had heard of.
  // guard: H28 what a device made after its series had ended is doubtful
  const above = seen.filter((row) => (handedOver ? !isStated(row, handedOver) : row.place > heard))
  const [first, last] = [above[0]?.place, above.at(-1)?.place]
  const doubtful = first === undefined ? {} : { doubtful: { from: first, to: last! } }
  if ('token' in answer)
    return [
      { kind: 'closed', ...answer.closed!, ...doubtful },
      'the series was closed at the server',
    ]
  if ('unknown' in answer)
    return [{ kind: 'unknown', ...doubtful }, 'the server does not know the series any more']
  if (handedOver)
    return [
      { kind: 'handed-over', ...handedOver, ...doubtful },
      `${handedOver.to} goes on with the series`,
    ]
  const why = 'another copy of this device goes on with the series'
  return [{ kind: 'copied', heard: answer.last, ...doubtful }, why]
}

/** Undefined: the device did not have this series before. */
export const hadBefore = (
  { ended }: SeriesState,
  { series: letter }: SeriesAnswer,
): HiloError | undefined =>
  ended.some((each) => each.letter === letter) ? noReturn(letter) : undefined

const noReturn = (letter: string): HiloError =>
  new HiloError(
    'invalid-response',
    `The server gives the series ${letter} to this device, which had it before. No device goes ` +
      'on with a series that has ended for it. Hand the series over to another one.',
  )

/** Does the other device know of this number? */
const isStated = (
  { place, period, number }: NumberRow,
  { heard, last, period: stated, otherPeriods = [] }: SeriesHandedOver,
): boolean =>
  place <= heard ||
  [{ period: stated, last }, ...otherPeriods].some(
    (each) => each.period === period && number <= each.last,
  )

function withEnd({ current, ...kept }: SeriesState, reason: SeriesEnd): SeriesState {
  if (!current) return kept
  const { letter, token } = current
  // guard: H28 a series that has ended never goes on
  return { ...kept, ended: [...kept.ended, { letter, token, reason }] }
}

/** @returns the number, which nobody ever saw: its key gets another one */
function neverOut({ key: _, open, page, ...row }: NumberRow, why: string): NumberRow {
  return {
    ...row,
    state: 'cancelled',
    reason: `It was never handed out: ${why}.`,
    settledAt: new Date().toISOString(),
  }
}
