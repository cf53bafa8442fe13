/** Claims, what comes back of them, and how devices check in. */
import { authorityOf } from '../bound-collections.js'
import { checkIn, readCheckIn, selectionOf } from '../check-in.js'
import { asksOfClaims, grantClaims, shownBy } from '../claim.js'
import { giveBack } from '../give-back.js'
import { distinct, keyText, normalized } from '../keys.js'
import type { Claims } from '../ledger.js'
import { withdraw } from '../marks.js'
import { freeOf } from '../rows.js'
import { databasesOf, type LedgerCore } from './core.js'

export function claims({ store, context, change }: LedgerCore): Claims {
  const { limits, bound, tokens } = context
  return {
    claim(requests, received) {
      const claims = requests.map(normalized)
      return change(databasesOf(claims), {
        select: {
          collections: distinct(claims, keyText),
          quota: limits,
          claims: claims.filter(({ id }) => id !== undefined),
          ...shownBy(claims, tokens),
          // The counter of a back end may be locked as long as one of its transactions takes.
          isHasty: claims.every((claim) => authorityOf(bound, claim) === 'ledger'),
        },
        ask: (rows) => asksOfClaims(rows, claims, context),
        step: (rows, answers) => grantClaims(rows, claims, answers, received, context),
      })
    },

    isBound: (key) => authorityOf(bound, key) !== 'ledger',

    holds(key, low, high) {
      const { database, collection } = normalized(key)
      return store.change({
        select: {
          collections: [{ database, collection }],
          returned: { database, collection, end: high, last: low },
        },
        step: ({ collections, returnedOf }) => {
          const row = collections.get(keyText({ database, collection }))
          const left = row ? freeOf(row) : []
          const isFree = left.some((span) => span[0] <= high && span[1] >= low)
          return { answer: isFree || (returnedOf?.high ?? 0) >= low, changes: {} }
        },
      })
    },

    withdraw(request) {
      const piece = normalized(request)
      return change([piece.database], {
        select: { collections: [piece] },
        step: (rows) => withdraw(rows, piece),
      })
    },

    async giveBack(unread) {
      const request = normalized(unread)
      const { database, collection, end, last } = request
      const token = request.token === undefined ? undefined : tokens.read(request.token, database)
      if (request.token !== undefined && !token) return 0
      return change([database], {
        select: {
          collections: [request],
          ...(token ? { grants: [token.id] } : { returned: { database, collection, end, last } }),
        },
        step: (rows) => giveBack(rows, request, token, context),
      })
    },

    checkIn(unread) {
      const request = readCheckIn(unread, tokens)
      return change([request.database], {
        select: selectionOf(request),
        step: (rows) => checkIn(rows, request, context),
      })
    },
  }
}
