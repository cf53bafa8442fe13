/** What a transaction gives a page, and what stays on the device. */
import { describe, expect, test } from 'vitest'
import { kept, lease } from '../../../src/device/owner/lease.js'
import { Waiting } from '../../../src/device/owner/waiting.js'
import { type DeviceState, emptyState } from '../../../src/device/state.js'
import { range } from '../../support/ranges.js'
import { exchangeOf } from '../../support/world.js'

const around = { date: 0, reserve: 32, keep: 32, isHeard: true, isAlone: true }
const holding = (to: number, more: Partial<DeviceState> = {}): DeviceState => ({
  ...emptyState(),
  ranges: [range(1, to)],
  serverTag: 'A',
  ...more,
})
const numbers = (all: readonly { range: { from: number; to: number } }[]) =>
  all.map(({ range: { from, to } }) => [from, to])

describe('what stays', () => {
  test('is the reserve', () => {
    expect(kept(holding(64), around)).toBe(32)
    expect(kept(holding(64), { ...around, keep: 0 })).toBe(0)
  })

  test('is everything where another node may have answered, unless each range has a token', () => {
    const deaf = { ...around, isHeard: false }
    const ranges = [range(1, 36, { token: 't' }), range(37, 64)]
    expect(kept(holding(64, { ranges }), deaf)).toBe(Number.POSITIVE_INFINITY)
    expect(kept(holding(36, { ranges: ranges.slice(0, 1) }), deaf)).toBe(32)
  })

  test('is everything of a RavenDB, unless nothing is to be kept', () => {
    const plain = holding(64, { isPlain: true })
    expect(kept(plain, { ...around, keep: 1 })).toBe(Number.POSITIVE_INFINITY)
    expect(kept(plain, { ...around, keep: 0 })).toBe(0)
    expect(kept(plain, { ...around, reserve: 0, keep: 36 })).toBe(36)
    expect(kept(plain, { ...around, reserve: 1, keep: 36 })).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a page', () => {
  test('that is busy is offered the surplus only if no other page is open', () => {
    const offers = (want: number, isAlone: boolean) => {
      const asked = exchangeOf({ id: 'x', want, offer: true })
      return numbers(lease(holding(100), asked, { ...around, isAlone })[1].offers)
    }
    expect(offers(1, true)).toEqual([[34, 100]])
    expect(offers(1, false)).toEqual([])
    expect(offers(0, false)).toEqual([[33, 100]])
  })

  test('that asks for numbers ends a release, and one that looks ahead does not', () => {
    const released = holding(36, { isReleased: true })
    const then = (more: object) => lease(released, exchangeOf({ id: 'x', ...more }), around)[0]
    expect(then({ want: 1 }).isReleased).toBeUndefined()
    expect(then({ want: 1, isIdle: true }).isReleased).toBe(true)
    expect(then({ want: 0 }).isReleased).toBe(true)
  })
})

describe('a page that waits', () => {
  const waitingFor = (want: number) => {
    const waiting = new Waiting()
    return { waiting, waiter: waiting.add(exchangeOf({ id: 'x', want }), 'claim') }
  }

  test('is served what it wants once it is stored, and no fewer', () => {
    const { waiting, waiter } = waitingFor(37)
    expect(waiting.serve('claim', holding(36), around)[0]).toEqual(holding(36))
    const [state, served] = waiting.serve('claim', holding(37), around)
    expect(numbers(state.leases)).toEqual([[1, 37]])
    expect(waiter.given).toBeUndefined()
    served()
    expect(numbers(waiter.given!.leases)).toEqual([[1, 37]])
    expect(waiting.serve('claim', holding(37), around)[0]).toEqual(holding(37))
  })

  test('for a claim is not served by a check-in, nor between two ledgers', () => {
    const { waiting } = waitingFor(1)
    expect(waiting.serve('check-in', holding(36), around)[0]).toEqual(holding(36))
    const stop = { of: 'first', by: 'second', tag: 'A', at: 0, numbers: 36 }
    const stopped = holding(36, { stopped: stop })
    expect(waiting.serve('claim', stopped, around)[0]).toEqual(stopped)
  })

  test('and says that it will not use an answer gets none', () => {
    const { waiting, waiter } = waitingFor(1)
    waiting.cancel([{ exchange: 'y', takeBack: [] }])
    expect(waiter.request.want).toBe(1)
    waiting.cancel([{ exchange: 'x', takeBack: [] }])
    expect(waiter.request).toMatchObject({ want: 0, ahead: 0, offer: false })
    expect(waiting.serve('claim', holding(36), around)[0]).toEqual(holding(36))
  })
})
