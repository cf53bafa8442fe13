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
  // Two looks that see the same are shown: a record is stored before the first of them.
  let isDue = true
  await prove(options, {
    name,
    seconds: 60,
    say: (line) => lines.push(line),
    async pause() {
      if (isDue) await storeOne()
      isDue = !isDue
    },
  })
  return lines
}
