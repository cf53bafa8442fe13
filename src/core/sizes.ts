/**
 * How much to hold, lease and claim. Sizes only ever waste or save numbers; ownership never depends
 * on them.
 */
import { MAX_DOUBLED_CAPACITY, MIN_CAPACITY } from './wire.js'

/** Ids kept on the device for offline work, unless the app says otherwise. */
export const DEFAULT_RESERVE = 32

/** At rest a page holds at most this many unissued ids: what a crash may waste (H3). */
// guard: H3 a page at rest holds few
export const PAGE_AT_REST = 16

/**
 * How many unissued ids a page may hold: as many as it issued in the last second, or what it was
 * warmed to (H3).
 */
export const pageTarget = (issuedLastSecond: number, warmed: number): number =>
  Math.max(PAGE_AT_REST, issuedLastSecond, warmed)

/**
 * How many unissued ids a hidden page may hold: none, because it may be killed without notice (H4).
 * A hidden page that makes one id after another holds as many as any other page: a transaction for
 * each id would be too slow.
 */
export const hiddenTarget = (issuedLastSecond: number): number =>
  issuedLastSecond > PAGE_AT_REST ? issuedLastSecond : 0

/** Is the device short of its reserve, so that it should claim while it can? */
export const isLow = (free: number, reserve: number): boolean => free < reserve / 2

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
