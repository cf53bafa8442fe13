/**
 * How much a device keeps and claims. Sizes only ever waste or save numbers; ownership never
 * depends on them. How many ids a page holds is decided in page/stock.ts.
 */
import { grown, MAX_DOUBLED_CAPACITY } from '../core/wire.js'

/** Ids kept on the device for offline work, unless the app says otherwise. */
export const DEFAULT_RESERVE = 32

/** Is the device short of its reserve, so that it should claim while it can? */
export const isLow = (free: number, reserve: number): boolean => free < reserve / 2

/** With how many free numbers a device is not short after a page has been leased `want`. */
export const enough = (want: number, reserve: number): number => want + Math.ceil(reserve / 2)

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
 * How many numbers to claim. At least what is missing, in one request. More only for a device that
 * issues ids fast: RavenDB's table decides, but for the numbers that were issued, not for those
 * that were granted. So a range that comes back unused makes no other range larger, and a range
 * grows until it lasts for half a minute. More than a server grants at once takes several claims.
 * @param largest the server has refused a claim for more
 */
export function claimSize(
  { free, wanted, issued, age }: Need,
  largest = MAX_DOUBLED_CAPACITY,
): number {
  return Math.min(Math.max(wanted - free, grown(issued, age)), largest)
}
