/** A back end that stores records one at a time, while `check --prove` watches. */
import { prove } from '../../../src/cli/prove.js'
import type { ServeOptions } from '../../../src/index.js'

/** It watches, or shows the id of the record before. */
const ASKS = /^(Watching|\d)/

/**
 * Resolves with the lines for the terminal.
 * @param storeOne stores one record more
 * @throws Error as the command does
 */
export async function proveBeside(
  options: ServeOptions,
  storeOne: () => Promise<unknown>,
  name?: string,
): Promise<string[]> {
  const lines: string[] = []
  let asked = 0
  let isStoring = false
  let wake = () => {}
  let isOver = false
  const proving = prove(options, {
    name,
    seconds: 60,
    everyMs: 1,
    say(line) {
      lines.push(line)
      // While a record is stored, its value comes before its id.
      if (ASKS.test(line) || !isStoring) asked++
      wake()
    },
  }).finally(() => {
    isOver = true
    wake()
  })
  proving.catch(() => {})
  for (let stored = 0; !isOver; )
    if (asked > stored) {
      stored++
      isStoring = true
      await storeOne()
      isStoring = false
    } else await new Promise<void>((resolve) => (wake = resolve))
  await proving
  return lines
}
