/**
 * What a device knows of its series of one collection, and how that changes. Pure. Guarantees that
 * a series is begun once, and that a series that has ended never goes on.
 */
import { HiloError } from '../core/errors.js'
import type { NumberRange, NumberRow } from '../core/series-store.js'
import type {
  SeriesAnswer,
  SeriesCheckInAnswer,
  SeriesCheckInRequest,
  SeriesHandedOver,
  SeriesLink,
  SeriesMark,
  SeriesRequest,
} from '../core/wire.js'
import { LINK_HASH } from '../core/wire.js'
import { marksOf, neverOut } from './rows.js'

export interface SeriesState {
  version: typeof STATE_VERSION
  /** The series that numbers are made in. Absent: the server has to give one first. */
  current?: CurrentSeries
  /** The id of the claim that was or will be sent; kept until its answer is stored (H11). */
  claim?: string
  /** Oldest first. */
  ended: EndedSeries[]
}

export interface CurrentSeries {
  letter: string
  /** The id of the claim that it was given for: no other series has it. */
  begun: string
  /** The server's proof that this copy of the device holds the series. */
  token: string
  /** The highest place that the server has confirmed to have heard. */
  told: number
  /** It was handed over to this device, and goes on after these numbers. */
  after?: SeriesMark
  /** Which a person gave to it at the server. */
  ranges?: NumberRange[]
  /** The check-in that was or will be sent, kept until its answer is stored. */
  checkIn?: { id: string } & Pick<SeriesCheckInRequest, 'last' | 'periods' | 'link' | 'heard'>
  /** The server has refused this device: no number is made until it accepts a check-in. */
  refused?: Refusal
}

/** What the server has said. */
export interface Refusal {
  status: number
  message: string
}

interface EndedSeries {
  letter: string
  token: string
  reason: SeriesEnd
}

/**
 * Why a series has ended.
 *
 * - `copied`: another copy of this device goes on with it. What this one has handed out before the
 *   server heard of it, from … to …, the other one may have made, too. `heard` is the last one that
 *   the server had heard of from the other copy. All three are places in the order of making: the
 *   numbers themselves in a series that begins with 1 and has no periods. There is no range where
 *   all was heard of.
 * - `handed-over`: a person has handed it over to another device, which goes on after the number
 *   `last` of that period. What this one has handed out besides, from … to …, the other one may
 *   have made, too.
 * - `closed`: somebody has closed it at the server.
 * - `unknown`: the server does not know it any more: its ledger was restored, or is another one.
 */
export type SeriesEnd =
  | { kind: 'copied'; heard: number; doubtful?: { from: number; to: number } }
  | (SeriesHandedOver & { kind: 'handed-over'; doubtful?: { from: number; to: number } })
  | { kind: 'closed'; at: string; by: string; reason: string }
  | { kind: 'unknown' }

const STATE_VERSION = 1
/** As many does the server take in one check-in. */
const MOST_PERIODS = 100

/**
 * @param stored what was stored; undefined: nothing
 * @throws HiloError `outdated` for the record of a newer version, `storage-failed` for one that is
 * damaged
 */
export function readState(stored: unknown): SeriesState {
  if (stored === undefined) return { version: STATE_VERSION, ended: [] }
  const state = Object(stored) as SeriesState
  if (Number(state.version) > STATE_VERSION)
    throw new HiloError(
      'outdated',
      `The stored series of this device have version ${state.version}, and this package knows ` +
        `${STATE_VERSION}: a newer offline-hilo was here. Load that version; no number was made.`,
    )
  // guard: H28 a record that is damaged makes no number
  if (!isSound(state))
    throw new HiloError(
      'storage-failed',
      'The stored series of this device are damaged: fields are missing or have the wrong type. ' +
        'No number was made or changed. Deleting the data of this site begins another series; ' +
        'the server keeps what it has heard of this one.',
    )
  return state
}

function isSound({ version, ended, current, claim }: SeriesState): boolean {
  return (
    version === STATE_VERSION &&
    Array.isArray(ended) &&
    ended.every(
      (each) => isText(each?.letter) && isText(each.token) && isText(each.reason?.kind),
    ) &&
    (claim === undefined || isText(claim)) &&
    (current === undefined || isCurrent(Object(current)))
  )
}

const isCurrent = ({
  letter,
  begun,
  token,
  told,
  checkIn,
  refused,
  ranges,
}: CurrentSeries): boolean =>
  [letter, begun, token].every(isText) &&
  isCount(told) &&
  (ranges === undefined || Array.isArray(ranges)) &&
  (refused === undefined || isText(refused?.message)) &&
  (checkIn === undefined || (isText(checkIn?.id) && isCount(checkIn.last)))

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** @param id of the claim, if none is under way */
export function withClaim(
  state: SeriesState,
  id: string,
): { state: SeriesState; result: Pick<SeriesRequest, 'claim' | 'ended'> | undefined } {
  if (state.current) return { state, result: undefined }
  const { claim = id, ended } = state
  const before = ended.at(-1)
  const doubtful = before && doubtfulIn(before.reason)
  return {
    state: state.claim === claim ? state : { ...state, claim },
    result: {
      claim,
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

/** Places of numbers that another device may have made, too. */
export const doubtfulIn = (reason: SeriesEnd): { from: number; to: number } | undefined =>
  'doubtful' in reason ? reason.doubtful : undefined

/** Ignores the answer to a claim that is not under way: it came twice, or too late. */
export function withSeries(
  state: SeriesState,
  claim: string,
  { series: letter, token, after, ranges }: SeriesAnswer,
): SeriesState {
  // guard: H28 a series is begun once
  if (state.claim !== claim) return state
  const { version, ended } = state
  const told = after?.last ?? 0
  const current = { letter, begun: claim, token, told, ...(after && { after }), ...given(ranges) }
  return { version, ended, current }
}

const given = (ranges: SeriesAnswer['ranges']): Pick<CurrentSeries, 'ranges'> =>
  ranges ? { ranges: ranges as NumberRange[] } : {}

/** The server refuses the claim for good: the next one has another id. */
export function withoutClaim(state: SeriesState, claim: string): SeriesState {
  const { claim: underWay, ...rest } = state
  return underWay === claim ? rest : state
}

/**
 * @param untold the numbers of which the server has not heard. Undefined: they are not known
 * @param id of the check-in, if none is under way
 * @param heard the last number of which it has heard, as it is stored now
 * @returns the check-in to send; undefined: there is no series, or the numbers have to be known
 */
export function withCheckIn(
  state: SeriesState,
  untold: readonly NumberRow[] | undefined,
  id: string,
  heard?: NumberRow,
): { state: SeriesState; result: SeriesCheckInRequest | undefined } {
  const { current } = state
  if (!current) return { state, result: undefined }
  const { token } = current
  // guard: H28 a check-in is sent again under its id
  if (current.checkIn) return { state, result: { ...current.checkIn, token } }
  if (!untold) return { state, result: undefined }
  const checkIn = checkInOf(current, firstPeriods(untold), heard, id)
  return { state: { ...state, current: { ...current, checkIn } }, result: { ...checkIn, token } }
}

/** As many of these numbers as one check-in can name. */
function firstPeriods(rows: readonly NumberRow[]): readonly NumberRow[] {
  const periods = new Set<string | undefined>()
  const end = rows.findIndex(({ period }) => periods.add(period).size > MOST_PERIODS)
  return end < 0 ? rows : rows.slice(0, end)
}

function checkInOf(
  { told }: CurrentSeries,
  rows: readonly NumberRow[],
  heard: NumberRow | undefined,
  id: string,
) {
  const periods = marksOf(rows)
  const last = rows.at(-1)
  return {
    id,
    last: last?.place ?? told,
    ...(periods && { periods }),
    ...linkOf(last),
    ...(told > 0 && { heard: { last: told, ...linkOf(heard) } }),
  }
}

const linkOf = (row: NumberRow | undefined): { link?: SeriesLink } => {
  const { at, hash } = row?.link ?? {}
  return at !== undefined && LINK_HASH.test(hash!) ? { link: { at, hash: hash! } } : {}
}

/**
 * The series with the check-in that names a number which was just taken. It is made later where
 * another one is under way, or the server has not heard of the numbers before.
 */
export function withNamed(
  state: SeriesState,
  row: NumberRow,
  heard: NumberRow | undefined,
  id: string,
): SeriesState {
  const { current } = state
  if (!current || current.checkIn || current.told !== row.place - 1) return state
  return { ...state, current: { ...current, checkIn: checkInOf(current, [row], heard, id) } }
}

/** The server refuses this device. */
export function withRefusal(state: SeriesState, id: string, refused: Refusal): SeriesState {
  const { current } = state
  if (current?.checkIn?.id !== id) return state
  return { ...state, current: { ...current, refused } }
}

/**
 * Ignores the answer to a check-in that is not under way: it came twice, or too late.
 * @param untold the numbers of which the server had not heard
 * @returns also those numbers that nobody will see, because the series has ended
 */
export function withFate(
  state: SeriesState,
  untold: readonly NumberRow[],
  id: string,
  answer: SeriesCheckInAnswer,
): { state: SeriesState; rows: NumberRow[] } {
  const { current } = state
  if (current?.checkIn?.id !== id) return { state, rows: [] }
  const { checkIn, refused, ...checkedIn } = current
  if ('token' in answer && !answer.closed) {
    const { token, ranges } = answer
    const told = { ...checkedIn, token, told: checkIn.last, ...given(ranges) }
    return { state: { ...state, current: told }, rows: [] }
  }
  // guard: H28 a number of a series that has ended is not handed out
  const isHidden = ({ state, unheard }: NumberRow) => state === 'open' && unheard !== 1
  const seen = untold.filter((row) => !isHidden(row))
  const [reason, why] = endOf(answer, seen)
  const token = 'token' in answer ? answer.token : current.token
  return {
    state: withEnd(state, { ...current, token }, reason),
    rows: untold.filter(isHidden).map((row) => neverOut(row, why)),
  }
}

/** @param seen numbers that were handed out, and of which the server has not heard */
function endOf(
  answer: SeriesCheckInAnswer,
  seen: readonly NumberRow[],
): [reason: SeriesEnd, why: string] {
  if ('unknown' in answer)
    return [{ kind: 'unknown' }, 'the server does not know the series any more']
  if ('token' in answer)
    return [{ kind: 'closed', ...answer.closed! }, 'the series was closed at the server']
  const { handedOver } = answer
  // guard: H28 what a device made after its series was handed over is doubtful
  const above = handedOver ? seen.filter((row) => !isStated(row, handedOver)) : seen
  const [first, last] = [above[0]?.place, above.at(-1)?.place]
  const doubtful = first === undefined ? {} : { doubtful: { from: first, to: last! } }
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
  { heard, last, period: stated }: SeriesHandedOver,
): boolean => place <= heard || (period === stated && number <= last)

function withEnd(
  { version, ended }: SeriesState,
  { letter, token }: CurrentSeries,
  reason: SeriesEnd,
): SeriesState {
  // guard: H28 a series that has ended never goes on
  return { version, ended: [...ended, { letter, token, reason }] }
}
