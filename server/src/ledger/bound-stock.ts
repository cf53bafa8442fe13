/**
 * The number line of a bound collection. Its numbers come from another authority, and wait in stock
 * until they are granted. Pure. Guarantees that a number is granted only if it came from the other
 * authority and nobody holds it. Numbers that come back stay in stock: the other counter is never
 * set back. Here `max` is the highest number that came. The stock has two parts: `fresh` are
 * numbers that came and were granted to nobody yet, and `free` are numbers that came back.
 */
import {
  above,
  type Demand,
  distrust,
  join,
  MAX_NUMBER,
  type NumberLine,
  type Span,
  sizeOf,
  type Taken,
  takeFrom,
} from './number-line.js'

/** The blocks that the other authority has to give, so that every demand is met. */
export interface Shortfall {
  /** The line above all numbers that the clients saw. */
  line: NumberLine
  /** Demands whose `lastMax` is not absurdly far above `max`. */
  believed: ReadonlySet<Demand>
  missing: number
}

export function shortfall(
  line: NumberLine,
  demands: readonly Demand[],
  maxJump: number,
): Shortfall {
  const believed = demands.filter(({ lastMax }) => lastMax <= line.max + maxJump)
  const seen = Math.max(0, ...believed.map(({ lastMax }) => lastMax))
  // An upstream is told `max`, so that it grants above all seen numbers.
  const honest =
    seen > line.highWater ? { ...distrust(line, seen), max: Math.max(line.max, seen) } : line
  return { line: honest, believed: new Set(believed), missing: missingFrom(honest, believed) }
}

function missingFrom({ free, fresh }: NumberLine, demands: readonly Demand[]): number {
  let missing = 0
  for (const demand of demands.filter((demand) => !takesAny(demand))) {
    const part = takeUnseen(fresh, demand)
    if (part && sizeOf([part.span]) === demand.count) fresh = part.rest
    else missing += demand.count
  }
  const left = sizeOf(fresh) + sizeOf(free)
  return missing + Math.max(0, total(demands.filter(takesAny)) - left)
}

/** The numbers that are left for demands. */
export interface Stock {
  line: NumberLine
  believed: ReadonlySet<Demand>
  /** The span that each demand without an id gets. Missing: nothing was left for it. */
  reserved: ReadonlyMap<Demand, Span>
}

/**
 * Adds the numbers that came. Demands without an id come first, because they get fresh numbers
 * only.
 */
export function addFresh({ line, believed }: Shortfall, fresh: readonly Span[]): Stock {
  const reserved = new Map<Demand, Span>()
  // guard: H22 a claim without an id gets no number that was granted before
  let rest = join(line.fresh, above(line.floor, fresh))
  for (const demand of believed) {
    if (takesAny(demand)) continue
    const part = takeUnseen(rest, demand)
    if (!part) continue
    rest = part.rest
    reserved.set(demand, part.span)
  }
  const max = Math.max(line.max, ...fresh.map(([, high]) => high))
  return {
    line: {
      ...line,
      max,
      highWater: Math.max(line.highWater, max),
      fresh: rest,
    },
    believed,
    reserved,
  }
}

/**
 * @param line the stock's, without the numbers that were taken since
 * @param none the refusal when there is nothing
 */
export function takeFromStock<None extends string>(
  line: NumberLine,
  demand: Demand,
  { believed, reserved }: Stock,
  none: None,
): Taken | { refused: 'jump' | None } {
  if (!believed.has(demand)) return { refused: 'jump' }
  if (!takesAny(demand)) {
    const span = reserved.get(demand)
    return span ? { line, span } : { refused: none }
  }
  const back = takeFrom(line.free, demand.count)
  const part = takeFrom(line.fresh, demand.count)
  if (part && (!back || sizeOf([part.span]) > sizeOf([back.span])))
    return { line: { ...line, fresh: part.rest }, span: part.span }
  return back ? { line: { ...line, free: back.rest }, span: back.span } : { refused: none }
}

/** Puts numbers that were granted and came back into stock. */
export const restock = (line: NumberLine, span: Span): NumberLine => ({
  ...line,
  free: join(line.free, above(line.floor, [span])),
})

/**
 * Takes the piece that ends at `high` out of stock, to give it back to the node that counted it.
 */
export function unstock(line: NumberLine, high: number, node: string): Taken | undefined {
  const { free, fresh } = line
  const span = join(free, fresh).find((other) => other[1] === high && other[2] === node)
  if (!span) return undefined
  const isOther = (other: Span) => other[2] !== node || other[1] < span[0] || other[0] > high
  const max = line.max === high ? span[0] - 1 : line.max
  return {
    span,
    line: { ...line, max, free: free.filter(isOther), fresh: fresh.filter(isOther) },
  }
}

/** @param used spans of the stock, or parts of them: each goes as a whole, and is a gap */
export function withoutSpans<Line extends NumberLine>(line: Line, used: readonly Span[]): Line {
  const isUnused = ([low, high]: Span) => !used.some((other) => low <= other[1] && other[0] <= high)
  return { ...line, free: line.free.filter(isUnused), fresh: line.fresh.filter(isUnused) }
}

/** An ORM's blocks as a ledger stores them: from 1, and never above 2^53−1. */
export const toSpans = (blocks: readonly { low: bigint; high: bigint }[]): Span[] =>
  join(
    [],
    blocks
      .filter(({ high }) => high >= 1n && high <= MAX_NUMBER)
      .map(({ low, high }): Span => [Math.max(1, Number(low)), Number(high)]),
  )

/**
 * Numbers that nobody was granted, above the client's highest: this ledger may be an older copy
 * (H20).
 */
function takeUnseen(
  fresh: readonly Span[],
  { count, lastMax }: Demand,
): ReturnType<typeof takeFrom> {
  // guard: H20 a claim without an id gets no number at or below what its client saw
  const part = takeFrom(above(lastMax, fresh), count)
  const seen = fresh.flatMap(([low, high, ...node]): Span[] =>
    low <= lastMax ? [[low, Math.min(high, lastMax), ...node]] : [],
  )
  return part && { span: part.span, rest: join(part.rest, seen) }
}

/**
 * Only claims with an id may get numbers that were granted before: a return without a token is
 * matched by its end alone.
 */
const takesAny = ({ id }: Demand): boolean => id !== undefined

const total = (demands: readonly Demand[]): number =>
  demands.reduce((sum, { count }) => sum + count, 0)
