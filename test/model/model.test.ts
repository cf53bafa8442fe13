/**
 * Every way that messages, crashes, copies and restores can interleave, within bounds that are
 * said.
 */
import { describe, expect, test } from 'vitest'
import { sizeOf } from '../support/sizes.js'
import { boundsOf, CORNERS } from './bounds.js'
import { type Exploration, explore } from './explorer.js'
import { report } from './report.js'
import { hiloModel } from './system.js'

/** Of one corner, within its small bounds and within its larger ones. */
const SMALL_STATES = sizeOf('SMALL_STATES')
const STATES = sizeOf('STATES')

describe('in every reachable state, no number has two owners or is lost without a cause', () => {
  test.each(Object.keys(CORNERS))(
    '%s',
    (corner) => {
      const { isComplete, states } = explored(corner, 'small', SMALL_STATES)
      expect(isComplete || states >= SMALL_STATES).toBe(true)
      expect(states).toBeGreaterThan(100)
      if (STATES > 0) explored(corner, 'full', STATES)
    },
    900_000,
  )
})

test('a corner that begins with what cannot happen says so, and what can', () => {
  const model = hiloModel(boundsOf('a server that forgets old grants', 'small'), ['It rains.'])
  expect(() => model.initial()).toThrow(
    'This cannot happen: It rains.\nThis can:\nA page opens on device a.\nDevice a sends a claim.',
  )
})

function explored(corner: string, size: 'small' | 'full', states: number): Exploration {
  const found = explore(hiloModel(boundsOf(corner, size), CORNERS[corner]!.before), { states })
  console.log(`${corner}: ${report(found)}`)
  expect(found.violation?.trace, found.violation?.problem).toBeUndefined()
  return found
}
