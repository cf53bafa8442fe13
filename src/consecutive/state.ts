/**
 * What a device knows of its series of one collection, and how that changes. Pure. Guarantees that
 * a series is begun once, and that a series that has ended never goes on.
 */
import { HiloError } from '../core/errors.js'
import type {
  SeriesAnswer,
  SeriesCheckInAnswer,
  SeriesCheckInRequest,
  SeriesRequest,
} from '../core/wire.js'

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
  /** The highest number that the server has confirmed to have heard. */
  told: number
  /** The check-in that was or will be sent, kept until its answer is stored. */
  checkIn?: { id: string; last: number }
}

interface EndedSeries {
  letter: string
  token: string
  reason: SeriesEnd
}

/**
 * Why a series has ended.
 *
 * - `copied`: another copy of this device goes on with it. What this one has made since the server
 *   heard of it last, from … to …, the other one may have made, too. `heard` is the highest number
 *   that the server had heard of from the other copy. There is no range where nothing was made.
 * - `closed`: somebody has closed it at the server.
 * - `unknown`: the server does not know it any more: its ledger was restored, or is another one.
 */
export type SeriesEnd =
  | { kind: 'copied'; heard: number; doubtful?: { from: number; to: number } }
  | { kind: 'closed'; at: string; by: string; reason: string }
  | { kind: 'unknown' }

const STATE_VERSION = 1

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

const isCurrent = ({ letter, begun, token, told, checkIn }: CurrentSeries): boolean =>
  [letter, begun, token].every(isText) &&
  isCount(told) &&
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
  const doubtful = before?.reason.kind === 'copied' ? before.reason.doubtful : undefined
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

/** Ignores the answer to a claim that is not under way: it came twice, or too late. */
export function withSeries(
  state: SeriesState,
  claim: string,
  { series: letter, token }: SeriesAnswer,
): SeriesState {
  // guard: H28 a series is begun once
  if (state.claim !== claim) return state
  const { version, ended } = state
  return { version, ended, current: { letter, begun: claim, token, told: 0 } }
}

/** The server refuses the claim for good: the next one has another id. */
export function withoutClaim(state: SeriesState, claim: string): SeriesState {
  const { claim: underWay, ...rest } = state
  return underWay === claim ? rest : state
}

/**
 * @param last the highest number that was made
 * @param id of the check-in, if none is under way
 */
export function withCheckIn(
  state: SeriesState,
  last: number,
  id: string,
): { state: SeriesState; result: SeriesCheckInRequest | undefined } {
  const { current } = state
  if (!current) return { state, result: undefined }
  const { token } = current
  // guard: H28 a check-in is sent again under its id
  if (current.checkIn) return { state, result: { ...current.checkIn, token } }
  const checkIn = { id, last }
  return { state: { ...state, current: { ...current, checkIn } }, result: { ...checkIn, token } }
}

/**
 * Ignores the answer to a check-in that is not under way: it came twice, or too late.
 * @param last the highest number that was made
 */
export function withFate(
  state: SeriesState,
  last: number,
  id: string,
  answer: SeriesCheckInAnswer,
): SeriesState {
  const { current } = state
  if (current?.checkIn?.id !== id) return state
  const { checkIn, ...checkedIn } = current
  if ('superseded' in answer) {
    const { told } = current
    return withEnd(state, current, {
      kind: 'copied',
      heard: answer.last,
      ...(last > told && { doubtful: { from: told + 1, to: last } }),
    })
  }
  if ('unknown' in answer) return withEnd(state, current, { kind: 'unknown' })
  const { token, closed } = answer
  if (closed) return withEnd(state, { ...current, token }, { kind: 'closed', ...closed })
  return { ...state, current: { ...checkedIn, token, told: checkIn.last } }
}

function withEnd(
  { version, ended }: SeriesState,
  { letter, token }: CurrentSeries,
  reason: SeriesEnd,
): SeriesState {
  // guard: H28 a series that has ended never goes on
  return { version, ended: [...ended, { letter, token, reason }] }
}
