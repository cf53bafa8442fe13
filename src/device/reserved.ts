/** The error of a `reserve` for several collections that did not get all ids. */
import type { Failure } from '../core/errors.js'
import type { Wanted } from './contract.js'

/** How many free numbers of a collection the device has, and why it has too few. */
interface Outcome {
  free: number
  failure?: Failure | undefined
}

/** @param outcomes one for each that was wanted, in its order */
export function notReserved(
  wanted: readonly Wanted[],
  outcomes: readonly Outcome[],
): Failure | undefined {
  const failures = outcomes.flatMap(({ failure }) => failure ?? [])
  const [first] = failures
  if (!first || wanted.length === 1) return first
  const missing = wanted.flatMap(({ target, count }, i) => {
    const { free, failure } = outcomes[i]!
    return failure ? `'${target.collection}' has ${free} of ${count} ids` : []
  })
  const others = missing.length < wanted.length ? ' All others have theirs.' : ''
  const reasons = new Set(failures.map(({ message }) => message))
  const message = `Not everything was reserved: ${missing.join(', ')}.${others}`
  return { ...first, message: [message, ...reasons].join(' ') }
}
