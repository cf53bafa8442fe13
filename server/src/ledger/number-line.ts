/**
 * One collection's number line: how far grants go, and which numbers came back. Pure transitions.
 * Guarantees that a number is granted again only after its owner gave it back, and that nothing
 * above 2^53−1 is granted.
 */

/**
 * Numbers `low` to `high`, both included, and the node of an upstream that counted them. An ORM's
 * counter has no nodes.
 */
export type Span = readonly [low: number, high: number, node?: string]

export interface NumberLine {
  /** Every number up to here was granted, or is free. */
  max: number
  /**
   * The highest `max` there ever was. A client that saw a higher number proves that this ledger is
   * an older copy of itself (H20).
   */
  highWater: number
  /**
   * Nothing at or below is granted any more. This ledger may be an older copy of itself, so a
   * number that comes back from there may be somebody else's, too (H20).
   */
  floor: number
  /**
   * Given back, but not at the end of the line: sorted, disjoint, none touching another or `max`.
   */
  free: readonly Span[]
  /**
   * Of a bound collection: numbers that came from the other authority and were granted to nobody
   * yet, in the form of `free`.
   */
  fresh: readonly Span[]
}

/** A claim's demand on the line. */
export interface Demand {
  /** Has the claim an id? Only such a client accepts a free range, which can be smaller. */
  id?: string | undefined
  count: number
  /** The highest number the client saw; nothing new is granted at or below it. */
  lastMax: number
}

/** The line after numbers were taken from it, and the numbers. */
export interface Taken {
  line: NumberLine
  span: Span
}

export const EMPTY_LINE: NumberLine = { max: 0, highWater: 0, floor: 0, free: [], fresh: [] }
export const MAX_NUMBER = Number.MAX_SAFE_INTEGER
/** A row keeps this many free ranges, so that it stays small. Then the smallest becomes a gap. */
const MAX_FREE_SPANS = 1000

/**
 * @param maxJump a `lastMax` further above `max` than this is taken for a mistake
 * @param maxId no number above it is granted
 */
export function take(
  line: NumberLine,
  demand: Demand,
  { maxJump, maxId }: { maxJump: number; maxId: number },
): Taken | { refused: 'jump' | 'overflow' } {
  const { id, count, lastMax } = demand
  // guard: H20 an absurd jump is refused
  if (lastMax > line.max + maxJump) return { refused: 'jump' }
  // guard: H20 a client that saw more than was granted proves an older copy
  if (lastMax > line.highWater) return take(distrust(line, lastMax), demand, { maxJump, maxId })
  const part = id === undefined ? undefined : takeFrom(line.free, count)
  if (part) return { line: { ...line, free: part.rest }, span: part.span }
  // guard: H20 nothing is granted at or below what a client saw
  const last = Math.max(line.max, lastMax)
  // guard: H15 no number above 2^53−1 is granted
  if (count > Math.min(maxId, MAX_NUMBER) - last) return { refused: 'overflow' }
  const high = last + count
  return {
    line: { ...line, max: high, highWater: Math.max(line.highWater, high) },
    span: [last + 1, high],
  }
}

/**
 * `[low, high]`, which was granted, may be granted again.
 * @param forgotten `max` does not go below it
 */
export function release(
  line: NumberLine,
  low: number,
  high: number,
  forgotten: number,
): NumberLine {
  const free = join(line.free, above(line.floor, [[low, high]]))
  const tail = free.at(-1)
  if (tail?.[1] !== line.max) return { ...line, free }
  // guard: H20 max does not go below what was forgotten, by numbers that come back
  return { ...line, max: Math.max(tail[0] - 1, forgotten), free: free.slice(0, -1) }
}

/**
 * Raises the floor: nothing up to it is granted any more, also no number that came back or will
 * come back.
 */
export function raise(line: NumberLine, floor: number): NumberLine {
  return { ...distrust(line, floor), max: Math.max(line.max, floor) }
}

/**
 * `[low, high]` is granted to nobody any more, free or not. Free numbers around it stay free.
 * @param isCounted the line counts its numbers itself: all above `max` were free
 */
export function cutOut(
  line: NumberLine,
  low: number,
  high: number,
  isCounted: boolean,
): NumberLine {
  const wasAbove: Span[] = isCounted ? above(line.floor, [[line.max + 1, low - 1]]) : []
  const rest = line.free.flatMap((span): Span[] => [
    ...(span[0] < low ? [[span[0], Math.min(span[1], low - 1), ...nodeOf(span)] as const] : []),
    ...above(high, [span]),
  ])
  return {
    ...line,
    max: Math.max(line.max, high),
    free: join(
      rest,
      wasAbove.filter((span) => span[0] <= span[1]),
    ),
  }
}

/**
 * This ledger may be an older copy of itself. Its free numbers may have been granted since, and so
 * may numbers that come back: nothing up to `floor` is granted again.
 */
export function distrust(line: NumberLine, floor: number): NumberLine {
  return {
    max: line.max,
    highWater: Math.max(line.highWater, floor),
    floor: Math.max(line.floor, floor),
    free: above(floor, line.free),
    fresh: above(floor, line.fresh),
  }
}

/**
 * Sets `max`.
 * @param held the highest number that a grant holds: `max` does not go below it
 */
export function move(line: NumberLine, max: number, held: number): NumberLine {
  const moved = Math.max(max, held, line.floor)
  const free = line.free.flatMap(([low, high]): Span[] =>
    low > moved ? [] : [[low, Math.min(high, moved)]],
  )
  const tail = free.at(-1)
  const isTouching = tail?.[1] === moved
  return {
    ...line,
    max: isTouching ? tail![0] - 1 : moved,
    highWater: Math.max(line.highWater, moved),
    free: isTouching ? free.slice(0, -1) : free,
  }
}

export const sizeOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, span) => sum + length(span), 0)

/**
 * Takes `count` numbers from the lowest range that has so many. If no range has, takes all of the
 * largest one, of those the lowest, so that the client gets the rest in few requests.
 */
export function takeFrom(
  free: readonly Span[],
  count: number,
): { span: Span; rest: Span[] } | undefined {
  let at = 0
  for (const [i, span] of free.entries()) {
    if (length(span) > length(free[at]!)) at = i
    if (length(span) >= count) break
  }
  const found = free[at]
  if (!found) return undefined
  const [low, end, ...node] = found
  const high = Math.min(end, low + count - 1)
  const left: Span[] = high < end ? [[high + 1, end, ...node]] : []
  return { span: [low, high, ...node], rest: free.toSpliced(at, 1, ...left) }
}

/** Sorted, with neighbours joined, and few enough for a row. */
export function join(free: readonly Span[], added: readonly Span[]): Span[] {
  const joined = [...free]
  for (const span of added) insert(joined, span)
  while (joined.length > MAX_FREE_SPANS) joined.splice(joined.indexOf(smallest(joined)), 1)
  return joined
}

/** The parts of `spans` above `floor`. */
export const above = (floor: number, spans: readonly Span[]): Span[] =>
  spans.flatMap((span): Span[] =>
    span[1] > floor ? [[Math.max(span[0], floor + 1), span[1], ...nodeOf(span)]] : [],
  )

/**
 * Inserts a span into a sorted list, and joins it with those that it touches. After a counter went
 * back, it may also have numbers of theirs.
 */
function insert(spans: Span[], [low, high, ...node]: Span): void {
  const isJoined = (other: Span) =>
    other[2] === node[0] && other[0] <= high + 1 && other[1] >= low - 1
  let joined: Span = [low, high, ...node]
  for (let at = spans.findIndex(isJoined); at >= 0; at = spans.findIndex(isJoined)) {
    const [other] = spans.splice(at, 1) as [Span]
    joined = [Math.min(joined[0], other[0]), Math.max(joined[1], other[1]), ...node]
  }
  const at = spans.findIndex((other) => isBefore(joined, other))
  spans.splice(at < 0 ? spans.length : at, 0, joined)
}

const isBefore = ([a, , one = '']: Span, [b, , other = '']: Span): boolean =>
  a < b || (a === b && one < other)
const nodeOf = ([, , node]: Span): [node?: string] => (node === undefined ? [] : [node])
const length = ([low, high]: Span): number => high - low + 1
const smallest = (spans: readonly Span[]): Span =>
  spans.toSorted((a, b) => length(a) - length(b))[0]!
