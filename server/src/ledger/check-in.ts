/**
 * How a device checks in. Pure. Guarantees that a token is replaced once, after which nothing can
 * be done with it (H12), and that a copy of the device is found out (H13).
 */
import type { GrantTokens, TokenContent } from './grant-token.js'
import { distinct, keyOf, keyText } from './keys.js'
import type { CheckIn, CheckInFate } from './ledger.js'
import { raise } from './number-line.js'
import type { RowChanges, Rows, Selection, StepResult } from './row-store.js'
import { type CollectionRow, type GrantRow, withIssued, withLine } from './rows.js'

/** A check-in whose tokens are read. */
export interface ReadCheckIn extends Pick<CheckIn, 'database' | 'id'> {
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined; next: number }[]
  spent: readonly TokenContent[]
}

export const readCheckIn = (
  { database, id, grants, spent = [] }: CheckIn,
  tokens: GrantTokens,
): ReadCheckIn => ({
  database: database.toLowerCase(),
  id,
  shown: grants.map(({ token, next }) => ({ token: tokens.read(token), next })),
  spent: spent.flatMap((token) => tokens.read(token) ?? []),
})

export const selectionOf = ({ shown, spent }: ReadCheckIn): Selection => ({
  grants: [
    ...new Set([...shown.flatMap(({ token }) => token ?? []), ...spent].map(({ id }) => id)),
  ],
})

/** @returns `select`: a copy was found, and its collections are needed, too */
export function checkIn(
  rows: Rows,
  request: ReadCheckIn,
  tokens: GrantTokens,
): StepResult<CheckInFate[]> | { select: Selection } {
  const { database, spent } = request
  const changed = new Map<string, GrantRow>()
  for (const token of spent) {
    const grant = rows.grants.get(token.id)
    if (grant?.database === database && grant.rotation === token.rotation)
      changed.set(grant.id, withIssued(grant, grant.high + 1))
  }
  const { fates, copied, isOlderCopy } = replaceTokens(rows, changed, request, tokens)
  const changes: RowChanges = { grants: [...changed.values()] }
  if (isOlderCopy) return { answer: fates, changes: { ...changes, distrusted: database } }
  if (copied.length > 0 && !rows.selected.collections)
    return { select: { collections: distinct([...rows.grants.values()].map(keyOf), keyText) } }
  return { answer: fates, changes: { ...changes, collections: withoutCopied(rows, copied) } }
}

export interface ReplacedTokens {
  /** One per token that is shown, in their order. */
  fates: CheckInFate[]
  /** Grants that another copy of the device has shown before. */
  copied: GrantRow[]
  isOlderCopy: boolean
}

/**
 * Replaces the tokens that a device shows, each once.
 * @param changed grants as this step has changed them; those that are shown are added
 */
export function replaceTokens(
  rows: Rows,
  changed: Map<string, GrantRow>,
  { database, id, shown }: Omit<ReadCheckIn, 'spent'>,
  tokens: GrantTokens,
): ReplacedTokens {
  const copied: GrantRow[] = []
  let isOlderCopy = false
  const fates = shown.map(({ token, next }): CheckInFate => {
    if (!token) return 'unknown'
    const found = changed.get(token.id) ?? rows.grants.get(token.id)
    const grant = found?.database === database ? found : undefined
    isOlderCopy ||= provesOlderCopy(grant, token)
    const rotated = grant && withRotation(grant, token, next, id)
    if (!rotated) {
      if (grant) copied.push(grant)
      return 'superseded'
    }
    changed.set(rotated.id, rotated)
    return { token: tokens.write(rotated), high: rotated.high }
  })
  return { fates, copied, isOlderCopy }
}

/**
 * Did this ledger write the token, but does not know so much any more? Then it is an older copy of
 * itself, and what it thinks free may have been granted since (H20). A row that was pruned looks
 * the same, which costs free numbers, nothing else.
 */
const provesOlderCopy = (grant: GrantRow | undefined, { rotation }: TokenContent): boolean =>
  // guard: H20 a token that is not known any more proves one, too
  grant === undefined || grant.rotation < rotation

/**
 * The grant after check-in `id` has shown its token: with the next rotation, or as it is when the
 * same check-in came before. Undefined: the token is superseded.
 */
function withRotation(
  grant: GrantRow,
  { rotation }: TokenContent,
  next: number,
  id: string,
): GrantRow | undefined {
  if (grant.rotation === rotation)
    // guard: H12 a check-in voids the old token
    return { ...withIssued(grant, next), rotation: rotation + 1, checkIn: id }
  return grant.rotation === rotation + 1 && grant.checkIn === id ? grant : undefined
}

/**
 * The collections after copies of these grants' device were found. What either copy gave back, the
 * other may have issued, so nobody is granted it (H13).
 */
function withoutCopied(rows: Rows, copied: readonly GrantRow[]): CollectionRow[] {
  const changed = new Map<string, CollectionRow>()
  for (const grant of copied) {
    const key = keyText(grant)
    const row = changed.get(key) ?? rows.collections.get(key)
    // guard: H13 what a copied grant gives back is granted to nobody
    if (row && grant.firstHigh > row.floor)
      changed.set(key, withLine(row, raise(row, grant.firstHigh)))
  }
  return [...changed.values()]
}
