/**
 * The number line of a bound collection: its numbers come from somebody else's counter, what is not
 * granted waits in stock. Pure. Guarantees that a number is granted only when it came from that
 * counter and nobody holds it, and that what comes back stays here: the other counter is never set
 * back. Of a bound collection, `Counter.max` is the highest number that came, and `free` is the
 * stock.
 */

import type { ClaimRequest, CollectionKey, UpstreamRange } from './ledger.js'
import {
  type Allocation,
  above,
  type Counter,
  distrust,
  join,
  MAX_NUMBER,
  type Span,
  sizeOf,
  takeFrom,
} from './number-line.js'

type Wish = Pick<ClaimRequest, 'id' | 'count' | 'lastMax'>

/** What a claim may take: a part that is kept for it, what it finds in stock, or nothing. */
export type Ticket = { part: Span | undefined } | { refused: 'jump' | 'short' }

/** What has to come, so that claims get what they ask for. */
export interface Order {
  /** As it is when what the clients saw is believed. */
  counter: Counter
  isBelieved: (wish: Wish) => boolean
  missing: number
}

export function order(counter: Counter, wishes: readonly Wish[], maxJump: number): Order {
  const isBelieved = ({ lastMax }: Wish) => lastMax <= counter.max + maxJump
  const believed = wishes.filter(isBelieved)
  const seen = Math.max(0, ...believed.map(({ lastMax }) => lastMax))
  // `max` is what an upstream is told.
  const honest =
    seen > counter.peak ? { ...distrust(counter, seen), max: Math.max(counter.max, seen) } : counter
  const total = (from: readonly Wish[]) => from.reduce((sum, { count }) => sum + count, 0)
  const fromStock = total(believed.filter(takesAny))
  return {
    counter: honest,
    isBelieved,
    missing: total(believed) - Math.min(fromStock, sizeOf(honest.free)),
  }
}

/** @param fresh what has come; undefined: it has not been asked for yet */
export function fill(
  { counter, isBelieved, missing }: Order,
  wishes: readonly Wish[],
  fresh: readonly Span[] | undefined,
): { counter: Counter; tickets: Ticket[] } {
  let rest: readonly Span[] = above(counter.floor, fresh ?? [])
  const tickets = wishes.map((wish): Ticket => {
    if (!isBelieved(wish)) return { refused: 'jump' }
    if (!fresh && missing > 0) return { refused: 'short' }
    const kept = takesAny(wish) ? undefined : takeFrom(rest, wish.count)
    rest = kept?.rest ?? rest
    return { part: kept?.span }
  })
  const max = Math.max(counter.max, ...(fresh ?? []).map(([, high]) => high))
  return {
    tickets,
    counter: { ...counter, max, peak: Math.max(counter.peak, max), free: join(counter.free, rest) },
  }
}

/** @param none what it is called that there is nothing */
export function redeem<None extends string>(
  counter: Counter,
  wish: Wish,
  ticket: Ticket,
  none: None,
): Allocation | { refused: 'jump' | 'short' | None } {
  if ('refused' in ticket) return ticket
  const taken = takesAny(wish)
    ? takeFrom(counter.free, wish.count)
    : ticket.part && { span: ticket.part, rest: counter.free }
  if (!taken) return { refused: none }
  const [low, high, node] = taken.span
  return { counter: { ...counter, free: taken.rest }, low, high, node }
}

/** What was granted came back. */
export function restock(counter: Counter, [low, high, ...node]: Span): Counter {
  return { ...counter, free: join(counter.free, above(counter.floor, [[low, high, ...node]])) }
}

/** Takes the piece out of stock that ends at `high`, to give it back to where it came from. */
export function unstock(
  counter: Counter,
  high: number,
  node: string,
): { counter: Counter; span: Span } | undefined {
  const span = counter.free.find((other) => other[1] === high && other[2] === node)
  if (!span) return undefined
  const max = counter.max === high ? span[0] - 1 : counter.max
  return {
    span,
    counter: { ...counter, max, free: counter.free.filter((other) => other !== span) },
  }
}

/**
 * May it be given what somebody else had? A return without a lease names no grant: whose it is must
 * be plain from where the range ends, so who claims without an id is given numbers that never were
 * anybody's.
 */
const takesAny = ({ id }: Wish): boolean => id !== undefined

/** What of `received` is the collection's. */
export const spansFor = (
  { database, collection: tag }: CollectionKey,
  received: readonly UpstreamRange[],
): Span[] =>
  received
    .filter(
      (range) =>
        range.database.toLowerCase() === database && range.collection.toLowerCase() === tag,
    )
    .map(({ low, high, node }) => [low, high, node])

/** Ids as a ledger stores them: from 1, and never above 2^53−1. */
export const toSpans = (blocks: readonly { low: bigint; high: bigint }[]): Span[] =>
  join(
    [],
    blocks
      .filter(({ high }) => high >= 1n && high <= MAX_NUMBER)
      .map(({ low, high }): Span => [Number(low < 1n ? 1n : low), Number(high)]),
  )
