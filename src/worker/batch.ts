/**
 * Claims of several collections that go to the server as one request. Guarantees that nobody waits
 * for a collection that has nothing to send.
 */
import { toFailure } from '../core/errors.js'
import type { WantedRange } from '../core/requests.js'
import type { GrantedRange } from '../core/state.js'
import type { Source } from '../source/source.js'

/** The place of one collection in the request. */
export interface Seat {
  /**
   * The id of all claims of the request; undefined when this collection had it before. The server
   * would answer a second claim under it with the numbers of the first.
   */
  takeId(): string | undefined
  /**
   * Sends the claim with the others, as soon as no seat is open any more. Undefined: the claim does
   * not belong to this request, and is sent alone; the others do not wait for it.
   */
  claim(wanted: WantedRange): Promise<GrantedRange> | undefined
  /** This collection sends nothing, or has claimed already. */
  leave(): void
}

const TOO_MANY_REQUESTS = 429

interface Waiting {
  wanted: WantedRange
  resolve(grant: Promise<GrantedRange>): void
}

/**
 * A server ignores the case of names. `Orders` goes alone beside `orders`: two claims of one
 * collection with one id would be answered with the same numbers.
 * @param signal nothing is sent once it is aborted
 * @returns the seat of each collection; undefined for one that has to go alone
 */
export function batchOf(
  source: Source,
  id: string,
  collections: readonly string[],
  signal: AbortSignal,
): (Seat | undefined)[] {
  const names = collections.map((each) => each.toLowerCase())
  let open = new Set(names).size
  if (!source.claimTogether || open < 2) return []
  const waiting: Waiting[] = []
  const newSeat = (): Seat => {
    let isOpen = true
    let isTaken = false
    const leave = () => {
      if (isOpen && --open === 0) send(source, waiting, signal)
      isOpen = false
    }
    return {
      takeId() {
        // guard: H11 a claim of several collections gives each its id once
        if (isTaken || !isOpen) return undefined
        isTaken = true
        return id
      },
      claim(wanted) {
        if (wanted.claim.id !== id || !isOpen) return void leave()
        return new Promise((resolve) => {
          waiting.push({ wanted, resolve })
          leave()
        })
      },
      leave,
    }
  }
  // guard: H11 of names that are one to a server, one shares the id of a claim
  return names.map((name, i) => (names.indexOf(name) === i ? newSeat() : undefined))
}

/** A collection that was refused claims again alone, and gets the reason. */
function send(source: Source, waiting: readonly Waiting[], signal: AbortSignal): void {
  const alone = async ({ target, claim }: WantedRange) => {
    signal.throwIfAborted()
    return source.claim(target, claim)
  }
  if (waiting.length < 2 || signal.aborted) {
    for (const { wanted, resolve } of waiting) resolve(alone(wanted))
    return
  }
  const answer = source.claimTogether!(waiting.map(({ wanted }) => wanted)).catch((error) => {
    const { code, status } = toFailure(error, 'storage-failed')
    // A RavenDB does not know such a request, and nothing was granted.
    if (code === 'server-refused' && status !== TOO_MANY_REQUESTS) return []
    throw error
  })
  waiting.forEach(({ wanted, resolve }, i) => {
    resolve(answer.then((grants) => grants[i] ?? alone(wanted)))
  })
}
