/** The device’s state, step by step: notes, leases, offers and give-backs. */
import { describe, expect, test } from 'vitest'
import { exchange, setAside, settle } from '../../src/device/device.js'
import { type DeviceState, type Exchange, emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'
import { exchangeOf } from '../support/world.js'

const holding = (...ranges: DeviceState['ranges']): DeviceState => ({
  ...emptyState(),
  ranges,
  serverTag: 'A',
})

const request = (more: Partial<Exchange> = {}): Exchange =>
  exchangeOf({ id: 'page1:orders:0', ...more })

const leased = (from = 1, to = 16): DeviceState => ({
  ...holding(),
  leases: [{ id: 'L', page: 'page', range: range(from, to) }],
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

  test('of an exchange given up takes back what it offered, and what was sent stays', () => {
    const offer = { page: 'page1', range: range(1, 8, { token: 't' }) }
    const sent = { ...offer, id: 'page1:orders:0.0', isSent: true } as const
    const before = { ...offer, id: 'page1:orders:1.0', isSent: true } as const
    const aside = { ...offer, id: 'page1:orders:0.1', range: range(9, 16) }
    const state = { ...holding(), offers: [sent, before, aside] }
    const note = { exchange: 'page1:orders:0', takeBack: [before.id] }
    expect(settle(state, [note])).toMatchObject({ ranges: [aside.range], offers: [sent, before] })
  })

  test('of a lease whose rest was sent back keeps that rest away from everybody', () => {
    const state = settle(leased(), [{ lease: 'L', next: 6, givenBack: true }])
    expect(state).toMatchObject({ ranges: [], leases: [], offers: [], issued: 5 })
  })

  test.each([
    [9, [range(10, 16)], [range(6, 9)]],
    [16, [], [range(6, 16)]],
    [17, [], [range(6, 16)]],
    [5, [range(6, 16)], []],
    [3, [range(6, 16)], []],
    [Number.NaN, [], [range(6, 16)]],
  ])('of a lease that was sent back up to %d frees what is above', (sentTo, ranges, sent) => {
    const lease = { id: 'L', page: 'page', range: range(1, 16, { token: 't' }) }
    const note = { lease: 'L', next: 6, sentTo, givenBack: true as const }
    const settled = settle({ ...holding(), leases: [lease] }, [note])
    const withToken = (all: typeof ranges) => all.map((each) => ({ ...each, token: 't' }))
    expect(settled.ranges).toEqual(withToken(ranges))
    expect(settled.offers.map((offer) => offer.range)).toEqual(withToken(sent))
  })

  test("of a lease whose rest was sent back under a token waits for the server's word", () => {
    const state = settle(
      { ...holding(), leases: [{ id: 'L', page: 'page', range: range(1, 16, { token: 't' }) }] },
      [{ lease: 'L', next: 6, givenBack: true }],
    )
    expect(state).toMatchObject({
      ranges: [],
      leases: [],
      issued: 5,
      offers: [{ id: 'L', page: 'page', range: range(6, 16, { token: 't' }), isSent: true }],
    })
  })

  test('of an offer that was sent without a token forgets it for ever', () => {
    const offered = { ...holding(), offers: [{ id: 'O', page: 'page1', range: range(17, 32) }] }
    expect(settle(offered, [{ lease: 'O', next: 17, givenBack: true }])).toMatchObject({
      offers: [],
      ranges: [],
    })
  })

  test.each([
    ['names a lease and an exchange', { lease: 'L', next: 6, exchange: 'page1:orders:0' }],
    ['names a lease and no exchange', { lease: 'L', next: 6, exchange: undefined }],
    ['says of no offer whether it is taken back', { exchange: 'page1:orders:0' }],
  ])('that %s is ignored', (_, note) => {
    const offer = { id: 'O', page: 'page1', range: range(20, 24) }
    const state = { ...leased(), offers: [offer] }
    expect(settle(state, [note as never])).toEqual(state)
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
      leases: [{ id: 'L', page: 'page', range: range(1, 9) }],
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

test('what killed pages never settled is written off: a gap, and never free again', () => {
  let state = holding(range(1, 1000))
  for (let i = 0; i < 70; i++)
    state = exchange(
      state,
      request({ page: `page${i}`, id: `page${i}:orders:0`, want: 4 }),
      2000,
    ).state
  expect(state.leases).toHaveLength(64)
  expect(state.gaps).toEqual({ crash: 24, giveBack: 0, fork: 0, drop: 0 })
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
