/**
 * What a series and its server say to each other. A page loads this file on demand: without a
 * network nothing of it is needed. Guarantees that a request is sent again under its id until its
 * answer is stored.
 */
import { HiloError } from '../core/errors.js'
import type { NumberRow } from '../core/series-store.js'
import type { SeriesAnswer, SeriesCheckInRequest, SeriesRequest } from '../core/wire.js'
import {
  hadBefore,
  withCheckIn,
  withCheckInAnswer,
  withClaim,
  withoutClaim,
  withRefusal,
  withSeries,
} from './answers.js'
import { newId } from './new-id.js'
import { isNamed } from './numbers.js'
import type { SeriesServer } from './server.js'
import { readState, type SeriesState } from './state.js'
import type { SeriesStorage } from './storage.js'

export { seriesServer } from './server.js'

export interface OnlineContext {
  collection: string
  storage: SeriesStorage
  server: SeriesServer
  /** Aborted when the `Hilo` is closed. */
  signal: AbortSignal
  /** False while the app's own offline switch is on. What the browser says may be wrong. */
  isSwitchedOn(): boolean
  /** A series has ended because this device is a copy. */
  copied(): void
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
  told: number
}

/** The server's status when a claim was used before: this device is a copy. */
const GONE = 410
/** A token of access that is missing, was taken away, or does not allow this. */
const REFUSALS = [401, 403]

export interface Online {
  /**
   * Tells the server how far the series has come, and asks whether this device is a copy.
   * @param heard called with what is known before the answer, and with what it says
   * @returns whether numbers were made since, of which the server has not heard yet
   * @throws HiloError
   */
  tell(heard: (of: Heard) => void): Promise<boolean>
  /**
   * This device has a series, or gets one.
   * @throws HiloError when the server gives none, or it is not the one that the app names
   */
  begin(holder: Holder): Promise<void>
  /** For a device whose series the server ends again and again, before their first number. */
  endless(): HiloError
}

export const onlineSeries = (context: OnlineContext): Online => ({
  tell: (heard) => tell(context, heard),
  begin: (holder) => begin(context, holder),
  endless: () => endless(context.collection),
})

async function tell(context: OnlineContext, heard: (of: Heard) => void): Promise<boolean> {
  const { storage, signal, copied, isSwitchedOn } = context
  signal.throwIfAborted()
  const [known, isBegun] = await change(storage, (state) => {
    const { begun, told = 0 } = state.current ?? {}
    heard({ begun, told })
    const named = withCheckIn(state, undefined, newId())
    return { state: named.state, result: [named.result, begun !== undefined] as const }
  })
  const form = () =>
    changeUntold(storage, (state, untold, last) => ({
      ...withCheckIn(state, untold, newId(), last),
      rows: [],
    }))
  const request = known ?? (isBegun ? await form() : undefined)
  signal.throwIfAborted()
  if (!request || !isSwitchedOn()) return false
  const answer = await answerTo(context, request)
  signal.throwIfAborted()
  const { ended, current, isBehind } = await changeUntold(storage, (before, untold) => {
    const { state, rows } = withCheckInAnswer(before, untold, request.id, answer)
    const { current } = state
    const isBehind = current !== undefined && (untold.at(-1)?.place ?? 0) > current.told
    const ended = state.ended.at(before.ended.length)
    return { state, rows, result: { ended, current, isBehind } }
  })
  heard({ begun: current?.begun, told: current?.told ?? 0 })
  if (ended?.reason.kind === 'copied') copied()
  return isBehind
}

async function answerTo({ storage, server }: OnlineContext, request: SeriesCheckInRequest) {
  try {
    return await server.checkIn(request)
  } catch (error) {
    const { code, status = 0, message } = error as HiloError
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
  for (let attempt = 1; ; attempt++) {
    const [request, letter] = await change(storage, (before) => {
      const { state, result } = withClaim(before, newId())
      return { state, result: [result, before.current?.letter] as const }
    })
    if (letter !== undefined && !isNamed(letter, series))
      throw otherSeries(collection, letter, series)
    if (!request) return
    signal.throwIfAborted()
    const asked = { ...request, ...(device && { device }), ...(series && { series }) }
    const answer = await claimed(context, asked, attempt)
    signal.throwIfAborted()
    const why = await change(storage, (state) => {
      // guard: H28 a device does not go on with a series that it had
      const refused = answer && hadBefore(state, answer)
      const { claim } = request
      return {
        state: answer && !refused ? withSeries(state, claim, answer) : withoutClaim(state, claim),
        result: refused,
      }
    })
    if (why) throw why
    if (answer) return
  }
}

/** Undefined: a copy of this device has used the claim, so another one is needed. */
async function claimed(
  { server, collection, isSwitchedOn }: OnlineContext,
  request: Omit<SeriesRequest, 'collection'>,
  attempt: number,
): Promise<SeriesAnswer | undefined> {
  try {
    if (!isSwitchedOn()) throw offline()
    return await server.begin({ ...request, collection })
  } catch (error) {
    if (!(error instanceof HiloError)) throw error
    if (error.status === GONE && attempt === 1) return undefined
    throw noSeries(collection, error)
  }
}

interface Step<T> {
  state: SeriesState
  result: T
}

/** One step of what the device knows of its series. */
function change<T>(storage: SeriesStorage, step: (state: SeriesState) => Step<T>): Promise<T> {
  return storage.write(async (tx) => {
    const before = readState(await tx.state())
    const { state, result } = step(before)
    if (state !== before) tx.saveState(state)
    return result
  })
}

/** One step that needs the numbers of which the server has not heard. It may change them. */
function changeUntold<T>(
  storage: SeriesStorage,
  step: (
    state: SeriesState,
    untold: readonly NumberRow[],
    heard: NumberRow | undefined,
  ) => Step<T> & { rows: NumberRow[] },
): Promise<T> {
  return storage.write(async (tx) => {
    const before = readState(await tx.state())
    const { letter = '', told = 0 } = before.current ?? {}
    const known = await tx.numbersAfter(letter, told - 1)
    const heard = known[0]?.place === told ? known[0] : undefined
    const { state, rows, result } = step(before, heard ? known.slice(1) : known, heard)
    for (const row of rows) tx.saveNumber(row)
    if (state !== before) tx.saveState(state)
    return result
  })
}

const otherSeries = (collection: string, letter: string, series: string | undefined): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made: this device has the series ${letter} of '${collection}', and the option ` +
      `\`series\` says ${series}. Leave the option out to go on. Or close the series at the ` +
      `server, with "offline-hilo-server series … --close ${letter}": then ${series} begins.`,
  )

const endless = (collection: string): HiloError =>
  new HiloError(
    'invalid-response',
    `No number was made: the server gives series of '${collection}' and ends each before its ` +
      'first number. Two servers with different ledgers may answer at this address.',
  )

const offline = (): HiloError =>
  new HiloError('server-unreachable', 'The server was not asked: the app has switched it off.')

function noSeries(collection: string, cause: HiloError): HiloError {
  const { code, status, retryAfter, message } = cause
  return new HiloError(
    code,
    `No number was made: this device has no series of '${collection}' yet, and needs the server ` +
      `once to get one; from then on it makes numbers offline. ${message}`,
    {
      cause,
      ...(status !== undefined && { status }),
      ...(retryAfter !== undefined && { retryAfter }),
    },
  )
}
