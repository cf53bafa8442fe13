/**
 * The outcome of a claim: it is granted, or it was refused. Pure. Guarantees that a grant of
 * another ledger is not used (H34), and that a claim that is refused for good ends.
 */
import { HiloError } from '../../core/errors.js'
import { type Range, total } from '../../core/range.js'
import { MIN_CAPACITY } from '../../core/wire.js'
import { applyShown, beginCheckIn } from '../check-in.js'
import { addGrant, dropClaim } from '../claim.js'
import type { DeviceState, GrantedRange, Stop } from '../state.js'
import { hear } from '../which-ledger.js'

/** The outcome of a grant; `ask`: a check-in has started, and the grant is added after it. */
export type Granted = { free: number } | { stop: Stop } | { error: unknown } | 'ask'

/**
 * @param date of the answer
 * @param newId for a check-in. The server may have got back numbers that this device seems to hold:
 * a page that closed sent them, and its note is not there. Undefined: the server was asked that
 * already
 */
export function granted(
  before: DeviceState,
  claim: string,
  { range, ...grant }: GrantedRange,
  date: number,
  newId?: () => string,
): [DeviceState, Granted] {
  // guard: H34 a grant is heard before it is used, also one that comes late
  const heard = hear(before, { name: grant.ledger, tag: range.serverTag }, date)
  const state = applyShown(heard, claim, grant.results)
  if (state.stopped) return [state, { stop: state.stopped }]
  try {
    const next = addGrant(state, claim, { range, ...grant }, date)
    const isUsedUp = next.claim !== state.claim && next.ranges === state.ranges
    return [next, isUsedUp ? { error: grantedAgain(range) } : { free: total(next.ranges) }]
  } catch (error) {
    // guard: H12 a grant that seems to be held is refused only after a check-in
    if (newId) return [beginCheckIn(state, newId()).state, 'ask']
    // The same claim would bring the same grant.
    return [dropClaim(state, claim), { error }]
  }
}

/** How a claim goes on after refusals. */
export interface Tries {
  /** Nothing was refused, or failed, since the last grant. */
  isFirst: boolean
  /** A larger claim was refused. */
  largest: number | undefined
}

/**
 * A claim for `count` numbers was refused for good.
 * @param isOurs false: another tab sent it, too, and has forgotten it or used its grant
 * @returns whether a new one is sent at once
 */
export function refused(
  tries: Tries,
  step: 'fresh' | 'smaller' | 'forget',
  count: number,
  isOurs: boolean,
): [Tries, isAgain: boolean] {
  if (step === 'forget') return [tries, false]
  if (step === 'fresh')
    // Without Web Locks another tab sends the same claim, and may use the grant first.
    return isOurs ? [{ ...tries, isFirst: false }, tries.isFirst] : [tries, true]
  const largest = count > MIN_CAPACITY ? Math.max(MIN_CAPACITY, count >> 1) : undefined
  return [{ isFirst: false, largest }, largest !== undefined]
}

/** Without this error, the device would ask such a server again at once, for ever. */
const grantedAgain = ({ from, to }: Range): HiloError =>
  new HiloError(
    'invalid-response',
    `The server granted ${from}–${to}, but this device has used these numbers. Nothing was ` +
      'taken. Was an answer repeated, or the server restored from a backup?',
  )
