/**
 * Reads `survivors.md`: the mutants that no test can notice, or that need none to notice them, each
 * with the reason.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ENTRY = /^\* `(.*)`$/

/** @returns the reason of each, by its name */
export const survivors = (repository: string): Map<string, string> =>
  parseSurvivors(readFileSync(join(repository, 'scripts/survivors.md'), 'utf8'))

/** A paragraph gives a reason, then the mutants that it is the reason of. */
function parseSurvivors(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const paragraph of text.split('\n\n')) {
    const lines = paragraph.trim().split('\n')
    const reason = lines.filter((line) => !ENTRY.test(line)).join(' ')
    for (const name of lines.flatMap((line) => ENTRY.exec(line)?.[1] ?? [])) {
      if (found.has(name)) throw new Error(`survivors.md names this twice: ${name}`)
      if (!reason) throw new Error(`survivors.md gives no reason for this: ${name}`)
      found.set(name, reason)
    }
  }
  return found
}
