/**
 * Shared by the sources that speak HTTP: turns a failed request into a `HiloError` that says what
 * to do.
 */
import type { SourceAnswer } from '../core/contract.js'
import { HiloError, toFailure } from '../core/errors.js'
import type { GrantedRange } from '../core/state.js'

export type GetHeaders = () => Promise<Record<string, string>> | Record<string, string>

const IDS_GO_ON = 'Ids go on while this device has some; the claim is tried again.'

/**
 * No answer came.
 * @param timeout milliseconds after which `signal` ends the wait
 * @param meaning what that means for the caller
 */
export function unreachable(
  url: string,
  timeout: number,
  signal: AbortSignal,
  cause: unknown,
  meaning = IDS_GO_ON,
): HiloError {
  const what = signal.aborted ? `did not answer within ${timeout} ms` : 'could not be reached'
  return new HiloError('server-unreachable', `${url} ${what}. ${meaning}`, {
    cause,
    // This caller has waited for the whole timeout; the next ones are refused at once for as long.
    ...(signal.aborted && { retryAfter: timeout }),
  })
}

/**
 * The result of `work`, if it comes within `timeout` milliseconds. A later result is dropped: its
 * numbers are a gap.
 */
export function within<T>(
  timeout: number,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(timeout)
  const tooLate = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () =>
      reject(unreachable(what, timeout, signal, signal.reason)),
    ),
  )
  return Promise.race([work(signal), tooLate])
}

/** As an answer to the owner, which gets a failure as plain data. */
export const granted = (work: Promise<GrantedRange>): Promise<SourceAnswer> =>
  work.then(
    (grant) => ({ grant }),
    (error) => ({ failure: toFailure(error, 'server-unreachable') }),
  )

/** The server answered, and refused. */
export function refusal(response: Response, body: string, url: string): HiloError {
  const { status } = response
  const advice =
    status === 401 || status === 403
      ? 'Check `headers` and `credentials`, and that the server allows this origin and user.'
      : status === 404
        ? 'Check `url` and `database`: no HiLo server answers there.'
        : status === 429 || status >= 500
          ? 'It is asked again later; ids go on while this device has some.'
          : 'The request will be refused again until its cause is removed.'
  const seconds = Number(response.headers.get('Retry-After'))
  return new HiloError('server-refused', `${url} answered ${status}${reason(body)}. ${advice}`, {
    status,
    ...(seconds > 0 && { retryAfter: seconds * 1000 }),
  })
}

/** What the server says was wrong: the `Message` of its JSON answer. */
function reason(body: string): string {
  try {
    const { Message } = JSON.parse(body)
    return typeof Message === 'string' ? `: ${Message.slice(0, 300)}` : ''
  } catch {
    return ''
  }
}
