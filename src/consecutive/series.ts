/**
 * The series of one collection on this device. Guarantees that each key has one number for ever,
 * that the numbers of a series follow each other without a hole, and that a copy of this device is
 * found out as soon as it is online.
 */
import { HiloError } from '../core/errors.js'
import { uuid } from '../core/uuid.js'
import type { SeriesAnswer, SeriesRequest } from '../core/wire.js'
import type { FormatNumber, NumberRow, SeriesStore } from './numbers.js'
import type { SeriesServer } from './server.js'
import { withCheckIn, withClaim, withFate, withoutClaim, withSeries } from './state.js'

export interface SeriesContext {
  collection: string
  device: string | undefined
  storage: SeriesStore
  server: SeriesServer
  /** Aborted when the `Hilo` is closed. */
  signal: AbortSignal
  isOnline(): boolean
  /** A series has ended because this device is a copy. */
  copied(): void
}

/** The server's status when a claim was used before: this device is a copy. */
const GONE = 410

export class Series {
  readonly #context: SeriesContext
  #claim: Promise<void> | undefined
  #checkIn: Promise<void> | undefined
  /** Has this page asked the server whether this is a copy, since it started or came online? */
  #hasAsked = false

  constructor(context: SeriesContext) {
    this.#context = context
  }

  /** @throws HiloError */
  async take(key: string, format: FormatNumber): Promise<NumberRow> {
    const { storage, signal } = this.#context
    for (;;) {
      // A copy of this device that comes online makes no number in the other one's series.
      // guard: H28 a page that comes online checks in before its next number
      await this.look()
      signal.throwIfAborted()
      const row = await storage.take(key, format)
      if (row) {
        // In the background: how far the series has come.
        void this.#tell()
        return row
      }
      this.#claim ??= this.#begin().finally(() => {
        this.#claim = undefined
      })
      await this.#claim
    }
  }

  /** The network may have come or gone. A page that comes online asks whether this is a copy. */
  async look(): Promise<void> {
    if (!this.#context.isOnline()) this.#hasAsked = false
    else if (!this.#hasAsked) await this.#tell()
  }

  /**
   * Tells the server how far the series has come, and asks whether this is a copy. If no answer
   * comes, the device goes on, as it does offline. Calls at the same time share one request.
   */
  #tell(): Promise<void> {
    if (!this.#context.isOnline()) return Promise.resolve()
    this.#checkIn ??= this.#ask()
      .catch(() => false)
      .then((isBehind) => {
        this.#hasAsked = true
        this.#checkIn = undefined
        if (isBehind) void this.#tell()
      })
    return this.#checkIn
  }

  /** @returns whether numbers were made since, of which the server has not heard yet */
  async #ask(): Promise<boolean> {
    const { storage, server, signal, copied, isOnline } = this.#context
    signal.throwIfAborted()
    const request = await storage.change((state, last) => withCheckIn(state, last, newId()))
    signal.throwIfAborted()
    if (!request || !isOnline()) return false
    const answer = await server.checkIn(request)
    signal.throwIfAborted()
    const { ended, isBehind } = await storage.change((before, last) => {
      const state = withFate(before, last, request.id, answer)
      const { current } = state
      const isBehind = current !== undefined && last > current.told
      return { state, result: { ended: state.ended.at(before.ended.length), isBehind } }
    })
    if (ended?.reason.kind === 'copied') copied()
    return isBehind
  }

  /** @throws HiloError when the server gives no series */
  async #begin(): Promise<void> {
    const { storage, signal } = this.#context
    for (let attempt = 1; ; attempt++) {
      const id = newId()
      const request = await storage.change((state) => withClaim(state, id))
      if (!request) return
      signal.throwIfAborted()
      const answer = await this.#claimed(request, attempt)
      signal.throwIfAborted()
      await storage.change((state) => ({
        state: answer
          ? withSeries(state, request.claim, answer)
          : withoutClaim(state, request.claim),
        result: undefined,
      }))
      if (!answer) continue
      await this.#checkIn
      // A copy of this device may have sent this claim, too, and got the same series.
      // guard: H28 a series of an earlier claim is checked in before its first number
      if (request.claim !== id) this.#hasAsked = false
      return
    }
  }

  /** Undefined: a copy of this device has used the claim, so another one is needed. */
  async #claimed(
    request: Pick<SeriesRequest, 'claim' | 'ended'>,
    attempt: number,
  ): Promise<SeriesAnswer | undefined> {
    const { server, collection, device, isOnline } = this.#context
    try {
      if (!isOnline()) throw offline()
      return await server.begin({ ...request, collection, ...(device && { device }) })
    } catch (error) {
      if (!(error instanceof HiloError)) throw error
      if (error.status === GONE && attempt === 1) return undefined
      throw noSeries(collection, error)
    }
  }
}

const newId = (): string => uuid(crypto.getRandomValues(new Uint8Array(16)), Date.now())

const offline = (): HiloError =>
  new HiloError('server-unreachable', 'The server was not asked: this device is offline.')

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
