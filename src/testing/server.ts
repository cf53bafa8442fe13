/**
 * The HiLo server of a test, in memory: counters that begin at 1, and identities. Guarantees that
 * it grants no number twice, unless the number was given back.
 */
import type { Target } from '../core/contract.js'
import type { Range } from '../core/range.js'

/** The node whose tag ends each id, as in `orders/1-A`. */
const NODE = 'A'

export class TestServer {
  /** The highest number that was granted, by counter. */
  readonly #max = new Map<string, number>()
  /** Did the device ever get a number from here? */
  isKnown = false
  /** The numbers of an identity, by the key that took them. */
  readonly #identities = new Map<string, Map<string, number>>()

  grant(target: Target, count: number): Range {
    const name = nameOf(target.database, target.collection)
    const from = (this.#max.get(name) ?? 0) + 1
    const to = from + count - 1
    this.#max.set(name, to)
    this.isKnown = true
    return { from, to, prefix: target.collection + target.separator, serverTag: NODE }
  }

  /** As the real server: the counter steps back when the end of what it granted comes back. */
  takeBack({ database, collection }: Target, { from, to }: Range): void {
    const name = nameOf(database, collection)
    if (this.#max.get(name) === to) this.#max.set(name, from - 1)
  }

  nextIdentity(database: string, collection: string, key: string): number {
    const name = nameOf(database, collection)
    const taken = this.#identities.get(name) ?? new Map<string, number>()
    this.#identities.set(name, taken)
    const number = taken.get(key) ?? taken.size + 1
    taken.set(key, number)
    return number
  }
}

/** A server treats `Orders` and `orders` as one name. */
const nameOf = (database: string, collection: string): string =>
  JSON.stringify([database, collection]).toLowerCase()
