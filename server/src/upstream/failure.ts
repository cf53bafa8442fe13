/** What it means for clients that an upstream gave nothing: one table judges it for all. */
import type { Failure } from '../../../src/core/errors.js'
import { nextStep } from '../../../src/core/failures.js'
import { CounterUnusable, UpstreamUnavailable } from '../ledger/errors.js'

/**
 * An upstream that is away may be asked again soon. About an answer that cannot be used, somebody
 * has to do something.
 * @param what cannot be done now
 */
export function upstreamFailure(failure: Failure, what?: string): Error {
  const isAway = nextStep(failure) === 'same'
  const message = what === undefined ? failure.message : `${what} ${failure.message}`
  return new (isAway ? UpstreamUnavailable : CounterUnusable)(message)
}
