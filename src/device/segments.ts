/**
 * A device's state as segments of the number line, each with its owner. Pure.
 */
import { type Numbers, overlaps, type Range } from '../core/range.js'
import type { DeviceState, LeaseNote } from './state.js'

/** Numbers that are in the same hands. */
export interface Segment extends Numbers {
  /**
   * `granted`: on this device, free. `leased`: set aside for a page. `issued`: used by the app,
   * from a lease that is not used up.
   * `offered`: set aside for a page to give back. `given-back`: sent to the server, which has not
   * confirmed it yet.
   */
  kind: 'granted' | 'leased' | 'issued' | 'offered' | 'given-back'
  /** Of `leased`, `issued` and `offered`: the page instance. */
  page?: string
}

/** A segment with the token of its grant, which nobody is shown. */
export type HeldSegment = Segment & Pick<Range, 'token'>

export function heldSegments({ ranges, leases, offers }: DeviceState): HeldSegment[] {
  return [
    ...ranges.map((range): HeldSegment => ({ ...range, kind: 'granted' })),
    ...leases.map(({ page, range }): HeldSegment => ({ ...range, kind: 'leased', page })),
    ...offers.map(
      ({ page, isSent, range }): HeldSegment =>
        isSent ? { ...range, kind: 'given-back' } : { ...range, kind: 'offered', page },
    ),
  ].sort((a, b) => a.from - b.from)
}

/**
 * The segments of a state, lowest first.
 * @param progress how far a page has used its leases
 */
export function segmentsOf(state: DeviceState, progress: readonly LeaseNote[]): Segment[] {
  const used = state.leases.flatMap(({ id, range }) => {
    const { next = range.from } = progress.find(({ lease }) => lease === id) ?? {}
    return next > range.from ? { ...range, to: Math.min(next - 1, range.to) } : []
  })
  return heldSegments(state).flatMap(({ token: _, ...segment }): Segment[] => {
    const issued =
      segment.kind === 'leased' ? used.find((each) => overlaps(each, segment)) : undefined
    if (!issued) return [segment]
    const parts: Segment[] = [
      { ...segment, to: issued.to, kind: 'issued' },
      { ...segment, from: issued.to + 1 },
    ]
    return parts.filter(({ from, to }) => from <= to)
  })
}
