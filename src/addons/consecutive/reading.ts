/** Reads a register for people, and closes a period. A page loads it on demand. */
import type { StoredSeries } from './numbers.js'
import { readState } from './state.js'
import type { SeriesStorage } from './storage.js'

export { exported } from './chain-export.js'
export { verified } from './chain-verify.js'
export { closePeriod } from './closing.js'
export { reportOf } from './report.js'
export { unfinished } from './unfinished.js'

/** All of them. */
const MOST_ENTRIES = 2 ** 32 - 1

/** All that is stored, in one read. */
export const allIn = (storage: SeriesStorage): Promise<StoredSeries> =>
  storage.read(async (tx) => {
    const [stored, numbers, links, entries] = await Promise.all([
      tx.state(),
      tx.numbers(),
      tx.links(),
      tx.entries(0, MOST_ENTRIES),
    ])
    return { state: readState(stored), numbers, links, entries }
  })
