/**
 * The reserve is the device's, not a page's (H36): the largest that a page has declared within the
 * last days. No page's end changes it, and the clock decides about sizes only. A `reserve` call
 * sets it, and a release ends it, for each page of the device.
 */
import { DAY_MS } from '../core/day.js'
import { total } from '../core/range.js'
import type { Target } from './contract.js'
import type { Declared, DeviceState } from './state.js'

/** A value that no page declares any more, after a deploy say, counts for so long. */
const DAYS = 7

/**
 * Notes the reserve that the app of this page asks for. A page without a `reserve` option asks for
 * nothing.
 * @param date the device's clock; a day in its future counts as today
 */
export function declare(
  state: DeviceState,
  { reserve, isDeclared }: Pick<Target, 'reserve' | 'isDeclared'>,
  date: number,
): DeviceState {
  const today = Math.floor(date / DAY_MS)
  const all = (state.declared ?? [])
    .filter(({ day }) => today - day < DAYS)
    .map((each) => ({ ...each, day: Math.min(each.day, today) }))
  if (isDeclared) all.push({ reserve, day: today })
  const declared = all.filter((each, i) => !all.some((other, j) => outlasts(other, each, j < i)))
  if (JSON.stringify(declared) === JSON.stringify(state.declared ?? [])) return state
  const { declared: _, ...rest } = state
  return declared.length === 0 ? rest : { ...rest, declared }
}

/** As large, and for as long: the other one says nothing. */
const outlasts = (a: Declared, b: Declared, isBefore: boolean): boolean =>
  a !== b &&
  a.reserve >= b.reserve &&
  a.day >= b.day &&
  (isBefore || a.reserve > b.reserve || a.day > b.day)

/** @param usual of a page that finds nothing declared */
export function reserveOf({ reserve, declared }: DeviceState, usual: number): number {
  // guard: H36 the largest reserve that was declared is the device's
  if (declared) return reserve ?? Math.max(...declared.map((each) => each.reserve))
  return reserve ?? usual
}

/** An app asks for numbers: a release is over. */
export function asked(state: DeviceState): DeviceState {
  const { isReleased, ...rest } = state
  return isReleased ? rest : state
}

/**
 * The step that finds the count reached also stores it: later claims fill up to it.
 * @returns whether it is reached
 */
export function filled(state: DeviceState, count: number): [DeviceState, boolean] {
  const next = asked(state)
  return total(state.ranges) < count ? [next, false] : [{ ...next, reserve: count }, true]
}

/** Everything was given back, and the target that `reserve` set has ended. */
export function withoutReserve(state: DeviceState): DeviceState {
  const { reserve, ...rest } = state
  return reserve === undefined ? state : rest
}
