/** What an operator sees of a ledger and does with it. */

import { setImmediate } from 'node:timers'
import { drop, isOf } from '../drop.js'
import { explain } from '../explain.js'
import { distinct, isSame, keyOf, keyText, normalized } from '../keys.js'
import type { Operation } from '../ledger.js'
import { prune } from '../prune.js'
import { toStatus } from '../rows.js'
import type { LedgerCore } from './core.js'

export function operation({ store, change }: LedgerCore): Operation {
  return {
    status: async () => (await store.readStatus()).map(toStatus),

    async explain(unread) {
      const asked = normalized(unread)
      // A number that is granted meanwhile is told by its grant: the grants are read last.
      const row = await store.readCollection(asked)
      const series = (await store.readSeries(asked.database)).filter((each) => isSame(each, asked))
      const grants = await store.readCovering(asked, asked.number)
      return explain(asked, {
        collection: row?.droppedAt === null ? row : undefined,
        grants,
        series,
      })
    },

    countFree: () => store.countFree(),

    async prune(pruning) {
      await store.removeDropped()
      await store.pruneAnswers(pruning.settledBefore)
      for (let pruned = 1; pruned > 0; ) {
        const old = await store.readOld(pruning)
        if (old.length === 0) return
        pruned = await store.change({
          select: {
            collections: distinct(old.map(keyOf), keyText),
            grants: old.map(({ id }) => id),
          },
          step: (rows) => prune(rows, pruning),
        })
        // Other requests that wait come first.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },

    async drop({ database: name, collection, at }) {
      const database = name.toLowerCase()
      const isDropped = isOf(database, collection?.toLowerCase())
      const collections = (await store.readStatus()).filter(isDropped).map(keyOf)
      const identities = collection === undefined ? await store.readIdentities(database) : []
      const databases = collection === undefined ? [database] : []
      await change([database], {
        select: { collections, identities },
        step: (rows) => drop(rows, databases, at),
      })
      await store.removeDropped()
    },

    renewSecret: () =>
      store.change({
        select: {},
        step: () => ({ answer: undefined, changes: { secret: store.secrets.renewed() } }),
      }),

    connections: () => store.connections?.(),

    ping: () => store.ping(),

    close: () => store.close(),
  }
}
