/** What a status shows of a transaction. */
import { expect, test } from 'vitest'
import { heardElsewhere, noticeOf, show } from '../../../src/device/owner/shown.js'
import { emptyState } from '../../../src/device/state.js'
import { range } from '../../support/ranges.js'

const around = { date: 0, reserve: 32, keep: 32, isHeard: true, isAlone: true }
const state = { ...emptyState(), ranges: [range(1, 36)], serverTag: 'A' }

test('counts what exceeds the reserve as surplus, and nothing as free between two ledgers', () => {
  expect(show(state, around)).toMatchObject({ free: 36, reserve: 32, surplus: 4, serverTag: 'A' })
  const stopped = { of: 'first', by: 'second', tag: 'A', at: 0, numbers: 36 }
  expect(show({ ...state, stopped }, around)).toMatchObject({ free: 0, surplus: 0, stopped })
})

test('names the node where this page hears of others, and two nodes from the second on', () => {
  expect(show(state, { ...around, isHeard: false }).serverTag).toBeUndefined()
  expect(show({ ...state, nodes: ['a'] }, around)).not.toHaveProperty('mixedNodes')
  expect(show({ ...state, nodes: ['a', 'b'] }, around).mixedNodes).toEqual(['a', 'b'])
})

test('keeps what an older message does not know, and no node that two tabs disagree on', () => {
  const mine = show({ ...state, nodes: ['a', 'b'] }, around)
  const older = show({ ...state, ranges: [range(1, 37)] }, around)
  expect(heardElsewhere(mine, older)).toEqual({ ...older, mixedNodes: ['a', 'b'] })
  expect(heardElsewhere(mine, { ...older, serverTag: 'B' }).serverTag).toBeUndefined()
})

test('says what became of stored ranges, the gravest first', () => {
  const { gaps } = state
  const then = (more: object) => ({ ...state, gaps: { ...gaps, ...more } })
  expect(noticeOf(state, state)).toBeUndefined()
  expect(noticeOf(state, state, 'it is cut short')?.code).toBe('storage-failed')
  expect(noticeOf(state, then({ drop: 1 }), 'it is cut short')?.code).toBe('dropped')
  expect(noticeOf(state, then({ drop: 1, fork: 1 }))?.code).toBe('forked')
  const followed = { of: 'first', by: 'second', tag: 'A', at: 0, numbers: 36 }
  expect(noticeOf(state, { ...then({ fork: 1 }), followed })?.code).toBe('other-ledger')
})
