/** What a device knows of its series, step by step. */
import { describe, expect, test } from 'vitest'
import {
  withCheckIn,
  withCheckInAnswer,
  withClaim,
  withoutClaim,
  withSeries,
} from '../../../src/addons/consecutive/answers.js'
import { hear, startOver } from '../../../src/addons/consecutive/ledgers.js'
import { readState, type SeriesState } from '../../../src/addons/consecutive/state.js'
import { HiloError } from '../../../src/core/errors.js'
import type { SeriesCheckInAnswer } from '../../../src/core/wire.js'
import type { NumberRow } from '../../../src/device/series-store.js'

const NEW = readState(undefined)
const begun = withSeries(withClaim(NEW, 'a').state, 'a', {
  series: 'B',
  token: 'first',
  ledger: 'one',
})

const checkedIn = (state: SeriesState, last: number, id: string, token: string): SeriesState =>
  withCheckInAnswer(withCheckIn(state, [row(last)], id).state, [], id, { token }).state

const row = (number: number, more: Partial<NumberRow> = {}): NumberRow => ({
  letter: 'B',
  place: number,
  period: '',
  number,
  id: `B-${number}`,
  key: `sale ${number}`,
  state: 'open',
  takenAt: '2027-01-01T08:00:00.000Z',
  open: 1,
  ...more,
})

describe('a series', () => {
  test('begins with the answer to its claim, once', () => {
    expect(begun.current).toEqual({
      letter: 'B',
      begun: 'a',
      token: 'first',
      heard: 0,
    })
    const late = { series: 'B', token: 'first', ledger: 'one' }
    const onward = checkedIn(begun, 3, 'x', 'second')
    expect(withSeries(onward, 'a', late)).toBe(onward)
    expect(withClaim(onward, 'b')).toEqual({ state: onward, result: undefined })
  })

  test('is claimed under one id until that is refused', () => {
    const { state } = withClaim(NEW, 'a')
    expect(withClaim(state, 'b')).toEqual({ state, result: { claim: 'a' } })
    expect(withoutClaim(state, 'b')).toBe(state)
    expect(withClaim(withoutClaim(state, 'a'), 'b').result).toEqual({ claim: 'b' })
  })

  test('goes on under the new token, and remembers what the server has heard', () => {
    const { state, result } = withCheckIn(begun, [row(1), row(2)], 'x')
    expect(result).toEqual({ id: 'x', token: 'first', last: 2, ledger: 'one' })
    expect(withCheckIn(state, [row(3)], 'y').result).toEqual(result)
    expect(withCheckInAnswer(state, [], 'x', { token: 'second' }).state.current).toEqual({
      letter: 'B',
      begun: 'a',
      token: 'second',
      heard: 2,
    })
  })

  test('does not hear an answer that comes too late, or is of no check-in', () => {
    const once = checkedIn(begun, 2, 'x', 'second')
    expect(withCheckInAnswer(once, [], 'x', { superseded: true, last: 9 }).state).toBe(once)
    expect(withCheckInAnswer(NEW, [], 'x', { unknown: true }).state).toBe(NEW)
    expect(withCheckIn(NEW, [], 'x')).toEqual({ state: NEW, result: undefined })
  })
})

describe('a series that ends', () => {
  const told = checkedIn(begun, 5, 'x', 'second')
  const end = (numbers: number, answer: SeriesCheckInAnswer) =>
    withCheckInAnswer(
      withCheckIn(told, [row(5 + numbers)], 'y').state,
      Array.from({ length: numbers }, (_, i) => row(6 + i, { heard: false })),
      'y',
      answer,
    ).state

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
      { kind: 'unknown', doubtful: { from: 6, to: 7 } },
      { from: 6, to: 7 },
    ],
    [
      'a closed one',
      2,
      { token: 'third', closed: { at: 'then', by: 'anna', reason: 'stolen' } },
      { kind: 'closed', at: 'then', by: 'anna', reason: 'stolen' },
      { from: 1, to: 0 },
    ],
  ])(
    '%s: makes no number any more, and the next claim tells of it',
    (_, numbers, answer, reason, range) => {
      const state = end(numbers, answer)
      expect(state.current).toBeUndefined()
      expect(state.ended).toMatchObject([{ letter: 'B', reason }])
      expect(withClaim(state, 'z').result).toMatchObject({
        claim: 'z',
        ended: { series: 'B', ...range },
      })
    },
  )

  test('takes the numbers with it that were not handed out: their keys get others', () => {
    const unheard = [row(6, { heard: false }), row(7), row(8, { state: 'confirmed' }), row(9)]
    const { state } = withCheckIn(told, [row(9)], 'y')
    const { rows } = withCheckInAnswer(state, unheard, 'y', { superseded: true, last: 8 })
    const why = 'It was never handed out: another copy of this device goes on with the series.'
    expect(rows).toEqual(
      [7, 9].map((number) => {
        const { key, open, ...rest } = row(number)
        return { ...rest, state: 'cancelled', reason: why, settledAt: expect.any(String) }
      }),
    )
  })

  test.each([
    ['2027', 7, 5, undefined],
    ['2027', 6, 5, { from: 7, to: 7 }],
    ['2026', 7, 5, { from: 6, to: 7 }],
    ['2026', 7, 6, { from: 7, to: 7 }],
  ])(
    'handed over after %s number %i, %i heard: doubtful is %j',
    (period, last, heard, doubtful) => {
      const of = { from: 'Till 3', to: 'Till 4', by: 'anna', reason: 'lost', at: '2027-01-02' }
      const handedOver = { ...of, period, last, heard }
      const unheard = [6, 7].map((number) => row(number, { period: '2027', heard: false }))
      const { state } = withCheckIn(told, unheard, 'y')
      const answer = { superseded: true, last: heard, handedOver } as const
      const { ended } = withCheckInAnswer(state, unheard, 'y', answer).state
      expect(ended[0]!.reason).toEqual({
        kind: 'handed-over',
        ...handedOver,
        ...(doubtful && { doubtful }),
      })
    },
  )

  test('is followed by another one', () => {
    const state = withClaim(end(2, { unknown: true }), 'z').state
    const next = withSeries(state, 'z', { series: 'D', token: 'other', ledger: 'one' })
    expect(next.current).toMatchObject({ letter: 'D', heard: 0 })
    expect(next.ended).toEqual(state.ended)
  })
})

describe('another ledger', () => {
  const since = '2027-01-01T08:00:00.000Z'
  const two = { before: 'one', after: 'two', since }
  const hearing = (state: SeriesState, heard: Parameters<typeof hear>[2]) =>
    hear(state, [row(1), row(2, { heard: false })], heard, since)
  const refused = { name: 'two', follows: 'one' }
  const stopped = hearing(begun, refused).state

  test('ends the series; what nobody saw is cancelled, and nothing begins', () => {
    const { state, rows, change } = hearing(begun, refused)
    expect(change).toEqual({ ...two, isStopped: true })
    expect(state.current).toBeUndefined()
    expect(state.ended).toMatchObject([{ letter: 'B', reason: { kind: 'other-ledger', ...two } }])
    expect(rows).toMatchObject([{ place: 1, state: 'cancelled' }])
    expect(withClaim(state, 'z')).toEqual({ state, result: undefined })
    expect(readState(state)).toBe(state)
  })

  test('stops a device between two series, whose claim is forgotten', () => {
    const closed = withCheckInAnswer(withCheckIn(begun, [], 'x').state, [], 'x', {
      ...{ token: 'x', closed: { at: since, by: 'anna', reason: 'a new year' } },
    }).state
    const { state } = hearing(withClaim(closed, 'c').state, refused)
    expect(state).toMatchObject({ stopped: two, ended: [{ reason: { kind: 'closed' } }] })
    expect(state.claim).toBeUndefined()
  })

  test('is one that comes late, of a claim that is settled', () => {
    expect(hearing(begun, { name: 'two' }).state.stopped).toEqual(two)
  })

  test('is not the same one, one without a name, or heard before there was any', () => {
    for (const heard of [{ name: 'one' }, { name: 'one', follows: 'one' }, {}])
      expect(hearing(begun, heard)).toEqual({ state: begun, rows: [] })
    expect(hearing(NEW, { name: 'two' }).state).toBe(NEW)
  })

  test('gives no series that follows on one of the first', () => {
    const { state } = withClaim(
      withCheckInAnswer(withCheckIn(begun, [], 'x').state, [], 'x', { unknown: true }).state,
      'c',
    )
    const answer = { series: 'C', token: 'x', ledger: 'two' }
    expect(withSeries(state, 'c', answer)).toBe(state)
    expect(withSeries(state, 'c', { ...answer, ledger: 'one' }).current!.letter).toBe('C')
  })

  test.each([
    [0, false],
    [1, false],
    [2, true],
    [9, true],
  ])('that follows above %i goes on with a device that has B: %s', (above, goesOn) => {
    for (const before of [begun, stopped]) {
      const { state } = hearing(before, { ...refused, above })
      expect(state.ledger).toBe(goesOn ? 'two' : 'one')
      expect(state.stopped === undefined).toBe(goesOn)
      expect(withClaim(state, 'z').result !== undefined).toBe(goesOn)
      expect(state.ended).toHaveLength(1)
    }
  })

  test('that follows makes late answers of the first one mean nothing', () => {
    const { state } = hearing(begun, { ...refused, above: 9 })
    expect(hearing(state, { name: 'one' }).state).toBe(state)
    expect(hearing(state, { name: 'one', follows: 'one' }).state).toBe(state)
    // But it answers now.
    expect(hearing(state, { name: 'one', follows: 'two' }).state.stopped).toMatchObject({
      ...{ before: 'two', after: 'one' },
    })
  })

  test('stops until the app starts over: with whichever answers then', () => {
    expect(startOver(begun)).toBe(begun)
    const over = startOver(stopped)
    const { state, result } = withClaim(over, 'z')
    expect(result).toEqual({
      claim: 'z',
      ended: { series: 'B', token: 'first', from: 1, to: 0 },
    })
    for (const ledger of ['one', 'two']) {
      const next = withSeries(state, 'z', { series: 'C', token: 'x', ledger })
      expect(next).toMatchObject({ ledger, current: { letter: 'C' } })
      for (const name of ['one', 'two']) expect(hearing(next, { name }).state).toBe(next)
    }
  })
})

test('what a newer version has stored is not misread', () => {
  expect(() => readState({ version: 2 })).toThrow(HiloError)
  expect(() => readState({ version: 2 })).toThrow('a newer offline-hilo was here')
})

test.each<[string, unknown]>([
  ['null', null],
  ['text', 'series'],
  ['empty', {}],
  ['without what has ended', { ...begun, ended: undefined }],
  ['with ends that are none', { ...begun, ended: 'none' }],
  ['with an end without a reason', { ...begun, ended: [{ letter: 'A', token: 'first' }] }],
  ...['letter', 'token'].map((field): [string, unknown] => [
    `with an end without its ${field}`,
    { ...begun, ended: [{ letter: 'A', token: 'first', reason: { kind: 'closed' }, [field]: 1 }] },
  ]),
  ['with a series that is text', { ...begun, current: 'B' }],
  ['with a series that is null', { ...begun, current: null }],
  ...['letter', 'begun', 'token', 'heard'].map((field): [string, unknown] => [
    `with a series without its ${field}`,
    { ...begun, current: { ...begun.current, [field]: undefined } },
  ]),
  ...[-1, 0.5].map((heard): [string, unknown] => [
    `with ${heard} heard`,
    { ...begun, current: { ...begun.current, heard } },
  ]),
  ...[null, 1, {}, { from: 1 }, { from: 1, to: Number.NaN }].map((range): [string, unknown] => [
    `with the range ${JSON.stringify(range)}`,
    { ...begun, current: { ...begun.current, ranges: [{ from: 1, to: 9 }, range] } },
  ]),
  ['with a check-in that is text', { ...begun, current: { ...begun.current, checkIn: 'now' } }],
  ['with a claim that is a number', { ...NEW, claim: 7 }],
])('a record that is %s makes no number', (_, stored) => {
  expect(readState(begun)).toBe(begun)
  expect(() => readState(stored)).toThrow(
    expect.objectContaining({
      code: 'storage-failed',
      message: expect.stringMatching(/^The stored series of this device are damaged: /),
    }),
  )
})
