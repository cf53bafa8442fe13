/**
 * A ledger in which some collections get their numbers from elsewhere, in steps of their own: from
 * a RavenDB, or by a function of the app. Guarantees that numbers are in the ledger before any of
 * them is granted.
 */
import { bindingKey } from '../../ledger/collections.js'
import type { ClaimRequest, CollectionKey, Ledger } from '../../ledger/ledger.js'
import { type BoundSource, claimWithAuthority } from '../upstream/authority.js'
import type { Tell } from './cautions.js'
import type { Bindings } from './collections-setting.js'
import { freeOutcomes, unseenText } from './hook/free-numbers.js'
import { hookSource } from './hook/hook-blocks.js'
import { ravenSource } from './raven/raven-upstream.js'

/**
 * @param tell gets each warning
 * @throws Error when an upstream refuses this server. One that is down may come later
 */
export async function withSources(ledger: Ledger, bindings: Bindings, tell: Tell): Promise<Ledger> {
  const sources = new Map<string, BoundSource>()
  for (const [key, bound] of bindings)
    if (bound.authority === 'upstream') sources.set(key, await ravenSource(ledger, bound))
    else if (bound.authority === 'hook') {
      sources.set(key, hookSource(bound, bound.hook))
      if (bound.hook.isFree === false) tell(unseenText(bound))
    }
  if (sources.size === 0) return ledger
  const hookOf = (key: CollectionKey) => {
    const bound = bindings.get(bindingKey(key))
    return bound?.authority === 'hook' ? bound.hook : undefined
  }
  /** The app hears the names as they are configured, however a client spells them. */
  const named = (request: ClaimRequest): ClaimRequest => {
    const bound = hookOf(request) && bindings.get(bindingKey(request))
    return bound ? { ...request, database: bound.database, collection: bound.collection } : request
  }
  const claim = (claims: readonly ClaimRequest[]) =>
    claimWithAuthority(ledger.claim, claims, (key, short, max) =>
      sources.get(bindingKey(key))!.take(short, max),
    )
  const claimOne = async (request: ClaimRequest) => (await claim([request]))[0]!
  return {
    ...ledger,
    claim: async (claims) =>
      freeOutcomes(claims.map(named), await claim(claims), hookOf, claimOne, tell),
    async close() {
      // If an upstream is gone, closing goes on: the ledger's numbers are granted after the next
      // start.
      await Promise.allSettled([...sources.values()].map((source) => source.close()))
      await ledger.close()
    },
  }
}
