/**
 * Check-in: what comes back comes under a new token, and a copy drops what the other one went on
 * with.
 */
import { describe, expect, test } from 'vitest'
import {
  applyCheckIn,
  applyShown,
  asksFirst,
  beginCheckIn,
  claimsFirst,
  isCheckInDue,
  reportIn,
  tokenToShow,
  withUse,
} from '../../src/device/check-in.js'
import { addGrant, beginClaim, dropClaim } from '../../src/device/claim.js'
import { exchange, settle } from '../../src/device/device.js'
import { type DeviceState, type Exchange, emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'

const t1 = { token: 't1' }
const t2 = { token: 't2' }
const sent = { id: 'O', page: 'page1', range: range(17, 32, t1), isSent: true as const }

/** Free 9–16, leased 1–8, sent back 17–32. */
const device: DeviceState = {
  ...emptyState(),
  ranges: [range(9, 16, t1)],
  leases: [{ id: 'L', page: 'page', range: range(1, 8, t1) }],
  offers: [sent],
}

const checkedIn = (
  state: DeviceState,
  ...results: Parameters<typeof applyCheckIn>[2]['grants']
) => {
  const begun = beginCheckIn(state, 'k1')
  return applyCheckIn(begun.state, 'k1', { grants: results }, 5000)
}

describe('a check-in', () => {
  test('shows every token once, with the lowest number held under it', () => {
    const { request } = beginCheckIn(
      { ...device, ranges: [range(9, 16, t1), range(40, 50, t2)] },
      'k1',
    )
    expect(request).toEqual({
      id: 'k1',
      grants: [
        { token: 't1', next: 1 },
        { token: 't2', next: 40 },
      ],
      spent: [],
    })
  })

  test('of more tokens than a request takes shows first what was used, and then the rest', () => {
    const ranges = Array.from({ length: 102 }, (_, i) =>
      range(10 * i, 10 * i + 9, { token: `t${i}` }),
    )
    const used = { ...emptyState(), ranges, unheard: ['t101'] }
    const { state, request } = beginCheckIn(used, 'k1')
    expect(request!.grants).toHaveLength(100)
    expect(request!.grants[0]).toEqual({ token: 't101', next: 1010 })
    expect(state).not.toHaveProperty('unheard')
    const all = { ...used, unheard: ranges.map(({ token }) => token!) }
    const first = beginCheckIn(all, 'k1')
    expect(reportIn(first.state, 0)).toBe(0)
    const { checkIn: _, ...answered } = first.state
    const second = beginCheckIn(answered, 'k2')
    expect(second.request!.grants.slice(0, 2)).toEqual([
      { token: 't100', next: 1000 },
      { token: 't101', next: 1010 },
    ])
    expect(reportIn(second.state, 0)).toBeUndefined()
  })

  test('tells next of what was leased while it was under way, also under a new token', () => {
    const holding = { ...emptyState(), ranges: [range(1, 16, t1)], grants: ['t1'] }
    const { state } = beginCheckIn(holding, 'k1')
    const leases = [{ id: 'L', page: 'page', range: range(1, 8, t1) }]
    const used = withUse(state, { ...state, ranges: [range(9, 16, t1)], leases })
    const answered = applyCheckIn(used, 'k1', { grants: [{ token: 't2', high: 16 }] }, 5000)
    expect(answered.unheard).toEqual(['t2'])
    expect(beginCheckIn(answered, 'k2').request).toMatchObject({
      grants: [{ token: 't2' }],
      spent: [],
    })
  })

  test('that finds a copy has nothing to tell of what it drops', () => {
    const used = { ...device, grants: ['t1'], unheard: ['t1'] }
    const begun = { ...beginCheckIn(used, 'k1').state, unheard: ['t1'] }
    const dropped = applyCheckIn(begun, 'k1', { grants: [{ superseded: true }] }, 5000)
    expect(dropped).not.toHaveProperty('unheard')
    expect(beginCheckIn(dropped, 'k2').request).toBeUndefined()
  })

  test('that is pending is sent again as it was, whatever has happened since', () => {
    const begun = beginCheckIn(device, 'k1')
    expect(beginCheckIn({ ...begun.state, ranges: [] }, 'k2').request).toEqual(begun.request)
  })

  test('is not made when nothing held has a token', () => {
    expect(beginCheckIn({ ...emptyState(), ranges: [range(1, 9)] }, 'k1').request).toBeUndefined()
  })

  test('shows at most 100 tokens at a time', () => {
    const ranges = Array.from({ length: 120 }, (_, i) =>
      range(10 * i, 10 * i + 4, { token: `t${i}` }),
    )
    expect(beginCheckIn({ ...emptyState(), ranges }, 'k1').request!.grants).toHaveLength(100)
  })

  describe('tells which grants are spent', () => {
    const grant = (state: DeviceState, token: string, from: number) =>
      addGrant(
        { ...state, claim: { id: token, lastBatchSize: 32, lastMax: 0 } },
        token,
        {
          range: range(from, from + 7, { token }),
        },
        0,
      )
    const used: Exchange = {
      page: 'page1',
      id: 'page1:0',
      want: 8,
      notes: [],
      cuts: [],
      takeBack: [],
      offer: false,
    }
    const issuedWhole = { lease: 'page1:0.0', next: 9 }

    test('when nothing of them is held any more, once', () => {
      const both = grant(grant(emptyState(), 't1', 1), 't2', 9)
      const leased = exchange(both, used, 0).state
      expect(beginCheckIn(leased, 'k1').request).toMatchObject({ spent: [] })
      const { state, request } = beginCheckIn(settle(leased, [issuedWhole]), 'k1')
      expect(request).toEqual({ id: 'k1', grants: [{ token: 't2', next: 9 }], spent: ['t1'] })
      const told = applyCheckIn(state, 'k1', { grants: [{ token: 't3', high: 16 }] }, 5000)
      expect(beginCheckIn(told, 'k2').request).toEqual({
        id: 'k2',
        grants: [{ token: 't3', next: 9 }],
        spent: [],
      })
      const end = beginCheckIn({ ...told, ranges: [] }, 'k3')
      expect(end.request).toEqual({ id: 'k3', grants: [], spent: ['t3'] })
      expect(
        beginCheckIn(applyCheckIn(end.state, 'k3', { grants: [] }, 6000), 'k4').request,
      ).toBeUndefined()
    })

    test('however many grants came since its numbers were leased from a stored range', () => {
      const before = grant(emptyState(), 't1', 1)
      let state = withUse(before, exchange(before, used, 0).state)
      for (let i = 2; i <= 40; i++) state = { ...grant(state, `t${i}`, 8 * i), ranges: [] }
      const { request } = beginCheckIn(settle(state, [issuedWhole]), 'k1')
      expect(request!.spent!.slice(0, 2)).toEqual(['t1', 't9'])
    })

    test('is due when there is nothing else to tell', () => {
      const state = settle(exchange(grant(emptyState(), 't1', 1), used, 0).state, [issuedWhole])
      expect(isCheckInDue(state, 0)).toBe(true)
      const told = applyCheckIn(beginCheckIn(state, 'k1').state, 'k1', { grants: [] }, 0)
      expect(isCheckInDue(told, 100_000)).toBe(false)
    })

    test('of the newest grants only: the list stays short', () => {
      const tokens = Array.from({ length: 40 }, (_, i) => `t${i}`)
      const state = tokens.reduce(
        (before, token, i) => grant(before, token, 8 * i + 1),
        emptyState(),
      )
      expect(beginCheckIn({ ...state, ranges: [] }, 'k1').request!.spent).toEqual(tokens.slice(8))
      expect(beginCheckIn(state, 'k1').state.grants).toEqual(tokens)
    })

    test('of at most 100 at a time: the next check-in tells the others', () => {
      const tokens = Array.from({ length: 120 }, (_, i) => `t${i}`)
      const first = beginCheckIn({ ...emptyState(), grants: tokens }, 'k1')
      expect(first.request!.spent).toEqual(tokens.slice(0, 100))
      const told = applyCheckIn(first.state, 'k1', { grants: [] }, 5000)
      expect(beginCheckIn(told, 'k2').request!.spent).toEqual(tokens.slice(100))
    })
  })

  test('brings back a give-back that had not arrived; the new token keeps it away', () => {
    const state = checkedIn(device, { token: 'new', high: 32 })
    expect(state).toMatchObject({
      ranges: [range(9, 32, { token: 'new' })],
      leases: [{ id: 'L', page: 'page', range: range(1, 8, { token: 'new' }) }],
      offers: [],
    })
    expect(state).toMatchObject({ checkedIn: 5000 })
  })

  test('lets go of a give-back that had arrived', () => {
    expect(checkedIn(device, { token: 'new', high: 16 })).toMatchObject({
      ranges: [range(9, 16, { token: 'new' })],
      offers: [],
    })
  })

  test('frees nothing above what the server says is still ours, and keeps no empty lease', () => {
    const state = checkedIn(device, { token: 'new', high: 0 })
    expect(state).toMatchObject({ ranges: [], leases: [], offers: [] })
  })

  test('is taken over once', () => {
    const state = checkedIn(device, { token: 'new', high: 32 })
    expect(applyCheckIn(state, 'k1', { grants: [{ token: 'newer', high: 0 }] }, 6000)).toBe(state)
  })

  test('leaves alone what another server granted', () => {
    const { checkIn: _, ...before } = beginCheckIn(device, 'k1').state
    expect(checkedIn(device, { unknown: true })).toEqual({
      ...before,
      checkedIn: expect.any(Number),
      answered: 'k1',
    })
  })

  test('takes no answer to another check-in for its own', () => {
    const begun = beginCheckIn(device, 'k2').state
    expect(applyCheckIn(begun, 'k1', { grants: [{ superseded: true }] }, 6000)).toBe(begun)
  })

  test('of an earlier session is no answer to this one: a copy gets the same', () => {
    const begun = beginCheckIn({ ...device, answered: 'k0' }, 'k1').state
    const grants = [{ token: 'new', high: 16 }]
    expect(applyCheckIn(begun, 'k1', { grants }, 6000)).toMatchObject({ answered: 'k1' })
    const again = applyCheckIn(begun, 'k1', { grants }, undefined)
    expect(again).toMatchObject({ answered: 'k0', ranges: [{ token: 'new' }] })
    expect(again).not.toHaveProperty('checkedIn')
  })

  test('of a copy drops all of the superseded token, counts it, and claims above it', () => {
    const other = range(40, 50, t2)
    const state = checkedIn(
      { ...device, ranges: [...device.ranges, other] },
      { superseded: true },
      { token: 'new', high: 50 },
    )
    expect(state).toMatchObject({
      ranges: [{ ...other, token: 'new' }],
      leases: [],
      offers: [],
      issued: 16,
    })
    expect(state.gaps.fork).toBeGreaterThanOrEqual(16)
  })

  test('drops what the server has dropped, counts it apart, and claims above it', () => {
    const other = range(40, 50, t2)
    const state = checkedIn(
      { ...device, ranges: [...device.ranges, other] },
      { dropped: true },
      { token: 'new', high: 50 },
    )
    expect(state).toMatchObject({
      ranges: [{ ...other, token: 'new' }],
      leases: [],
      offers: [],
      grants: ['new'],
      issued: 16,
    })
    expect(state.gaps).toEqual({ crash: 0, giveBack: 0, fork: 0, drop: 16 })
  })
})

describe('a check-in is due', () => {
  const holding: DeviceState = { ...emptyState(), ranges: [range(1, 9, t1)], grants: ['t1'] }

  test('when tokens have not been shown for a minute, by a clock that may jump either way', () => {
    expect(isCheckInDue(holding, 0)).toBe(true)
    expect(isCheckInDue({ ...holding, checkedIn: 1_000_000 }, 1_059_999)).toBe(false)
    expect(isCheckInDue({ ...holding, checkedIn: 1_000_000 }, 1_060_000)).toBe(true)
    expect(isCheckInDue({ ...holding, checkedIn: 1_000_000 }, 0)).toBe(true)
  })

  test('at once when the fate of a give-back is unknown', () => {
    expect(isCheckInDue({ ...device, checkedIn: 0 }, 1)).toBe(true)
  })

  test('never without a token', () => {
    expect(
      isCheckInDue(
        { ...emptyState(), ranges: [range(1, 9)], offers: [{ ...sent, range: range(10, 12) }] },
        1e9,
      ),
    ).toBe(false)
  })
})

describe('a claim', () => {
  const holding: DeviceState = { ...device, ranges: [range(40, 50, t2)], grants: ['t1', 't2'] }
  const claiming = () => beginClaim(holding, 'c1', 100, 32, 0).state

  test('shows the newest token, with the lowest number held under it', () => {
    expect(claiming().claim!.shown).toEqual([{ token: 't2', next: 40 }])
  })

  test('of a grant that is used up says that every number was issued', () => {
    const used = { ...holding, ranges: [], leases: [], offers: [], issued: 50 }
    expect(tokenToShow(used)).toEqual([{ token: 't2', next: 51 }])
  })

  test('shows a token of what is held, so that it tells of use', () => {
    const used = { ...holding, ranges: [range(9, 16, t1)], unheard: ['t1'] }
    expect(tokenToShow(used)).toEqual([{ token: 't1', next: expect.any(Number) }])
    expect(beginClaim(used, 'c1', 32, 32, 0).state).not.toHaveProperty('unheard')
    const spent = { ...used, ranges: [], leases: [], offers: [] }
    expect(beginClaim(spent, 'c1', 32, 32, 0).state.unheard).toEqual(['t1'])
  })

  test('shows nothing where no grant has a token, as a RavenDB’s', () => {
    expect(beginClaim(emptyState(), 'c1', 32, 32, 0).claim).not.toHaveProperty('shown')
  })

  test('shows nothing during a check-in, and no check-in begins while it shows one', () => {
    expect(tokenToShow(beginCheckIn(holding, 'k1').state)).toBeUndefined()
    expect(beginCheckIn(claiming(), 'k1')).toEqual({ state: claiming(), isLater: true })
  })

  test('that is forgotten leaves what it showed to a check-in, under its id', () => {
    const { claim: _, ...before } = claiming()
    const checkIn = { id: 'c1', grants: [{ token: 't2', next: 40 }], spent: [] }
    expect(dropClaim(claiming(), 'c1')).toEqual({ ...before, checkIn })
    const answered = applyShown(claiming(), 'c1', [{ token: 't3', high: 50 }])
    expect(dropClaim(answered, 'c1')).not.toHaveProperty('checkIn')
  })

  test('takes the new token over, once', () => {
    const results = [{ token: 't3', high: 50 }]
    const state = applyShown(claiming(), 'c1', results)
    expect(state).toMatchObject({ grants: ['t1', 't3'], ranges: [{ from: 40, token: 't3' }] })
    const granted = addGrant(state, 'c1', { range: range(51, 82, { token: 't4' }) }, 0)
    expect(applyShown(granted, 'c1', results)).toBe(granted)
  })

  test('of a dropped collection drops what is under that token; the others are shown later', () => {
    const state = applyShown(claiming(), 'c1', [{ dropped: true }])
    expect(state).toMatchObject({ grants: ['t1'], ranges: [], leases: device.leases })
    expect(state.gaps).toMatchObject({ fork: 0, drop: 11 })
  })

  test('of a copy that was second drops all with a token: nobody has shown the others', () => {
    const state = applyShown(claiming(), 'c1', [{ superseded: true }])
    expect(state).toMatchObject({ ranges: [], leases: [], offers: [], grants: [] })
    expect(state.gaps.fork).toBe(8 + 11)
    const granted = addGrant(state, 'c1', { range: range(51, 82, { token: 't4' }) }, 0)
    expect(granted.ranges).toEqual([range(51, 82, { token: 't4' })])
  })
})

test('a device that starts asks first where it holds a token of which it was not answered', () => {
  const held = (token?: string): DeviceState => ({
    ...emptyState(),
    ranges: [range(1, 9, token === undefined ? {} : { token })],
    answered: 'k1',
  })
  expect(asksFirst(held('t1'))).toBe(true)
  expect(asksFirst(held('t1'), 'k0')).toBe(true)
  expect(asksFirst(held('t1'), 'k1')).toBe(false)
  expect(asksFirst(held())).toBe(false)
})

test('a claim of before waits for the check-in where a page may have given back', () => {
  const claim = { id: 'c', lastBatchSize: 16, lastMax: 32 }
  const shown = [{ token: 't1', next: 1 }]
  expect(claimsFirst({ ...device, claim })).toBe(false)
  expect(claimsFirst({ ...device, claim: { ...claim, shown } })).toBe(true)
  expect(claimsFirst({ ...emptyState(), claim })).toBe(true)
  expect(claimsFirst(device)).toBe(false)
})
