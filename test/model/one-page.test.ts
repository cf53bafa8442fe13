/**
 * The production page with its callers, its timers and its messages, in every order of events
 * within bounds that are said.
 */
import { expect, test } from 'vitest'
import { createRandom } from '../simulation/random.js'
import { seed, sizeOf } from '../support/sizes.js'
import { PAGE_CORNERS } from './one-page-corners.js'
import { explorePage } from './one-page-model.js'
import { report } from './report.js'

const STATES = sizeOf('PAGE_STATES')
const WALKS = sizeOf('PAGE_WALKS')
const SEED = seed()

test.each(Object.keys(PAGE_CORNERS))(
  'a page asks one thing at a time, forgets nobody and comes to rest: %s',
  async (corner) => {
    const limits = { states: STATES, walks: WALKS, random: createRandom(SEED) }
    const found = await explorePage(PAGE_CORNERS[corner]!, limits)
    console.log(`${corner}: ${report(found)}`)
    const problem = found.violation && `${found.violation.problem} TEST_SEED=${SEED}`
    expect(found.violation?.trace, problem).toBeUndefined()
    expect(found.isComplete || found.states >= STATES).toBe(true)
  },
  900_000,
)
