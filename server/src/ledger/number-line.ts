/**
 * One collection's number line: what was granted, what came back. Pure transitions. Guarantees that
 * a number is granted again only after its owner gave it back, and that nothing above 2^53−1 is
 * granted.
 */

/**
 * Numbers `low` to `high`, both included, and the node that counted them, where that is another
 * authority's.
 */
export type Span = readonly [low: number, high: number, node?: string]

export interface Counter {
  /** Every number up to here was granted, or is free. */
  max: number
  /**
   * The highest `max` there ever was. A client that saw a higher number proves that this ledger is
   * an older copy of itself (H20).
   */
  peak: number
  /**
   * Up to here this ledger is not believed, because it turned out to be an older copy of itself: a
   * number that comes back may be somebody else's, too, and is never granted again (H20).
   */
  floor: number
  /**
   * Given back, but not at the end of the line: sorted, disjoint, none touching another or `max`.
   */
  free: readonly Span[]
}

export interface Wish {
  count: number
  /** The highest number the client saw; nothing new is granted at or below it. */
  lastMax: number
  /**
   * May the answer be a free range, which can be smaller than `count`? Only who sends a claim id
   * knows how to take that.
   */
  takesFree: boolean
}

export interface Allocation {
  counter: Counter
  low: number
  high: number
  /** The node that counted them, where that is another authority's. */
  node?: string | undefined
}

export const NEW_COUNTER: Counter = { max: 0, peak: 0, floor: 0, free: [] }
export const MAX_NUMBER = Number.MAX_SAFE_INTEGER
/** Keeps a counter's row small; the smallest range beyond becomes a gap. */
const MAX_FREE_SPANS = 1000

/** @param maxJump how far `lastMax` may be above `max` before somebody must have made a mistake */
export function allocate(
  counter: Counter,
  { count, lastMax, takesFree }: Wish,
  maxJump: number,
): Allocation | { refused: 'jump' | 'overflow' } {
  if (lastMax > counter.max + maxJump) return { refused: 'jump' }
  if (lastMax > counter.peak)
    return allocate(distrust(counter, lastMax), { count, lastMax, takesFree }, maxJump)
  const part = takesFree && takeFrom(counter.free, count)
  if (part) {
    const [low, high] = part.span
    return { counter: { ...counter, free: part.rest }, low, high }
  }
  const last = Math.max(counter.max, lastMax)
  if (count > MAX_NUMBER - last) return { refused: 'overflow' }
  const [low, high] = [last + 1, last + count]
  return { counter: { ...counter, max: high, peak: Math.max(counter.peak, high) }, low, high }
}

/** `[low, high]`, which was granted, may be granted again. */
export function release(counter: Counter, low: number, high: number): Counter {
  const free = join(counter.free, above(counter.floor, [[low, high]]))
  const tail = free.at(-1)
  if (tail?.[1] === counter.max) return { ...counter, max: tail[0] - 1, free: free.slice(0, -1) }
  return { ...counter, free }
}

/**
 * Up to `floor` nothing is granted any more, numbers that came back or will come back included.
 * Only up.
 */
export function raise(counter: Counter, floor: number): Counter {
  return { ...distrust(counter, floor), max: Math.max(counter.max, floor) }
}

/**
 * An older copy may have granted its free numbers since, and whatever is held: nothing up to
 * `floor` is anybody's to grant again.
 */
export function distrust(counter: Counter, floor: number): Counter {
  return {
    max: counter.max,
    peak: Math.max(counter.peak, floor),
    floor: Math.max(counter.floor, floor),
    free: above(floor, counter.free),
  }
}

/**
 * `max` as somebody else says.
 * @param held the highest number that a grant holds: it does not go below
 */
export function move(counter: Counter, max: number, held: number): Counter {
  const moved = Math.max(max, held, counter.floor)
  const free = counter.free.flatMap(([low, high]): Span[] =>
    low > moved ? [] : [[low, Math.min(high, moved)]],
  )
  const tail = free.at(-1)
  const isTouching = tail?.[1] === moved
  return {
    ...counter,
    max: isTouching ? tail![0] - 1 : moved,
    peak: Math.max(counter.peak, moved),
    free: isTouching ? free.slice(0, -1) : free,
  }
}

export const sizeOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, [low, high]) => sum + high - low + 1, 0)

/**
 * Of the lowest range that holds `count`, so many; if there is none, all of the largest, so that
 * the rest takes few requests.
 */
export function takeFrom(
  free: readonly Span[],
  count: number,
): { span: Span; rest: Span[] } | undefined {
  const found =
    free.find((span) => length(span) >= count) ?? free.toSorted((a, b) => length(b) - length(a))[0]
  if (!found) return undefined
  const [low, end, ...node] = found
  const high = Math.min(end, low + count - 1)
  const left: Span[] = high < end ? [[high + 1, end, ...node]] : []
  return {
    span: [low, high, ...node],
    rest: free.flatMap((span) => (span === found ? left : [span])),
  }
}

/** Sorted, with neighbours made one; few enough for a row. */
export function join(free: readonly Span[], added: readonly Span[]): Span[] {
  const joined: Span[] = []
  for (const span of [...free, ...added].sort(
    ([a, , one = ''], [b, , other = '']) => a - b || (one < other ? -1 : 1),
  )) {
    const before = joined.findLast(([, , node]) => node === span[2])
    if (before && before[1] + 1 === span[0])
      joined[joined.indexOf(before)] = [before[0], span[1], ...nodeOf(span)]
    else joined.push(span)
  }
  while (joined.length > MAX_FREE_SPANS) joined.splice(joined.indexOf(smallest(joined)), 1)
  return joined
}

/** What of `spans` is above `floor`. */
export const above = (floor: number, spans: readonly Span[]): Span[] =>
  spans.flatMap((span): Span[] =>
    span[1] > floor ? [[Math.max(span[0], floor + 1), span[1], ...nodeOf(span)]] : [],
  )

const nodeOf = ([, , node]: Span): [node?: string] => (node === undefined ? [] : [node])
const length = ([low, high]: Span): number => high - low + 1
const smallest = (spans: readonly Span[]): Span =>
  spans.reduce((least, span) => (length(span) < length(least) ? span : least))
