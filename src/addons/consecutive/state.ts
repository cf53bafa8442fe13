/**
 * The stored state of a device's series of one collection. Pure. Guarantees that a record which is
 * damaged, or newer than this package, is not taken for another one.
 */
import { HiloError } from '../../core/errors.js'
import { marksOf, type SeriesLink, type SeriesMark } from '../../core/series-marks.js'
import {
  LINK_HASH,
  MOST_PERIODS,
  type SeriesCheckInRequest,
  type SeriesHandedOver,
} from '../../core/wire.js'
import type { NumberRange, NumberRow } from '../../device/series-store.js'
import { prefixIn } from './ranges.js'
import { lastOf, type PeriodEnd } from './rows.js'

export interface SeriesState {
  version: typeof STATE_VERSION
  /** The series that numbers are made in. Absent: the server has to give one first. */
  current?: CurrentSeries
  /** The id of the claim that was or will be sent; kept until its answer is stored (H11). */
  claim?: string
  /** Oldest first. */
  ended: EndedSeries[]
  /** The name of the ledger that gave the last series. Absent: there was none. */
  ledger?: string
  /** Another one has answered: no series begins. */
  stopped?: SeriesLedgers
  /** The last entry of the register. Absent: it has none. */
  tail?: { place: number; hash: string }
  /** Ledgers that the device has left: late answers of them mean nothing. */
  former?: string[]
  /** The hash of all the rest: no entry tells of what the server has heard. */
  seal?: string
}

/** Two ledgers that have answered. */
export interface SeriesLedgers {
  /** What gave the series: a ledger by its public name, and the database. */
  before: string
  /** Of the other one. */
  after: string
  /** When its first answer came, by this device's clock: ISO 8601, in UTC. */
  since: string
}

export interface CurrentSeries {
  letter: string
  /** The id of the claim that it was given for: no other series has it. */
  begun: string
  /** The server's proof that this copy of the device holds the series. */
  token: string
  /** The highest place that the server has confirmed to have heard. */
  heard: number
  /** The highest place that was made here. Absent: none. */
  made?: number
  /** It was handed over to this device, and goes on after these numbers. */
  after?: SeriesMark
  /** Of each prefix of ranges that has given way to another one: its highest number. */
  highest?: Readonly<Record<string, number>>
  /** How many numbers there were when a period was closed last. Absent: none was. */
  closedAt?: number
  /** Periods that were closed, or opened again, before this device made a number of them. */
  empty?: Readonly<Record<string, PeriodEnd>>
  /** Closed or reopened periods that the server has not confirmed to have heard. */
  closings?: NonNullable<SeriesCheckInRequest['closings']>
  /** What the server said last of all that it knows of the periods. */
  mark?: string
  /** Which a person gave to it at the server. */
  ranges?: NumberRange[]
  /** The check-in that was or will be sent, kept until its answer is stored. */
  checkIn?: { id: string } & Pick<
    SeriesCheckInRequest,
    'last' | 'periods' | 'link' | 'heard' | 'closings'
  >
  /** The server has refused this device: no number is made until it accepts a check-in. */
  refused?: Refusal
}

/** A refusal of the server. */
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
 * - `copied`: another copy of this device goes on with it. The numbers from … to …, which this one
 *   handed out before the server heard of them, the other one may have made, too. `heard` is the
 *   last one that the server had heard of from the other copy. All three are places in the order of
 *   making: the numbers themselves in a series that begins with 1 and has no periods. There is no
 *   range where the server had heard of all.
 * - `handed-over`: a person has handed it over to another device, which goes on after the number
 *   `last` of that period. The numbers from … to …, which this one handed out besides, the other
 *   one may have made, too.
 * - `closed`: somebody has closed it at the server, which had not heard of the numbers from … to …
 *   A person may hand it over: another device may make them, too.
 * - `unknown`: the server does not know it any more: its ledger was restored from a backup, or its
 *   secret was renewed. A person may have handed the series over before: another device may have
 *   made the numbers from … to …, too, of which the server had not heard.
 * - `other-ledger`: another ledger answers, which gives the same letters. No series begins before
 *   you call `hilo.startOver()`, or that ledger follows the first one.
 */
export type SeriesEnd =
  | { kind: 'copied'; heard: number; doubtful?: { from: number; to: number } }
  | (SeriesHandedOver & { kind: 'handed-over'; doubtful?: { from: number; to: number } })
  | {
      kind: 'closed'
      at: string
      by: string
      reason: string
      doubtful?: { from: number; to: number }
    }
  | { kind: 'unknown'; doubtful?: { from: number; to: number } }
  | (SeriesLedgers & { kind: 'other-ledger' })

const STATE_VERSION = 1

/**
 * @param stored undefined: nothing was stored
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
  if (!isSound(state)) throw damaged('are damaged: fields are missing or of a wrong type')
  return state
}

export const damaged = (what: string): HiloError =>
  new HiloError(
    'storage-failed',
    `The stored series of this device ${what}. No number was made or changed. Export what is ` +
      "left. Deleting this site's data begins another series; the server keeps what it has heard " +
      'of this one.',
  )

function isSound({ version, ended, current, claim, ledger, stopped }: SeriesState): boolean {
  return (
    version === STATE_VERSION &&
    Array.isArray(ended) &&
    ended.every(
      (each) => isText(each?.letter) && isText(each.token) && isText(each.reason?.kind),
    ) &&
    (claim === undefined || isText(claim)) &&
    (current === undefined || (isCurrent(Object(current)) && isText(ledger))) &&
    (stopped === undefined || (isText(stopped?.before) && isText(stopped.after)))
  )
}

const isCurrent = ({
  letter,
  begun,
  token,
  heard,
  made = 0,
  checkIn,
  refused,
  ranges,
}: CurrentSeries): boolean =>
  [letter, begun, token].every(isText) &&
  [heard, made].every(isCount) &&
  (ranges === undefined ||
    (Array.isArray(ranges) && ranges.every((each) => isCount(each?.from) && isCount(each?.to)))) &&
  (refused === undefined || isText(refused?.message)) &&
  (checkIn === undefined || (isText(checkIn?.id) && isCount(checkIn.last)))

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** Places of numbers that another device may have made, too. */
export const doubtfulIn = (reason: SeriesEnd): { from: number; to: number } | undefined =>
  'doubtful' in reason ? reason.doubtful : undefined

/** The check-in that tells the server of these numbers. */
export function checkInOf(
  { heard, after, closings = [] }: CurrentSeries,
  rows: readonly NumberRow[],
  known: NumberRow | undefined,
  id: string,
): NonNullable<CurrentSeries['checkIn']> {
  // A server that was restored may have forgotten of which period the last number was.
  // guard: H28 each check-in tells of the period
  const before = known ?? lastOf(after)
  const told = before ? [before, ...rows] : rows
  const isPlain = told.every((row) => row.period === '' && row.number === row.place)
  const last = rows.at(-1)
  return {
    id,
    last: last?.place ?? heard,
    ...(!isPlain && { periods: marksOf(told) }),
    ...linked(last),
    ...(heard > 0 && { heard: { last: heard, ...linked(known) } }),
    ...(closings.length > 0 && { closings: closings.slice(0, MOST_PERIODS) }),
  }
}

const linked = (row: NumberRow | undefined): { link?: SeriesLink } => {
  const link = row?.link && linkOf(row.link)
  return link ? { link } : {}
}

/** Undefined: its hash is of another form than the server takes. */
export const linkOf = ({ at, hash }: SeriesLink): SeriesLink | undefined =>
  LINK_HASH.test(hash) ? { at, hash } : undefined

/** The series with a number that was just made, also if it begins with another prefix. */
export function withMade(
  current: CurrentSeries,
  { period, place }: NumberRow,
  last: NumberRow | undefined,
): CurrentSeries {
  const made = { ...current, made: place }
  const left = prefixIn(last?.period ?? '')
  // guard: H28 a prefix that comes back goes on above its last number
  if (last && left !== prefixIn(period))
    return { ...made, highest: { ...current.highest, [left]: last.number } }
  return made
}

/**
 * The series with the check-in that names a number which was just taken. It is made later where
 * another one is under way, or the server has not heard of the numbers before.
 */
export function withNamed(
  state: SeriesState,
  row: NumberRow,
  before: NumberRow | undefined,
  id: string,
): SeriesState {
  const { current } = state
  if (!current || current.checkIn || current.heard !== row.place - 1) return state
  return { ...state, current: { ...current, checkIn: checkInOf(current, [row], before, id) } }
}
