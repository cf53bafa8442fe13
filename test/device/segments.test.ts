/** A device’s state as segments of the number line. */
import { describe, expect, test } from 'vitest'
import { segmentsOf } from '../../src/device/segments.js'
import { emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'

const state = {
  ...emptyState(),
  ranges: [range(33, 64, { token: 'secret' })],
  leases: [
    { id: 'page2:1.0', page: 'page2', range: range(17, 32, { token: 'secret' }) },
    { id: 'page1:0.0', page: 'page1', range: range(1, 16, { token: 'secret' }) },
  ],
  offers: [
    { id: 'page1:1.offer0', page: 'page1', range: range(65, 70) },
    { id: 'page3:1.offer0', page: 'page3', range: range(71, 72), isSent: true as const },
  ],
}
const numbers = (from: number, to: number) => ({ from, to, prefix: 'orders/', serverTag: 'A' })

describe('the segments of a device', () => {
  test('are who has which numbers, lowest first, without a token', () => {
    expect(segmentsOf(state, [])).toEqual([
      { ...numbers(1, 16), kind: 'leased', page: 'page1' },
      { ...numbers(17, 32), kind: 'leased', page: 'page2' },
      { ...numbers(33, 64), kind: 'granted' },
      { ...numbers(65, 70), kind: 'offered', page: 'page1' },
      { ...numbers(71, 72), kind: 'given-back' },
    ])
  })

  test('tell what a page has issued of its lease from what it still holds', () => {
    expect(segmentsOf(state, [{ lease: 'page1:0.0', next: 6 }]).slice(0, 3)).toEqual([
      { ...numbers(1, 5), kind: 'issued', page: 'page1' },
      { ...numbers(6, 16), kind: 'leased', page: 'page1' },
      { ...numbers(17, 32), kind: 'leased', page: 'page2' },
    ])
  })

  test.each([
    ['used up', 17, ['issued', 'leased']],
    ['not begun', 1, ['leased', 'leased']],
    ['said to be used beyond its end', 99, ['issued', 'leased']],
  ])('show a lease that is %s as one', (_, next, kinds) => {
    const segments = segmentsOf(state, [{ lease: 'page1:0.0', next }])
    expect(segments.slice(0, 2).map(({ kind }) => kind)).toEqual(kinds)
    expect(segments[0]).toMatchObject({ from: 1, to: 16 })
  })

  test('know nothing of a lease that is settled already', () => {
    expect(segmentsOf(state, [{ lease: 'page1:9.0', next: 6 }])).toEqual(segmentsOf(state, []))
  })
})
