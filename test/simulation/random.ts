/** One seeded source of chance: the same seed makes the same choices, on every machine. */

export interface Random {
  /** At least 0 and below 1. */
  next(): number
  /** A whole number, `least` ≤ n ≤ `most`. */
  between(least: number, most: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** One of the names, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K
}

/** @param stream another one makes other choices from the same seed */
export function createRandom(seed: number, stream = 0x9e3779b9): Random {
  // sfc32: 128 bits of state, passes the usual statistical tests, four additions per number.
  let [a, b, c, d] = [seed | 0, (seed / 2 ** 32) | 0, stream | 0, 1]
  function next(): number {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }
  for (let i = 0; i < 12; i++) next()

  const between = (least: number, most: number): number =>
    least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (items) => items[between(0, items.length - 1)]!,
    weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K {
      const entries = Object.entries(weights) as [K, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      return entries.at(-1)![0]
    },
  }
}
