/**
 * Shared by the sources that speak HTTP: turns a failed request into a `HiloError` that names a
 * remedy.
 */
import { brief, reasonOf } from '../core/brief.js'
import { HiloError, toFailure } from '../core/errors.js'
import { isRepeated } from '../core/failures.js'
import { ledgerOf } from '../core/ledger-names.js'
import { type ErrorAnswer, TOO_MANY } from '../core/wire.js'
import type { OwnerConfig, SourceAnswer } from '../device/contract.js'
import type { GrantedRange } from '../device/state.js'
import { CHECK_ADDRESS, parsed } from './answers.js'

export interface ServerAddress extends Pick<OwnerConfig, 'url' | 'timeout'> {
  credentials?: RequestCredentials | undefined
}

export type GetHeaders = () => Promise<Record<string, string>> | Record<string, string>

/** A longer `Retry-After` is a mistake, or a date that this device's wrong clock is far from. */
const LONGEST_WAIT_MS = 3_600_000
/** A proxy knows nothing of this device's numbers: its pause is advice. */
const LONGEST_WAIT_OF_STRANGERS_MS = 60_000

const SIGN_IN = 'If that is a sign-in page, the user has to sign in again.'

export const ASKED_AGAIN = 'It is asked again later.'

/**
 * Requests to a server.
 * @returns sends one and resolves with the body of its answer; it throws HiloError
 * `server-unreachable`, `server-refused`, `no-hilo-server`. `meaning` says how a lost answer
 * affects the caller
 */
export function requester(
  { url, timeout, credentials }: ServerAddress,
  headers: GetHeaders,
): (method: string, address: string, json?: unknown, meaning?: string) => Promise<string> {
  return async (method, address, json, meaning) => {
    const given = await within(timeout, '`headers`', async () => headers(), meaning)
    return within(
      timeout,
      url,
      async (signal) => {
        const response = await fetch(address, {
          method,
          headers: { ...given, ...(json !== undefined && { 'Content-Type': 'application/json' }) },
          ...(json !== undefined && { body: JSON.stringify(json) }),
          credentials: credentials ?? 'same-origin',
          cache: 'no-store',
          signal,
        })
        const body = await response.text()
        const isPage = response.redirected && !parsed(body)
        if (response.ok && !isPage) return body
        // A redirect may turn a POST into a GET, which the server then refuses.
        const asked = response.redirected ? `${url}, redirected to ${response.url},` : url
        // guard: H25 only a HiLo server refuses
        throw isHiloRefusal(body)
          ? refusal(response, body, asked, meaning)
          : noHiloServer(response, body, asked, meaning)
      },
      meaning,
    )
  }
}

/**
 * The result of `work`, if it comes within `timeout` milliseconds. A later result is dropped: its
 * numbers are a gap.
 * @param callee the address that is asked, or the name of the app's function that is called
 * @throws HiloError of `work`; any other error as `server-unreachable`
 */
export async function within<T>(
  timeout: number,
  callee: string,
  work: (signal: AbortSignal) => Promise<T>,
  meaning = ASKED_AGAIN,
): Promise<T> {
  // Node takes whole numbers only.
  const signal = AbortSignal.timeout(Math.trunc(timeout))
  try {
    return await orAborted(signal, work(signal))
  } catch (cause) {
    if (cause instanceof HiloError) throw cause
    // The app's function failed: a request itself fails with a `TypeError` only.
    const isOfApp = !(cause instanceof TypeError && callee.startsWith('http'))
    const why = signal.aborted
      ? `did not answer within ${timeout} ms.`
      : isOfApp
        ? `failed: ${reasonOf(cause)}.`
        : `could not be reached${crossOriginAdvice(callee)}.`
    throw new HiloError('server-unreachable', `${callee} ${why} ${meaning}`, {
      cause,
      // This caller has waited for the whole timeout. For as long again, other calls fail at once.
      ...(signal.aborted && { retryAfter: timeout }),
    })
  }
}

/**
 * The result of `work`, unless `signal` is aborted before. Nobody listens afterwards: Deno keeps a
 * process alive while somebody does.
 */
function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** As an answer to the owner, which gets a failure as plain data. */
export const granted = (work: Promise<GrantedRange>): Promise<SourceAnswer> =>
  work.then(
    (grant) => ({ grant }),
    (error) => ({ failure: toFailure(error, 'server-unreachable') }),
  )

/**
 * A browser does not say whether a server of another origin is down or refuses this origin.
 * @returns nothing where the page and the server have one origin
 */
function crossOriginAdvice(url: string): string {
  const origin = globalThis.location?.origin
  if (origin === undefined || new URL(url).origin === origin) return ''
  return `, or does not allow ${origin} (CORS, \`cors.origins\`)`
}

/**
 * The server answered, and refused; or its proxy answered that it is down.
 * @param meaning how a server that cannot serve now affects the caller
 */
export function refusal(
  response: Response,
  body: string,
  url: string,
  meaning = ASKED_AGAIN,
): HiloError {
  const { status } = response
  const answer = said(body)
  // RavenDB answers 400 where nobody answers a path, and HTTP 404.
  const isNoRoute = status === 400 && String(answer.Type).endsWith('RouteNotFoundException')
  const known = isNoRoute ? 404 : status
  const details = {
    ...paused(response),
    status: known,
    ...(answer.Type === TOO_MANY && { isTooMany: true as const }),
    ...ledgerIn(answer),
    ...(typeof answer.Message === 'string' && { cause: answer.Message }),
  }
  const what = `${url} answered ${status}${reason(body)}.`
  // A HiLo server whose ledger cannot be reached answers 503.
  // guard: H25 a server that cannot serve now is as good as none
  return status > 501
    ? new HiloError('server-unreachable', `${what} It cannot serve now. ${meaning}`, details)
    : new HiloError('server-refused', `${what} ${advice(known, meaning)}`, details)
}

/** The ledger that refuses, where it says which one it is. */
export const ledgerIn = ({ Ledger: name, Database, ServerTag: tag, Above: above }: Said) =>
  typeof name === 'string' && {
    ledger: {
      name: ledgerOf(name, Database),
      tag: String(tag),
      ...(typeof above === 'number' && { above }),
    },
  }

/** The error page of a proxy or an ingress, say, or the sign-in page of a network. */
function noHiloServer(
  response: Response,
  body: string,
  url: string,
  meaning = ASKED_AGAIN,
): HiloError {
  const { status } = response
  return new HiloError(
    status > 501 ? 'server-unreachable' : 'no-hilo-server',
    `${url} answered ${status}${reason(body)}, but not as a HiLo server. ` +
      `${response.redirected ? SIGN_IN : CHECK_ADDRESS} ${meaning}`,
    // guard: H33 nobody but a HiLo server stops this device for long
    { ...paused(response, LONGEST_WAIT_OF_STRANGERS_MS), status, noAnswer: true },
  )
}

function paused({ headers }: Response, longest = LONGEST_WAIT_MS): { retryAfter?: number } {
  const after = String(headers.get('Retry-After'))
  const wait = Math.min(1000 * Number(after) || Date.parse(after) - Date.now(), longest)
  return wait > 0 ? { retryAfter: wait } : {}
}

/** The form of a refusal by offline-hilo-server and by RavenDB. */
function isHiloRefusal(body: string): boolean {
  const { Type, Message } = said(body)
  return typeof Type === 'string' && typeof Message === 'string'
}

type Said = { [K in keyof ErrorAnswer]?: unknown }
const said = (body: string): Said => parsed(body) ?? {}

function advice(status: number, meaning: string): string {
  if (status === 401 || status === 403)
    return 'Check `headers` and `credentials`, and that the server allows this origin and user.'
  if (status === 404) return 'Check `url` and `database`: no HiLo server answers there.'
  return isRepeated({ code: 'server-refused', status, message: '' })
    ? meaning
    : 'It is refused again until its cause is removed.'
}

const WORDS_OF_REASON = 18

/** The server's reason: the `Message` of its JSON answer. The whole of it is the error's cause. */
function reason(body: string): string {
  const { Message } = said(body)
  return typeof Message === 'string'
    ? `: ${brief(Message.slice(0, 300), WORDS_OF_REASON).replace(/\.$/, '')}`
    : ''
}
