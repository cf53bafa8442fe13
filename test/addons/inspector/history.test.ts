/** What the inspector remembers of numbers that the device holds no more. */
import { describe, expect, test } from 'vitest'
import { type Piece, pieces, remember } from '../../../src/addons/inspector/history.js'
import type { ActivityKind, InspectedSegment, Numbers } from '../../../src/index.js'

const numbers = (from: number, to: number, more: Partial<Numbers> = {}): Numbers => ({
  from,
  to,
  prefix: 'orders/',
  serverTag: 'A',
  ...more,
})
const activity = (kind: ActivityKind, ...spans: [number, number][]) => ({
  kind,
  numbers: spans.map(([from, to]) => numbers(from, to)),
})
const segment = (
  kind: InspectedSegment['kind'],
  from: number,
  to: number,
  page?: string,
): InspectedSegment => ({
  ...numbers(from, to),
  kind,
  ...(page && { page }),
  isThisPage: page === 'here',
})
const short = (all: readonly Piece[]) =>
  all.map(
    ({ kind, from, to, serverTag }) => `${kind} ${from}–${to}${serverTag === 'A' ? '' : serverTag}`,
  )
const remembered = (...activities: ReturnType<typeof activity>[]) =>
  short(activities.reduce<Piece[]>(remember, []))

describe('what is remembered', () => {
  test('is what was issued, given back and lost, with neighbours made one', () => {
    expect(
      remembered(
        activity('issue', [1, 3]),
        activity('issue', [4, 6]),
        activity('gap', [7, 9]),
        activity('give-back', [20, 29]),
      ),
    ).toEqual(['issued 1–6', 'gap 7–9', 'given-back 20–29'])
  })

  test('is only the last fate of a number', () => {
    expect(remembered(activity('give-back', [10, 29]), activity('claim', [15, 19]))).toEqual([
      'given-back 10–14',
      'given-back 20–29',
    ])
    expect(
      remembered(
        activity('give-back', [10, 29]),
        activity('claim', [10, 29]),
        activity('issue', [10, 12]),
      ),
    ).toEqual(['issued 10–12'])
  })

  test('is what a fork has cost', () => {
    expect(remembered(activity('fork', [1, 32]))).toEqual(['gap 1–32'])
  })

  test('is not changed by a check-in', () => {
    expect(remembered(activity('issue', [1, 3]), activity('check-in', [1, 64]))).toEqual([
      'issued 1–3',
    ])
  })

  test('is kept apart for the same numbers of two nodes', () => {
    const past = remember(remember([], activity('issue', [1, 9])), {
      kind: 'gap',
      numbers: [numbers(4, 6, { serverTag: 'B' })],
    })
    expect(short(past)).toEqual(['issued 1–9', 'gap 4–6B'])
    expect(short(remember(past, { kind: 'claim', numbers: [numbers(1, 9)] }))).toEqual(['gap 4–6B'])
  })
})

describe('what is on the line', () => {
  test('is what the device holds and, where it holds nothing, what is remembered', () => {
    const past = remember([], activity('issue', [1, 20]))
    const all = pieces([segment('leased', 17, 32, 'here'), segment('granted', 33, 64)], past)
    expect(short(all)).toEqual(['issued 1–16', 'leased 17–32', 'granted 33–64'])
    expect(all[1]).toMatchObject({ page: 'here', isThisPage: true })
  })

  test('makes what was issued of a lease one with what was issued before', () => {
    const past = remember([], activity('issue', [1, 16]))
    expect(
      short(pieces([segment('issued', 17, 20, 'here'), segment('leased', 21, 32, 'here')], past)),
    ).toEqual(['issued 1–20', 'leased 21–32'])
  })

  test('keeps two granted ranges and two pages’ leases apart', () => {
    const held = [
      segment('granted', 1, 32),
      segment('granted', 33, 64),
      segment('leased', 65, 70, 'here'),
      segment('leased', 71, 80, 'there'),
    ]
    expect(pieces(held, [])).toHaveLength(4)
  })
})
