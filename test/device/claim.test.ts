/** The device’s claims: stored before they are sent, and each grant added once. */
import { describe, expect, test } from 'vitest'
import { addGrant, beginClaim, dropClaim } from '../../src/device/claim.js'
import { exchange, setAside, settle } from '../../src/device/device.js'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'
import { exchangeOf } from '../support/world.js'

describe('a claim', () => {
  test('is stored once and stays the same until it is answered', () => {
    const { state, claim } = beginClaim(emptyState(), 'c1', 1, 32, 0)
    expect(claim).toEqual({ id: 'c1', lastBatchSize: 32, lastMax: 0 })
    expect(beginClaim(state, 'c2', 500, 32, 0)).toEqual({ state, claim })
  })

  test('is not made when enough is free', () => {
    expect(
      beginClaim({ ...emptyState(), ranges: [range(1, 16)] }, 'c1', 16, 32, 0).claim,
    ).toBeUndefined()
  })

  test('names the highest number that was issued or may still be, wherever it is', () => {
    const lastMax = (state: Partial<DeviceState>) =>
      beginClaim({ ...emptyState(), ...state }, 'c1', 1000, 32, 0).claim!.lastMax
    expect(lastMax({ issued: 7 })).toBe(7)
    expect(lastMax({ ranges: [range(1, 9)], issued: 7 })).toBe(9)
    expect(lastMax({ leases: [{ id: 'L', page: 'page', range: range(20, 30) }] })).toBe(30)
    expect(lastMax({ offers: [{ id: 'O', page: 'p', range: range(20, 30) }] })).toBe(30)
  })

  test('asks for the target that was set on this device, not for the option', () => {
    expect(beginClaim({ ...emptyState(), reserve: 500 }, 'c1', 1, 32, 0).claim!.lastBatchSize).toBe(
      500,
    )
  })

  test('counts what busy pages hold as issued, for half a minute after a grant', () => {
    const asked = (held: number, age: number) => {
      const leases = [{ id: 'L', page: 'page', range: range(1, held) }]
      const state = { ...emptyState(), leases, sinceGrant: { at: 1_000, issued: 100 } }
      return beginClaim(state, 'c1', 1, 32, 1_000 + age).claim!.lastBatchSize
    }
    // What a page at rest holds does not count.
    expect(asked(16, 0)).toBe(200)
    expect(asked(17, 0)).toBe(202)
    expect(asked(1_016, 29_999)).toBe(2_200)
    expect(asked(1_016, 30_000)).toBe(100)
    expect(asked(1_016, -30_000)).toBe(200)
  })

  test('that is dropped makes room for a new one; another one stays', () => {
    const { state } = beginClaim(emptyState(), 'c1', 1, 32, 0)
    expect(dropClaim(state, 'c1').claim).toBeUndefined()
    expect(dropClaim(state, 'c0')).toBe(state)
  })
})

describe('a grant', () => {
  const claimed = beginClaim(emptyState(), 'c1', 1, 32, 0).state
  const granted = { range: range(1, 32, { token: 't' }) }

  test('becomes free numbers and ends its claim', () => {
    const state = addGrant(claimed, 'c1', granted, 0)
    expect(state).toMatchObject({ ranges: [granted.range], serverTag: 'A' })
    expect(state.claim).toBeUndefined()
  })

  test.each([
    ['with a token', granted],
    ['without a token', { range: range(1, 32) }],
  ])('%s is added once, however many tabs saw the answer', (_, answer) => {
    const state = addGrant(claimed, 'c1', answer, 0)
    expect(addGrant(state, 'c1', answer, 0)).toBe(state)
  })

  test('that comes again after its numbers were given back is not added', () => {
    const granted = { range: range(1, 32) }
    const state = addGrant(claimed, 'c1', granted, 0)
    const { state: aside, offers } = setAside(state, 'p', 'p:1', 0)
    const sent = settle(aside, [{ lease: offers[0]!.id, next: 1, givenBack: true }])
    const next = beginClaim(sent, 'c2', 1, 32, 0).state
    expect(addGrant(next, 'c1', granted, 0)).toBe(next)
  })

  test('without a token is dropped when its numbers were issued before', () => {
    const granted = { range: range(1, 32) }
    const state = addGrant(claimed, 'c1', granted, 0)
    const { state: leased } = exchange(state, exchangeOf({ want: 32 }), 32)
    const issued = settle(leased, [{ lease: leased.leases[0]!.id, next: 33 }])
    const next = beginClaim(issued, 'c2', 1, 32, 0).state
    expect(addGrant(next, 'c2', granted, 0)).toEqual(issued)
  })

  test('with a token may be below what was issued: the server had the numbers back', () => {
    const state = { ...claimed, issued: 32, nodes: ['orders/…-A'] }
    expect(addGrant(state, 'c1', granted, 0).ranges).toEqual([granted.range])
  })

  test('without a token is dropped when it is number 0 again', () => {
    const granted = { range: range(0, 0) }
    const state = addGrant(claimed, 'c1', granted, 0)
    const { state: leased } = exchange(state, exchangeOf({ want: 1 }), 32)
    const issued = settle(leased, [{ lease: leased.leases[0]!.id, next: 1 }])
    const next = beginClaim(issued, 'c2', 1, 32, 0).state
    expect(addGrant(next, 'c2', granted, 0)).toEqual(issued)
  })

  test('without a token may begin at 0, which a device that has issued nothing takes', () => {
    const granted = { range: range(0, 99) }
    expect(addGrant(claimed, 'c1', granted, 0).ranges).toEqual([granted.range])
  })

  test.each([
    ['of a node that has granted nothing yet is added', ['A'], 'B', true],
    ['of the only node that has granted is dropped', ['A'], 'A', false],
    ['of the first of two nodes is dropped', ['A', 'B'], 'A', false],
    ['of the second of two nodes is dropped', ['A', 'B'], 'B', false],
    ['of a third node is dropped: two are remembered', ['A', 'B'], 'C', false],
  ])('without a token, below what was issued, %s', (_, tags, serverTag, isAdded) => {
    const nodes = tags.map((tag) => `orders/…-${tag}`)
    const state = { ...claimed, issued: 32, nodes }
    const added = addGrant(state, 'c1', { range: range(1, 32, { serverTag }) }, 0)
    expect(added.ranges).toHaveLength(isAdded ? 1 : 0)
  })

  test.each<[string, Partial<DeviceState>]>([
    ['free', { ranges: [range(20, 40)] }],
    ['leased', { leases: [{ id: 'L', page: 'page', range: range(32, 40) }] }],
    ['offered', { offers: [{ id: 'O', page: 'p', range: range(1, 1) }] }],
  ])('that overlaps a %s number is refused with what to do', (_, held) => {
    const state = { ...claimed, ...held }
    expect(() => addGrant(state, 'c1', granted, 0)).toThrow(
      expect.objectContaining({
        code: 'invalid-response',
        message: expect.stringContaining('raise-floor'),
      }),
    )
  })

  test('of numbers that were sent back shows that they arrived', () => {
    const state: DeviceState = {
      ...claimed,
      offers: [{ id: 'O', page: 'p', range: range(17, 32, { token: 'old' }), isSent: true }],
    }
    expect(addGrant(state, 'c1', granted, 0)).toMatchObject({ offers: [], ranges: [granted.range] })
  })

  test('of numbers offered under a token shows that they arrived, even without a note', () => {
    const state: DeviceState = {
      ...claimed,
      offers: [{ id: 'O', page: 'p', range: range(17, 32, { token: 'old' }) }],
    }
    expect(addGrant(state, 'c1', granted, 0)).toMatchObject({ offers: [], ranges: [granted.range] })
  })

  test('of numbers offered without a token is refused: nobody knows if they were sent', () => {
    const state: DeviceState = {
      ...claimed,
      offers: [{ id: 'O', page: 'p', range: range(17, 32) }],
    }
    expect(() => addGrant(state, 'c1', granted, 0)).toThrow('already holds')
  })
})
