/**
 * Tells a crash from what somebody has noticed: the engine's own errors, as of a name that does not
 * exist, from assertions and from what this repository throws on purpose.
 */

interface Thrown {
  name?: string | undefined
  message: string
  cause?: unknown
}

const ENGINE_ERRORS = ['ReferenceError', 'SyntaxError', 'TypeError', 'RangeError']
/** Within the message of an assertion: `promise rejected "TypeError: a is not a function"`. */
const ENGINE_SAYS =
  /\b(?:Reference|Syntax|Type|Range)Error: | is not (?:defined|iterable|a function)|annot read prop/

/** The engine's messages end without a full stop; those of this repository end with one. */
export function isCrash({ name = '', message, cause }: Thrown): boolean {
  if (ENGINE_ERRORS.includes(name)) return !message.endsWith('.')
  if (cause && typeof cause === 'object' && 'message' in cause) return isCrash(cause as Thrown)
  return ENGINE_SAYS.test(message)
}
