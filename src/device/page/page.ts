/**
 * A page of one collection: its leases, its offers, and the leases that it gave up and that no
 * answer has confirmed yet. Each function is one event, synchronous and free of I/O. It changes the
 * page in place: of two copies, each would issue the same numbers. Guarantees that a page issues
 * nothing that it has parked, sent or lost to a fork (H6), that it sends an offer once (H8), and
 * that a failed exchange forgets nothing: each one says what was given up, until one is answered.
 * To send it twice is safe.
 */
import { insertAll, isReturnable, type Range } from '../../core/range.js'
import { idOf } from '../page-notes.js'
import type {
  Exchange,
  Exchanged,
  ExchangeNote,
  Gaps,
  Lease,
  LeaseNote,
  Note,
  Offer,
} from '../state.js'
import { type LeaseLeft, LeaseQueue } from './lease-queue.js'

type Cut = Exchange['cuts'][number]

type Dropped = Pick<Gaps, 'fork' | 'drop' | 'ledger'>

export interface Page {
  /** Of the page instance; no identity outlives it (H7). */
  readonly id: string
  readonly queue: LeaseQueue
  /** Surplus that this page sends back when it goes. Durably set aside before it is here (H8). */
  offers: Offer[]
  /**
   * Leases, the tails of leases, and whole exchanges that were given up and that no answer has
   * confirmed, by lease or exchange. Later news of a lease replaces earlier.
   */
  readonly unconfirmed: Map<string, Note | Cut>
  /** Exchanges under way. If one fails, its note cancels all that it did. */
  readonly awaited: Map<string, ExchangeNote>
  /** Ids of notes that have a copy in `localStorage`; undefined: the page has asked nothing yet. */
  copies?: Set<string>
  /** How many numbers this device has dropped, by cause. Unknown before its first answer. */
  dropped?: Dropped
}

export const newPage = (id: string): Page => ({
  id,
  queue: new LeaseQueue(),
  offers: [],
  unconfirmed: new Map(),
  awaited: new Map(),
})

/** Notes that earlier pages left in `localStorage` go to the device with the next exchange. */
export function adopt(page: Page, notes: readonly Note[]): void {
  put(page, notes)
  page.copies = new Set(notes.map(idOf))
}

/** The page asks its device. The request brings all that is unconfirmed, and takes offers back. */
export function ask(
  page: Page,
  wish: Pick<Exchange, 'id' | 'want' | 'ahead' | 'isIdle' | 'offer'>,
): Exchange {
  put(page, page.queue.takeSpent())
  const isEmpty = page.queue.held + page.awaited.size === 0
  const takeBack = page.offers.map(idOfOffer)
  // guard: H8 a page does not send what it takes back
  page.offers = []
  page.awaited.set(wish.id, { exchange: wish.id, takeBack })
  return {
    page: page.id,
    ...wish,
    isEmpty,
    notes: notesIn(page),
    cuts: [...page.unconfirmed.values()].filter(isCut),
    takeBack,
  }
}

/**
 * The device has answered: it knows all that the request brought. Its leases and offers are the
 * page's, unless the page has given the exchange up meanwhile.
 * @returns whether the page has to tell the device that it does not use these numbers, and the ids
 * of notes whose copies in `localStorage` it has read with this request
 */
export function answered(
  page: Page,
  { id, notes, cuts }: Exchange,
  { leases, offers, outstanding }: Exchanged,
): [isUnused: boolean, settled: string[]] {
  for (const entry of [...notes, ...cuts])
    if (page.unconfirmed.get(idOf(entry)) === entry) page.unconfirmed.delete(idOf(entry))
  let isUnused = false
  // guard: H6 an answer that comes when the page has gone is not used
  const isGivenUp = !page.awaited.delete(id)
  if (isGivenUp) {
    isUnused = leases.length + offers.length > 0
    if (isUnused) put(page, [{ exchange: id, takeBack: [] }])
  } else {
    page.queue.add(leases)
    page.queue.renew(outstanding)
    page.offers.push(...offers)
  }
  return [isUnused, notes.map(idOf).filter((note) => page.copies?.delete(note))]
}

/** An exchange has failed, or the page does not want its answer any more. */
export function cancel(page: Page, exchange: string): void {
  const note = page.awaited.get(exchange)
  if (note && page.awaited.delete(exchange)) put(page, [note])
}

/** Gives up every lease, also those in answers that have not come. The next exchange says so. */
export function giveUp(page: Page): void {
  put(page, page.queue.takeSpent())
  put(page, page.queue.revoke().map(noteOf))
  // guard: H6 a page that goes says which answers it will not use
  for (const exchange of page.awaited.keys()) cancel(page, exchange)
}

/**
 * Takes every number that the page holds, at once. From now on they count as issued, and the next
 * exchange says so.
 */
export function takeAll(page: Page): Range[] {
  put(page, page.queue.takeSpent())
  const left = page.queue.revoke()
  put(
    page,
    left.map(({ lease }) => usedUp(lease)),
  )
  return left.map(({ lease, next }) => ({ ...lease.range, from: next }))
}

/** Gives up the newest numbers until the page holds only `count`. The next exchange says so. */
export function cutTo(page: Page, count: number): void {
  const { notes, cuts } = page.queue.cutTo(count)
  put(page, [...notes, ...cuts])
}

/**
 * Gives the newest `count` numbers up for a batch. The batch's next exchange says so, and leases as
 * many in the same transaction: an exchange of this page in between would lease them anew.
 */
export function handOn(page: Page, batch: Page, count: number): void {
  const { notes, cuts } = page.queue.cutTo(page.queue.held - count)
  put(batch, [...notes, ...cuts])
}

/**
 * Gives up all that a batch holds and has given up: the page's next exchange says so. A page that
 * has cut the tail of a lease off for the batch may know more of that lease by now.
 */
export function takeOver(page: Page, batch: Page): void {
  giveUp(batch)
  for (const entry of batch.unconfirmed.values())
    if (!isCut(entry) || !page.unconfirmed.has(entry.lease)) put(page, [entry])
  batch.unconfirmed.clear()
}

/**
 * The device says how many numbers it has dropped. Any other count than the last one means that
 * numbers of this page may be among them. It can fall, from 32 to 0: a late answer was made before
 * the fork, or the storage was lost since.
 * @returns how many more, by cause
 */
export function hearDropped(page: Page, now: Dropped): Required<Dropped> {
  const before = page.dropped ?? now
  page.dropped = now
  const more = {
    fork: now.fork - before.fork,
    drop: now.drop - before.drop,
    ledger: (now.ledger ?? 0) - (before.ledger ?? 0),
  }
  // guard: H13 a page that hears of a fork voids what it holds
  if (Object.values(more).some((count) => count !== 0)) giveUp(page)
  return more
}

/**
 * Two ledgers have answered (H34): the page gives up its numbers.
 * @returns whether there was something
 */
export function hearStop(page: Page): boolean {
  const isHolding = page.queue.held > 0
  // guard: H34 a page that hears of two ledgers issues nothing more
  if (isHolding) giveUp(page)
  return isHolding
}

/**
 * The page goes: it gives up every lease, and the surplus is sent back.
 * @param exchange the id of an exchange that will never be made: its note takes offers back
 * @param serverTag the node that answered last
 * @param keepsNothing the rest of the leases is sent back, too
 * @returns the ranges to send
 */
export function exit(
  page: Page,
  exchange: string,
  isOnline: boolean,
  serverTag: string | undefined,
  keepsNothing: boolean,
): Range[] {
  const mayGo = ({ range }: { range: Range }) =>
    // guard: H9 a page sends without a token only to the node that granted
    isOnline && isReturnable(range, serverTag)
  const takeBack = page.offers.filter((offer) => !mayGo(offer)).map(idOfOffer)
  if (takeBack.length > 0) put(page, [{ exchange, takeBack }])
  const sent = page.offers
    .filter(mayGo)
    .map((offer): LeaseLeft => ({ lease: offer, next: offer.range.from }))
  // guard: H8 an offer is sent once
  page.offers = []
  for (const left of keepsNothing ? page.queue.revoke() : [])
    if (mayGo(left.lease)) sent.push(left)
    else put(page, [noteOf(left)])
  put(
    page,
    sent.map((left) => ({ ...noteOf(left), sentTo: left.lease.range.to, givenBack: true })),
  )
  giveUp(page)
  return insertAll(
    [],
    sent.map(({ lease, next }) => ({ ...lease.range, from: next })),
  )
}

/**
 * The page may be gone before the next exchange. It holds no lease any more, so there is no tail of
 * one in here.
 * @returns everything as notes, to leave for the next page
 */
export function notesToLeave(page: Page): Note[] {
  const notes = notesIn(page)
  for (const note of notes) page.copies?.add(idOf(note))
  return notes
}

/** Is there a note of everything, for the next page? */
export const isAllLeft = ({ unconfirmed, copies }: Page): boolean =>
  [...unconfirmed.keys()].every((id) => copies?.has(id))

export const usedUp = ({ id, range }: Lease): LeaseNote => ({ lease: id, next: range.to + 1 })

function put({ unconfirmed }: Page, entries: readonly (Note | Cut)[]): void {
  for (const entry of entries) unconfirmed.set(idOf(entry), entry)
}

const notesIn = ({ unconfirmed }: Page): Note[] =>
  [...unconfirmed.values()].flatMap((entry) => (isCut(entry) ? [] : entry))
const noteOf = ({ lease, next }: LeaseLeft) => ({ lease: lease.id, next })
const idOfOffer = ({ id }: Offer): string => id
const isCut = (entry: Note | Cut): entry is Cut => 'to' in entry
