/** Keys of IndexedDB: their order, and ranges of them. */

export class SimKeyRange {
  static bound(lower: unknown, upper: unknown): SimKeyRange {
    return new SimKeyRange(lower, upper)
  }

  readonly #lower: unknown
  readonly #upper: unknown

  constructor(lower: unknown, upper: unknown) {
    this.#lower = lower
    this.#upper = upper
  }

  includes(key: unknown): boolean {
    return compareKeys(this.#lower, key) <= 0 && compareKeys(key, this.#upper) <= 0
  }
}

/** Numbers, then texts, then arrays. */
export function compareKeys(a: unknown, b: unknown): number {
  const rank = (key: unknown) => (typeof key === 'number' ? 0 : typeof key === 'string' ? 1 : 2)
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (!Array.isArray(a) || !Array.isArray(b))
    return (a as string) < (b as string) ? -1 : (a as string) > (b as string) ? 1 : 0
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareKeys(a[i], b[i])
    if (order !== 0) return order
  }
  return a.length - b.length
}
