/**
 * The requests of a series to its server. A page loads this file on demand: without a network
 * nothing of it is needed. Guarantees that a request is sent again under its id until its answer is
 * stored.
 */
import { because, type HeardLedger, HiloError } from '../../core/errors.js'
import { isLocal } from '../../core/local-url.js'
import type {
  SeriesAnswer,
  SeriesCheckInAnswer,
  SeriesCheckInRequest,
  SeriesRequest,
} from '../../core/wire.js'
import type { NumberRow } from '../../device/series-store.js'
import {
  hadBefore,
  withCheckIn,
  withCheckInAnswer,
  withClaim,
  withoutClaim,
  withRefusal,
  withSeries,
} from './answers.js'
import { hear, type LedgerChange, startOver } from './ledgers.js'
import { newId } from './new-id.js'
import { isNamed } from './numbers.js'
import { present } from './present.js'
import type { SeriesServer } from './server.js'
import { readState, type SeriesLedgers, type SeriesState } from './state.js'
import type { SeriesStorage } from './storage.js'

export { seriesServer } from './server.js'

export interface OnlineContext {
  url: string
  database: string
  collection: string
  storage: SeriesStorage
  server: SeriesServer
  /** Aborted when the `Hilo` is closed. */
  signal: AbortSignal
  /** False while the app's own offline switch is on. The browser's own answer may be wrong. */
  isSwitchedOn(): boolean
  /** A series has ended because this device is a copy. */
  copied(): void
  /** Another ledger has answered than the one that gave the series (H34). */
  otherLedger(change: LedgerChange): void
}

/** Whose series it is, for a server that has to give one. */
export interface Holder {
  /** The name of the device. */
  device: string | undefined
  /** The name of the series. Undefined: the server gives a letter. */
  series?: string | undefined
}

/** How far the server has heard of which series. */
export interface Heard {
  begun: string | undefined
  heard: number
}

/** The server's status when a claim was used before: this device is a copy. */
const GONE = 410
/** Where each claim of a call is refused, so that another one is needed. */
const MOST_CLAIMS = 4
/** A token of access that is missing, was taken away, or does not allow this. */
const REFUSALS = [401, 403]

export interface Online {
  /**
   * Tells the server how far the series has come, and asks whether this device is a copy.
   * @param hears called with the knowledge before the answer, and with that of the answer
   * @returns whether numbers were made since, of which the server has not heard yet
   * @throws HiloError
   */
  tell(hears: (of: Heard) => void): Promise<boolean>
  /**
   * This device has a series, or gets one.
   * @throws HiloError when the server gives none, or it is not the one that the app names
   */
  begin(holder: Holder): Promise<void>
  /** Begins anew after another ledger has stopped this device. Without one it changes nothing. */
  startOver(): Promise<void>
  /** For a device whose series the server ends again and again, before their first number. */
  endless(): HiloError
}

export const onlineSeries = (context: OnlineContext): Online => ({
  tell: (hears) => tell(context, hears),
  begin: (holder) => begin(context, holder),
  startOver: () =>
    change(context.storage, (state) => ({ state: startOver(state), result: undefined })),
  endless: () => endless(context.collection),
})

async function tell(context: OnlineContext, hears: (of: Heard) => void): Promise<boolean> {
  const { storage, signal, copied, isSwitchedOn } = context
  signal.throwIfAborted()
  const [known, isBegun] = await change(storage, (state) => {
    const { begun, heard = 0 } = state.current ?? {}
    hears({ begun, heard })
    const named = withCheckIn(state, undefined, newId())
    return { state: named.state, result: [named.result, begun !== undefined] as const }
  })
  const form = () =>
    changeUnheard(storage, (state, unheard, last) => ({
      ...withCheckIn(state, unheard, newId(), last),
      rows: [],
    }))
  const request = known ?? (isBegun ? await form() : undefined)
  signal.throwIfAborted()
  if (!request || !isSwitchedOn()) return false
  const answer = await answerTo(context, request)
  signal.throwIfAborted()
  if (!answer) {
    hears({ begun: undefined, heard: 0 })
    return false
  }
  const { ended, current, isBehind } = await changeUnheard(
    storage,
    (before, unheard, _, all) => {
      const { state, rows } = withCheckInAnswer(before, unheard, request.id, answer, all)
      const { current } = state
      const isUntold = (unheard.at(-1)?.place ?? 0) > (current?.heard ?? 0)
      const isBehind = current !== undefined && (isUntold || current.closings !== undefined)
      const ended = state.ended.at(before.ended.length)
      return { state, rows, result: { ended, current, isBehind } }
    },
    // guard: H28 what a restored server had forgotten at a hand-over is in doubt
    'again' in answer || 'handedOver' in answer,
  )
  hears({ begun: current?.begun, heard: current?.heard ?? 0 })
  if (ended?.reason.kind === 'copied') copied()
  return isBehind
}

/** Undefined: another ledger has answered, and the series has ended. */
async function answerTo(
  context: OnlineContext,
  request: SeriesCheckInRequest,
): Promise<SeriesCheckInAnswer | undefined> {
  const { storage, server } = context
  try {
    return await server.checkIn(request)
  } catch (error) {
    const { code, status = 0, message, ledger } = error as HiloError
    if (ledger) {
      await heardOther(context, ledger, request)
      return undefined
    }
    // guard: H28 a device that the server refuses makes no number
    if (code === 'server-refused' && REFUSALS.includes(status))
      await change(storage, (state) => ({
        state: withRefusal(state, request.id, { status, message }),
        result: undefined,
      }))
    throw error
  }
}

async function begin(context: OnlineContext, { device, series }: Holder): Promise<void> {
  const { storage, signal, collection } = context
  for (let attempt = 1; attempt <= MOST_CLAIMS; attempt++) {
    const [request, { current, stopped }] = await change(storage, (before) => {
      const { state, result } = withClaim(before, newId())
      return { state, result: [result, state] as const }
    })
    if (current && !isNamed(current.letter, series))
      throw otherSeries(collection, current.letter, series)
    signal.throwIfAborted()
    if (stopped) {
      await untilFollowed(context, stopped)
      continue
    }
    if (!request) return
    const asked = { ...request, ...(device && { device }), ...(series && { series }) }
    const answer = await claimed(context, asked, attempt)
    signal.throwIfAborted()
    if (await isBegun(context, request.claim, answer)) return
  }
  throw endless(collection)
}

/** Why the answer to a claim is not used. */
interface Unused {
  why?: HiloError | undefined
  other?: LedgerChange
}

/**
 * Stores the answer to a claim.
 * @returns false: another claim is needed
 * @throws HiloError when there is a series, but none that this device may use
 */
async function isBegun(
  context: OnlineContext,
  claim: string,
  answer: SeriesAnswer | undefined,
): Promise<boolean> {
  const { why, other } = await changeUnheard<Unused>(context.storage, (state, unheard) => {
    // guard: H34 an answer to a claim is heard before it is used, also one that comes late
    const heard = hear(state, unheard, { name: answer?.ledger }, now())
    if (heard.change) return { ...heard, result: { other: heard.change } }
    // guard: H28 a device does not go on with a series that it had
    const refused = answer && hadBefore(state, answer)
    return {
      state: answer && !refused ? withSeries(state, claim, answer) : withoutClaim(state, claim),
      rows: [],
      result: { why: refused },
    }
  })
  if (why) throw why
  if (!other) return answer !== undefined
  context.otherLedger(other)
  throw twoLedgers(context, other)
}

/** Undefined: another claim is needed. */
async function claimed(
  context: OnlineContext,
  request: Omit<SeriesRequest, 'collection'>,
  attempt: number,
): Promise<SeriesAnswer | undefined> {
  const { server, collection, isSwitchedOn } = context
  try {
    if (!isSwitchedOn()) throw offline()
    return await server.begin({ ...request, collection })
  } catch (error) {
    if (!(error instanceof HiloError)) throw error
    const { ledger, status } = error
    if (ledger) {
      const stopped = await heardOther(context, ledger, request)
      if (stopped) throw twoLedgers(context, stopped)
      return undefined
    }
    // A copy of this device has used the claim.
    if (status === GONE && attempt === 1) return undefined
    throw noSeries(collection, error)
  }
}

/**
 * Asks which ledger answers now.
 * @throws HiloError unless that one follows the one that gave the series
 */
async function untilFollowed(context: OnlineContext, stopped: SeriesLedgers): Promise<void> {
  const { server, isSwitchedOn } = context
  const question = { id: newId(), token: '', last: 0, ledger: stopped.before }
  const failure = isSwitchedOn() ? await server.checkIn(question).catch((error) => error) : {}
  const { ledger } = failure as HiloError
  if (!ledger || (await heardOther(context, ledger, question))) throw twoLedgers(context, stopped)
}

/**
 * Another ledger has refused a request.
 * @returns undefined: the device goes on with it
 */
async function heardOther(
  context: OnlineContext,
  heard: HeardLedger,
  { ledger: follows }: Pick<SeriesRequest, 'ledger'>,
): Promise<SeriesLedgers | undefined> {
  const [change, stopped] = await changeUnheard(context.storage, (before, unheard) => {
    // guard: H34 who refuses a series is heard
    const { state, rows, change } = hear(before, unheard, { ...heard, follows }, now())
    return { state, rows, result: [change, state.stopped] as const }
  })
  if (change) context.otherLedger(change)
  return stopped
}

const now = (): string => new Date().toISOString()

interface Step<T> {
  state: SeriesState
  result: T
}

/** One step of the device's state of its series. */
function change<T>(storage: SeriesStorage, step: (state: SeriesState) => Step<T>): Promise<T> {
  return storage.write(async (tx) => {
    const before = readState(await tx.state())
    const { state, result } = step(before)
    if (state !== before) tx.saveState(state)
    return result
  })
}

/** One step that needs the numbers of which the server has not heard. It may change them. */
function changeUnheard<T>(
  storage: SeriesStorage,
  step: (
    state: SeriesState,
    unheard: readonly NumberRow[],
    last: NumberRow | undefined,
    all: readonly NumberRow[],
  ) => Step<T> & { rows: NumberRow[] },
  isAll = false,
): Promise<T> {
  return storage.write(async (tx) => {
    const before = readState(await tx.state())
    const { letter = '', heard = 0 } = before.current ?? {}
    const all = await tx.numbersAfter(letter, isAll ? 0 : heard - 1)
    const last = all.find(({ place }) => place === heard)
    const unheard = all.filter(({ place }) => place > heard)
    const { state, rows, result } = step(before, unheard, last, all)
    for (const row of rows) tx.saveNumber(row)
    if (state !== before) tx.saveState(state)
    return result
  })
}

const otherSeries = (collection: string, letter: string, series: string | undefined): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made: this device has series ${letter} of '${collection}', and the option ` +
      `\`series\` says ${series}. Leave it out to go on. Or close the series at the server ` +
      `by "offline-hilo-server series … --close ${letter}": ${series} begins.`,
  )

const endless = (collection: string): HiloError =>
  new HiloError(
    'invalid-response',
    `No number was made: the server gives series of '${collection}' and ends each before its ` +
      'first number. Two servers with different ledgers may answer at this address.',
  )

/** Why no series begins. */
function twoLedgers(
  { url, database, collection }: OnlineContext,
  { before, after, since }: SeriesLedgers,
): HiloError {
  const what = `Another ledger answers at ${url}: ${after}`
  const message = isLocal(url)
    ? `${what} (the series here was of ${before}), begun anew or of another project.\n` +
      'To go on, call `await hilo.startOver()` once, or delete the data of this site.'
    : `${what}, since ${since}. Series of '${collection}' are of ${before}: no number is made. ` +
      `If two servers answer, stop one. If ${before} is lost: offline-hilo-server ` +
      `follow ${database} --name ${before} --above <highest>. Or \`hilo.startOver()\`.`
  return new HiloError('other-ledger', message)
}

const offline = (): HiloError =>
  new HiloError('server-unreachable', 'The server was not asked: the app has switched it off.')

function noSeries(collection: string, cause: HiloError): HiloError {
  const { code, status, retryAfter } = cause
  return new HiloError(
    code,
    because(`No number was made: a series of '${collection}' needs the server once.`, cause),
    { cause, ...present({ status, retryAfter }) },
  )
}
