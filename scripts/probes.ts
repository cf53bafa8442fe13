/**
 * Puts a probe before the code of each mutant of a file. Who runs that code calls it with the
 * mutant's number.
 */
import type { Mutant } from './mutants.js'

/** Of the global function. Where nobody listens, there is none. */
export const PROBE = 'hiloProbe'

/** @param mutants by their numbers */
export function withProbes(source: string, mutants: ReadonlyMap<number, Mutant>): string {
  const edits = [...mutants].flatMap(
    ([
      number,
      {
        probed: { start, end, isStatement },
      },
    ]) => {
      const call = `globalThis.${PROBE}?.(${number})`
      // Of a statement and an expression that are alike, the statement is around the other.
      const size = end - start + (isStatement ? 0.5 : 0)
      return [
        { at: start, text: isStatement ? `{${call};` : `(${call},`, size: -size },
        { at: end, text: isStatement ? '}' : ')', size },
      ]
    },
  )
  // At one place, what ends there closes before others open: the smallest first, and it opens last.
  edits.sort((a, b) => a.at - b.at || Math.sign(b.size) - Math.sign(a.size) || a.size - b.size)
  let at = 0
  let result = ''
  for (const edit of edits) {
    result += source.slice(at, edit.at) + edit.text
    at = edit.at
  }
  return result + source.slice(at)
}
