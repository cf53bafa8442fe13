/** What was in memory moves into what is stored: no number gets a second owner. */
import { expect, test } from 'vitest'
import { beginCheckIn, isCheckInDue, reportIn } from '../../src/device/check-in.js'
import { addGrant, beginClaim } from '../../src/device/claim.js'
import { exchange } from '../../src/device/device.js'
import { type DeviceState, type Exchange, emptyState } from '../../src/device/state.js'
import { readState } from '../../src/device/stored.js'
import { unite } from '../../src/device/unite.js'
import { range } from '../support/ranges.js'

const NOW = 1_763_709_000_000

const ask = (id: string, want: number): Exchange => ({
  page: 'page1',
  id,
  want,
  notes: [],
  cuts: [],
  takeBack: [],
  offer: false,
})

const granted = (from: number, to: number, token: string) => ({ ...range(from, to), token })

const stored: DeviceState = {
  ...emptyState(),
  ranges: [granted(1, 200, 't1')],
  grants: ['t1'],
  serverTag: 'A',
  ledgers: { A: 'one' },
}

/** Claimed 201–232 in memory, leased ten of them to a page, and offered it ten. */
const apart: DeviceState = {
  ...emptyState(),
  isApart: true,
  ranges: [granted(221, 232, 't2')],
  leases: [{ id: 'page1:1.0', page: 'page1', range: granted(201, 210, 't2') }],
  offers: [{ id: 'page1:1.offer0', page: 'page1', range: granted(211, 220, 't2') }],
  issued: 7,
  gaps: { ...emptyState().gaps, crash: 3 },
  grants: ['t2'],
  serverTag: 'A',
  sinceGrant: { at: NOW, issued: 7 },
  ledgers: { A: 'one' },
  unheard: ['t2'],
}

test('the nodes of both are remembered, where there are two', () => {
  const nodesOf = (of?: string[], others?: string[]) =>
    unite(
      { ...stored, ...(of && { nodes: of }) },
      { ...apart, ...(others && { nodes: others }) },
      NOW,
    ).nodes
  expect(nodesOf()).toBeUndefined()
  expect(nodesOf(undefined, ['A'])).toEqual(['A'])
  expect(nodesOf(['A'], ['A', 'B'])).toEqual(['A', 'B'])
})

test('free numbers are free, and what a page holds or may have given back is its own', () => {
  const united = unite(stored, apart, NOW)
  expect(readState(united)).toEqual({ state: united })
  expect(united).toMatchObject({
    ranges: [granted(1, 200, 't1'), granted(221, 232, 't2')],
    leases: apart.leases,
    offers: apart.offers,
    grants: ['t1', 't2'],
    gaps: { crash: 3 },
    unheard: ['t2'],
  })
  expect(united.isApart).toBeUndefined()
})

test('the page settles what it was leased in memory, and uses what was stored', () => {
  const note = { lease: 'page1:1.0', next: 206 }
  const { state, leases } = exchange(
    unite(stored, apart, NOW),
    { ...ask('page1:2', 3), notes: [note] },
    Number.POSITIVE_INFINITY,
  )
  expect(leases.map((lease) => lease.range)).toEqual([granted(1, 3, 't1')])
  expect(state.issued).toBe(205)
  expect(state.ranges).toEqual([granted(4, 200, 't1'), granted(206, 210, 't2'), apart.ranges[0]])
})

test('what its claim brings is a gap', () => {
  const before = beginClaim({ ...apart, ranges: [] }, 'claim', 32, 32, NOW)
  expect(before.claim).toMatchObject({ id: 'claim' })
  const united = unite(stored, before.state, NOW)
  expect(united.claim).toBeUndefined()
  expect(addGrant(united, 'claim', { range: range(300, 331) }, NOW)).toBe(united)
})

test('what overlaps stays out: a number would have two owners', () => {
  const twice = { ...stored, ranges: [granted(1, 205, 't1')] }
  expect(unite(twice, apart, NOW)).toBe(twice)
})

test('of another ledger, the device stops: it has heard two', () => {
  const { stopped } = unite(stored, { ...apart, ledgers: { A: 'two' } }, NOW)
  expect(stopped).toMatchObject({ of: 'one', by: 'two', tag: 'A' })
})

test('of a ledger that the device has left, nothing is taken over', () => {
  const moved = { ...stored, former: ['two'] }
  expect(unite(moved, { ...apart, ledgers: { A: 'two' } }, NOW)).toBe(moved)
})

test('in memory no token is shown', () => {
  const { claim } = beginClaim({ ...apart, ranges: [] }, 'claim', 32, 32, NOW)
  expect(claim!.shown).toBeUndefined()
  expect(beginCheckIn(apart, 'check').request).toBeUndefined()
  expect([isCheckInDue(apart, NOW), reportIn(apart, NOW)]).toEqual([false, undefined])
})
