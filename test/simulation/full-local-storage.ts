/**
 * The word `full-local-storage`: for a while the app has filled `localStorage`. What a page leaves
 * as it goes is in IndexedDB, too, so no number is lost where the engine keeps that.
 */
import type { Word } from './words.js'

const LONGEST_MS = 60_000

export const fullLocalStorage: Word = {
  fits: () => true,
  happens(simulation, { disk, traits }, random) {
    // There, what a page writes to IndexedDB as it goes is lost.
    if (traits.engine === 'webkit') return
    simulation.hit('localStorage full')
    disk.localStorage.isFull = true
    const { scheduler, driver } = simulation
    scheduler.post(driver, random.between(1, LONGEST_MS), 'localStorage has room again', () => {
      disk.localStorage.isFull = false
    })
  },
}
