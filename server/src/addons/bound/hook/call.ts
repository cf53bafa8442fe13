/** Calls a function of the app. Guarantees an end in five seconds, and an error that names it. */
import { reasonOf, UpstreamUnavailable } from '../../../ledger/ledger-errors.js'

/** Claims wait so long. */
const TIMEOUT_MS = 5_000

/** What a function gave, for people. A row of some drivers has no prototype, and so no text. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 40))}`
  if (typeof value !== 'object' || value === null) return String(value)
  return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'nothing'}`
}

/**
 * @param name of the function
 * @param outcome a sentence for the error: the effect of a call without a result
 * @throws UpstreamUnavailable when it fails, or takes too long
 */
export async function call(
  name: string,
  outcome: string,
  run: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const waiting = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      waiting.abort()
      const seconds = TIMEOUT_MS / 1_000
      reject(new UpstreamUnavailable(`${name} gave nothing within ${seconds} seconds. ${outcome}`))
    }, TIMEOUT_MS)
  })
  const answer = async () => {
    try {
      return await run(waiting.signal)
    } catch (error) {
      const reason = reasonOf(error instanceof Error ? error : new Error(shown(error)))
      throw new UpstreamUnavailable(`${name} failed: ${reason}. ${outcome}`, { cause: error })
    }
  }
  try {
    return await Promise.race([answer(), late])
  } finally {
    clearTimeout(timer)
  }
}
