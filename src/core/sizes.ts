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

/** Under load a page looks ahead, to this many times what it issued in the last second (H3). */
// guard: H3 a busy page holds four times its pace at most
const LOOK_AHEAD = 4

/**
 * How many unissued ids a page should hold: as many as it issued in the last second, or what it was
 * warmed to. The device claims more when it has fewer free.
 */
export const pageTarget = (issuedLastSecond: number, warmed: number): number =>
  Math.max(PAGE_AT_REST, issuedLastSecond, warmed)

/** How many unissued ids a page may hold while the device has plenty (H3). */
export const pageLimit = (issuedLastSecond: number, warmed: number): number =>
  pageTarget(LOOK_AHEAD * issuedLastSecond, warmed)

/**
 * How many unissued ids a hidden page may hold: none, because it may be killed without notice (H4).
 * A hidden page that makes one id after another holds as many as any other page: a transaction for
 * each id would be too slow.
 */
export const hiddenTarget = (issuedLastSecond: number): number =>
  issuedLastSecond > PAGE_AT_REST ? issuedLastSecond : 0

/**
 * How many a hidden page may hold while the device has plenty (H3). One id is no load yet: most
 * often it is the only one.
 */
export const hiddenLimit = (issuedLastSecond: number): number =>
  issuedLastSecond > 1 ? LOOK_AHEAD * issuedLastSecond : 0

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
