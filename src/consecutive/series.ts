/**
 * The series of one collection on this device. Guarantees that each key has one number for ever,
 * that the numbers of a series follow each other without a hole, and that while the server answers
 * a number is handed out only after the server has heard of it from this copy of the device.
 */
import { HiloError } from '../core/errors.js'
import type { NumberRow } from '../core/series-store.js'
import { uuid } from '../core/uuid.js'
import { whenLate } from '../core/when-late.js'
import type { SeriesAnswer, SeriesCheckInRequest, SeriesRequest } from '../core/wire.js'
import type { Make } from './rows.js'
import type { SeriesServer } from './server.js'
import {
  hadBefore,
  type Refusal,
  withCheckIn,
  withClaim,
  withFate,
  withoutClaim,
  withRefusal,
  withSeries,
} from './state.js'
import type { SeriesStorage } from './storage.js'

export interface SeriesContext {
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

export interface TakeOptions extends Omit<Make, 'checkIn'> {
  holder: Holder
  /** How many milliseconds the server has to hear of the number. */
  wait: number
}

/** A number, and whether the server had heard of it before it was handed out. */
export interface TakenNumber {
  row: Omit<NumberRow, 'place'>
  heard: boolean
}

/** The server's status when a claim was used before: this device is a copy. */
const GONE = 410
/** A token of access that is missing, was taken away, or does not allow this. */
const REFUSALS = [401, 403]
/** A server that ends each series at once is asked for no more than so many in one call. */
const MOST_BEGUN = 3

export class Series {
  readonly #context: SeriesContext
  #claim: Promise<void> | undefined
  #telling: Promise<void> | undefined
  /** What the last answer said: how far the server has heard of which series. */
  #heard: { begun: string | undefined; told: number } | undefined
  /** The last request failed, or its answer is late: nobody waits until one comes. */
  #isSilent = false

  constructor(context: SeriesContext) {
    this.#context = context
  }

  /** @throws HiloError */
  async take({ holder, wait, ...make }: TakeOptions): Promise<TakenNumber> {
    const { collection, storage, signal } = this.#context
    const deadline = deadlineOf(wait, () => {
      this.#isSilent = true
    })
    const { late } = deadline
    const isHeardOut = () => wait > 0 && this.#mayWait(deadline)
    try {
      for (let asked = 0, begun = 0; ; ) {
        // A copy that finds out what it is makes no number that it then cannot hand out.
        if (isHeardOut() && this.#telling) await this.#wait(this.#telling, late)
        signal.throwIfAborted()
        const checkIn = isHeardOut() ? newId() : undefined
        const taken = await storage.take({ ...make, checkIn }).catch((error: HiloError) => {
          // A person may have given a range meanwhile.
          if (error.code !== 'exhausted' || make.ranges !== 'server' || asked > 0) throw error
          return error
        })
        if (taken instanceof HiloError) {
          asked++
          await this.#wait(this.#tell(), late)
        } else if (!taken) {
          if (begun++ >= MOST_BEGUN) throw endless(collection)
          await this.prepare(holder)
        } else if ('refused' in taken) {
          if (asked++ > 0) throw refusedBy(taken.refused)
          await this.#wait(this.#tell(), late)
        } else if (taken.isOut || (await this.#isHeard(taken.begun, taken.row.place, deadline))) {
          const heard = taken.heard || !taken.isOut
          if (!heard) void this.#tell()
          return { row: taken.row, heard }
        }
      }
    } finally {
      deadline.cancel()
    }
  }

  /** The page has started, or the network may have come: asks whether this is a copy. */
  look(): void {
    this.#isSilent = false
    void this.#tell()
  }

  /** This device has a series, or gets one. */
  prepare(holder: Holder): Promise<void> {
    this.#claim ??= this.#begin(holder).finally(() => {
      this.#claim = undefined
    })
    return untilAborted(this.#context.signal, this.#claim)
  }

  /**
   * An answer that comes after this call's deadline says that the server is there. Were this call
   * to wait again, its deadline would end each wait at once, for ever.
   */
  #mayWait(deadline: Deadline): boolean {
    return !deadline.isOver() && !this.#isSilent && this.#context.isSwitchedOn()
  }

  /**
   * Waits until the server has heard of a number, or its answer is late.
   * @returns false: what is stored has to be looked at again
   */
  async #isHeard(begun: string | undefined, place: number, deadline: Deadline): Promise<boolean> {
    while (this.#mayWait(deadline)) {
      await this.#wait(this.#tell(), deadline.late)
      if (this.#heard?.begun !== begun) return false
      // guard: H28 an answer permits the numbers that its own check-in named
      if (this.#heard !== undefined && place <= this.#heard.told) return true
    }
    return false
  }

  #wait(work: Promise<void>, late: Promise<void>): Promise<void> {
    return untilAborted(this.#context.signal, Promise.race([work, late]))
  }

  /**
   * Tells the server how far the series has come, and asks whether this is a copy. If no answer
   * comes, the device goes on, as it does offline. Calls at the same time share one request.
   */
  #tell(): Promise<void> {
    if (!this.#context.isSwitchedOn()) return Promise.resolve()
    this.#telling ??= this.#ask().then(
      (isBehind) => {
        this.#isSilent = false
        this.#telling = undefined
        if (isBehind) void this.#tell()
      },
      () => {
        this.#isSilent = true
        this.#telling = undefined
      },
    )
    return this.#telling
  }

  /** @returns whether numbers were made since, of which the server has not heard yet */
  async #ask(): Promise<boolean> {
    const { storage, signal, copied, isSwitchedOn } = this.#context
    signal.throwIfAborted()
    const known = await storage.change((state) => {
      const { begun, told = 0 } = state.current ?? {}
      this.#heard = { begun, told }
      return withCheckIn(state, undefined, newId())
    })
    const form = () =>
      storage.changeUntold((state, untold, heard) => ({
        ...withCheckIn(state, untold, newId(), heard),
        rows: [],
      }))
    const request = known ?? (this.#heard?.begun === undefined ? undefined : await form())
    signal.throwIfAborted()
    if (!request || !isSwitchedOn()) return false
    const answer = await this.#answerTo(request)
    signal.throwIfAborted()
    const { ended, current, isBehind } = await storage.changeUntold((before, untold) => {
      const { state, rows } = withFate(before, untold, request.id, answer)
      const { current } = state
      const isBehind = current !== undefined && (untold.at(-1)?.place ?? 0) > current.told
      const ended = state.ended.at(before.ended.length)
      return { state, rows, result: { ended, current, isBehind } }
    })
    this.#heard = { begun: current?.begun, told: current?.told ?? 0 }
    if (ended?.reason.kind === 'copied') copied()
    return isBehind
  }

  async #answerTo(request: SeriesCheckInRequest) {
    const { storage, server } = this.#context
    try {
      return await server.checkIn(request)
    } catch (error) {
      const { code, status = 0, message } = error as HiloError
      // guard: H28 a device that the server refuses makes no number
      if (code === 'server-refused' && REFUSALS.includes(status))
        await storage.change((state) => ({
          state: withRefusal(state, request.id, { status, message }),
          result: undefined,
        }))
      throw error
    }
  }

  /** @throws HiloError when the server gives no series */
  async #begin({ device, series }: Holder): Promise<void> {
    const { storage, signal } = this.#context
    for (let attempt = 1; ; attempt++) {
      const request = await storage.change((state) => withClaim(state, newId()))
      if (!request) return
      signal.throwIfAborted()
      const asked = { ...request, ...(device && { device }), ...(series && { series }) }
      const answer = await this.#claimed(asked, attempt)
      signal.throwIfAborted()
      const why = await storage.change((state) => {
        // guard: H28 a device does not go on with a series that it had
        const refused = answer && hadBefore(state, answer)
        const { claim } = request
        return {
          state: answer && !refused ? withSeries(state, claim, answer) : withoutClaim(state, claim),
          result: refused,
        }
      })
      if (why) throw why
      if (!answer) continue
      this.#isSilent = false
      return
    }
  }

  /** Undefined: a copy of this device has used the claim, so another one is needed. */
  async #claimed(
    request: Omit<SeriesRequest, 'collection'>,
    attempt: number,
  ): Promise<SeriesAnswer | undefined> {
    const { server, collection, isSwitchedOn } = this.#context
    try {
      if (!isSwitchedOn()) throw offline()
      return await server.begin({ ...request, collection })
    } catch (error) {
      if (!(error instanceof HiloError)) throw error
      if (error.status === GONE && attempt === 1) return undefined
      throw noSeries(collection, error)
    }
  }
}

interface Deadline {
  late: Promise<void>
  isOver(): boolean
  cancel(): void
}

function deadlineOf(wait: number, onLate: () => void): Deadline {
  let cancel = () => {}
  let isOver = false
  const late = new Promise<void>((resolve) => {
    cancel = whenLate(wait, () => {
      isOver = true
      onLate()
      resolve()
    })
  })
  return { late, isOver: () => isOver, cancel }
}

/**
 * The result of `work`, unless `signal` is aborted before. Nobody listens afterwards.
 * @param why what it rejects with then
 */
export function untilAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  why: () => unknown = () => signal.reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(why())
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

const newId = (): string => uuid(crypto.getRandomValues(new Uint8Array(16)), Date.now())

const offline = (): HiloError =>
  new HiloError('server-unreachable', 'The server was not asked: the app has switched it off.')

const refusedBy = ({ status, message }: Refusal): HiloError =>
  new HiloError(
    'server-refused',
    `No number was handed out: the server refuses this device. ${message} Numbers go on when the ` +
      'server accepts it again; the key keeps the number that it has.',
    { status },
  )

const endless = (collection: string): HiloError =>
  new HiloError(
    'invalid-response',
    `No number was made: the server gave ${MOST_BEGUN} series of '${collection}' and ended each ` +
      'before its first number. Two servers with different ledgers may answer at this address.',
  )

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
