/** The device’s state, step by step: notes, leases, claims, offers and give-backs. */
import { describe, expect, test } from 'vitest'
import {
  addGrant,
  beginClaim,
  dropClaim,
  exchange,
  setAside,
  settle,
} from '../../src/core/device.js'
import { type DeviceState, type Exchange, emptyState } from '../../src/core/state.js'
import { range } from '../support/ranges.js'

const holding = (...ranges: DeviceState['ranges']): DeviceState => ({
  ...emptyState(),
  ranges,
  serverTag: 'A',
})

const request = (more: Partial<Exchange> = {}): Exchange => ({
  page: 'page1',
  id: 'page1:orders:0',
  want: 0,
  notes: [],
  cuts: [],
  takeBack: [],
  offer: false,
  ...more,
})

const leased = (from = 1, to = 16): DeviceState => ({
  ...holding(),
  leases: [{ id: 'L', range: range(from, to) }],
})

describe('settling a note', () => {
  test('burns what is below its next number and frees the rest', () => {
    const state = settle(leased(), [{ lease: 'L', next: 6 }])
    expect(state).toMatchObject({ ranges: [range(6, 16)], leases: [], issued: 5 })
  })

  test('happens once, whichever copy of the note comes first', () => {
    const first = settle(leased(), [{ lease: 'L', next: 6 }])
    for (const copy of [
      { lease: 'L', next: 1 },
      { lease: 'L', next: 6 },
      { lease: 'L', next: 17 },
    ])
      expect(settle(first, [copy])).toEqual(first)
  })

  test.each([0, -5, 1])(
    'that claims to start at %i frees no number outside the lease, and burns none',
    (next) => {
      expect(settle(leased(1, 16), [{ lease: 'L', next }])).toMatchObject({
        ranges: [range(1, 16)],
        issued: 0,
      })
    },
  )

  test.each([17, 1000, Number.NaN, 3.5, Number.POSITIVE_INFINITY, undefined, 'x', 2 ** 53])(
    'that says %s burns the whole lease: what is not said clearly may have been issued',
    (next) => {
      expect(settle(leased(), [{ lease: 'L', next: next as number }])).toMatchObject({
        ranges: [],
        leases: [],
        issued: 16,
      })
    },
  )

  test('of a lease whose rest was sent back keeps that rest away from everybody', () => {
    const state = settle(leased(), [{ lease: 'L', next: 6, givenBack: true }])
    expect(state).toMatchObject({ ranges: [], leases: [], offers: [], issued: 5 })
  })

  test("of a lease whose rest was sent back under a token waits for the server's word", () => {
    const state = settle(
      { ...holding(), leases: [{ id: 'L', range: range(1, 16, { token: 't' }) }] },
      [{ lease: 'L', next: 6, givenBack: true }],
    )
    expect(state).toMatchObject({
      ranges: [],
      leases: [],
      issued: 5,
      offers: [{ id: 'L', range: range(6, 16, { token: 't' }), isSent: true }],
    })
  })

  test('of an offer that was sent without a token forgets it for ever', () => {
    const offered = { ...holding(), offers: [{ id: 'O', page: 'page1', range: range(17, 32) }] }
    expect(settle(offered, [{ lease: 'O', next: 17, givenBack: true }])).toMatchObject({
      offers: [],
      ranges: [],
    })
  })

  test('of somebody unknown changes nothing', () => {
    expect(settle(leased(), [{ lease: 'other', next: 3, givenBack: true }])).toEqual(leased())
  })
})

describe('an exchange', () => {
  test('leases the lowest numbers, from as many ranges as it takes', () => {
    const { state, leases } = exchange(holding(range(1, 4), range(9, 20)), request({ want: 6 }), 32)
    expect(leases.map((lease) => lease.range)).toEqual([range(1, 4), range(9, 10)])
    expect(state.ranges).toEqual([range(11, 20)])
  })

  test('leases what there is when that is less than wanted', () => {
    expect(
      exchange(holding(range(1, 4)), request({ want: 16 }), 32).leases.map((lease) => lease.range),
    ).toEqual([range(1, 4)])
  })

  test('leases more to look ahead, but leaves half of the reserve free: no claim is for it', () => {
    const leases = (ahead: number) =>
      exchange(holding(range(1, 100)), request({ want: 10, ahead }), 100, 32).leases
    expect(leases(30)).toMatchObject([{ range: range(1, 40) }])
    expect(leases(1_000)).toMatchObject([{ range: range(1, 84) }])
  })

  test('leases what is wanted from below half of the reserve, and nothing to look ahead', () => {
    const { leases } = exchange(holding(range(1, 12)), request({ want: 10, ahead: 40 }), 100, 32)
    expect(leases).toMatchObject([{ range: range(1, 10) }])
  })

  test('that comes again after a lost answer gets the same answer and takes no more', () => {
    const first = exchange(holding(range(1, 64)), request({ want: 16, offer: true }), 32)
    const again = exchange(first.state, request({ want: 16, offer: true }), 32)
    expect(again).toEqual(first)
    expect(first.leases).toHaveLength(1)
    expect(first.offers).toHaveLength(1)
  })

  test('is not mistaken for another whose number begins alike', () => {
    const first = exchange(holding(range(1, 64)), request({ id: 'page1:orders:10', want: 4 }), 32)
    expect(
      exchange(first.state, request({ id: 'page1:orders:1', want: 4 }), 32).leases[0]!.range,
    ).toEqual(range(5, 8))
  })

  test('settles the notes it brings before it leases', () => {
    const { leases, state } = exchange(
      leased(),
      request({ notes: [{ lease: 'L', next: 6 }], want: 3 }),
      32,
    )
    expect(leases[0]!.range).toEqual(range(6, 8))
    expect(state.ranges).toEqual([range(9, 16)])
  })

  test('frees the tail of a lease that it cuts', () => {
    expect(exchange(leased(), request({ cuts: [{ lease: 'L', to: 9 }] }), 32).state).toMatchObject({
      leases: [{ id: 'L', range: range(1, 9) }],
      ranges: [range(10, 16)],
    })
  })

  test.each([16, 17, 0, -1])('cuts nothing at %i, outside the lease', (to) => {
    expect(exchange(leased(), request({ cuts: [{ lease: 'L', to }] }), 32).state).toEqual(leased())
  })

  test('tells a page which leases are its own', () => {
    const { state } = exchange(holding(range(1, 64)), request({ want: 4 }), 32)
    expect(
      exchange(state, request({ id: 'page1:orders:1', want: 4 }), 32).outstanding,
    ).toHaveLength(2)
    expect(
      exchange(state, request({ page: 'page2', id: 'page2:orders:0', want: 4 }), 32).outstanding,
    ).toHaveLength(1)
  })
})

describe('surplus', () => {
  test('above the reserve is set aside for the page that asks, highest numbers first', () => {
    const { state, offers } = exchange(
      holding(range(1, 64)),
      request({ want: 16, offer: true }),
      32,
    )
    expect(offers).toMatchObject([{ page: 'page1', range: range(49, 64) }])
    expect(state.ranges).toEqual([range(17, 48)])
  })

  test('is leased to nobody while it is set aside', () => {
    const { state } = exchange(holding(range(1, 64)), request({ offer: true }), 32)
    expect(
      exchange(state, request({ page: 'page2', id: 'page2:orders:0', want: 100 }), 32).leases.map(
        (lease) => lease.range,
      ),
    ).toEqual([range(1, 32)])
  })

  test('comes back to the page it was offered to, and to no other', () => {
    const { state, offers } = exchange(holding(range(1, 64)), request({ offer: true }), 32)
    const ids = offers.map(({ id }) => id)
    expect(
      exchange(state, request({ page: 'page2', id: 'page2:orders:0', takeBack: ids }), 32).state,
    ).toEqual(state)
    expect(
      exchange(state, request({ id: 'page1:orders:1', takeBack: ids }), 32).state,
    ).toMatchObject({
      offers: [],
      ranges: [range(1, 64)],
    })
  })

  test('that was sent does not come back to anybody', () => {
    const { state, offers } = exchange(
      holding(range(1, 64, { token: 't' })),
      request({ offer: true }),
      32,
    )
    const sent = settle(state, [{ lease: offers[0]!.id, next: 33, givenBack: true }])
    expect(
      exchange(sent, request({ id: 'page1:orders:1', takeBack: [offers[0]!.id] }), 32).state,
    ).toEqual(sent)
  })

  test('is only what the answering node granted: without a token no other may get it', () => {
    const state = holding(range(1, 32, { serverTag: 'B' }), range(33, 64))
    expect(setAside(state, 'page1', 'x', 0).offers.map((offer) => offer.range)).toEqual([
      range(33, 64),
    ])
    expect(setAside(state, 'page1', 'x', 0).state.ranges).toEqual([
      range(1, 32, { serverTag: 'B' }),
    ])
  })

  test('with a token may be of any node: the token names its grant', () => {
    const state = holding(range(1, 32, { serverTag: 'B', token: 't' }))
    expect(setAside(state, 'page1', 'x', 0).offers).toHaveLength(1)
  })

  test('counts what must stay, too: the reserve is kept even when it can never be returned', () => {
    const state = holding(range(1, 32, { serverTag: 'B' }), range(33, 64))
    expect(setAside(state, 'page1', 'x', 32).offers.map((offer) => offer.range)).toEqual([
      range(33, 64),
    ])
    expect(setAside(state, 'page1', 'x', 64)).toEqual({ state, offers: [] })
  })
})

describe('a claim', () => {
  test('is stored once and stays the same until it is answered', () => {
    const { state, claim } = beginClaim(emptyState(), 'c1', 1, 32)
    expect(claim).toEqual({ id: 'c1', lastBatchSize: 32, lastMax: 0 })
    expect(beginClaim(state, 'c2', 500, 32)).toEqual({ state, claim })
  })

  test('is not made when enough is free', () => {
    expect(beginClaim(holding(range(1, 16)), 'c1', 16, 32).claim).toBeUndefined()
  })

  test('names the highest number that was issued or may still be, wherever it is', () => {
    const lastMax = (state: Partial<DeviceState>) =>
      beginClaim({ ...emptyState(), ...state }, 'c1', 1000, 32).claim!.lastMax
    expect(lastMax({ issued: 7 })).toBe(7)
    expect(lastMax({ ranges: [range(1, 9)], issued: 7 })).toBe(9)
    expect(lastMax({ leases: [{ id: 'L', range: range(20, 30) }] })).toBe(30)
    expect(lastMax({ offers: [{ id: 'O', page: 'p', range: range(20, 30) }] })).toBe(30)
  })

  test('asks for the target that was set on this device, not for the option', () => {
    expect(beginClaim({ ...emptyState(), reserve: 500 }, 'c1', 1, 32).claim!.lastBatchSize).toBe(
      500,
    )
  })

  test('that is dropped makes room for a new one; another one stays', () => {
    const { state } = beginClaim(emptyState(), 'c1', 1, 32)
    expect(dropClaim(state, 'c1').claim).toBeUndefined()
    expect(dropClaim(state, 'c0')).toBe(state)
  })
})

describe('a grant', () => {
  const claimed = beginClaim(emptyState(), 'c1', 1, 32).state
  const granted = { range: range(1, 32, { token: 't' }), last: { size: 32, at: 'then' } }

  test('becomes free numbers and ends its claim', () => {
    const state = addGrant(claimed, 'c1', granted)
    expect(state).toMatchObject({ ranges: [granted.range], serverTag: 'A', last: granted.last })
    expect(state.claim).toBeUndefined()
  })

  test.each([
    ['with a token', granted],
    ['without a token', { range: range(1, 32) }],
  ])('%s is added once, however many tabs saw the answer', (_, answer) => {
    const state = addGrant(claimed, 'c1', answer)
    expect(addGrant(state, 'c1', answer)).toBe(state)
  })

  test('that comes again after its numbers were given back is not added', () => {
    const granted = { range: range(1, 32) }
    const state = addGrant(claimed, 'c1', granted)
    const { state: aside, offers } = setAside(state, 'p', 'p:1', 0)
    const sent = settle(aside, [{ lease: offers[0]!.id, next: 1, givenBack: true }])
    const next = beginClaim(sent, 'c2', 1, 32).state
    expect(addGrant(next, 'c1', granted)).toBe(next)
  })

  test('without a token is dropped when its numbers were issued before', () => {
    const granted = { range: range(1, 32) }
    const state = addGrant(claimed, 'c1', granted)
    const { state: leased } = exchange(state, request({ want: 32 }), 32)
    const issued = settle(leased, [{ lease: leased.leases[0]!.id, next: 33 }])
    const next = beginClaim(issued, 'c2', 1, 32).state
    expect(addGrant(next, 'c2', granted)).toEqual(issued)
  })

  test('without a token may begin at 0, which a device that has issued nothing takes', () => {
    const granted = { range: range(0, 99) }
    expect(addGrant(claimed, 'c1', granted).ranges).toEqual([granted.range])
  })

  test.each<[string, Partial<DeviceState>]>([
    ['free', { ranges: [range(20, 40)] }],
    ['leased', { leases: [{ id: 'L', range: range(32, 40) }] }],
    ['offered', { offers: [{ id: 'O', page: 'p', range: range(1, 1) }] }],
  ])('that overlaps a %s number is refused with what to do', (_, held) => {
    const state = { ...claimed, ...held }
    expect(() => addGrant(state, 'c1', granted)).toThrow(
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
    expect(addGrant(state, 'c1', granted)).toMatchObject({ offers: [], ranges: [granted.range] })
  })

  test('of numbers offered under a token shows that they arrived, even without a note', () => {
    const state: DeviceState = {
      ...claimed,
      offers: [{ id: 'O', page: 'p', range: range(17, 32, { token: 'old' }) }],
    }
    expect(addGrant(state, 'c1', granted)).toMatchObject({ offers: [], ranges: [granted.range] })
  })

  test('of numbers offered without a token is refused: nobody knows if they were sent', () => {
    const state: DeviceState = {
      ...claimed,
      offers: [{ id: 'O', page: 'p', range: range(17, 32) }],
    }
    expect(() => addGrant(state, 'c1', granted)).toThrow('already holds')
  })
})

test('what killed pages never settled is written off: a gap, and never free again', () => {
  let state = holding(range(1, 1000))
  for (let i = 0; i < 70; i++)
    state = exchange(
      state,
      request({ page: `page${i}`, id: `page${i}:orders:0`, want: 4 }),
      2000,
    ).state
  expect(state.leases).toHaveLength(64)
  expect(state.gaps).toEqual({ crash: 24, giveBack: 0, fork: 0 })
  expect(state.issued).toBe(24)
  expect(settle(state, [{ lease: 'page0:orders:0.0', next: 1 }])).toEqual(state)
})

test('offers that nobody sent or took back are written off in time, too', () => {
  let state = holding(range(1, 1000))
  for (let i = 0; i < 70; i++)
    state = exchange(
      state,
      request({ page: `page${i}`, id: `page${i}:orders:0`, offer: true }),
      1000 - 2 * (i + 1),
    ).state
  state = exchange(state, request({ id: 'page1:orders:9' }), 2000).state
  expect(state.offers).toHaveLength(64)
  expect(state.gaps.giveBack).toBe(12)
})
