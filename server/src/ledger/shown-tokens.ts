/**
 * Decides on the grant tokens that a request shows, whether it is a claim or a check-in. Pure.
 * Guarantees that a token is replaced once and has no effect after that (H12), and that numbers
 * which a copy of a device may have issued are granted to nobody (H13).
 */
import { distinct, isOfLetters, keyText, serialText } from './collections.js'
import { selectionOfShown } from './core.js'
import type { GrantTokens, TokenContent } from './grant-token.js'
import type { CheckInResult, ClaimRequest, ShownGrant } from './ledger.js'
import { cutOut, type NumberLine } from './number-line.js'
import type { LoadedCollection, RowChanges, Rows, Selection } from './row-store.js'
import { type CollectionRow, type GrantRow, type Tombstone, withIssued, withLine } from './rows.js'

/** A request whose tokens are read. Of two with one id, the second repeats the first. */
export interface ReadRequest {
  database: string
  id: string
  at: number
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined; next: number }[]
}

export const readShown = (
  shown: readonly ShownGrant[],
  database: string,
  tokens: GrantTokens,
): ReadRequest['shown'] =>
  shown.map(({ token, next }) => ({ token: readGrantToken(token, database, tokens), next }))

/** Undefined: it is no token of a range. One of a series is replaced where the series checks in. */
export function readGrantToken(
  text: string,
  database: string,
  tokens: GrantTokens,
): TokenContent | undefined {
  const token = tokens.read(text, database)
  // guard: H28 the token of a series is replaced by a check-in of the series alone
  return token && isOfLetters(token.collection) ? undefined : token
}

/** Was the collection dropped after the grant, which went with it? It may exist anew. */
export const isDropped = (rows: Rows, database: string, token: TokenContent): boolean =>
  token.serial <= (rows.serials.get(serialText({ database, ...token }))?.dropped ?? 0)

/** The rows that tokens belong to, as a step has changed them, by id. */
export interface TokenRows {
  grants: Map<string, GrantRow>
  tombstones: Map<string, Tombstone>
}

/** A collection's line as a step has changed it. */
interface ChangedLine {
  line: NumberLine
  forgotten: number
}

/** The changes of a step so far. */
export interface Progress extends TokenRows {
  /** By `keyText`. */
  lines: Map<string, ChangedLine>
  /** Ids of copied grants whose numbers are out of their lines. */
  cut: Set<string>
}

export interface TokenResults extends TokenRows {
  /** One per token that is shown, in their order. */
  results: CheckInResult[]
  /** Grants that another copy of the device has shown before. */
  copied: GrantRow[]
}

export const newProgress = (): Progress => ({
  grants: new Map(),
  tombstones: new Map(),
  lines: new Map(),
  cut: new Set(),
})

/**
 * Replaces the tokens that a device shows, each once. If another copy of the device has shown one
 * of them, none is replaced, and their numbers leave the lines of their collections, where these
 * are loaded. The other goes on with them, unless this one has used more than it has told of.
 * @returns the rows with their new tokens, which count once they are kept
 */
export function showTokens(
  rows: Rows,
  progress: Progress,
  { database, id, at, shown }: ReadRequest,
  tokens: GrantTokens,
): TokenResults {
  const changed: TokenRows = { grants: new Map(), tombstones: new Map() }
  const copied: GrantRow[] = []
  const grantOf = ({ id }: TokenContent) =>
    changed.grants.get(id) ?? progress.grants.get(id) ?? rows.grants.get(id)
  const tombstoneOf = ({ id }: TokenContent) =>
    changed.tombstones.get(id) ?? progress.tombstones.get(id) ?? rows.tombstones.get(id)
  // A token that is newer than its grant proves no copy: this ledger is an older one (H20).
  // guard: H13 one token that is superseded proves a copy, which keeps nothing
  const isCopy = shown.some(({ token }) => {
    if (!token || isDropped(rows, database, token)) return false
    const row = grantOf(token) ?? tombstoneOf(token)
    if (row?.database !== database) return false
    return row.tokenVersion > token.tokenVersion && !withNextToken(row, token, id)
  })
  const results = shown.map(({ token, next }): CheckInResult => {
    if (!token) return 'unknown'
    if (isDropped(rows, database, token)) return 'dropped'
    const [grant, tombstone] = [grantOf(token), tombstoneOf(token)]
    if (!grant) {
      // The first device that shows the token of a grant that is not kept has its numbers.
      const isOurs = !isCopy && tombstone?.database === database
      const replaced = isOurs ? withNextToken(tombstone, token, id) : undefined
      if (!replaced) return 'superseded'
      changed.tombstones.set(replaced.id, replaced)
      return { token: tokens.write(replaced), high: replaced.high }
    }
    if (grant.database !== database) return 'superseded'
    const replaced = isCopy ? undefined : withNextToken(grant, token, id)
    if (!replaced) {
      copied.push(grant)
      // guard: H13 nothing of a copied grant comes back
      const ended = withIssued(grant, grant.high + 1, at)
      // guard: H13 what a copy has used ahead of the other ends the grant for both
      const isAhead = next - 1 > grant.issued
      changed.grants.set(grant.id, isAhead ? withoutToken(ended) : ended)
      return 'superseded'
    }
    const kept = replaced === grant ? grant : withIssued(replaced, next, at)
    changed.grants.set(kept.id, kept)
    return { token: tokens.write(kept), high: kept.high }
  })
  cutOutCopied(rows, progress, copied)
  return { results, copied, ...changed }
}

export function keep(progress: Progress, { grants, tombstones }: TokenRows): void {
  for (const [id, row] of grants) progress.grants.set(id, row)
  for (const [id, row] of tombstones) progress.tombstones.set(id, row)
}

/**
 * The row after request `id` showed its token: with the next version of it, or unchanged when the
 * same request came before. Undefined: the token is superseded.
 */
export function withNextToken<Row extends Pick<GrantRow, 'tokenVersion' | 'checkIn'>>(
  row: Row,
  { tokenVersion }: TokenContent,
  id: string,
): Row | undefined {
  if (row.tokenVersion === tokenVersion)
    // guard: H12 a check-in voids the old token
    return { ...row, tokenVersion: tokenVersion + 1, checkIn: id }
  return row.tokenVersion === tokenVersion + 1 && row.checkIn === id ? row : undefined
}

/**
 * No token of the row is the newest any more: each device that shows one drops the numbers. A late
 * repetition never comes to this, because the server heard its numbers before.
 */
const withoutToken = (row: GrantRow): GrantRow => ({
  ...row,
  tokenVersion: row.tokenVersion + 1,
  checkIn: null,
})

/** How the line of a collection stands now. */
export const lineOf = ({ lines }: Progress, row: LoadedCollection): ChangedLine =>
  lines.get(keyText(row)) ?? { line: row, forgotten: row.forgotten }

export function setLine(progress: Progress, row: LoadedCollection, line: NumberLine): void {
  progress.lines.set(keyText(row), { ...lineOf(progress, row), line })
}

/** The collections whose lines have changed. */
export const changedCollections = (rows: Rows, { lines }: Progress): CollectionRow[] =>
  [...lines].map(([key, { line, forgotten }]) => ({
    ...withLine(rows.collections.get(key)!, line),
    forgotten,
  }))

/** The rows of tokens that have changed. */
export const changedTokenRows = ({ grants, tombstones }: TokenRows): RowChanges => ({
  grants: [...grants.values()],
  tombstones: [...tombstones.values()],
})

/**
 * One copy of a device may have issued numbers that the other gave back, so no number that these
 * grants ever held is granted again. It is enough to do so once in a step: nothing comes back in
 * it.
 */
function cutOutCopied(rows: Rows, progress: Progress, copied: readonly GrantRow[]): void {
  for (const grant of copied) {
    const row = rows.collections.get(keyText(grant))
    if (!row || progress.cut.has(grant.id)) continue
    progress.cut.add(grant.id)
    const { low, firstHigh } = grant
    const { line, forgotten } = lineOf(progress, row)
    // guard: H13 what a copied grant gives back is granted to nobody
    progress.lines.set(keyText(row), {
      line: cutOut(line, low, firstHigh, row.binding === undefined),
      // guard: H13 max does not go below a number of a copied grant
      forgotten: Math.max(forgotten, firstHigh),
    })
  }
}

/** The tokens of a claim, as a check-in under the id of the claim. */
export const readClaimTokens = (
  { database, id, at, shown = [] }: ClaimRequest,
  tokens: GrantTokens,
): ReadRequest => ({ database, id: id ?? '', at, shown: readShown(shown, database, tokens) })

/** The rows that have to be read for the tokens of claims. */
export function shownBy(claims: readonly ClaimRequest[], tokens: GrantTokens): Selection {
  const read = claims.map((claim) => readClaimTokens(claim, tokens))
  // As a rule, these are the collections that are claimed from.
  // guard: H13 a token of another collection finds a copy, too
  const known = read.flatMap(({ database, shown }) =>
    shown.flatMap(({ token }) => (token ? { database, collection: token.collection } : [])),
  )
  return { ...selectionOfShown(read), known: distinct(known, keyText) }
}
