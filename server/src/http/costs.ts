/**
 * What requests cost a token that move counters. Remembers how far counters have gone, so that only
 * what lies above counts, and the ledger is seldom asked. Guarantees that it remembers a bounded
 * number of names.
 */
import { bindingKey } from '../ledger/bound-collections.js'
import type { CollectionKey, Ledger } from '../ledger/ledger.js'
import type { Cost } from './budgets.js'

interface Move extends CollectionKey {
  /** Numbers that are asked for. */
  count: number
  /** The counter skips what lies between it and this number. */
  lastMax: number
}

export interface Costs {
  /** Of each move: its numbers, those that it skips, its row, and its name where it is new. */
  of(moves: readonly Move[]): Promise<Price[]>
  /** The counter has gone so far. */
  saw(key: CollectionKey, max: number): void
}

type Price = Required<Omit<Cost, 'requests'>>

const MOST_REMEMBERED = 10_000

export function createCosts(read: Ledger['read']): Costs {
  /** How far each has gone, by `bindingKey`. Another server may have moved it on. */
  const seen = new Map<string, number>()

  function saw(collection: CollectionKey, max: number): void {
    const key = bindingKey(collection)
    const before = seen.get(key) ?? 0
    if (!seen.has(key) && seen.size >= MOST_REMEMBERED) seen.delete(seen.keys().next().value!)
    seen.set(key, Math.max(before, max))
  }

  async function costOf({ count, lastMax, ...key }: Move): Promise<Price> {
    const { database, collection } = key
    let max = seen.get(bindingKey(key))
    let names = 0
    if (max === undefined || lastMax > max) {
      const mark = await read({ database, collection })
      max = mark.max
      if (mark.version === 0) names = 1
      else saw(key, max)
    }
    return { numbers: count + Math.max(0, lastMax - max), rows: 1, names }
  }

  return { of: (moves) => Promise.all(moves.map(costOf)), saw }
}

export const sumOf = (prices: readonly Price[]): Price =>
  prices.reduce(
    (sum, { numbers, rows, names }) => ({
      numbers: sum.numbers + numbers,
      rows: sum.rows + rows,
      names: sum.names + names,
    }),
    { numbers: 0, rows: 0, names: 0 },
  )
