/** What comes after a claim was sent. */
import { describe, expect, test } from 'vitest'
import { beginClaim } from '../../../src/device/claim.js'
import { granted, refused } from '../../../src/device/owner/claiming.js'
import { type DeviceState, emptyState } from '../../../src/device/state.js'
import { range } from '../../support/ranges.js'

const claimed = (before: Partial<DeviceState> = {}): DeviceState =>
  beginClaim({ ...emptyState(), ...before }, 'c1', 64, 32, 0).state

const noId = () => {
  throw new Error('No check-in was to be begun.')
}

describe('a grant', () => {
  test('is added, and tells how many numbers are free then', () => {
    const [state, outcome] = granted(claimed(), 'c1', { range: range(1, 64) }, 5, noId)
    expect(outcome).toEqual({ free: 64 })
    expect(state).toMatchObject({ ranges: [range(1, 64)], sinceGrant: { at: 5 } })
    expect(state.claim).toBeUndefined()
  })

  test('that came before is an error at the highest number that was issued, not above it', () => {
    const nodes = ['orders/…-A']
    const then = (issued: number) =>
      granted(claimed({ issued, nodes }), 'c1', { range: range(37, 68) }, 0, noId)[1]
    expect(then(36)).toEqual({ free: 32 })
    expect(then(37)).toMatchObject({ error: { code: 'invalid-response' } })
  })

  test('that overlaps what is held waits for a check-in, once', () => {
    const held = claimed({ leases: [{ id: 'L', page: 'p', range: range(1, 36, { token: 't' }) }] })
    const grant = { range: range(36, 67, { token: 'u' }) }
    const [asked, outcome] = granted(held, 'c1', grant, 0, () => 'check-in')
    expect(outcome).toBe('ask')
    expect(asked.checkIn).toMatchObject({ id: 'check-in' })
    expect(asked.claim).toEqual(held.claim)
    const [state, refusal] = granted(held, 'c1', grant, 0)
    expect(refusal).toMatchObject({ error: { code: 'invalid-response' } })
    expect(state.claim).toBeUndefined()
    const next = { range: range(37, 68, { token: 'u' }) }
    expect(granted(held, 'c1', next, 0, noId)[1]).toEqual({ free: 32 })
  })

  test('of another ledger stops the device', () => {
    const held = claimed({ ledgers: { A: 'first' }, ranges: [range(1, 32)] })
    const of = (ledger: string) => granted(held, 'c1', { range: range(33, 64), ledger }, 7, noId)
    expect(of('first')[1]).toEqual({ free: 64 })
    const [state, outcome] = of('second')
    expect(outcome).toEqual({ stop: { of: 'first', by: 'second', tag: 'A', at: 7, numbers: 32 } })
    expect(state.ranges).toEqual(held.ranges)
  })
})

describe('after a refusal', () => {
  const first = { isFirst: true, largest: undefined }

  test('that is for good, nothing is claimed until the app asks again', () => {
    expect(refused(first, 'forget', 64, true)).toEqual([first, false])
  })

  test('a new claim is sent at once, and no third one', () => {
    const [second, isAgain] = refused(first, 'fresh', 64, true)
    expect(isAgain).toBe(true)
    expect(refused(second, 'fresh', 64, true)).toEqual([second, false])
  })

  test('of a claim that another tab has used, a new one is sent, and it is the first', () => {
    expect(refused(first, 'fresh', 64, false)).toEqual([first, true])
    expect(refused({ ...first, isFirst: false }, 'fresh', 64, false)[1]).toBe(true)
  })

  test('for its size, half as many are claimed, down to the fewest that a server grants', () => {
    const then = (count: number) => refused(first, 'smaller', count, true)
    expect(then(256)).toEqual([{ isFirst: false, largest: 128 }, true])
    expect(then(33)).toEqual([{ isFirst: false, largest: 32 }, true])
    expect(then(32)).toEqual([{ isFirst: false, largest: undefined }, false])
  })
})
