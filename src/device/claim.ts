/**
 * How a device's state changes when it claims: pure functions, each meant to run inside one storage
 * transaction. Guarantees that a claim is stored before it is sent, that its grant is added once,
 * and that a grant never overlaps the device's ranges.
 */
import { HiloError } from '../core/errors.js'
import { idSuffix } from '../core/names.js'
import { insert, overlaps, type Range, size, total } from '../core/range.js'
import { tokenToShow, withoutUse } from './check-in.js'
import { PAGE_AT_REST } from './page/stock-rules.js'
import { claimSize } from './sizes.js'
import type { DeviceClaim, DeviceState, GrantedRange } from './state.js'

/**
 * The device remembers the tokens of this many grants. It does not tell the server that an older
 * grant was issued: the server keeps that grant's row until its horizon.
 */
const MAX_GRANTS = 32

/** Over this time a grant forgets earlier use: a range is to last as long. */
const BURST_MS = 30_000

/**
 * The claim to send, stored before it is sent: the pending one, or a new one when fewer than `want`
 * numbers are free. None after a release.
 * @param date the device's clock; it sizes the claim, and decides nothing else (H19)
 * @param largest the server has refused a claim for more
 */
export function beginClaim(
  state: DeviceState,
  id: string,
  want: number,
  reserve: number,
  date: number,
  largest?: number,
): { state: DeviceState; claim?: DeviceClaim } {
  // guard: H25 what was released is claimed again only for who asks
  if (state.isReleased) return { state }
  // guard: H34 between two ledgers nothing is claimed
  if (state.stopped) return { state }
  if (state.claim) return { state, claim: state.claim }
  const free = total(state.ranges)
  const { sinceGrant } = state
  const age = sinceGrant && date - sinceGrant.at
  if (free >= want) return { state }
  // guard: H13 a claim shows the newest token
  const shown = tokenToShow(state)
  const claim = {
    id,
    lastBatchSize: claimSize(
      {
        free,
        wanted: Math.max(want, state.reserve ?? reserve),
        issued: (sinceGrant?.issued ?? 0) + inBurst(state, age),
        age,
      },
      largest,
    ),
    // guard: H20 a claim tells the highest number seen
    lastMax: highest(state),
    ...(shown && { shown }),
    ...(state.ledgers && { ledgers: state.ledgers }),
  }
  // guard: H11 a claim is stored before it is sent
  return { state: { ...(shown ? withoutUse(state, shown) : state), claim }, claim }
}

/**
 * The numbers that pages hold because they are busy. In a burst they are as good as issued, and the
 * next range has to be longer. Later a page at rest has parked them, and a page that was killed has
 * not.
 */
function inBurst({ leases }: DeviceState, age = BURST_MS): number {
  if (Math.abs(age) >= BURST_MS) return 0
  return leases.reduce((sum, { range }) => sum + Math.max(0, size(range) - PAGE_AT_REST), 0)
}

/**
 * Adds a grant of the server. A grant answers one claim and is added once, however many tabs saw
 * the answer, and however often it came. Without a token (RavenDB) each request for one claim gets
 * numbers of its own. Those of a later answer become a gap: an answer that comes again looks the
 * same, and its numbers may have been given back since.
 * @param date of the answer
 * @throws HiloError `invalid-response` when the grant overlaps a range of this device
 */
export function addGrant(
  state: DeviceState,
  claimId: string,
  { range, ledger, isPlain }: GrantedRange,
  date: number,
): DeviceState {
  // guard: H11 a grant is added once
  if (state.claim?.id !== claimId) return state
  // guard: H34 only the ledger of what is held grants
  if (ledger && (state.ledgers?.[range.serverTag] ?? ledger) !== ledger)
    return dropClaim(state, claimId)
  // A claim says the highest number that this device has seen, and its grant is above that. A grant
  // at or below `issued` is therefore an answer that came before: its numbers may be issued.
  // guard: H11 an answer that came before is not added again
  if (!range.token && range.from <= state.issued && !isFromNewNode(state, range))
    return dropClaim(state, claimId)
  const { claim: _, isPlain: _before, ...rest } = state
  const clash = heldRanges(state).find(
    (other) => overlaps(other, range) && !wasReturned(state, other),
  )
  // guard: H20 a grant that overlaps is refused
  if (clash)
    throw new HiloError(
      'invalid-response',
      `The server granted ${range.from}–${range.to}, but this device already holds ` +
        `${clash.from}–${clash.to}. ` +
        'Nothing was taken. Was the server restored from a backup? Raise its floor: ' +
        '`npx offline-hilo-server raise-floor`.',
    )
  return {
    ...rest,
    ranges: insert(state.ranges, range),
    // If the server grants an offer's numbers again, it had got them back.
    offers: state.offers.filter((offer) => !overlaps(offer.range, range)),
    serverTag: range.serverTag,
    nodes: [...new Set([...(state.nodes ?? []), nodeOf(range)])].slice(0, 2),
    sinceGrant: { at: date, issued: recent(state, date) },
    ...(ledger && { ledgers: { ...state.ledgers, [range.serverTag]: ledger } }),
    ...(isPlain && { isPlain }),
    grants: range.token ? [...state.grants, range.token].slice(-MAX_GRANTS) : state.grants,
  }
}

/**
 * Numbers that a burst has issued count for its next claim, too. If each grant began to count anew,
 * a claim milliseconds after it would find next to nothing issued, and the range would not grow.
 */
function recent({ sinceGrant }: DeviceState, date: number): number {
  if (!sinceGrant) return 0
  const left = 1 - Math.abs(date - sinceGrant.at) / BURST_MS
  return Math.round(sinceGrant.issued * Math.max(0, left))
}

/** Has this device got no range of this node before? Then none of its numbers was issued here. */
const isFromNewNode = ({ nodes = [] }: DeviceState, range: Range): boolean =>
  nodes.length < 2 && nodes[0] !== nodeOf(range)

/** Two nodes may grant the same number; the two ids differ in their prefix or their tag. */
const nodeOf = (range: Range): string => `${range.prefix}…${idSuffix(range)}`

/**
 * Forgets a claim whose answer can never be used, so that the next one is a new claim. If it showed
 * a token, a check-in shows that one again under the claim's id. The server may have replaced the
 * token before: for example, its answer was lost, and a proxy refused the claim when it came again.
 * Under another id, this device would look like a copy of itself.
 */
export function dropClaim(state: DeviceState, claimId: string): DeviceState {
  const { claim, ...rest } = state
  if (claim?.id !== claimId) return state
  const { shown } = claim
  // guard: H13 what a forgotten claim has shown is shown again as it was
  if (!shown) return rest
  const { ledgers } = claim
  return {
    ...rest,
    checkIn: { id: claimId, grants: shown, spent: [], ...(ledgers && { ledgers }) },
  }
}

/**
 * Is `range` an offer with a token? If the server grants its numbers again, the give-back had
 * reached it, though no note says that it was sent (H12).
 */
const wasReturned = ({ offers }: DeviceState, range: Range): boolean =>
  range.token !== undefined && offers.some((offer) => offer.range === range)

/** All numbers that this device has not let go of. */
export const heldRanges = ({ ranges, leases, offers }: DeviceState): Range[] => [
  ...ranges,
  ...leases.map((lease) => lease.range),
  ...offers.filter((offer) => !offer.isSent).map((offer) => offer.range),
]

/**
 * Highest number that was issued or still may be: the server must not grant at or below it (H20).
 */
export const highest = (state: DeviceState): number =>
  Math.max(state.issued, ...heldRanges(state).map((range) => range.to))
