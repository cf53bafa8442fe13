/**
 * Exchanges of this page that wait: for a claim, a check-in or their turn. The transaction that
 * finds enough numbers, as a rule the one that stores what was granted, also leases them.
 * Guarantees that nothing is leased to a page that does not wait any more.
 */

import { total } from '../core/range.js'
import { isNote } from '../device/page-exit.js'
import type { DeviceState, Exchange, Note } from '../device/state.js'

export interface WaitingExchange<Given> {
  request: Exchange
  /** What it was given; durable. */
  given?: Given
  /** Called when it was given something. */
  served?: () => void
}

export class Waiting<Given> {
  /** By exchange. */
  readonly #all = new Map<string, WaitingExchange<Given>>()

  add(request: Exchange): WaitingExchange<Given> {
    const waiting = { request }
    this.#all.set(request.id, waiting)
    return waiting
  }

  /** Does its page still want it? */
  has({ request }: WaitingExchange<Given>): boolean {
    return this.#all.has(request.id)
  }

  /** @returns whether its page still wanted it */
  remove({ request }: WaitingExchange<Given>): boolean {
    return this.#all.delete(request.id)
  }

  /**
   * The page says that it will not use an answer, or an earlier one said so in a note. A lease that
   * is made after such a note would never be settled.
   */
  cancel(notes: readonly Note[]): void {
    // guard: H4 a page that has gone is leased nothing that a claim brings
    for (const note of notes.filter(isNote)) if ('exchange' in note) this.#all.delete(note.exchange)
  }

  /**
   * Inside a transaction.
   * @param lease does the exchange
   * @returns `served`, for when the transaction is complete
   */
  serve(
    before: DeviceState,
    lease: (request: Exchange, state: DeviceState) => [DeviceState, Given],
  ): { state: DeviceState; served: () => void } {
    let state = before
    const served: (() => void)[] = []
    for (const waiting of this.#all.values()) {
      if (waiting.given || state.stopped || total(state.ranges) < waiting.request.want) continue
      const [next, given] = lease(waiting.request, state)
      state = next
      // guard: H2 a page that waits for a claim gets its lease once it is stored
      served.push(() => {
        waiting.given = given
        waiting.served?.()
      })
    }
    return {
      state,
      served() {
        for (const each of served) each()
      },
    }
  }
}
