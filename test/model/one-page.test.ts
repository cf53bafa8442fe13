/**
 * The production page with its callers, its timers and its messages, in every order of events
 * within bounds that are said.
 */
import { expect, test } from 'vitest'
import { sizeOf } from '../support/sizes.js'
import { PAGE_CORNERS } from './one-page-corners.js'
import { explorePage } from './one-page-model.js'
import { report } from './report.js'

const STATES = sizeOf('PAGE_STATES')

test.each(Object.keys(PAGE_CORNERS))(
  'a page asks one thing at a time, forgets nobody and comes to rest: %s',
  async (corner) => {
    const found = await explorePage(PAGE_CORNERS[corner]!, { states: STATES })
    console.log(`${corner}: ${report(found)}`)
    expect(found.violation?.trace, found.violation?.problem).toBeUndefined()
    expect(found.isComplete || found.states >= STATES).toBe(true)
  },
  900_000,
)
