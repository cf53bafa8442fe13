/**
 * A ledger in which some collections get their ranges from a RavenDB, the upstream. Guarantees that
 * a range is in the ledger before anything of it is granted. Before numbers are given back, they
 * leave the ledger for good (H8), and they go only to the node that granted them (H9).
 */
import { MAX_DOUBLED_CAPACITY } from '../../../../src/core/wire.js'
import { bindingKey } from '../../ledger/collections.js'
import { UpstreamUnavailable } from '../../ledger/errors.js'
import type { CollectionKey, Ledger } from '../../ledger/ledger.js'
import { Pacer, refilled, type Take } from '../../upstream/refill.js'
import type { Bindings } from '../collections-setting.js'
import { openRaven, type RavenCluster } from './cluster.js'

interface Opened extends CollectionKey {
  cluster: RavenCluster
  pacer: Pacer
  /** Where the newest range of each node ends. RavenDB takes back only the end of it. */
  ends: Map<string, number>
}

/** @throws Error when an upstream refuses this server. One that is down may come later */
export async function withRavens(ledger: Ledger, bindings: Bindings): Promise<Ledger> {
  const ravens = new Map<string, Opened>()
  for (const [key, bound] of bindings) {
    if (bound.authority !== 'upstream') continue
    const { database, collection, upstream } = bound
    const cluster = openRaven(upstream)
    const pacer = new Pacer(MAX_DOUBLED_CAPACITY)
    ravens.set(key, { database, collection, cluster, pacer, ends: new Map() })
    await cluster.check().catch((error) => {
      if (!(error instanceof UpstreamUnavailable)) throw error
    })
  }
  if (ravens.size === 0) return ledger

  const take: Take = async (key, short) => {
    const { database, collection, cluster, pacer, ends } = ravens.get(bindingKey(key))!
    const { max } = await ledger.read(key)
    const range = await cluster.claim(
      pacer.take(
        short.reduce((sum, { count }) => sum + count, 0),
        Date.now(),
      ),
      Math.max(max, ...short.map(({ lastMax }) => lastMax)),
    )
    ends.set(range.node, range.high)
    return [{ database, collection, ...range }]
  }

  /** Gives back what is free at the end of the newest ranges. */
  async function giveBack({ database, collection, cluster, ends }: Opened): Promise<void> {
    for (const [node, end] of ends) {
      if (!(await cluster.knows(node))) continue
      const low = await ledger.withdraw({ database, collection, node, end })
      if (low !== undefined) await cluster.giveBack(node, end, low - 1)
    }
  }

  return {
    ...ledger,
    claim: (claims) => refilled(ledger.claim, claims, take),
    async close() {
      // If an upstream is gone, closing goes on: what is in the ledger is granted after the next
      // start.
      await Promise.allSettled([...ravens.values()].map(giveBack))
      await ledger.close()
    },
  }
}
