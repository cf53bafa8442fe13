/**
 * Finds devices that never come to rest: one sends request after request, or its tabs wake each
 * other again and again.
 */

/**
 * The limits for one device within ten seconds. A busy device made 66 transactions. Six tabs that
 * were offline, and came out of the cache one after the other, made 100 requests. A device that
 * asks again after each answer makes hundreds of both.
 */
const MOST = { requests: 150, transactions: 500 }
const WINDOW_MS = 10_000

export class Unrest {
  readonly #now: () => number
  readonly #complain: (what: string) => void
  readonly #times = new Map<string, number[]>()

  constructor(now: () => number, complain: (what: string) => void) {
    this.#now = now
    this.#complain = complain
  }

  saw(device: string, what: keyof typeof MOST): void {
    const times = this.#times.get(`${device} ${what}`) ?? []
    this.#times.set(`${device} ${what}`, times)
    times.push(this.#now())
    while (times[0]! <= this.#now() - WINDOW_MS) times.shift()
    if (times.length === MOST[what])
      this.#complain(`A storm: ${device} made ${times.length} ${what} within ten seconds`)
  }
}
