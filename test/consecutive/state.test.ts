/** What a device knows of its series, step by step. */
import { describe, expect, test } from 'vitest'
import {
  readState,
  type SeriesState,
  withCheckIn,
  withClaim,
  withFate,
  withNext,
  withoutClaim,
  withSeries,
} from '../../src/consecutive/state.js'
import { HiloError } from '../../src/core/errors.js'

const NEW = readState(undefined)
const begun = withSeries(withClaim(NEW, 'a').state, 'a', {
  series: 'B',
  lease: 'first',
  earlier: [],
})

function withNumbers(state: SeriesState, numbers: number): SeriesState {
  let made = state
  for (let i = 0; i < numbers; i++) made = withNext(made)!.state
  return made
}

const checkedIn = (state: SeriesState, id: string, lease: string): SeriesState =>
  withFate(withCheckIn(state, id).state, id, { lease })

describe('a series', () => {
  test('begins with the answer to its claim, once', () => {
    expect(begun.current).toEqual({ letter: 'B', token: 'first', last: 0, told: 0, earlier: [] })
    const late = { series: 'B', lease: 'first', earlier: [] }
    const onward = withNumbers(begun, 3)
    expect(withSeries(onward, 'a', late)).toBe(onward)
    expect(withClaim(onward, 'b')).toEqual({ state: onward, result: undefined })
  })

  test('is claimed under one id until that is refused', () => {
    const { state } = withClaim(NEW, 'a')
    expect(withClaim(state, 'b')).toEqual({ state, result: { claim: 'a' } })
    expect(withoutClaim(state, 'b')).toBe(state)
    expect(withClaim(withoutClaim(state, 'a'), 'b').result).toEqual({ claim: 'b' })
  })

  test('counts from 1, and not without a letter', () => {
    expect(withNext(NEW)).toBeUndefined()
    expect(withNext(begun)).toMatchObject({ letter: 'B', number: 1 })
    expect(withNext(withNumbers(begun, 41))).toMatchObject({ letter: 'B', number: 42 })
  })

  test('goes on under the new token, and remembers what the server has heard', () => {
    const two = withNumbers(begun, 2)
    const { state, result } = withCheckIn(two, 'x')
    expect(result).toEqual({ id: 'x', lease: 'first', last: 2 })
    const three = withNumbers(state, 1)
    expect(withCheckIn(three, 'y').result).toEqual(result)
    expect(withFate(three, 'x', { lease: 'second' }).current).toEqual({
      letter: 'B',
      token: 'second',
      last: 3,
      told: 2,
      earlier: [],
    })
  })

  test('does not hear an answer that comes too late, or is of no check-in', () => {
    const once = checkedIn(withNumbers(begun, 2), 'x', 'second')
    expect(withFate(once, 'x', { superseded: true, last: 9 })).toBe(once)
    expect(withFate(NEW, 'x', { unknown: true })).toBe(NEW)
    expect(withCheckIn(NEW, 'x')).toEqual({ state: NEW, result: undefined })
  })
})

describe('a series that ends', () => {
  const told = checkedIn(withNumbers(begun, 5), 'x', 'second')
  const end = (numbers: number, answer: Parameters<typeof withFate>[2]) =>
    withFate(withCheckIn(withNumbers(told, numbers), 'y').state, 'y', answer)

  test.each([
    [
      'a copy with numbers of its own',
      2,
      { superseded: true, last: 8 } as const,
      { kind: 'copied', heard: 8, doubtful: { from: 6, to: 7 } },
      { from: 6, to: 7 },
    ],
    [
      'a copy without',
      0,
      { superseded: true, last: 8 } as const,
      { kind: 'copied', heard: 8 },
      { from: 1, to: 0 },
    ],
    [
      'one that nobody knows',
      2,
      { unknown: true } as const,
      { kind: 'unknown' },
      { from: 1, to: 0 },
    ],
    [
      'a closed one',
      2,
      { lease: 'third', closed: { at: 'then', by: 'anna', reason: 'stolen' } },
      { kind: 'closed', at: 'then', by: 'anna', reason: 'stolen' },
      { from: 1, to: 0 },
    ],
  ])(
    '%s: makes no number any more, and the next claim tells of it',
    (_, numbers, answer, reason, range) => {
      const state = end(numbers, answer)
      expect(state.current).toBeUndefined()
      expect(state.ended).toMatchObject([{ letter: 'B', last: 5 + numbers, reason }])
      expect(withNext(state)).toBeUndefined()
      expect(withClaim(state, 'z').result).toMatchObject({
        claim: 'z',
        ended: { series: 'B', ...range },
      })
    },
  )

  test('is followed by another one, which tells only of what is lost', () => {
    const state = withClaim(end(2, { unknown: true }), 'z').state
    const seen = { collection: 'receipts', device: 'Till 3', registered: '', seen: 'then' }
    const next = withSeries(state, 'z', {
      series: 'D',
      lease: 'other',
      earlier: [
        { ...seen, series: 'A', last: 3 },
        { ...seen, series: 'B', last: 5 },
      ],
    })
    expect(next.current).toMatchObject({
      letter: 'D',
      earlier: [{ series: 'A', last: 3, seen: 'then' }],
    })
    expect(next.ended).toEqual(state.ended)
  })
})

test('what a newer version has stored is not misread', () => {
  expect(() => readState({ version: 2 })).toThrow(HiloError)
  expect(() => readState({ version: 2 })).toThrow('a newer offline-hilo was here')
})
