/**
 * How much a device keeps and claims. Sizes only ever waste or save numbers; ownership never
 * depends on them. How many ids a page holds is decided in page/stock-rules.ts.
 */
import { grown, MAX_DOUBLED_CAPACITY } from '../core/wire.js'
import type { SharedView } from './contract.js'

/** Ids kept on the device for offline work, unless the app says otherwise. */
export const DEFAULT_RESERVE = 32

/** Is the device short of its reserve, so that it should claim while it can? */
export const isLow = (free: number, reserve: number): boolean => free < reserve / 2

/** With how many free numbers a device is not short after a page has been leased `want`. */
export const enough = (want: number, reserve: number): number => want + Math.ceil(reserve / 2)

type Shown = Pick<SharedView, 'free' | 'reserve' | 'isReleased'>

/**
 * How many numbers a claim in the background asks for; 0: none is made.
 * @param aside how many numbers are offered and count as free
 * @param unmet how many numbers too few a page has just got
 */
export function topUp({ free, reserve, isReleased }: Shown, aside: number, unmet: number): number {
  return !isReleased && isLow(free + aside, reserve) ? enough(unmet, reserve) : 0
}

/**
 * A claim has ended, and the server granted `missing` fewer than were wanted.
 * @param most the reserve, or the larger number that a `reserve` call under way fills up to
 */
export function goOn({ free, isReleased }: Shown, missing: number, most: number): number {
  // A `reserve(4_000)` that failed leaves 4,000 missing. Were they all claimed here, a page at rest
  // would give back all above its reserve of 200, they would be missing again, and claims would
  // never end.
  // guard: H25 claims in the background end at the reserve
  const want = Math.min(free + missing, most)
  return want > free && !isReleased ? want : 0
}

/** How many of `free` numbers pages may be leased to look ahead, without making the device low. */
export const spare = (free: number, reserve: number): number =>
  Math.max(0, free - Math.ceil(reserve / 2))

/** The size of a claim depends on these facts. */
export interface Need {
  /** Free numbers of the device. */
  free: number
  /** How many it should have at least. */
  wanted: number
  /** How many numbers its pages have issued since its last grant, or are about to issue. */
  issued: number
  /** Milliseconds since then, by a clock that may be wrong; undefined before the first grant. */
  age: number | undefined
}

/**
 * How many numbers to claim. At least as many as are missing, in one request. More only for a
 * device that issues ids fast: RavenDB's table decides, but for the numbers that were issued, not
 * for those that were granted. So a range that comes back unused makes no other range larger, and a
 * range grows until it lasts for half a minute. More than a server grants at once takes several
 * claims.
 * @param largest the server has refused a claim for more
 */
export function claimSize(
  { free, wanted, issued, age }: Need,
  largest = MAX_DOUBLED_CAPACITY,
): number {
  return Math.min(Math.max(wanted - free, grown(issued, age)), largest)
}
