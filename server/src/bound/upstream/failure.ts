/** What it means for clients that an upstream gave nothing: one table judges it for all. */
import type { Failure } from '../../../../src/core/errors.js'
import { nextStep } from '../../../../src/core/failures.js'
import { CounterUnusable, UpstreamUnavailable } from '../../ledger/errors.js'

/**
 * An upstream that is away may be asked again soon. About an answer that cannot be used, somebody
 * has to do something.
 */
export const upstreamFailure = (failure: Failure): Error =>
  new (nextStep(failure) === 'same' ? UpstreamUnavailable : CounterUnusable)(failure.message)
