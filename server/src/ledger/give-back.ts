/**
 * How numbers come back, and leave for their upstream. The rules are pure. Guarantees that only the
 * end of an outstanding grant comes back (H22): with its latest token, or without a token once
 * (H8).
 */

import { restock, unstock } from './bound-stock.js'
import {
  type Authority,
  authorityOf,
  isSame,
  keyText,
  normalized,
  refuseChanged,
} from './collections.js'
import { isRestored, type LedgerContext, provenBy, selectionOfShown } from './core.js'
import type { TokenContent } from './grant-token.js'
import type { Claims, GiveBack, UpstreamPiece } from './ledger.js'
import { release } from './number-line.js'
import type { Rows, StepResult } from './row-store.js'
import {
  type CollectionRow,
  freeOf,
  type GrantRow,
  withIssued,
  withLine,
  withTotals,
} from './rows.js'
import type { SharingCore } from './shared-commits.js'

export function givingBack({
  store,
  context,
  change,
  share,
}: SharingCore): Pick<Claims, 'giveBack' | 'holds' | 'withdraw'> {
  const { tokens } = context
  return {
    async giveBack(unread) {
      const request = normalized(unread)
      const { database, collection, end, last } = request
      const token = request.token === undefined ? undefined : tokens.read(request.token, database)
      if (request.token !== undefined && !token) return 0
      const step = (rows: Rows) => giveBack(rows, request, token, context)
      if (!token) {
        const returned = { database, collection, end, last }
        return change([database], { select: { collections: [request], returned }, step })
      }
      const shown = [{ database, shown: [{ token }] }]
      return share({
        database,
        select: { collections: [{ database, collection }], ...selectionOfShown(shown) },
        step(rows) {
          const { answer, changes } = step(rows)
          // guard: H20 the token of a return proves an older copy, too
          const databases = provenBy(rows, shown, context.bound)
          return { answer, changes: { ...changes, databases } }
        },
      })
    },

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
  }
}

const NOTHING: StepResult<number> = { answer: 0, changes: {} }

/** @param token the content of the request's token; undefined: the request has none */
export function giveBack(
  rows: Rows,
  request: GiveBack,
  token: Pick<TokenContent, 'id' | 'tokenVersion'> | undefined,
  { bound }: LedgerContext,
): StepResult<number> {
  const row = rows.collections.get(keyText(request))
  const grant = token ? rows.grants.get(token.id) : rows.returnedOf
  if (!row || !grant || !isSame(grant, row) || !isTail(grant, request)) return NOTHING
  refuseChanged(bound, row, row.binding)
  const { end, last, at } = request
  const authority = authorityOf(bound, row)
  const collections = [
    withTotals(withReturned(row, grant, last, authority), { grants: 0, numbers: last - end }),
  ]
  const shorter = (issued: GrantRow): GrantRow => ({ ...issued, high: last })
  if (token) {
    if (token.tokenVersion !== grant.tokenVersion) return NOTHING
    const grants = [shorter(withIssued(grant, 0, at))]
    return { answer: end - last, changes: { collections, grants } }
  }
  // guard: H22 a return without a token frees nothing that was claimed with an id
  // guard: H22 a return without a token is honoured once
  if (!isPlain(grant) || rows.isReturned) return NOTHING
  const { database, collection } = request
  const returns = [{ database, collection, end, last, returnedAt: at }]
  if (!isPlainEnd(row, end, authority)) return { answer: 0, changes: { returns } }
  const grants = [shorter(withIssued(grant, last + 1, at))]
  return { answer: end - last, changes: { collections, grants, returns } }
}

/** May the numbers after `last` come back? */
const isTail = (grant: GrantRow, { end, last }: GiveBack): boolean =>
  // guard: H22 only the tail of a grant comes back
  grant.high === end && last < end && last >= grant.issued

/**
 * May a return without a token shorten this grant? Only if a RavenDB client holds it: such clients
 * claim without an id, never check in, and return a range once.
 */
const isPlain = (grant: GrantRow): boolean =>
  grant.claim === null && grant.tokenVersion === 0 && grant.high === grant.firstHigh

/**
 * Is the end enough to tell which range is returned? Not where an upstream counts: ranges of
 * several nodes can end at the same number.
 */
const isPlainEnd = (row: CollectionRow, end: number, authority: Authority): boolean =>
  authority === 'ledger' ? row.max === end : authority !== 'upstream'

/** The collection after the grant's numbers above `last` came back. */
function withReturned(
  row: CollectionRow,
  { high, serverTag }: GrantRow,
  last: number,
  authority: Authority,
): CollectionRow {
  if (authority === 'ledger') return withLine(row, release(row, last + 1, high, row.forgotten))
  return withLine(
    row,
    restock(row, authority === 'upstream' ? [last + 1, high, serverTag] : [last + 1, high]),
  )
}

export function withdraw(rows: Rows, piece: UpstreamPiece): StepResult<number | undefined> {
  const row = rows.collections.get(keyText(piece))
  // An older copy's free numbers may have been granted since.
  const isFree = !isRestored(rows, piece.database)
  const taken = isFree && row && unstock(row, piece.end, piece.node)
  if (!taken) return { answer: undefined, changes: {} }
  return { answer: taken.span[0], changes: { collections: [withLine(row, taken.line)] } }
}
