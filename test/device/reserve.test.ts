/** The reserve is the device's: declared by pages, with a day, and changed by no page's end. */
import { describe, expect, test } from 'vitest'
import { declare, filled, reserveOf, withoutReserve } from '../../src/device/reserve.js'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import { readState } from '../../src/device/stored.js'
import { range } from '../support/ranges.js'

const DAY = 24 * 60 * 60 * 1000
const START = 20_000 * DAY

const till = { reserve: 200, isDeclared: true } as const
const list = { reserve: 15, isDeclared: true } as const
const nothing = { reserve: 32 }

const declaredBy = (...pages: [Parameters<typeof declare>[1], number][]): DeviceState =>
  pages.reduce((state, [page, day]) => declare(state, page, START + day * DAY), emptyState())

describe('the reserve', () => {
  test('is the usual one as long as no page has an option', () => {
    const state = declaredBy([nothing, 0])
    expect(state).toEqual(emptyState())
    expect(reserveOf(state, 32)).toBe(32)
  })

  test('is the largest that a page has, in whatever order they come and go', () => {
    expect(reserveOf(declaredBy([till, 0], [list, 0], [nothing, 0]), 32)).toBe(200)
    expect(reserveOf(declaredBy([list, 0], [till, 0]), 32)).toBe(200)
    expect(reserveOf(declaredBy([list, 0]), 32)).toBe(15)
    expect(reserveOf(declaredBy([{ reserve: 0, isDeclared: true }, 0]), 32)).toBe(0)
  })

  test('of a page that came back every day stays, and of one that does not, a week', () => {
    const both = declaredBy([till, 0], [list, 0], [list, 6])
    expect(reserveOf(both, 32)).toBe(200)
    expect(reserveOf(declare(both, list, START + 7 * DAY), 32)).toBe(15)
    expect(reserveOf(declare(both, nothing, START + 13 * DAY), 32)).toBe(32)
  })

  test('is stored once a day, and what another one outlasts is not', () => {
    const state = declaredBy([till, 0])
    expect(declare(state, till, START + DAY - 1)).toBe(state)
    expect(declare(state, list, START)).toBe(state)
    expect(declare(state, till, START + DAY).declared).toEqual([{ reserve: 200, day: 20_001 }])
    const later = declare(state, list, START + DAY)
    expect(later.declared).toEqual([
      { reserve: 200, day: 20_000 },
      { reserve: 15, day: 20_001 },
    ])
    expect(readState(later)).toEqual({ state: later })
  })

  test('of a clock that was ahead counts from today', () => {
    const ahead = declaredBy([till, 300])
    const now = declare(ahead, nothing, START)
    expect(now.declared).toEqual([{ reserve: 200, day: 20_000 }])
    expect(declare(now, nothing, START + 7 * DAY).declared).toBeUndefined()
  })

  test('that a call has set goes before them', () => {
    expect(reserveOf({ ...declaredBy([till, 0]), reserve: 50 }, 32)).toBe(50)
  })
})

test('a call that fills the device up to a count sets the reserve once it is reached', () => {
  const holding = (to: number) => ({
    ...emptyState(),
    ranges: [range(1, to)],
    isReleased: true as const,
  })
  expect(filled(holding(36), 37)).toEqual([{ ...emptyState(), ranges: [range(1, 36)] }, false])
  const [state, isReached] = filled(holding(37), 37)
  expect(isReached).toBe(true)
  expect(reserveOf(state, 32)).toBe(37)
  expect(state.isReleased).toBeUndefined()
  expect(reserveOf(withoutReserve(state), 32)).toBe(32)
})
