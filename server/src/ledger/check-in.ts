/**
 * How a device checks in. The rule is pure. Guarantees that the token of a spent grant is void, and
 * that shown tokens act as they do in a claim.
 */
import { distinct, keyOf, keyText } from './collections.js'
import {
  databaseIn,
  type LedgerContext,
  provenBy,
  type ShownTokens,
  selectionOfShown,
} from './core.js'
import type { GrantTokens, TokenContent } from './grant-token.js'
import type { CheckIn, CheckInResult, Claims } from './ledger.js'
import { HeldOfAnother } from './ledger-errors.js'
import { otherLedger, ownName } from './name.js'
import type { Rows, StepResult } from './row-store.js'
import { withIssued } from './rows.js'
import type { SharedSelection, SharingCore } from './shared-commits.js'
import {
  changedCollections,
  changedTokenRows,
  keep,
  newProgress,
  type ReadRequest,
  readGrantToken,
  readShown,
  showTokens,
  withNextToken,
} from './shown-tokens.js'

export const checkingIn = ({ context, store, share }: SharingCore): Pick<Claims, 'checkIn'> => ({
  checkIn(unread) {
    const request = readCheckIn(unread, context.tokens)
    return share({
      database: request.database,
      select: selectionOf(request),
      step(rows) {
        const name = ownName(store.name, context.bound)
        const { follows } = databaseIn(rows, request.database)
        const { ledgers, serverTag = '' } = unread
        const other = otherLedger(ledgers, serverTag, name, request.database, follows)
        // guard: H34 a device of another ledger keeps its tokens
        if (other) throw new HeldOfAnother(unread.database, other)
        return checkIn(rows, request, context)
      },
    })
  },
})

/** A check-in whose tokens are read. */
export interface ReadCheckIn extends ReadRequest {
  spent: readonly TokenContent[]
}

export const readCheckIn = (
  { database: name, id, at, grants, spent = [] }: CheckIn,
  tokens: GrantTokens,
): ReadCheckIn => {
  const database = name.toLowerCase()
  return {
    database,
    id,
    at,
    shown: readShown(grants, database, tokens),
    spent: spent.flatMap((token) => readGrantToken(token, database, tokens) ?? []),
  }
}

const tokensOf = ({ database, shown, spent }: ReadCheckIn): ShownTokens => ({
  database,
  shown: [...shown, ...spent.map((token) => ({ token }))],
})

export const selectionOf = (request: ReadCheckIn): SharedSelection =>
  selectionOfShown([tokensOf(request)])

/** @returns `select` when a copy was found: the step then needs its collections, too */
export function checkIn(
  rows: Rows,
  request: ReadCheckIn,
  { tokens, bound }: Pick<LedgerContext, 'tokens' | 'bound'>,
): StepResult<CheckInResult[]> | { select: SharedSelection } {
  const { database, spent, at } = request
  const progress = newProgress()
  for (const token of spent) {
    const grant = rows.grants.get(token.id)
    const tombstone = rows.tombstones.get(token.id)
    if ((grant ?? tombstone)?.database !== database) continue
    // guard: H13 the token of a spent grant is void
    const spentGrant = grant && withNextToken(grant, token, request.id)
    if (spentGrant) progress.grants.set(token.id, withIssued(spentGrant, spentGrant.high + 1, at))
    const spentRest = tombstone && withNextToken(tombstone, token, request.id)
    if (spentRest) progress.tombstones.set(token.id, spentRest)
  }
  const { results, copied, ...changed } = showTokens(rows, progress, request, tokens)
  // guard: H13 a copy's collections are looked at, whatever else is in its commit
  const looked = new Set(rows.selected.collections?.map(keyText))
  if (copied.some((grant) => !looked.has(keyText(grant))))
    return { select: { collections: distinct(copied.map(keyOf), keyText) } }
  keep(progress, changed)
  return {
    answer: results,
    changes: {
      ...changedTokenRows(progress),
      // guard: H20 a token of a spent grant proves an older copy, too
      databases: provenBy(rows, [tokensOf(request)], bound),
      collections: changedCollections(rows, progress),
    },
  }
}
