/** Stored records: a sound one is used, any other is refused by name. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { overlaps } from '../../src/core/range.js'
import { addGrant, beginClaim } from '../../src/device/claim.js'
import { exchange } from '../../src/device/device.js'
import { declare } from '../../src/device/reserve.js'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import { readState } from '../../src/device/stored.js'
import { countedRanges, range } from '../support/ranges.js'

const sound: DeviceState = {
  ...emptyState(),
  ranges: [range(33, 64, { token: 't' })],
  leases: [{ id: 'L', page: 'page', range: range(1, 16, { token: 't' }) }],
  offers: [{ id: 'O', page: 'page1', range: range(65, 70, { token: 't' }), isSent: true }],
  claim: { id: 'c', lastBatchSize: 64, lastMax: 70 },
  reserve: 200,
  sinceGrant: { at: 1_763_709_000_000, issued: 16 },
  serverTag: 'A',
  nodes: ['orders/…-A'],
  issued: 16,
  grants: ['t', 's'],
  checkIn: { id: 'k', grants: [{ token: 't', next: 1 }], spent: ['s'] },
  checkedIn: 1_763_709_000_000,
}

const refused = (stored: unknown): string => {
  const read = readState(stored)
  if ('refused' in read) return read.refused
  throw new Error('it was accepted')
}

describe('a stored record', () => {
  test('that is sound is used as it is', () => {
    expect(readState(structuredClone(sound))).toEqual({ state: sound })
  })

  test('is read by looking at each range a few times, however many there are', () => {
    const readsOf = (count: number) => {
      const { ranges, reads } = countedRanges(count)
      const [free, leased] = [ranges.slice(0, count / 2), ranges.slice(count / 2)]
      const leases = leased.map((range, i) => ({ id: `L${i}`, page: 'p', range }))
      expect(readState({ ...emptyState(), ranges: free, leases })).toHaveProperty('state')
      return reads()
    }
    // Sorting needs a little more than in proportion; looking at each pair would be 256 times.
    expect(readsOf(16_000)).toBeLessThan(30 * readsOf(1_000))
  })

  test('that is not there is an empty device', () => {
    expect(readState(undefined)).toEqual({ state: emptyState() })
  })

  test('of a device whose clock stands before 1970 is sound', () => {
    const date = Date.UTC(1946, 2, 19)
    const asked = beginClaim(
      declare(emptyState(), { reserve: 32, isDeclared: true }, date),
      'c',
      1,
      32,
      date,
    )
    const state = addGrant(asked.state, 'c', { range: range(1, 64) }, date)
    expect(state).toMatchObject({ declared: [{ day: -8689 }], sinceGrant: { at: date } })
    expect(readState(structuredClone(state))).toEqual({ state })
  })

  test('of the real transitions is always sound', () => {
    const { state } = beginClaim(emptyState(), 'c', 1, 32, 0)
    const granted = addGrant(
      state,
      'c',
      {
        range: range(1, 64, { token: 't' }),
      },
      0,
    )
    const exchanged = exchange(
      granted,
      { page: 'p', id: 'p:0', want: 16, notes: [], cuts: [], takeBack: [], offer: true },
      32,
    ).state
    for (const each of [state, granted, exchanged])
      expect(readState(structuredClone(each))).toEqual({ state: each })
  })

  test.each([0, '1', undefined, null])('of version %j is refused by name', (version) => {
    expect(refused({ ...sound, version })).toBe(`its version is ${version}, this package knows 1`)
  })

  test('of a newer version is left alone, even where the rest of it is unknown here', () => {
    for (const stored of [{ ...sound, version: 2 }, { version: 3 }])
      expect(() => readState(stored)).toThrow(expect.objectContaining({ code: 'outdated' }))
  })

  test.each([null, 7, 'state', true])('that is %j is refused', (stored) => {
    expect(refused(stored)).toBe('it is not an object')
  })

  test.each(['ranges', 'leases', 'offers', 'issued', 'gaps'])(
    'that was cut short before its %s is refused',
    (field) => {
      const { [field as keyof DeviceState]: _, ...rest } = sound
      expect(refused(rest)).toContain('missing')
    },
  )

  test.each<[string, unknown]>([
    ['ranges', [{ from: 1, to: 5 }]],
    ['ranges', [range(5, 4)]],
    ['ranges', [range(-1, 4)]],
    ['ranges', [range(1, 2 ** 53)]],
    ['ranges', [range(1.5, 4)]],
    ['ranges', [range(1, Number.NaN)]],
    ['ranges', [{ ...range(1, 5), token: 7 }]],
    ['ranges', { 0: range(1, 5), length: 1 }],
    ['ranges', [null]],
    ['ranges', new Array(1)],
    ['leases', [range(1, 5)]],
    ['leases', [{ id: 7, range: range(1, 5) }]],
    ['leases', [{ id: 'L', range: range(80, 90) }]],
    ['offers', [{ id: 'O', range: range(80, 90) }]],
    ['claim', { id: 'c' }],
    ['claim', { id: 'c', lastBatchSize: 32, lastMax: '70' }],
    ['claim', null],
    ['reserve', -1],
    ['reserve', '200'],
    ['sinceGrant', { at: 'today', issued: 3 }],
    ['sinceGrant', { at: 5, issued: -1 }],
    ['serverTag', 7],
    ['nodes', 'orders/…-A'],
    ['nodes', [7]],
    ['issued', -1],
    ['issued', '16'],
    ['gaps', { crash: 0, giveBack: 0 }],
    ['gaps', { crash: 0, giveBack: 0, fork: -1, drop: 0 }],
    ['gaps', { crash: 0, giveBack: 0, fork: 0, drop: -1 }],
    ['checkIn', { id: 'k', grants: [{ token: 't' }] }],
    ['checkIn', { id: 'k' }],
    ['grants', ['t', 1]],
    ['checkedIn', 'yesterday'],
    ['declared', [{ reserve: -1, day: 1 }]],
    ['declared', [{ reserve: 1, day: '1' }]],
    ['answered', 7],
    ['unheard', true],
    ['ledgers', { A: 7 }],
    ['ledgers', []],
    ['checkIn', { ...sound.checkIn, ledgers: { A: 7 } }],
    ['checkIn', { ...sound.checkIn, spent: 's' }],
    ['stopped', { of: 'k', by: 'l', tag: 'A', at: 2 ** 53 - 1, numbers: 1 }],
    ['stopped', { of: 'k', by: 'l', tag: 'A', at: 1, numbers: -1 }],
    ['followed', { of: 'k', by: 'l', at: 1, numbers: 1 }],
    ['former', 'a ledger'],
    ['former', [7]],
  ])('whose %s were edited into %j is refused', (field, value) => {
    expect(refused({ ...sound, [field]: value })).toContain('wrong type')
  })

  test.each<[string, Partial<DeviceState>]>([
    ['two free ranges', { ranges: [range(33, 64), range(64, 70)] }],
    ['a range inside another', { ranges: [range(100, 200), range(120, 130)] }],
    ['a free range and a lease', { ranges: [range(16, 20)] }],
    ['a lease and an offer', { offers: [{ id: 'O', page: 'p', range: range(3, 4) }] }],
    [
      'two leases, far apart in the list',
      {
        leases: [1, 20, 40, 60, 1].map((from, i) => ({
          id: `${i}`,
          page: 'p',
          range: range(from, from),
        })),
        ranges: [],
      },
    ],
  ])('in which %s share a number is refused', (_, edit) => {
    expect(refused({ ...sound, offers: [], ...edit })).toMatch(/^\d+–\d+ has two owners$/)
  })

  test.each<[string, Partial<DeviceState>]>([
    ['free range', { ranges: [range(33, 64), range(80, 90, { prefix: 'invoices/' })] }],
    ['lease', { leases: [{ id: 'L', page: 'p', range: range(1, 16, { prefix: 'order/' }) }] }],
    ['offer', { offers: [{ id: 'O', page: 'p', range: range(1, 16, { prefix: '' }) }] }],
  ])('in which a %s is of another collection is refused', (_, edit) => {
    const stored = { ...sound, leases: [], offers: [], ...edit }
    expect(readState(stored, 'orders/')).toEqual({
      refused: expect.stringMatching(/^it has '.*'$/),
    })
  })

  test('may hold numbers with more after the name of its collection', () => {
    const stored = { ...sound, ranges: [range(33, 64, { prefix: 'orders/north-' })] }
    expect(readState(stored, 'orders/')).toEqual({ state: stored })
  })

  test('may hold the same numbers of two nodes: those are different ids', () => {
    expect(readState({ ...sound, ranges: [range(1, 5, { serverTag: 'B' })] })).toHaveProperty(
      'state',
    )
  })
})

test('any stored value gives a sound state or a reason; each number has one owner', () => {
  const anyRange = fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .tuple(fc.nat(60), fc.nat(5))
        .map(([from, length]) => range(from, from + length)),
    },
    { weight: 1, arbitrary: fc.anything() },
  )
  const anyState = fc.record(
    {
      version: fc.constantFrom<unknown>(1, 1, 1, 0),
      ranges: fc.oneof(fc.array(anyRange, { maxLength: 4 }), fc.anything()),
      leases: fc.array(fc.record({ id: fc.string(), range: anyRange }), { maxLength: 3 }),
      offers: fc.array(fc.record({ id: fc.string(), page: fc.string(), range: anyRange }), {
        maxLength: 3,
      }),
      issued: fc.nat(),
      gaps: fc.record({ crash: fc.nat(), giveBack: fc.nat(), fork: fc.nat(), drop: fc.nat() }),
      claim: fc.anything(),
      checkIn: fc.anything(),
    },
    { requiredKeys: ['version', 'leases', 'ranges', 'offers', 'issued', 'gaps'] },
  )
  fc.assert(
    fc.property(fc.oneof(anyState, fc.anything()), (stored) => {
      const read = readState(stored)
      if ('refused' in read) {
        expect(read.refused).not.toBe('')
        return
      }
      const { ranges, leases, offers } = read.state
      const all = [
        ...ranges,
        ...leases.map((lease) => lease.range),
        ...offers.map((offer) => offer.range),
      ]
      all.forEach((one, i) => {
        for (const other of all.slice(i + 1)) expect(overlaps(one, other)).toBe(false)
      })
    }),
    { numRuns: 1000 },
  )
})
