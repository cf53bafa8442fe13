/**
 * How a device's state changes when pages lease, park and close: pure `(state, event) → state`
 * functions, each meant to run inside one storage transaction. Guarantees: a number is in at most
 * one of `ranges`, `leases` and `offers`, and leaves them only to be issued, to go back to the
 * server, or to become a gap.
 */
import { insert, insertAll, isReturnable, takeHighest, takeLowest, total } from '../core/range.js'
import { isNote } from './page-notes.js'
import { spare } from './sizes.js'
import type {
  DeviceState,
  Exchange,
  Exchanged,
  ExchangeNote,
  LeaseNote,
  Note,
  Offer,
} from './state.js'
import { writeOffOldest } from './write-off.js'

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
  // A note is not trusted either: a number that it does not name clearly counts as issued.
  // guard: H5 a note frees nothing outside its lease
  const next = Number.isSafeInteger(note.next)
    ? Math.min(Math.max(note.next, from), to + 1)
    : to + 1
  // A page may have parked the end of its lease, and gone before it could say so.
  // guard: H5 what a page has parked is not what it has sent
  const sentTo = Number.isSafeInteger(note.sentTo)
    ? Math.min(Math.max(note.sentTo!, next - 1), to)
    : to
  const kept = note.givenBack ? sentTo + 1 : next
  const { sinceGrant } = state
  const settled = {
    ...state,
    // guard: H5 a lease is settled once
    leases: state.leases.filter((other) => other !== lease),
    issued: next > from ? Math.max(state.issued, next - 1) : state.issued,
    ...(sinceGrant && {
      sinceGrant: { ...sinceGrant, issued: sinceGrant.issued + next - from },
    }),
    ranges: insert(state.ranges, { ...lease.range, from: kept }),
  }
  if (kept === next) return settled
  const sent = { ...lease, range: { ...lease.range, from: next, to: kept - 1 } }
  return { ...settled, offers: [...state.offers, sent] }
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
 * @param reserve the target in force. With 200, a page that looks ahead gets numbers as long as 100
 * stay free, for the pages that need one now
 */
export function exchange(
  state: DeviceState,
  asked: Exchange,
  keep: number,
  reserve = 0,
): { state: DeviceState } & Exchanged {
  // guard: H34 between two ledgers nothing is leased
  const request = state.stopped ? { ...asked, want: 0, ahead: 0 } : asked
  const prefix = `${request.id}.`
  const isOfRequest = ({ id }: { id: string }) => id.startsWith(prefix)
  const answer = (next: DeviceState) => ({
    state: next,
    leases: next.leases.filter(isOfRequest),
    offers: next.offers.filter(isOfRequest),
    outstanding: next.leases.filter(({ page }) => !request.isEmpty && page === request.page),
  })
  // guard: H16 an exchange that comes again is answered the same way
  if (state.leases.some(isOfRequest) || state.offers.some(isOfRequest)) return answer(state)

  let next = settle(state, request.notes)
  for (const cut of request.cuts) next = cutLease(next, cut.lease, cut.to)
  next = takeBack(next, request.page, request.takeBack)

  // guard: H3 looking ahead claims nothing
  const ahead = Math.min(request.ahead ?? 0, spare(total(next.ranges) - request.want, reserve))
  const { taken, rest } = takeLowest(next.ranges, request.want + ahead)
  const leases = taken.map((range, i) => ({ id: `${request.id}.${i}`, page: request.page, range }))
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
  // The server that answers now may be another one than the server that granted it.
  if (state.stopped) return 0
  const returnable = total(state.ranges.filter((range) => isReturnable(range, state.serverTag)))
  return Math.max(0, Math.min(returnable, total(state.ranges) - keep))
}

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
