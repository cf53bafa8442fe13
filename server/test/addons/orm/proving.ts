/** A back end that stores records one at a time, while `check --prove` watches. */
import { prove } from '../../../src/cli/prove.js'
import type { ServeOptions } from '../../../src/index.js'

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
  let wake = () => {}
  let isOver = false
  const proving = prove(options, {
    name,
    seconds: 60,
    everyMs: 1,
    say(line) {
      lines.push(line)
      wake()
    },
  }).finally(() => {
    isOver = true
    wake()
  })
  proving.catch(() => {})
  for (let heard = 0; !isOver; )
    if (lines.length > heard) {
      heard = lines.length
      await storeOne()
    } else await new Promise<void>((resolve) => (wake = resolve))
  await proving
  return lines
}
