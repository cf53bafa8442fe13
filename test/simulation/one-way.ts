/**
 * The word `one-way`: for a while, the link of a device loses all that goes in one direction. The
 * server hears the requests, and no answer comes; or no request arrives. No error says so: the
 * device waits until its own time is over.
 */
import type { Word } from './words.js'

const LONGEST_MS = 300_000

export const oneWay: Word = {
  fits: ({ faults }) => faults.size > 0,
  happens({ network, scheduler, driver }, { name }, random) {
    network.losing.set(name, random.pick(['requests', 'answers']))
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(driver, passed, `the link of ${name} works again`, () =>
      network.losing.delete(name),
    )
  },
  heal: ({ network }) => network.losing.clear(),
}
