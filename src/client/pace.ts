/**
 * How many ids a page issued in the last second, from two counters and no history: enough to size
 * its next lease (H3).
 */
export class Pace {
  #start = 0
  #countAtStart = 0
  #lastSecond = 0

  /**
   * @param now milliseconds
   * @param count ids issued so far
   */
  perSecond(now: number, count: number): number {
    const elapsed = now - this.#start
    if (elapsed >= 1000) {
      this.#lastSecond = elapsed < 2000 ? count - this.#countAtStart : 0
      this.#start = now
      this.#countAtStart = count
    }
    const share = Math.max(0, 1 - (now - this.#start) / 1000)
    return Math.round(count - this.#countAtStart + this.#lastSecond * share)
  }
}
