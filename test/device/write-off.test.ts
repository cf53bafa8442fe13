/**
 * Pages that are dead: what they held is written off, and who is asked to spare something before.
 */
import { describe, expect, test } from 'vitest'
import { exchange, settle } from '../../src/device/device.js'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import {
  pagesOf,
  pagesWithOffers,
  writeOffOldest,
  writeOffPages,
} from '../../src/device/write-off.js'
import { range } from '../support/ranges.js'

const device: DeviceState = {
  ...emptyState(),
  ranges: [range(41, 50)],
  leases: [
    { id: 'dead:0.0', page: 'dead', range: range(1, 10) },
    { id: 'alive:0.0', page: 'alive', range: range(11, 20) },
  ],
  offers: [
    { id: 'dead:0.offer0', page: 'dead', range: range(21, 25) },
    { id: 'dead:0.offer1', page: 'dead', range: range(26, 30, { token: 't' }) },
    { id: 'alive:0.offer0', page: 'alive', range: range(31, 35) },
    { id: 'gone:0.offer0', page: 'gone', range: range(36, 40, { token: 't' }), isSent: true },
  ],
}

test('the pages of a device are those that hold leases, or offers that they may still send', () => {
  expect(pagesOf(device)).toEqual(new Set(['dead', 'alive']))
})

describe('those who could send numbers back, but need not,', () => {
  test('are the pages whose offers make up for what is missing', () => {
    expect(pagesWithOffers(device, 25)).toEqual(new Set(['dead', 'alive']))
  })

  test('are nobody when enough is free, or when all of them together have too little', () => {
    expect(pagesWithOffers(device, 10)).toEqual(new Set())
    expect(pagesWithOffers(device, 26)).toEqual(new Set())
  })
})

describe('a page that is dead', () => {
  const written = writeOffPages(device, new Set(['dead']))

  test('loses its leases: they are gaps, below which no claim may go, and never free again', () => {
    expect(written.leases.map(({ id }) => id)).toEqual(['alive:0.0'])
    expect(written.gaps.crash).toBe(10)
    expect(written.issued).toBe(10)
    expect(written.ranges).toEqual(device.ranges)
    expect(settle(written, [{ lease: 'dead:0.0', next: 1 }])).toEqual(written)
  })

  test('loses its offers: without a token for ever, with one until the server answers', () => {
    expect(written.offers.map(({ id, isSent }) => [id, isSent])).toEqual([
      ['dead:0.offer1', true],
      ['alive:0.offer0', undefined],
      ['gone:0.offer0', true],
    ])
    expect(written.gaps.giveBack).toBe(5)
  })

  test('takes nothing of others with it', () => {
    expect(writeOffPages(device, new Set(['unknown', 'gone']))).toEqual(device)
  })
})

describe('when there are too many to remember', () => {
  const leases = (page: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: `${page}:0.${i}`,
      page,
      range: range(1 + 2 * i, 1 + 2 * i, { prefix: `${page}/` }),
    }))

  test('a page that is asking keeps all its leases, however many', () => {
    const state = { ...emptyState(), leases: leases('busy', 500) }
    expect(writeOffOldest(state, 'busy')).toEqual(state)
  })

  test('the oldest pages are written off whole', () => {
    const pages = Array.from({ length: 70 }, (_, i) => `page${i}`)
    const state = { ...emptyState(), leases: pages.flatMap((page) => leases(page, 3)) }
    const left = writeOffOldest(state, 'page2')
    expect([...pagesOf(left)]).toEqual(['page2', ...pages.slice(7)])
    expect(left.leases).toHaveLength(64 * 3)
    expect(left.gaps.crash).toBe(6 * 3)
  })
})

test('a page that is leased a thousand ranges at once keeps all, however it names them', () => {
  const ranges = Array.from({ length: 1_000 }, (_, i) => range(2 * i + 1, 2 * i + 1))
  const request = { page: 'region', id: 'region.1', want: 1_000, notes: [], cuts: [], takeBack: [] }
  const { leases, outstanding, state } = exchange(
    { ...emptyState(), ranges },
    { ...request, offer: false },
    0,
  )
  expect(leases).toHaveLength(1_000)
  expect(outstanding).toEqual(leases)
  expect(state.gaps.crash).toBe(0)
})
