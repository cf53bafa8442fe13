/**
 * How much to take from elsewhere at once: takes that follow each other closely double. Guarantees
 * that it is never less than what is needed. (A page needs no such guess: it counts what it issues,
 * and its `Pace` is that count. RavenDB's capacity table judges by a time that the client echoes.)
 */

/** The last take was used up in less time than this. */
const CLOSE_MS = 1_000

export class Pacer {
  /** Did the last take follow closely on the one before? */
  isFast = false
  readonly #most: number
  #last = { at: Number.NEGATIVE_INFINITY, count: 0 }

  /** @param most doubling stops here */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /**
   * @param now milliseconds
   * @returns how many to take when `count` are needed
   */
  take(count: number, now: number): number {
    this.isFast = now - this.#last.at < CLOSE_MS
    const doubled = this.isFast ? Math.min(2 * this.#last.count, this.#most) : 0
    this.#last = { at: now, count: Math.max(count, doubled) }
    return this.#last.count
  }
}
