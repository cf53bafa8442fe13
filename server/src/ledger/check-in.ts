/**
 * How a device checks in. Pure. Guarantees that a token is replaced once and has no effect after
 * that (H12), and that a copy of the device is found (H13).
 */
import type { GrantTokens, TokenContent } from './grant-token.js'
import { distinct, keyOf, keyText } from './keys.js'
import type { CheckIn, CheckInFate } from './ledger.js'
import { cutOut, type NumberLine } from './number-line.js'
import { provenBy, selectionOfShown } from './restored.js'
import type { RowChanges, Rows, Selection, StepResult } from './row-store.js'
import { type CollectionRow, type GrantRow, type UnheardRow, withIssued, withLine } from './rows.js'

/** A check-in whose tokens are read. */
export interface ReadCheckIn extends Pick<CheckIn, 'database' | 'id' | 'at'> {
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined; next: number }[]
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
    shown: grants.map(({ token, next }) => ({ token: tokens.read(token, database), next })),
    spent: spent.flatMap((token) => tokens.read(token, database) ?? []),
  }
}

export function selectionOf({ spent, ...request }: ReadCheckIn): Selection {
  const { grants, serials } = selectionOfShown([request])
  return { serials, grants: [...new Set([...grants, ...spent.map(({ id }) => id)])] }
}

/** @returns `select` when a copy was found: the step then needs its collections, too */
export function checkIn(
  rows: Rows,
  request: ReadCheckIn,
  tokens: GrantTokens,
): StepResult<CheckInFate[]> | { select: Selection } {
  const { database, spent, at } = request
  const changed: ShownRows = { grants: new Map(), unheard: new Map() }
  for (const token of spent) {
    const grant = rows.grants.get(token.id)
    const unheard = rows.unheard.get(token.id)
    if ((grant ?? unheard)?.database !== database) continue
    // guard: H13 the token of a spent grant is void
    const spentGrant = grant && withRotation(grant, token, request.id)
    if (spentGrant) changed.grants.set(token.id, withIssued(spentGrant, spentGrant.high + 1, at))
    const spentRest = unheard && withRotation(unheard, token, request.id)
    if (spentRest) changed.unheard.set(token.id, spentRest)
  }
  const { fates, copied } = replaceTokens(rows, changed, request, tokens)
  const changes: RowChanges = { ...changesOf(changed), restored: provenBy(rows, [request]) }
  if (copied.length > 0 && !rows.selected.collections)
    return { select: { collections: distinct([...rows.grants.values()].map(keyOf), keyText) } }
  return { answer: fates, changes: { ...changes, collections: withoutCopied(rows, copied) } }
}

/** The rows that tokens belong to, as a step has changed them, by id. */
export interface ShownRows {
  grants: Map<string, GrantRow>
  unheard: Map<string, UnheardRow>
}

export const copyOf = ({ grants, unheard }: ShownRows): ShownRows => ({
  grants: new Map(grants),
  unheard: new Map(unheard),
})

export const changesOf = ({ grants, unheard }: ShownRows): RowChanges => ({
  grants: [...grants.values()],
  unheard: [...unheard.values()],
})

export interface ReplacedTokens {
  /** One per token that is shown, in their order. */
  fates: CheckInFate[]
  /** Grants that another copy of the device has shown before. */
  copied: GrantRow[]
}

/**
 * Replaces the tokens that a device shows, each once. If another copy of the device has shown one
 * of them, it goes on with them all, and none is replaced.
 * @param changed rows as this step has changed them; those that are shown are added
 */
export function replaceTokens(
  rows: Rows,
  changed: ShownRows,
  { database, id, at, shown }: Omit<ReadCheckIn, 'spent'>,
  tokens: GrantTokens,
): ReplacedTokens {
  const copied: GrantRow[] = []
  const grantOf = ({ id }: TokenContent) => changed.grants.get(id) ?? rows.grants.get(id)
  const unheardOf = ({ id }: TokenContent) => changed.unheard.get(id) ?? rows.unheard.get(id)
  // A token that is newer than its grant proves no copy: this ledger is an older one (H20).
  // guard: H13 one token that is superseded proves a copy, which keeps nothing
  const isCopy = shown.some(({ token }) => {
    const row = token && (grantOf(token) ?? unheardOf(token))
    if (row?.database !== database) return false
    return row.rotation > token!.rotation && !withRotation(row, token!, id)
  })
  const fates = shown.map(({ token, next }): CheckInFate => {
    if (!token) return 'unknown'
    const [grant, unheard] = [grantOf(token), unheardOf(token)]
    if (!grant) {
      // The first device that shows the token of a grant that is not kept has its numbers.
      const isOurs = !isCopy && unheard?.database === database
      const rotated = isOurs ? withRotation(unheard, token, id) : undefined
      if (!rotated) return 'superseded'
      changed.unheard.set(rotated.id, rotated)
      return { token: tokens.write(rotated), high: rotated.high }
    }
    if (grant.database !== database) return 'superseded'
    const rotated = isCopy ? undefined : withRotation(grant, token, id)
    if (!rotated) {
      copied.push(grant)
      // guard: H13 nothing of a copied grant comes back
      changed.grants.set(grant.id, withIssued(grant, grant.high + 1, at))
      return 'superseded'
    }
    const kept = rotated === grant ? grant : withIssued(rotated, next, at)
    changed.grants.set(kept.id, kept)
    return { token: tokens.write(kept), high: kept.high }
  })
  return { fates, copied }
}

/**
 * The row after check-in `id` showed its token: with the next rotation, or unchanged when the same
 * check-in came before. Undefined: the token is superseded.
 */
export function withRotation<Row extends Pick<GrantRow, 'rotation' | 'checkIn'>>(
  row: Row,
  { rotation }: TokenContent,
  id: string,
): Row | undefined {
  if (row.rotation === rotation)
    // guard: H12 a check-in voids the old token
    return { ...row, rotation: rotation + 1, checkIn: id }
  return row.rotation === rotation + 1 && row.checkIn === id ? row : undefined
}

/**
 * The collections after copies of these grants' device were found. One copy may have issued the
 * numbers that the other gave back, so they are granted to nobody (H13).
 */
function withoutCopied(rows: Rows, copied: readonly GrantRow[]): CollectionRow[] {
  const changed = new Map<string, CollectionRow>()
  for (const grant of copied) {
    const key = keyText(grant)
    const loaded = rows.collections.get(key)
    const row = changed.get(key) ?? loaded
    // guard: H13 what a copied grant gives back is granted to nobody
    if (row)
      changed.set(key, {
        ...withLine(row, withoutGrant(row, grant, loaded?.binding)),
        forgotten: forgottenWith(row.forgotten, grant),
      })
  }
  return [...changed.values()]
}

/** The line without free numbers that this grant ever held. */
export const withoutGrant = (
  line: NumberLine,
  { low, firstHigh }: GrantRow,
  binding: string | undefined,
): NumberLine => cutOut(line, low, firstHigh, binding === undefined)

/** What a collection remembers as forgotten once this grant was copied. */
export const forgottenWith = (forgotten: number, { firstHigh }: GrantRow): number =>
  // guard: H13 max does not go below a number of a copied grant
  Math.max(forgotten, firstHigh)
