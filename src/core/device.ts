/**
 * How a device's state changes: pure `(state, event) → state` functions, each meant to run inside
 * one storage transaction. Guarantees: a number is in at most one of `ranges`, `leases` and
 * `offers`, and leaves them only to be issued, to go back to the server, or to become a gap.
 */
import { tokenToShow } from './check-in.js'
import { HiloError } from './errors.js'
import { idSuffix } from './names.js'
import { isNote } from './page-exit.js'
import {
  insert,
  insertAll,
  isReturnable,
  overlaps,
  type Range,
  takeHighest,
  takeLowest,
  total,
} from './range.js'
import { claimSize, spare } from './sizes.js'
import type {
  DeviceClaim,
  DeviceState,
  Exchange,
  Exchanged,
  ExchangeNote,
  GrantedRange,
  LeaseNote,
  Note,
  Offer,
} from './state.js'

import { writeOffOldest } from './write-off.js'

/**
 * The device remembers the tokens of this many grants. It does not tell the server that an older
 * grant was issued: the server keeps that grant's row until its horizon.
 */
const MAX_GRANTS = 32

/**
 * Settles every note whose lease is still outstanding; a lease is settled once, whichever copy of
 * its note comes first (H5).
 */
export function settle(state: DeviceState, notes: readonly Note[]): DeviceState {
  return notes.filter(isNote).reduce((settled, note) => {
    if ('exchange' in note) return cancelExchange(settled, note)
    const next = settleLease(settled, note)
    return note.givenBack ? settleOffer(next, note.lease) : next
  }, state)
}

function cancelExchange(state: DeviceState, { exchange, takeBack }: ExchangeNote): DeviceState {
  const isOfExchange = (id: string) => id.startsWith(`${exchange}.`)
  const leases = state.leases
    .filter(({ id }) => isOfExchange(id))
    .map(({ id, range }) => ({ lease: id, next: range.from }))
  const offers = state.offers.filter(
    ({ id, isSent }) => !isSent && (isOfExchange(id) || takeBack.includes(id)),
  )
  return leases.reduce(settleLease, returnOffers(state, offers))
}

function settleLease(state: DeviceState, note: LeaseNote): DeviceState {
  const lease = state.leases.find(({ id }) => id === note.lease)
  if (!lease) return state
  const { from, to } = lease.range
  // A note is not trusted either: what it does not say clearly counts as issued.
  // guard: H5 a note frees nothing outside its lease
  const next = Number.isSafeInteger(note.next)
    ? Math.min(Math.max(note.next, from), to + 1)
    : to + 1
  const rest = { ...lease.range, from: next }
  const settled = {
    ...state,
    // guard: H5 a lease is settled once
    leases: state.leases.filter((other) => other !== lease),
    issued: next > from ? Math.max(state.issued, next - 1) : state.issued,
  }
  if (!note.givenBack) return { ...settled, ranges: insert(state.ranges, rest) }
  return next > to
    ? settled
    : { ...settled, offers: [...state.offers, { id: lease.id, page: '', range: rest }] }
}

/**
 * Marks an offer as sent. If it has a token, the server can still say whether it arrived. Without
 * one nobody can, so it is forgotten (H12).
 */
function settleOffer(state: DeviceState, id: string): DeviceState {
  return {
    ...state,
    offers: state.offers.flatMap((offer) =>
      offer.id !== id ? offer : offer.range.token ? { ...offer, isSent: true as const } : [],
    ),
  }
}

/**
 * Settles the notes of a page, then leases it the numbers that it wants, lowest first. Then offers
 * it the surplus above `keep`, highest first, because the server can take those back. If a request
 * comes again, because its answer was lost with a worker, it gets the same answer.
 * @param reserve the target in force: what a page is leased to look ahead leaves half of it free
 */
export function exchange(
  state: DeviceState,
  request: Exchange,
  keep: number,
  reserve = 0,
): { state: DeviceState } & Exchanged {
  const isOfRequest = ({ id }: { id: string }) => id.startsWith(`${request.id}.`)
  const answer = (next: DeviceState) => ({
    state: next,
    leases: next.leases.filter(isOfRequest),
    offers: next.offers.filter(isOfRequest),
    outstanding: next.leases.filter(({ id }) => id.startsWith(request.page)),
  })
  // guard: H16 an exchange that comes again is answered the same way
  if (state.leases.some(isOfRequest) || state.offers.some(isOfRequest)) return answer(state)

  let next = settle(state, request.notes)
  for (const cut of request.cuts) next = cutLease(next, cut.lease, cut.to)
  next = takeBack(next, request.page, request.takeBack)

  // guard: H3 looking ahead claims nothing
  const ahead = Math.min(request.ahead ?? 0, spare(total(next.ranges) - request.want, reserve))
  const { taken, rest } = takeLowest(next.ranges, request.want + ahead)
  const leases = taken.map((range, i) => ({ id: `${request.id}.${i}`, range }))
  if (leases.length > 0) next = { ...next, ranges: rest, leases: [...next.leases, ...leases] }
  next = writeOffOldest(next, request.page)
  return answer(request.offer ? setAside(next, request.page, request.id, keep).state : next)
}

/**
 * Sets the surplus above `keep` aside for a page to give back. It is stored before any request can
 * be sent (H8).
 */
export function setAside(
  state: DeviceState,
  page: string,
  id: string,
  keep: number,
): { state: DeviceState; offers: Offer[] } {
  const returnable = state.ranges.filter((range) => isReturnable(range, state.serverTag))
  const { taken, rest } = takeHighest(returnable, surplus(state, keep))
  if (taken.length === 0) return { state, offers: [] }
  const offers = taken.map((range, i) => ({ id: `${id}.offer${i}`, page, range }))
  const kept = state.ranges.filter((range) => !isReturnable(range, state.serverTag))
  return {
    state: {
      ...state,
      // guard: H8 an offer leaves the ranges before it is sent
      ranges: insertAll(kept, rest),
      offers: [...state.offers, ...offers],
    },
    offers,
  }
}

/** How many free numbers exceed `keep` and can go back to the server. */
export function surplus(state: DeviceState, keep: number): number {
  const returnable = total(state.ranges.filter((range) => isReturnable(range, state.serverTag)))
  return Math.max(0, Math.min(returnable, total(state.ranges) - keep))
}

/**
 * The claim to send, stored before it is sent: the pending one, or a new one when fewer than `want`
 * numbers are free.
 * @param largest the server has refused a claim for more
 */
export function beginClaim(
  state: DeviceState,
  id: string,
  want: number,
  reserve: number,
  largest?: number,
): { state: DeviceState; claim?: DeviceClaim } {
  if (state.claim) return { state, claim: state.claim }
  const free = total(state.ranges)
  if (free >= want) return { state }
  // guard: H13 a claim shows the newest token
  const shown = tokenToShow(state)
  const claim = {
    id,
    ...claimSize(free, state.reserve ?? reserve, want, state.last, largest),
    // guard: H20 a claim tells the highest number seen
    lastMax: highest(state),
    ...(shown && { shown }),
  }
  // guard: H11 a claim is stored before it is sent
  return { state: { ...state, claim }, claim }
}

/**
 * Adds what the server granted. A grant answers one claim and is added once, however many tabs saw
 * the answer, and however often it came. Without a token (RavenDB) each request for one claim gets
 * numbers of its own. Those of a later answer become a gap: an answer that comes again looks the
 * same, and its numbers may have been given back since.
 * @throws HiloError `invalid-response` when the grant overlaps what this device already holds
 */
export function addGrant(
  state: DeviceState,
  claimId: string,
  { range, last }: GrantedRange,
): DeviceState {
  // guard: H11 a grant is added once
  if (state.claim?.id !== claimId) return state
  // A claim says the highest number that this device has seen, and its grant is above that. A grant
  // at or below `issued` is therefore an answer that came before: its numbers may be issued.
  // `issued` 0: none was issued.
  // guard: H11 an answer that came before is not added again
  if (
    !range.token &&
    state.issued > 0 &&
    range.from <= state.issued &&
    !isFromNewNode(state, range)
  )
    return dropClaim(state, claimId)
  const { claim: _, ...rest } = state
  const clash = heldRanges(state).find(
    (other) => overlaps(other, range) && !wasReturned(state, other),
  )
  // guard: H20 a grant that overlaps is refused
  if (clash)
    throw new HiloError(
      'invalid-response',
      `The server granted ${range.from}–${range.to}, but this device already holds ` +
        `${clash.from}–${clash.to} of it. ` +
        'The answer was dropped. Was the server restored from a backup? Raise its floor: ' +
        '`offline-hilo-server raise-floor`.',
    )
  return {
    ...rest,
    ranges: insert(state.ranges, range),
    // If the server grants an offer's numbers again, it had got them back.
    offers: state.offers.filter((offer) => !overlaps(offer.range, range)),
    serverTag: range.serverTag,
    nodes: [...new Set([...(state.nodes ?? []), nodeOf(range)])].slice(0, 2),
    ...(last && { last }),
    grants: range.token ? [...state.grants, range.token].slice(-MAX_GRANTS) : state.grants,
  }
}

/** Has this device got no range of this node before? Then none of its numbers was issued here. */
const isFromNewNode = ({ nodes = [] }: DeviceState, range: Range): boolean =>
  nodes.length === 1 && nodes[0] !== nodeOf(range)

/** Two nodes may grant the same number; the two ids differ in what stands before or after it. */
const nodeOf = (range: Range): string => `${range.prefix}…${idSuffix(range)}`

/**
 * Forgets a claim whose answer can never be used, so that the next one is a new claim. If it showed
 * a token, a check-in shows that one again under the claim's id. The server may have replaced the
 * token before: for example, its answer was lost, and a proxy refused the claim when it came again.
 * Under another id, this device would look like a copy of itself.
 */
export function dropClaim(state: DeviceState, claimId: string): DeviceState {
  if (state.claim?.id !== claimId) return state
  const {
    claim: { id, shown },
    ...rest
  } = state
  // guard: H13 what a forgotten claim has shown is shown again as it was
  return shown ? { ...rest, checkIn: { id, leases: shown, spent: [] } } : rest
}

/**
 * Is `range` an offer with a token? If the server grants its numbers again, the give-back had
 * reached it, though no note says that it was sent (H12).
 */
const wasReturned = ({ offers }: DeviceState, range: Range): boolean =>
  range.token !== undefined && offers.some((offer) => offer.range === range)

/** All numbers that this device has not let go of. */
const heldRanges = ({ ranges, leases, offers }: DeviceState): Range[] => [
  ...ranges,
  ...leases.map((lease) => lease.range),
  ...offers.filter((offer) => !offer.isSent).map((offer) => offer.range),
]

/**
 * Highest number that was issued or still may be: the server must not grant at or below it (H20).
 */
const highest = (state: DeviceState): number =>
  Math.max(state.issued, ...heldRanges(state).map((range) => range.to))

function cutLease(state: DeviceState, id: string, to: number): DeviceState {
  const lease = state.leases.find((other) => other.id === id)
  if (!lease || to >= lease.range.to || to < lease.range.from) return state
  const kept = { ...lease, range: { ...lease.range, to } }
  return {
    ...state,
    ranges: insert(state.ranges, { ...lease.range, from: to + 1 }),
    leases: state.leases.map((other) => (other === lease ? kept : other)),
  }
}

/** Makes offers of a page free again. Only that page may ask: nobody else knows whether it sent. */
export function takeBack(state: DeviceState, page: string, ids: readonly string[]): DeviceState {
  return returnOffers(
    state,
    state.offers.filter(
      // guard: H12 only its page takes an offer back
      (offer) => offer.page === page && !offer.isSent && ids.includes(offer.id),
    ),
  )
}

function returnOffers(state: DeviceState, offers: readonly Offer[]): DeviceState {
  if (offers.length === 0) return state
  return {
    ...state,
    ranges: insertAll(
      state.ranges,
      offers.map(({ range }) => range),
    ),
    offers: state.offers.filter((offer) => !offers.includes(offer)),
  }
}
