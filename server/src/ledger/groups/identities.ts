/** Identities: counters of RavenDB's without ranges. */

import { nextIdentities, seedIdentity } from '../identities.js'
import { distinct, identityText, normalizedIdentity } from '../keys.js'
import type { Identities } from '../ledger.js'
import { databasesOf, type LedgerCore } from './core.js'

export function identities({ store, context, change }: LedgerCore): Identities {
  const { limits } = context
  return {
    nextIdentities(requests) {
      const claims = requests.map(normalizedIdentity)
      return change(databasesOf(claims), {
        select: {
          identities: distinct(claims, identityText),
          quota: limits,
          identityClaims: claims.filter(({ id }) => id !== undefined),
        },
        step: (rows) => nextIdentities(rows, claims),
      })
    },

    seedIdentity(request) {
      const seed = normalizedIdentity(request)
      return change([seed.database], {
        select: { identities: [seed], quota: limits },
        step: (rows) => seedIdentity(rows, seed, context),
      })
    },

    identities: async (database) =>
      (await store.readIdentities(database.toLowerCase())).map(({ name }) => name),
  }
}
