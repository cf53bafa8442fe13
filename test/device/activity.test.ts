/** What became of numbers between two states: each is led from who had it to who has it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Step, stepsBetween } from '../../src/device/activity.js'
import { heldSegments } from '../../src/device/segments.js'
import { type DeviceState, emptyState, type Lease, type Offer } from '../../src/device/state.js'
import { boundsFrom } from '../model/bounds.js'
import { numbersBetween, type System } from '../model/state.js'
import { hiloModel } from '../model/system.js'
import { range } from '../support/ranges.js'
import { sizeOf } from '../support/sizes.js'

const state = (more: Partial<DeviceState>): DeviceState => ({ ...emptyState(), ...more })
const lease = (page: string, from: number, to: number): Lease => ({
  id: `${page}:0.0`,
  page,
  range: range(from, to),
})
const offer = (from: number, to: number, more: Partial<Offer> = {}): Offer => ({
  id: 'page1:0.offer0',
  page: 'page1',
  range: range(from, to),
  ...more,
})
const gaps = (more: Partial<DeviceState['gaps']>) => ({ ...emptyState().gaps, ...more })

/** `kind page from–to …` of each step. */
const told = (before: Partial<DeviceState>, after: Partial<DeviceState>) =>
  stepsBetween(state(before), state(after), 32).map(({ kind, page, numbers }) =>
    [kind, ...(page ? [page] : []), ...numbers.map(({ from, to }) => `${from}–${to}`)].join(' '),
  )
const reason = (before: Partial<DeviceState>, after: Partial<DeviceState>) =>
  stepsBetween(state(before), state(after), 32)[0]!.reason

describe('the steps between two states', () => {
  test.each<[string, Partial<DeviceState>, Partial<DeviceState>, string[]]>([
    ['nothing happened', { ranges: [range(1, 8)] }, { ranges: [range(1, 8)] }, []],
    [
      'a claim',
      { ranges: [range(1, 8)] },
      { ranges: [range(1, 8), range(40, 71)] },
      ['claim 40–71'],
    ],
    [
      'a lease',
      { ranges: [range(1, 32)] },
      { ranges: [range(17, 32)], leases: [lease('page1', 1, 16)] },
      ['lease page1 1–16'],
    ],
    [
      'a lease that was used up',
      { leases: [lease('page1', 1, 16)] },
      { issued: 16 },
      ['issue page1 1–16'],
    ],
    [
      'a lease of which the rest is parked',
      { leases: [lease('page1', 1, 16)] },
      { issued: 5, ranges: [range(6, 16)] },
      ['park page1 6–16', 'issue page1 1–5'],
    ],
    [
      'a lease of which the rest is sent back without a token',
      { leases: [lease('page1', 1, 16)] },
      { issued: 5 },
      ['issue page1 1–5', 'give-back page1 6–16'],
    ],
    [
      'a lease that another page goes on with',
      { leases: [lease('page1', 1, 16)] },
      { leases: [lease('page2', 1, 16)] },
      ['park page1 1–16', 'lease page2 1–16'],
    ],
    [
      'an offer',
      { ranges: [range(1, 64)] },
      { ranges: [range(1, 32)], offers: [offer(33, 64)] },
      ['offer page1 33–64'],
    ],
    [
      'an offer that is not sent',
      { offers: [offer(33, 64)] },
      { ranges: [range(33, 64)] },
      ['take-back page1 33–64'],
    ],
    [
      'an offer that is sent',
      { offers: [offer(33, 64)] },
      { offers: [offer(33, 64, { isSent: true })] },
      ['give-back page1 33–64'],
    ],
    [
      'an offer that is sent without a token, and forgotten',
      { offers: [offer(33, 64)] },
      {},
      ['give-back page1 33–64'],
    ],
    [
      'an offer that is written off',
      { offers: [offer(33, 64)] },
      { gaps: gaps({ giveBack: 32 }) },
      ['gap 33–64'],
    ],
    [
      'a release without tokens',
      { ranges: [range(33, 64)], issued: 32 },
      { issued: 32 },
      ['give-back 33–64'],
    ],
    [
      'a page that was killed, beside one that used its lease up',
      { leases: [lease('page1', 1, 16), lease('page2', 17, 32)] },
      { issued: 32, gaps: gaps({ crash: 16 }), leases: [lease('page2', 33, 48)] },
      ['claim 33–48', 'gap page1 1–16', 'lease page2 33–48', 'issue page2 17–32'],
    ],
    [
      'a page that was killed, beside free numbers that another one used up',
      { ranges: [range(1, 16)], leases: [lease('page1', 17, 32)] },
      { issued: 32, gaps: gaps({ crash: 16 }) },
      ['gap page1 17–32', 'lease 1–16', 'issue 1–16'],
    ],
    [
      'a fork',
      { ranges: [range(17, 32)], leases: [lease('page1', 1, 16)] },
      { issued: 32, gaps: gaps({ fork: 32 }) },
      ['fork 1–32'],
    ],
    [
      'a collection that the server has dropped',
      { ranges: [range(17, 32)], leases: [lease('page1', 1, 16)] },
      { issued: 32, gaps: gaps({ drop: 32 }) },
      ['drop 1–32'],
    ],
    [
      'a check-in that finds a give-back not delivered',
      {
        ranges: [range(1, 8, { token: 'a' })],
        offers: [offer(33, 64, { isSent: true, range: range(33, 64, { token: 'a' }) })],
      },
      { ranges: [range(1, 8, { token: 'b' }), range(33, 64, { token: 'b' })], checkedIn: 1 },
      ['check-in 1–8 33–64', 'take-back 33–64'],
    ],
    [
      'a check-in that finds a give-back delivered',
      {
        ranges: [range(1, 8, { token: 'a' })],
        offers: [offer(33, 64, { isSent: true, range: range(33, 64, { token: 'a' }) })],
      },
      { ranges: [range(1, 8, { token: 'b' })], checkedIn: 1 },
      ['check-in 1–8', 'give-back 33–64'],
    ],
    [
      'what was given back and is granted again',
      { offers: [offer(33, 64, { isSent: true })] },
      { ranges: [range(33, 64)] },
      ['claim 33–64'],
    ],
    [
      'several steps of another tab at once',
      {},
      { ranges: [range(17, 32)], leases: [lease('page1', 1, 16)] },
      ['claim 1–32', 'lease page1 1–16'],
    ],
    [
      'numbers that another tab leased and used up meanwhile',
      { ranges: [range(1, 32)] },
      { ranges: [range(17, 32)], issued: 16 },
      ['lease 1–16', 'issue 1–16'],
    ],
    [
      'the same numbers of two nodes',
      { ranges: [range(1, 8), range(1, 8, { serverTag: 'B' })] },
      { ranges: [range(1, 8, { serverTag: 'B' })], leases: [lease('page1', 1, 8)] },
      ['lease page1 1–8'],
    ],
  ])('tell of %s', (_, before, after, expected) => {
    expect(told(before, after)).toEqual(expected)
  })

  test('say why there was a claim', () => {
    const after = { ranges: [range(1, 8), range(40, 71)] }
    expect(reason({}, after)).toBe('No free number was left on this device.')
    expect(reason({ ranges: [range(1, 8)] }, after)).toBe(
      'Only 8 free numbers were left, less than half of the reserve of 32.',
    )
    expect(reason({ ranges: [range(1, 8)] }, { ...after, reserve: 10 })).toContain(
      'The app asked for more',
    )
  })
})

/** Who has a number after a step, and who may have had it before. */
const RULES: Record<Exclude<Step['kind'], 'check-in'>, { from: string[]; to: string[] }> = {
  claim: { from: ['nobody', 'given-back'], to: ['granted'] },
  lease: { from: ['granted'], to: ['leased'] },
  issue: { from: ['leased'], to: ['nobody'] },
  park: { from: ['leased'], to: ['granted'] },
  offer: { from: ['granted'], to: ['offered'] },
  'take-back': { from: ['offered', 'given-back'], to: ['granted'] },
  'give-back': {
    from: ['granted', 'leased', 'offered', 'given-back'],
    to: ['given-back', 'nobody'],
  },
  fork: { from: ['granted', 'leased', 'offered', 'given-back'], to: ['nobody'] },
  drop: { from: ['granted', 'leased', 'offered', 'given-back'], to: ['nobody'] },
  gap: { from: ['leased', 'offered', 'given-back'], to: ['nobody'] },
}

const holders = (device: DeviceState): Map<number, string> =>
  new Map(
    heldSegments(device).flatMap(({ from, to, kind }) =>
      numbersBetween(from, to).map((number) => [number, kind] as const),
    ),
  )

/** One device with two pages, and everything that may happen to it. */
const BOUNDS = boundsFrom({
  pages: 2,
  range: 4,
  lease: 2,
  ...{ claims: 5, issues: 20, exchanges: 20, exits: 5, kills: 2, giveBacks: 3, checkIns: 3 },
  ...{ repeats: 2, losses: 2, powerCuts: 1, workerDeaths: 1, silences: 1, cuts: 2 },
})

describe.each([
  ['with grant tokens', 'own'],
  ['without tokens, as from RavenDB', 'ravendb'],
] as const)('whatever happens to a device %s', (_, authority) => {
  const model = hiloModel({ ...BOUNDS, authority })

  test('the steps lead each number from holder to holder; only issued ones are called so', () => {
    const told = new Set<string>()
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 30, maxLength: 80, size: 'max' }), (picks) => {
        let system = model.initial()
        for (const pick of picks) {
          const possible = model.next(system)
          if (possible.length === 0) break
          const after = possible[pick % possible.length]!.state
          for (const kind of check(system, after, authority === 'own')) told.add(kind)
          system = after
        }
      }),
      { numRuns: sizeOf('SEQUENCES') / 2 },
    )
    expect([...told]).toEqual(expect.arrayContaining(['claim', 'lease', 'issue', 'park', 'offer']))
  })
})

/** @returns what the steps are called */
function check(earlier: System, later: System, hasTokens: boolean): Step['kind'][] {
  const [before, after] = [earlier, later].map(({ devices }) => devices[0]!.stored)
  if (before === after) return []
  const steps = stepsBetween(before!, after!, 8)
  const now = holders(before!)
  const then = holders(after!)
  for (const { kind, numbers } of steps) {
    if (kind === 'check-in') continue
    for (const number of numbers.flatMap(({ from, to }) => numbersBetween(from, to))) {
      expect(RULES[kind].from, `${number}: ${kind}`).toContain(now.get(number) ?? 'nobody')
      const next = then.get(number) ?? 'nobody'
      now.set(number, RULES[kind].to.includes(next) ? next : RULES[kind].to[0]!)
      const isIssued = later.issued.some(([each]) => each === number)
      if (kind === 'issue' && hasTokens) expect(isIssued, `${number} was never issued`).toBe(true)
    }
  }
  for (const [number, holder] of now) expect(then.get(number) ?? 'nobody', `${number}`).toBe(holder)
  for (const number of then.keys())
    expect(now.has(number), `${number} came from nowhere`).toBe(true)
  return steps.map(({ kind }) => kind)
}
