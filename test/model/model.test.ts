/**
 * Every way that messages, crashes, copies and restores can interleave, within bounds that are
 * said.
 */
import { describe, expect, test } from 'vitest'
import { isFull, sizeOf } from '../support/sizes.js'
import { boundsOf, CORNERS } from './bounds.js'
import { explore } from './explorer.js'
import { report } from './report.js'
import { hiloModel } from './system.js'

const STATES = sizeOf('STATES')

describe('in every reachable state, no number has two owners or is lost without a cause', () => {
  test.each(Object.keys(CORNERS))(
    '%s',
    (corner) => {
      const found = explore(hiloModel(boundsOf(corner, isFull ? 'full' : 'small')), {
        states: STATES,
      })
      console.log(`${corner}: ${report(found)}`)
      expect(found.violation?.trace, found.violation?.problem).toBeUndefined()
      expect(found.states).toBeGreaterThan(100)
      expect(isFull || found.isComplete).toBe(true)
    },
    900_000,
  )
})
