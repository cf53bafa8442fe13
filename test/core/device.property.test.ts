import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readState } from '../../src/core/stored.js'
import { DeviceModel } from '../support/device-model.js'

type Act = (device: DeviceModel, pick: number, count: number, a: boolean, b: boolean) => void

/** Often what apps do often, and everything else that can happen in between. */
const ACTS: Record<string, Act> = {
  issue: (device, pick, count) => device.issue(pick, count),
  exchange: (device, pick, count, a, b) => device.exchange(pick, count, a, b && count % 5 === 0),
  exchangeUnheard: (device, pick, count, a, b) => device.exchangeUnheard(pick, count, a, b),
  runLate: (device, pick) => device.runLate(pick),
  claim: (device, _, count) => device.claim(count, 1 + count),
  takeAnswer: (device, pick, _, a) => device.takeAnswer(pick, a),
  park: (device, pick) => device.park(pick),
  leave: (device, pick, _, a) => device.leave(pick, a),
  giveBackArrives: (device, pick, _, a) => device.giveBackArrives(pick, a),
  settle: (device, pick, _, a) => device.settle(pick, a),
  checkIn: (device) => device.checkIn(),
  takeCheckIn: (device, pick, _, a) => device.takeCheckIn(pick, a),
  kill: (device, pick) => device.kill(pick),
  bury: (device, pick) => device.bury(pick),
  issueElsewhere: (device, _, count) => device.issueElsewhere(1 + (count % 7)),
}

const steps = fc.array(
  fc.tuple(
    fc.constantFrom(...Object.keys(ACTS), 'issue', 'exchange', 'exchange', 'claim', 'takeAnswer', 'settle'),
    fc.nat(99),
    fc.nat(20),
    fc.boolean(),
    fc.boolean(),
  ),
  { maxLength: 120, size: 'max' },
)

function play(hasTokens: boolean, script: readonly [string, number, number, boolean, boolean][]): DeviceModel {
  const device = new DeviceModel(hasTokens)
  for (const [name, pick, count, a, b] of script) {
    ACTS[name]!(device, pick, count, a, b)
    const { state } = device
    expect(readState(structuredClone(state))).toHaveProperty('state')
    for (const { from, to } of state.ranges)
      for (let number = from; number <= to; number++) expect(device.issued.get(number), `${number} is free, but was issued`).toBeUndefined()
  }
  return device
}

describe.each([
  ['with lease tokens', true],
  ['without tokens, as from RavenDB', false],
])('whatever is lost, repeated or late, %s', (_, hasTokens) => {
  test('no number is ever issued twice, is in two places, or is free again after it was issued', () => {
    fc.assert(
      fc.property(steps, (script) => {
        play(hasTokens, script)
      }),
      { numRuns: 250 },
    )
  })
})

test('the random sequences do reach every corner: numbers are issued here and elsewhere, come back, and are lost', () => {
  const seen = { here: 0, elsewhere: 0, freed: 0, gaps: 0, offers: 0, tokens: 0 }
  for (const script of fc.sample(steps, { numRuns: 200, seed: 7 })) {
    const { state, issued, server } = play(true, script)
    for (const by of issued.values()) seen[by === 'elsewhere' ? 'elsewhere' : 'here']++
    seen.freed += server.freed
    seen.gaps += state.gaps.crash + state.gaps.giveBack
    seen.offers += state.offers.length
    seen.tokens += state.checkedIn === undefined ? 0 : 1
  }
  expect(seen.here).toBeGreaterThan(100)
  for (const count of [seen.elsewhere, seen.freed, seen.offers, seen.tokens]) expect(count).toBeGreaterThan(0)
})
