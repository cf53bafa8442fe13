/** A device that starts: does it lease, or ask the server first? */
import { expect, test } from 'vitest'
import { ended, found, wanted } from '../../../src/device/owner/start.js'

test('the first page that asks waits, and so does each one until the start is over', () => {
  expect(wanted('open', true)).toEqual(['asking', true])
  expect(wanted('asking', true)).toEqual(['asking', true])
  expect(wanted(ended('asking'), true)).toEqual(['over', false])
})

test('without a network nobody waits, unless the question is under way', () => {
  expect(wanted('open', false)).toEqual(['over', false])
  expect(wanted('asking', false)).toEqual(['asking', true])
})

test('a transaction that finds nothing to ask for ends a start that is open, and no other', () => {
  expect(found('open', true)).toBe('open')
  expect(found('open', false)).toBe('over')
  expect(found('asking', false)).toBe('asking')
  expect(found('over', true)).toBe('over')
})

test('an end of the question does not end a start that has begun anew', () => {
  expect(ended('open')).toBe('open')
})
