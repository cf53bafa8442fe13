/** Runs with each file of tests that a judge runs: notes which probes each test has reached. */
import { afterEach, beforeAll } from 'vitest'
import { PROBE } from './probes.js'

const reached = new Set<number>()
/** What loading the file has reached: it matters to all of its tests. */
let loaded: number[] = []
Object.assign(globalThis, { [PROBE]: (mutant: number) => reached.add(mutant) })

beforeAll(() => {
  loaded = [...reached]
  reached.clear()
})

afterEach(({ task }) => {
  task.meta.reached = [...loaded, ...reached]
  reached.clear()
})
