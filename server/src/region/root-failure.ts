/** What it means for a region's clients that its root gave nothing. */
import type { Failure } from '../../../src/core/errors.js'
import { nextStep } from '../../../src/core/failures.js'
import { CounterUnusable, UpstreamUnavailable } from '../ledger/errors.js'

/**
 * A root that is away may be asked again soon. About an answer that cannot be used, somebody has to
 * do something.
 * @param what is missing here now
 */
export function rootFailure(what: string, failure: Failure): Error {
  const isAway = nextStep(failure) === 'same'
  return new (isAway ? UpstreamUnavailable : CounterUnusable)(`${what} ${failure.message}`)
}
