/** The error of a `reserve` for several collections that did not get all ids. */
import { because, type Failure } from '../core/errors.js'
import type { Wanted } from './contract.js'

/** Of collections that got too few ids. */
const MOST_NAMED = 2

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
    return failure ? `'${target.collection}' has ${free} of ${count}` : []
  })
  const more = missing.length > MOST_NAMED ? ` and ${missing.length - MOST_NAMED} more` : ''
  const named = missing.slice(0, MOST_NAMED).join(', ') + more
  const message = because(`Not everything was reserved: ${named}.`, first)
  return { ...first, message, cause: first }
}
