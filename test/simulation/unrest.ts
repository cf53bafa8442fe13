/**
 * Notices who never comes to rest: a device that sends request after request, or tabs that wake
 * each other again and again.
 */

/**
 * Of one device within ten seconds. A busy one made 21 requests and 66 transactions; who asks again
 * as soon as it was answered makes hundreds.
 */
const MOST = { requests: 100, transactions: 500 }
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
