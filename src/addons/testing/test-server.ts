/**
 * The HiLo server of a test, in memory: counters that begin at 1, and identities. Guarantees that
 * it grants no number twice, unless the number was given back.
 */
import { HiloError } from '../../core/errors.js'
import type { Range } from '../../core/range.js'
import type { Target } from '../../device/contract.js'
import type { DeviceClaim, GrantedRange } from '../../device/state.js'
import type { Source } from '../../source/source.js'

/** Nobody asks it. */
export const TEST_URL = 'https://hilo.test'

/** The node whose tag ends each id, as in `orders/1-A`. */
const NODE = 'A'

export class TestServer implements Source {
  /** Can it be reached? */
  isUp = true
  /** Has the device ever got a number from here? */
  isKnown = false
  /** The highest number that was granted, by counter. */
  readonly #max = new Map<string, number>()
  /** The numbers of an identity, by the key that took them. */
  readonly #identities = new Map<string, Map<string, number>>()

  /** Numbers above `above`. */
  grant({ database, collection, separator }: Target, count: number, above = 0): Range {
    const name = nameOf(database, collection)
    const from = Math.max(this.#max.get(name) ?? 0, above) + 1
    const to = from + count - 1
    this.#max.set(name, to)
    return { from, to, prefix: collection + separator, serverTag: NODE }
  }

  /** As the real server: the counter steps back when the end of its last grant comes back. */
  takeBack({ database, collection }: Target, { from, to }: Range): void {
    const name = nameOf(database, collection)
    if (this.#max.get(name) === to) this.#max.set(name, from - 1)
  }

  async claim(target: Target, { lastBatchSize, lastMax }: DeviceClaim): Promise<GrantedRange> {
    this.#mustBeUp()
    return { range: this.grant(target, lastBatchSize, lastMax) }
  }

  async reach(): Promise<void> {
    this.#mustBeUp()
  }

  async giveBack(target: Target, range: Range): Promise<void> {
    this.#mustBeUp()
    this.takeBack(target, range)
  }

  async nextIdentity(database: string, collection: string, key: string): Promise<number> {
    this.#mustBeUp()
    const name = nameOf(database, collection)
    const taken = this.#identities.get(name) ?? new Map<string, number>()
    this.#identities.set(name, taken)
    const number = taken.get(key) ?? taken.size + 1
    taken.set(key, number)
    return number
  }

  #mustBeUp(): void {
    if (!this.isUp)
      throw new HiloError(
        'server-unreachable',
        // The owner adds to a message that begins with the address that nothing came from there.
        `${this.isKnown ? 'The server' : TEST_URL} does not answer: the test has cut it off. ` +
          '`hilo.connect()` brings it back.',
      )
  }
}

/** A server treats `Orders` and `orders` as one name. */
const nameOf = (database: string, collection: string): string =>
  JSON.stringify([database, collection]).toLowerCase()
