/**
 * The device’s state in random sequences of everything that can happen to it: a number is in one
 * place only.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readState } from '../../src/core/stored.js'
import { DeviceModel } from '../support/device-model.js'
import { ACTS, scripts } from '../support/device-scripts.js'
import { sizeOf } from '../support/sizes.js'

function play(
  hasTokens: boolean,
  script: readonly [string, number, number, boolean, boolean][],
): DeviceModel {
  const device = new DeviceModel(hasTokens)
  for (const [name, pick, count, a, b] of script) {
    ACTS[name]!(device, pick, count, a, b)
    const { state } = device
    expect(readState(structuredClone(state))).toHaveProperty('state')
    for (const { from, to } of state.ranges)
      for (let number = from; number <= to; number++)
        expect(device.issued.get(number), `${number} is free, but was issued`).toBeUndefined()
  }
  return device
}

describe.each([
  ['with grant tokens', true],
  ['without tokens, as from RavenDB', false],
])('whatever is lost, repeated or late, %s', (_, hasTokens) => {
  test('no number is issued twice, is in two places, or is free again after it was issued', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        play(hasTokens, script)
      }),
      { numRuns: sizeOf('SEQUENCES') },
    )
  })
})

test('the random sequences issue numbers here and elsewhere, get them back, and lose them', () => {
  const seen = { here: 0, elsewhere: 0, freed: 0, gaps: 0, offers: 0, tokens: 0 }
  for (const script of fc.sample(scripts, { numRuns: 200, seed: 7 })) {
    const { state, issued, server } = play(true, script)
    for (const by of issued.values()) seen[by === 'elsewhere' ? 'elsewhere' : 'here']++
    seen.freed += server.freed
    seen.gaps += state.gaps.crash + state.gaps.giveBack
    seen.offers += state.offers.length
    seen.tokens += state.checkedIn === undefined ? 0 : 1
  }
  expect(seen.here).toBeGreaterThan(100)
  for (const count of [seen.elsewhere, seen.freed, seen.offers, seen.tokens])
    expect(count).toBeGreaterThan(0)
})
