/**
 * Ranges of a collection from a RavenDB, the upstream. Guarantees that before numbers are given
 * back, they leave the ledger for good (H8), and that they go only to the node that granted them
 * (H9).
 */
import { MAX_DOUBLED_CAPACITY } from '../../../../../src/core/wire.js'
import type { CollectionKey, Ledger } from '../../../ledger/ledger.js'
import { UpstreamUnavailable } from '../../../ledger/ledger-errors.js'
import { type BoundSource, Pacer } from '../../upstream/authority.js'
import { openRaven } from './cluster.js'
import type { RavenAddress } from './raven-options.js'

/** @throws Error when the upstream refuses this server. One that is down may come later */
export async function ravenSource(
  ledger: Ledger,
  { database, collection, upstream }: CollectionKey & { upstream: RavenAddress },
): Promise<BoundSource> {
  const cluster = openRaven(upstream)
  const pacer = new Pacer(MAX_DOUBLED_CAPACITY)
  /** Where the newest range of each node ends. RavenDB takes back only the end of it. */
  const ends = new Map<string, number>()
  await cluster.check().catch((error) => {
    if (!(error instanceof UpstreamUnavailable)) throw error
  })
  return {
    async take(short) {
      const { max } = await ledger.read({ database, collection })
      const range = await cluster.claim(
        pacer.take(
          short.reduce((sum, { count }) => sum + count, 0),
          Date.now(),
        ),
        Math.max(max, ...short.map(({ lastMax }) => lastMax)),
      )
      pacer.came(range.high - range.low + 1, Date.now())
      ends.set(range.node, range.high)
      return [{ database, collection, ...range }]
    },

    /** Gives back the free numbers at the end of the newest ranges. */
    async close() {
      for (const [node, end] of ends) {
        if (!(await cluster.knows(node))) continue
        const low = await ledger.withdraw({ database, collection, node, end })
        if (low !== undefined) await cluster.giveBack(node, end, low - 1)
      }
    },
  }
}
