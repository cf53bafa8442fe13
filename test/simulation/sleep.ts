/**
 * The word `sleep`: the lid of a laptop is closed, in the middle of anything, and opened later. No
 * page hears of it. Then all that was to happen meanwhile is due at once, in any order.
 */
import type { Word } from './words.js'

const SHORTEST_MS = 1_000
const LONGEST_MS = 12 * 3_600_000

export const sleep: Word = {
  fits: () => true,
  happens(simulation, _, random) {
    const { scheduler, driver } = simulation
    const ms = SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random.next()
    scheduler.note(driver, `all sleep for ${Math.round(ms / 1_000)} s`)
    scheduler.sleep(ms, driver)
    simulation.hit('device slept')
  },
}
