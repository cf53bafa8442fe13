/**
 * How a device checks in. Pure. Guarantees that a token is replaced once, after which nothing can
 * be done with it (H12), and that a copy of the device is found out (H13).
 */
import type { GrantTokens, TokenContent } from './grant-token.js'
import { distinct, keyOf, keyText, serialText } from './keys.js'
import type { CheckIn, CheckInFate } from './ledger.js'
import { cutOut, type NumberLine } from './number-line.js'
import type { RowChanges, Rows, Selection, StepResult } from './row-store.js'
import { type CollectionRow, type GrantRow, type SerialKey, withIssued, withLine } from './rows.js'

/** A check-in whose tokens are read. */
export interface ReadCheckIn extends Pick<CheckIn, 'database' | 'id'> {
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined; next: number }[]
  spent: readonly TokenContent[]
}

export const readCheckIn = (
  { database: name, id, grants, spent = [] }: CheckIn,
  tokens: GrantTokens,
): ReadCheckIn => {
  const database = name.toLowerCase()
  return {
    database,
    id,
    shown: grants.map(({ token, next }) => ({ token: tokens.read(token, database), next })),
    spent: spent.flatMap((token) => tokens.read(token, database) ?? []),
  }
}

export const selectionOf = ({ database, shown, spent }: ReadCheckIn): Selection => ({
  serials: serialsOf(
    database,
    shown.map(({ token }) => token),
  ),
  grants: [
    ...new Set([...shown.flatMap(({ token }) => token ?? []), ...spent].map(({ id }) => id)),
  ],
})

/** @returns `select` when a copy was found: its collections are needed, too */
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
  const { fates, copied } = replaceTokens(rows, changed, request, tokens)
  const changes: RowChanges = { grants: [...changed.values()] }
  if (showsOlderCopy(rows, request))
    return { answer: fates, changes: { ...changes, distrusted: database } }
  if (copied.length > 0 && !rows.selected.collections)
    return { select: { collections: distinct([...rows.grants.values()].map(keyOf), keyText) } }
  return { answer: fates, changes: { ...changes, collections: withoutCopied(rows, copied) } }
}

export interface ReplacedTokens {
  /** One per token that is shown, in their order. */
  fates: CheckInFate[]
  /** Grants that another copy of the device has shown before. */
  copied: GrantRow[]
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
  const fates = shown.map(({ token, next }): CheckInFate => {
    if (!token) return 'unknown'
    const found = changed.get(token.id) ?? rows.grants.get(token.id)
    const grant = found?.database === database ? found : undefined
    const rotated = grant && withRotation(grant, token, next, id)
    if (!rotated) {
      if (grant) {
        copied.push(grant)
        // guard: H13 nothing of a copied grant comes back
        changed.set(grant.id, withIssued(grant, grant.high + 1))
      }
      return 'superseded'
    }
    changed.set(rotated.id, rotated)
    return { token: tokens.write(rotated), high: rotated.high }
  })
  return { fates, copied }
}

/** The places of the grants that tokens speak of. */
const serialsOf = (database: string, tokens: readonly (TokenContent | undefined)[]): SerialKey[] =>
  distinct(
    tokens.flatMap((token) =>
      token && token.serial > 0
        ? { database, collection: token.collection, serial: token.serial }
        : [],
    ),
    serialText,
  )

/**
 * This ledger wrote the tokens. If it cannot know one of them, it is an older copy of itself: what
 * it thinks free may have been granted since (H20). That is so when the grant would be newer than
 * the newest one here, when another grant stands in its place, and when the token is newer than the
 * grant's. A grant that was pruned is known by its place, and proves nothing.
 */
export const showsOlderCopy = (
  rows: Rows,
  { database, shown }: Pick<ReadCheckIn, 'database' | 'shown'>,
): boolean =>
  shown.some(({ token }) => {
    if (!token) return false
    const grant = rows.grants.get(token.id)
    // guard: H20 a token that is newer than its grant proves an older copy
    if (grant) return grant.database === database && grant.rotation < token.rotation
    if (token.serial === 0) return false
    const place = rows.serials.get(serialText({ database, ...token }))
    // guard: H20 a token that is not known any more proves one, too
    return place === undefined || place.newest < token.serial || place.grant !== null
  })

/**
 * The grant after check-in `id` showed its token: with the next rotation, or unchanged when the
 * same check-in came before. Undefined: the token is superseded.
 */
export function withRotation(
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
    const loaded = rows.collections.get(key)
    const row = changed.get(key) ?? loaded
    // guard: H13 what a copied grant gives back is granted to nobody
    if (row) changed.set(key, withLine(row, withoutGrant(row, grant, loaded?.binding)))
  }
  return [...changed.values()]
}

/** The line on which nothing that this grant ever held is free. */
export const withoutGrant = (
  line: NumberLine,
  { low, firstHigh }: GrantRow,
  binding: string | undefined,
): NumberLine => cutOut(line, low, firstHigh, binding === undefined)
