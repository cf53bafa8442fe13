/**
 * Ranges of whole numbers and the few operations on sorted lists of them. Guarantees: no operation
 * invents or loses a number, and numbers of different grants never merge (H10).
 */

/** Numbers `from`…`to`, both included, of one prefix and server tag. */
export interface Numbers {
  /** The lowest. */
  from: number
  /** The highest. */
  to: number
  /** The text before the number: `orders/`. */
  prefix: string
  /** The node that granted it: `A`; empty when there is none. */
  serverTag: string
}

/** Numbers with all that was granted with them. */
export interface Range extends Numbers {
  /** The grant's token; absent from an authority without one (a real RavenDB). */
  token?: string
}

export const size = (range: Range): number => range.to - range.from + 1

export const total = (ranges: readonly Range[]): number =>
  ranges.reduce((sum, range) => sum + size(range), 0)

/** Would both ranges make the same ids? Different nodes may use the same numbers. */
export const overlaps = (a: Range, b: Range): boolean =>
  a.from <= b.to && b.from <= a.to && a.serverTag === b.serverTag && a.prefix === b.prefix

/**
 * A server without tokens takes every return for its own: only the node that granted a range may
 * get it (H9).
 * @param serverTag of the node that answered last
 */
export const isReturnable = (range: Range, serverTag: string | undefined): boolean =>
  // guard: H9 without a token only the node that granted gets it back
  range.token !== undefined || range.serverTag === serverTag

const isOneGrant = (a: Range, b: Range): boolean =>
  // guard: H10 numbers of different grants never merge
  a.token === b.token && a.serverTag === b.serverTag && a.prefix === b.prefix

/**
 * `ranges` and `added`, sorted, with neighbours of one grant joined. Empty ranges are left out.
 */
export function insertAll(ranges: readonly Range[], added: readonly Range[]): Range[] {
  const result: Range[] = []
  for (const range of [...ranges, ...added].sort((a, b) => a.from - b.from)) {
    if (size(range) <= 0) continue
    const last = result.at(-1)
    if (last && last.to + 1 === range.from && isOneGrant(last, range))
      result[result.length - 1] = { ...last, to: range.to }
    else result.push(range)
  }
  return result
}

export const insert = (ranges: readonly Range[], added: Range): Range[] =>
  insertAll(ranges, [added])

/** The lowest `count` numbers (or as many as there are), and the rest. */
export function takeLowest(
  ranges: readonly Range[],
  count: number,
): { taken: Range[]; rest: Range[] } {
  const taken: Range[] = []
  const rest: Range[] = []
  for (const range of ranges) {
    const part = Math.min(size(range), count)
    count -= part
    if (part > 0) taken.push({ ...range, to: range.from + part - 1 })
    if (part < size(range)) rest.push({ ...range, from: range.from + part })
  }
  return { taken, rest }
}

/** The highest `count` numbers (or as many as there are), and the rest. */
export function takeHighest(
  ranges: readonly Range[],
  count: number,
): { taken: Range[]; rest: Range[] } {
  const { taken, rest } = takeLowest(ranges, Math.max(0, total(ranges) - count))
  return { taken: rest, rest: taken }
}
