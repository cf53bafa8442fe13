/**
 * How much a device keeps and claims. Sizes only ever waste or save numbers; ownership never
 * depends on them. How many ids a page holds is decided in page/stock.ts.
 */
import { MAX_DOUBLED_CAPACITY, MIN_CAPACITY } from './wire.js'

/** Ids kept on the device for offline work, unless the app says otherwise. */
export const DEFAULT_RESERVE = 32

/** Is the device short of its reserve, so that it should claim while it can? */
export const isLow = (free: number, reserve: number): boolean => free < reserve / 2

/** How many of `free` numbers pages may be leased to look ahead, without making the device low. */
export const spare = (free: number, reserve: number): number =>
  Math.max(0, free - Math.ceil(reserve / 2))

/**
 * What to ask of the server so that the device ends up with `reserve` free numbers, or `want` if
 * that is more. The first claim, and one far above the last size, asks for exactly its shortage (no
 * `lastRangeAt`); the others let the server's capacity table grow and shrink the range with the
 * pace of use. More than a server grants at once takes several claims.
 * @param largest the server has refused a claim for more
 */
export function claimSize(
  free: number,
  reserve: number,
  want: number,
  last: { size: number; at: string } | undefined,
  largest = MAX_DOUBLED_CAPACITY,
): { lastBatchSize: number; lastRangeAt?: string } {
  const shortage = Math.min(Math.max(MIN_CAPACITY, reserve - free, want - free), largest)
  if (!last || shortage > 2 * last.size || largest < MAX_DOUBLED_CAPACITY)
    return { lastBatchSize: shortage }
  return { lastBatchSize: Math.max(last.size, shortage), lastRangeAt: last.at }
}
