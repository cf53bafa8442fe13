/**
 * The one error of this package, and its plain form. Comlink keeps only `name`, `message` and
 * `stack` of an error, so failures cross realms as {@link Failure} data and become a {@link
 * HiloError} again at the public edge.
 */
import { brief, messageOf, readable } from './brief.js'

/** The cause, for code to act on. The message explains it and names a remedy. */
export type HiloErrorCode =
  /**
   * No id is left on this device, and the server gave none; or the ranges of a series have no
   * number. Keep the user's input, and try again when `status` changes.
   */
  | 'exhausted'
  /**
   * A `…Sync` call found no id in this page, or a batch has none left. Await `hilo.take(collection,
   * count)` before, or `hilo.nextId(collection)`.
   */
  | 'not-leased'
  /** The call's `timeout` passed. No id was used up. */
  | 'timeout'
  /** The call's `signal` was aborted. No id was used up. */
  | 'aborted'
  /** `hilo.close()` was called. No id was used up. */
  | 'closed'
  /**
   * The server answered, and said no. `status` and the message say why: token, origin, database,
   * limits.
   */
  | 'server-refused'
  /**
   * No answer, or the 502, 503 or 504 of a proxy: offline, or a dead server. `reserve`, `release`
   * and `nextIdentity` need the server.
   */
  | 'server-unreachable'
  /**
   * No HiLo server is known there: something else answers, or this device never got an id from this
   * address. Does the server run? Is `url` right? Does the dev server or the proxy pass
   * `/databases` on? A device that starts for the first time without a network says so, too.
   */
  | 'no-hilo-server'
  /**
   * The server's answer is not a HiLo answer, or contradicts the ranges of this device. Nothing of
   * it is used.
   */
  | 'invalid-response'
  /** The answer was a range beyond 2^53−1, where JavaScript cannot count. Nothing of it is used. */
  | 'unsafe-range'
  /**
   * The name of a collection that cannot be used, or an argument that names none. Correct the call.
   */
  | 'invalid-collection'
  /**
   * A count, an option, another argument, or a text made by `formatId` that cannot be used. Correct
   * it.
   */
  | 'invalid-argument'
  /**
   * The storage failed, or its content made no sense. Nothing was handed out. A storage that hangs,
   * as behind a frozen tab, is asked again until the call's `timeout` or `signal` ends it.
   */
  | 'storage-failed'
  /**
   * A newer version of this package runs in another tab, or has written this storage; or the page
   * has loaded files of two versions. Reload this page, or load that version; the stored data stays
   * as it is.
   */
  | 'outdated'
  /**
   * This device's storage is a copy, and another copy has checked in: its ranges were dropped. See
   * the event `fork`.
   */
  | 'forked'
  /**
   * The server has dropped this collection: the ranges of it on this device were dropped, too. See
   * the event `drop`.
   */
  | 'dropped'
  /**
   * Another ledger answers than the one that granted this device's ids, or gave its series: nothing
   * is made until one follows the other, or you call `startOver`. See the event `ledger`.
   */
  | 'other-ledger'

/** The ledger that answered, as it says of itself. */
export interface HeardLedger {
  /** Its public name. Undefined: it has none. */
  name?: string | undefined
  /** Its server tag. Ids with another tag are other ids. */
  tag: string
  /** The name of the ledger that it follows, which is lost. */
  follows?: string | undefined
  /** That one granted nothing above this number. */
  above?: number
}

/** A {@link HiloError} as plain data, which crosses between worker and page. */
export interface Failure {
  code: HiloErrorCode
  message: string
  /** HTTP status, when the server answered. */
  status?: number
  /** Milliseconds to wait before the next attempt, which may succeed. */
  retryAfter?: number | undefined
  /** A sign-in page, a proxy or a cache has answered, and no HiLo server. */
  noAnswer?: true
  /** The server says that it would grant fewer numbers. */
  isTooMany?: true
  /** The server is another ledger than the device asked for. */
  ledger?: HeardLedger
  /** The owner sends the request again by itself. */
  isRepeated?: true
  cause?: Failure | string
}

/** Every message ends with the address where its code is explained, which stays the same. */
const EXPLAINED = 'docs/reference.md#'

const unaddressed = (message: string): string =>
  message.replace(/ See docs\/reference\.md#[\w-]+\./g, '')

/** A message has forty words at most, and its address takes two. */
const MOST_WORDS = 38

/** A message, and the beginning of its cause's message. The error has the whole cause, too. */
export function because(what: string, { message }: Pick<Failure, 'message'>): string {
  return `${what} ${brief(unaddressed(message), MOST_WORDS - what.split(' ').length)}`
}

/** The device has no id now, and may get some once it has a network. */
const OUT_OF_IDS = ['exhausted', 'no-hilo-server']

/** Every error this package throws. */
export class HiloError extends Error {
  /**
   * Is there no id now, and may there be one when the network is back? Keep the user's input. It
   * looks at name and code only, so it also takes an error of another copy of this package.
   */
  static isOutOfIds(error: unknown): error is HiloError {
    const { name, code } = Object(error)
    return name === 'HiloError' && OUT_OF_IDS.includes(code)
  }

  /** A sentence for the user of an app, in English. The `message` is for developers. */
  static forUser(error: unknown): string {
    const isOut = HiloError.isOutOfIds(error)
    const isUnreachable = isOut || Object(error).code === 'server-unreachable'
    const what = isOut ? 'No number is left on this device' : 'That did not work'
    return `${what}. ${isUnreachable ? 'Connect to the internet, then' : 'Please'} try again.`
  }

  override readonly name = 'HiloError'
  /** The cause, for code to act on. The message explains it and names a remedy. */
  declare readonly code: HiloErrorCode
  /** HTTP status, when the server answered. */
  declare readonly status: number | undefined
  /**
   * Milliseconds to wait before the next attempt: the server asked for it (`Retry-After`), or
   * something did not answer in time.
   */
  declare readonly retryAfter: number | undefined
  /** A sign-in page, a proxy or a cache has answered, and no HiLo server. */
  declare readonly noAnswer: true | undefined
  /** The server says that it would grant fewer numbers. */
  declare readonly isTooMany: true | undefined
  /** @internal The server is another ledger than the device asked for. */
  declare readonly ledger: HeardLedger | undefined

  constructor(
    code: HiloErrorCode,
    message: string,
    details: Pick<Failure, 'status' | 'retryAfter' | 'noAnswer' | 'isTooMany' | 'ledger'> & {
      cause?: unknown
    } = {},
  ) {
    super(`${unaddressed(message)} See ${EXPLAINED}${code}.`, details)
    Object.assign(this, details, { code })
  }
}

/**
 * Plain data that {@link fromFailure} turns back into the same error. An error of another kind
 * becomes `fallback`.
 */
export function toFailure(error: unknown, fallback: HiloErrorCode): Failure {
  if (!(error instanceof HiloError)) return { code: fallback, message: messageOf(error) }
  // guard: H23 an error keeps its code
  const { name: _, message, cause, ...details } = error
  return {
    ...details,
    message,
    ...(cause !== undefined && {
      cause:
        cause instanceof HiloError ? toFailure(cause, error.code) : readable(() => String(cause)),
    }),
  } as Failure
}

export function fromFailure(failure: Failure): HiloError {
  const { code, message, cause, isRepeated: _, ...details } = failure
  return new HiloError(code, message, {
    ...details,
    ...(cause !== undefined && { cause: typeof cause === 'string' ? cause : fromFailure(cause) }),
  })
}
