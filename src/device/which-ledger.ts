/**
 * Which ledger answers (H34). A ledger has a public name, and each answer carries it. Two ledgers
 * at one address, under one server tag, grant the same ids: when a device hears a second name, it
 * issues and claims nothing under either. It goes on when the app starts over, or when the second
 * ledger says that it follows the first one, above all that the first one granted. Pure
 * transitions.
 */
import { type HeardLedger, HiloError } from '../core/errors.js'
import { isLocal } from '../core/local-url.js'
import { type Range, total } from '../core/range.js'
import { heardOf } from './check-in.js'
import { dropClaim, heldRanges, highest } from './claim.js'
import type { DeviceState, Stop } from './state.js'

/**
 * Every answer is heard before it is used, also one whose claim is settled already.
 * @param date the device's clock, for people
 */
export function hear(
  state: DeviceState,
  { name, tag, follows, above = -1 }: HeardLedger,
  date: number,
): DeviceState {
  const { ledgers, former = [], stopped } = state
  const of = ledgers?.[tag]
  // A former name is late news, unless the request has shown today's name.
  const isLate = former.includes(name!) && follows !== of
  if (!name || !of || name === of || isLate) return state
  const stop = { of, by: name, tag, at: date, numbers: total(heldRanges(state)) }
  // guard: H34 who follows begins above all that this device knows
  if (follows === of && above >= highest(state)) return goOnAfter(state, stop)
  // guard: H34 a second name stops the device
  return stopped ? state : { ...withoutClaim(state), stopped: stop }
}

/**
 * The app says that nobody uses ids of the first ledger any more, or that the second one is gone.
 * So the next ledger that grants is the device's, whichever it is.
 * @param stops of all collections of the database: none goes on with what another one has left
 */
export function startOver(
  state: DeviceState,
  date: number,
  stops: readonly Stop[] = [],
): DeviceState {
  // guard: H34 one call starts over with every collection of the database
  const stop = state.stopped ?? stops.find(({ of, tag }) => state.ledgers?.[tag] === of)
  if (!stop) return state
  const { ledgers, ...next } = goOnAfter(state, { ...stop, at: date })
  const { [stop.tag]: _, ...others } = ledgers!
  return { ...next, ...(Object.keys(others).length > 0 && { ledgers: others }) }
}

/** Drops all that the first ledger granted. Its late answers are recognised, and not used. */
function goOnAfter(before: DeviceState, { of, by, tag, at }: Stop): DeviceState {
  const { stopped: _, checkIn: __, checkedIn: ___, claim: ____, ...state } = before
  const isKept = ({ serverTag }: Range) => serverTag !== tag
  const isHeldOfOther = ({ range }: { range: Range }) => isKept(range)
  const kept = heldRanges(state).filter(isKept)
  const numbers = total(heldRanges(state)) - total(kept)
  const isOfKept = (token: string) => kept.some((range) => range.token === token)
  const dropped = (state.unheard ?? []).filter((token) => !isOfKept(token))
  return {
    ...heardOf(state, dropped),
    // guard: H34 nothing that the first ledger granted is issued under the second
    ranges: state.ranges.filter(isKept),
    leases: state.leases.filter(isHeldOfOther),
    offers: state.offers.filter(isHeldOfOther),
    grants: state.grants.filter(isOfKept),
    issued: highest(state),
    gaps: { ...state.gaps, ledger: (state.gaps.ledger ?? 0) + numbers },
    ledgers: { ...state.ledgers, [tag]: by },
    former: [...(state.former ?? []), of],
    followed: { of, by, tag, at, numbers },
  }
}

const withoutClaim = (state: DeviceState): DeviceState =>
  state.claim ? dropClaim(state, state.claim.id) : state

/** Why nothing is made, for people. */
export function ledgersDiffer(
  url: string,
  database: string,
  { of, by, at, numbers }: Stop,
): HiloError {
  const what = `Another ledger answers at ${url}: ${by}`
  const message = isLocal(url)
    ? `${what} (ids here are of ${of}), begun anew or of another project.\n` +
      'To go on, call `await hilo.startOver()` once, or delete the data of this site.'
    : `${what}, since ${new Date(at).toISOString()}. The ${numbers} ids here are of ${of}, so ` +
      `none is made. If two servers answer, stop one. If ${of} is lost: npx ` +
      `offline-hilo-server follow ${database} --name ${of} --above <highest>. ` +
      `Or \`hilo.startOver()\`.`
  return new HiloError('other-ledger', message)
}
