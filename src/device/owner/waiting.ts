/**
 * Exchanges of this page that wait: for their turn, for a claim, or for the first check-in. The
 * transaction that finds enough numbers, as a rule the one that stores the grant, also leases them.
 * Guarantees that nothing is leased to a page that does not wait any more.
 */
import { total } from '../../core/range.js'
import { isNote } from '../page-notes.js'
import type { DeviceState, Exchange, Note } from '../state.js'
import { type Given, lease, type Surroundings } from './lease.js'

export interface Waiter {
  /** Once its page does not wait any more, it wants nothing; it still settles the page's leases. */
  request: Exchange
  for: 'turn' | 'claim' | 'check-in'
  /** The page's new leases and offers; durable. */
  given?: Given
  /** Called when it was given something. */
  served?: () => void
}

export class Waiting {
  readonly #all = new Set<Waiter>()

  add(request: Exchange, what: Waiter['for']): Waiter {
    const waiter = { request, for: what }
    this.#all.add(waiter)
    return waiter
  }

  remove(waiter: Waiter): void {
    this.#all.delete(waiter)
  }

  /**
   * The page says that it will not use an answer, or an earlier one said so in a note. A lease that
   * is made after such a note would never be settled.
   */
  cancel(notes: readonly Note[]): void {
    const gone = notes.filter(isNote).map((note) => 'exchange' in note && note.exchange)
    // guard: H4 a page that has gone is leased nothing that a claim brings
    for (const each of this.#all)
      if (gone.includes(each.request.id)) each.request = unwanted(each.request)
  }

  /**
   * Inside a transaction: leases to those that wait for this.
   * @returns `served`, for when the transaction is complete
   */
  serve(
    what: Waiter['for'],
    before: DeviceState,
    around: Surroundings,
  ): [DeviceState, served: () => void] {
    let state = before
    const all: [Waiter, Given][] = []
    for (const waiter of this.#all) {
      const { want } = waiter.request
      if (waiter.for !== what || waiter.given || want === 0) continue
      if (state.stopped || total(state.ranges) < want) continue
      const [next, given] = lease(state, waiter.request, around)
      state = next
      // guard: H2 a page that waits for a claim gets its lease once it is stored
      all.push([waiter, given])
    }
    const served = () => {
      for (const [waiter, given] of all) {
        waiter.given = given
        waiter.served?.()
      }
    }
    return [state, served]
  }
}

export const unwanted = (request: Exchange): Exchange => ({
  ...request,
  want: 0,
  ahead: 0,
  offer: false,
})
