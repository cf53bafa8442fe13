/**
 * One collection's number line: what was granted, what came back. Pure transitions.
 * Guarantees that a number is granted again only after its owner gave it back, and that nothing above 2^53−1 is granted.
 */

/** Numbers `low` to `high`, both included. */
export type Span = readonly [low: number, high: number]

export interface Counter {
  /** Every number up to here was granted, or is free. */
  max: number
  /** The highest `max` there ever was. A client that saw a higher number proves that this ledger is an older copy of itself (H20). */
  peak: number
  /**
   * Up to here this ledger is not believed, because it turned out to be an older copy of itself: a number that comes back may be somebody
   * else's, too, and is never granted again (H20).
   */
  floor: number
  /** Given back, but not at the end of the line: sorted, disjoint, none touching another or `max`. */
  free: readonly Span[]
}

export interface Wish {
  count: number
  /** The highest number the client saw; nothing new is granted at or below it. */
  lastMax: number
  /** May the answer be a free range, which can be smaller than `count`? Only who sends a claim id knows how to take that. */
  takesFree: boolean
}

export type Allocation = { counter: Counter; low: number; high: number } | { refused: 'jump' | 'overflow' }

export const NEW_COUNTER: Counter = { max: 0, peak: 0, floor: 0, free: [] }
export const MAX_NUMBER = Number.MAX_SAFE_INTEGER
/** Keeps a counter's row small; the smallest range beyond becomes a gap. */
const MAX_FREE_SPANS = 1000

/** @param maxJump how far `lastMax` may be above `max` before somebody must have made a mistake */
export function allocate(counter: Counter, { count, lastMax, takesFree }: Wish, maxJump: number): Allocation {
  if (lastMax > counter.max + maxJump) return { refused: 'jump' }
  if (lastMax > counter.peak) return allocate(distrust(counter, lastMax), { count, lastMax, takesFree }, maxJump)
  const { free } = counter
  const span = takesFree && bestFit(free, count)
  if (span) {
    const [low, end] = span
    const high = Math.min(end, low + count - 1)
    return { counter: { ...counter, free: free.flatMap((other) => (other === span ? rest(high, end) : [other])) }, low, high }
  }
  const last = Math.max(counter.max, lastMax)
  if (count > MAX_NUMBER - last) return { refused: 'overflow' }
  const [low, high] = [last + 1, last + count]
  return { counter: { ...counter, max: high, peak: Math.max(counter.peak, high) }, low, high }
}

/** `[low, high]`, which was granted, may be granted again. */
export function release(counter: Counter, low: number, high: number): Counter {
  if (high <= counter.floor) return counter
  const free = merge([...counter.free, [Math.max(low, counter.floor + 1), high]])
  const tail = free.at(-1)!
  if (tail[1] === counter.max) return { ...counter, max: tail[0] - 1, free: free.slice(0, -1) }
  return { ...counter, free: free.length > MAX_FREE_SPANS ? free.filter((span) => span !== smallest(free)) : free }
}

/** Up to `floor` nothing is granted any more, numbers that came back or will come back included. Only up. */
export function raise(counter: Counter, floor: number): Counter {
  return { ...distrust(counter, floor), max: Math.max(counter.max, floor) }
}

/** An older copy may have granted its free numbers since, and whatever is held: nothing up to `floor` is anybody's to grant again. */
function distrust(counter: Counter, floor: number): Counter {
  return {
    max: counter.max,
    peak: Math.max(counter.peak, floor),
    floor: Math.max(counter.floor, floor),
    free: counter.free.flatMap(([low, high]): Span[] => (high > floor ? [[Math.max(low, floor + 1), high]] : [])),
  }
}

/**
 * `max` as somebody else says.
 * @param held the highest number that a grant holds: it does not go below
 */
export function move(counter: Counter, max: number, held: number): Counter {
  const moved = Math.max(max, held, counter.floor)
  const free = counter.free.flatMap(([low, high]): Span[] => (low > moved ? [] : [[low, Math.min(high, moved)]]))
  const tail = free.at(-1)
  const isTouching = tail?.[1] === moved
  return {
    ...counter,
    max: isTouching ? tail![0] - 1 : moved,
    peak: Math.max(counter.peak, moved),
    free: isTouching ? free.slice(0, -1) : free,
  }
}

export const sizeOf = (spans: readonly Span[]): number => spans.reduce((sum, [low, high]) => sum + high - low + 1, 0)

/** The lowest range that holds `count`; if there is none, the largest, so that the rest takes few requests. */
function bestFit(free: readonly Span[], count: number): Span | undefined {
  return free.find((span) => length(span) >= count) ?? free.toSorted((a, b) => length(b) - length(a))[0]
}

function merge(spans: Span[]): Span[] {
  const merged: Span[] = []
  for (const [low, high] of spans.sort(([a], [b]) => a - b)) {
    const before = merged.at(-1)
    if (before && before[1] + 1 === low) merged[merged.length - 1] = [before[0], high]
    else merged.push([low, high])
  }
  return merged
}

const length = ([low, high]: Span): number => high - low + 1
const rest = (high: number, end: number): Span[] => (high < end ? [[high + 1, end]] : [])
const smallest = (spans: readonly Span[]): Span => spans.reduce((least, span) => (length(span) < length(least) ? span : least))
