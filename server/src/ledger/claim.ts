/**
 * How claims are granted: claims that share a commit are one step. Its rule is pure. Guarantees
 * that a repeated claim gets the same grant (H11), and that no number is granted twice.
 */

import { addFresh, shortfall, takeFromStock, withoutSpans } from './bound-stock.js'
import {
  type Authority,
  authorityOf,
  distinct,
  grouped,
  keyText,
  normalized,
  refuseChanged,
} from './collections.js'
import {
  databaseIn,
  databasesOf,
  isRestored,
  type LedgerContext,
  type LedgerCore,
  provenBy,
  withDatabases,
} from './core.js'
import type { CounterAnswer, CounterAnswers, CounterAsk } from './counter-port.js'
import type {
  ClaimOutcome,
  ClaimRequest,
  Claims,
  CollectionKey,
  Grant,
  OtherLedger,
  UpstreamRange,
} from './ledger.js'
import { otherLedger } from './name.js'
import { type NumberLine, type Span, type Taken, take } from './number-line.js'
import { grantedBefore, type NewGrant, refuseOverlaps } from './overlap.js'
import type { LoadedCollection, Rows, StepResult } from './row-store.js'
import { type GrantRow, withGranted } from './rows.js'
import {
  changedCollections,
  changedTokenRows,
  keep,
  lineOf,
  newProgress,
  type Progress,
  type ReadRequest,
  readClaimTokens,
  setLine,
  shownBy,
  showTokens,
} from './shown-tokens.js'

type GrantsByClaim = ReadonlyMap<string, GrantRow>
type Take = (
  line: NumberLine,
  claim: ClaimRequest,
) => Taken | { refused: 'jump' | 'overflow' | 'short' }

const NONE: GrantsByClaim = new Map()

export function claiming({ context, change }: LedgerCore): Pick<Claims, 'claim' | 'isBound'> {
  const { limits, bound, tokens } = context
  return {
    claim(requests, received) {
      const claims = requests.map(normalized)
      const authorities = claims.map((claim) => authorityOf(bound, claim))
      return change(databasesOf(claims), {
        select: {
          collections: distinct(claims, keyText),
          quota: limits,
          claims: claims.filter(({ id }) => id !== undefined),
          ...shownBy(claims, tokens),
          // The counter of a back end may be locked as long as one of its transactions takes.
          hasShortLockTimeout: authorities.every((authority) => authority === 'ledger'),
        },
        ...(authorities.includes('counter') && {
          ask: (rows) => asksOfClaims(rows, claims, context),
        }),
        step: (rows, answers) => grantClaims(rows, claims, answers, received, context),
      })
    },

    isBound: (key) => authorityOf(bound, key) !== 'ledger',
  }
}

/** The step's demands on the ORMs' counters before it can grant these claims. */
export function asksOfClaims(
  rows: Rows,
  claims: readonly ClaimRequest[],
  context: LedgerContext,
): CounterAsk[] {
  const { bound, limits, tokens } = context
  const ofCounters = claims.filter(
    (claim) => authorityOf(bound, claim) === 'counter' && !otherOf(rows, claim, context),
  )
  if (ofCounters.length === 0) return []
  const read = claims.map((claim) => readClaimTokens(claim, tokens))
  const after = withDatabases(rows, provenBy(rows, read, bound))
  return [...grouped(ofCounters, keyText)].flatMap(([key, group]): CounterAsk[] => {
    const row = rows.collections.get(key)
    if (!row || isRestored(after, row.database)) return []
    refuseChanged(bound, row, row.binding)
    const open = withoutRepeats(group, rows.claimed.get(key) ?? NONE)
    if (open.length === 0) return []
    const { line } = shortfall(row, open, limits.maxJump)
    return [
      {
        database: row.database,
        collection: row.collection,
        raiseTo: line.highWater > row.highWater ? line.highWater : undefined,
        above: line.highWater,
        stock: [...line.free, ...line.fresh],
        missing: (used) => shortfall(withoutSpans(row, used), open, limits.maxJump).missing,
      },
    ]
  })
}

/**
 * @param answers of the counters that were asked
 * @param received ranges from upstreams; undefined: nobody has asked there yet
 */
export function grantClaims(
  rows: Rows,
  claims: readonly ClaimRequest[],
  answers: CounterAnswers,
  received: readonly UpstreamRange[] | undefined,
  context: LedgerContext,
): StepResult<ClaimOutcome[]> {
  const read = new Map(claims.map((claim) => [claim, readClaimTokens(claim, context.tokens)]))
  const databases = provenBy(rows, [...read.values()], context.bound)
  const after = withDatabases(rows, databases)
  const step: ClaimStep = { rows, context, read, progress: newProgress(), outcomes: new Map() }
  const { progress, outcomes } = step
  const granted = new Map<string, NewGrant[]>()
  for (const claim of claims) {
    const other = otherOf(rows, claim, context)
    // guard: H34 a device of another ledger is granted nothing
    if (other) outcomes.set(claim, { refused: 'other-ledger', max: 0, other })
  }
  const own = claims.filter((claim) => !outcomes.has(claim))
  for (const [key, group] of grouped(own, keyText)) {
    const row = rows.collections.get(key)
    const refused = isRestored(after, group[0]!.database) ? 'restored' : 'full'
    if (!row || refused === 'restored') {
      for (const claim of group) outcomes.set(claim, { refused, max: row?.max ?? 0 })
      continue
    }
    refuseChanged(context.bound, row, row.binding)
    const { line } = lineOf(progress, row)
    const open = withoutRepeats(group, rows.claimed.get(key) ?? NONE)
    const source = sourceOf(row, line, open, answers.get(key), received, context)
    if (source.line !== line) setLine(progress, row, source.line)
    const grants = grantEach(step, row, group, source)
    refuseOverlaps(grants)
    granted.set(key, grants)
  }
  return {
    answer: claims.map((claim) => outcomes.get(claim)!),
    changes: {
      collections: changedCollections(rows, progress).map((row) =>
        withGranted(row, granted.get(keyText(row)) ?? []),
      ),
      newGrants: [...granted.values()].flat(),
      ...changedTokenRows(progress),
      databases,
    },
  }
}

const otherOf = (
  rows: Rows,
  claim: ClaimRequest,
  { nameOf }: LedgerContext,
): OtherLedger | undefined =>
  otherLedger(
    claim.ledgers,
    claim.serverTag,
    nameOf(claim),
    claim.database,
    databaseIn(rows, claim.database).follows,
  )

/** The claims of a step have this in common. */
interface ClaimStep {
  rows: Rows
  context: LedgerContext
  /** The tokens of each claim. */
  read: ReadonlyMap<ClaimRequest, ReadRequest>
  progress: Progress
  outcomes: Map<ClaimRequest, ClaimOutcome>
}

/** Answers the claims for one collection, and returns the grants that are new. */
function grantEach(
  { rows, context, read, progress, outcomes }: ClaimStep,
  row: LoadedCollection,
  claims: readonly ClaimRequest[],
  { take, isCounted }: NumberSource,
): NewGrant[] {
  const known = new Map(rows.claimed.get(keyText(row)))
  const refusals = new Map<string, Extract<ReturnType<Take>, { refused: string }>>()
  const granted: NewGrant[] = []
  for (const claim of claims) {
    const before = claim.id === undefined ? undefined : known.get(claim.id)
    // guard: H26 a claim is answered again only to whom it was answered
    const isForeign = before !== undefined && before.claimedBy !== (claim.by ?? null)
    // guard: H13 a claim is not answered again once its numbers are in use
    if (isForeign || (before && isSpent(progress.grants.get(before.id) ?? before))) {
      outcomes.set(claim, { refused: 'spent', max: lineOf(progress, row).line.max })
      continue
    }
    // Before anything is taken: this copy may have issued numbers that the other copy gave back.
    const { results, ...changed } = showTokens(rows, progress, read.get(claim)!, context.tokens)
    // guard: H21 a claim repeated gets the same grant
    if (before) {
      keep(progress, changed)
      outcomes.set(claim, { grant: toGrant(before, context), isRepeat: true, results })
      continue
    }
    const { line, forgotten } = lineOf(progress, row)
    // The source knows only the first of several claims with one id.
    const refusedBefore = claim.id === undefined ? undefined : refusals.get(claim.id)
    const taken = refusedBefore ?? take(line, claim)
    if ('refused' in taken) {
      outcomes.set(claim, { refused: taken.refused, max: line.max })
      if (claim.id !== undefined) refusals.set(claim.id, taken)
      continue
    }
    const [low, high] = taken.span
    const isAbove = isCounted && taken.line.max > line.max
    // guard: H20 max does not go below what was forgotten, whoever writes the row
    if (isAbove && low <= forgotten)
      throw grantedBefore(row, { low, high }, { low, high: forgotten }, forgotten)
    const serial = row.serial + granted.length + 1
    const grant = {
      ...newGrant(claim, taken.span, context.newGrantId(), serial),
      // guard: H20 the counter never is below a number of a grant
      clearTo: isAbove ? undefined : high,
      node: taken.span[2],
    }
    granted.push(grant)
    if (claim.id !== undefined) known.set(claim.id, grant)
    setLine(progress, row, taken.line)
    keep(progress, changed)
    outcomes.set(claim, { grant: toGrant(grant, context), isRepeat: false, results })
  }
  return granted
}

interface NumberSource {
  line: NumberLine
  take: Take
  /** Does the ledger itself count the numbers? Then every grant is at or below `max`. */
  isCounted: boolean
}

/** Where a collection's numbers come from: its line, or the stock of a bound one. */
function sourceOf(
  row: LoadedCollection,
  line: NumberLine,
  open: readonly ClaimRequest[],
  answer: CounterAnswer | undefined,
  received: readonly UpstreamRange[] | undefined,
  { bound, limits }: LedgerContext,
): NumberSource {
  const authority = authorityOf(bound, row)
  if (authority === 'ledger')
    return { line, take: (line, claim) => take(line, claim, limits), isCounted: true }
  // guard: H20 numbers in stock that are in the table already are not granted
  const unused = withoutSpans(line, answer?.used ?? [])
  const short = shortfall(unused, open, limits.maxJump)
  const fresh =
    authority === 'counter'
      ? (answer?.fresh ?? [])
      : received && usableOf(authority, line, spansFor(row, received))
  if (!fresh && short.missing > 0)
    return {
      // It counts as changed: a name takes room before its numbers are asked for elsewhere.
      line: { ...short.line },
      take: (_, claim) => ({ refused: short.believed.has(claim) ? 'short' : 'jump' }),
      isCounted: false,
    }
  const stock = addFresh(short, fresh ?? [])
  const none = authority === 'counter' ? 'overflow' : 'short'
  return {
    line: stock.line,
    take: (line, claim) => takeFromStock(line, claim, stock, none),
    isCounted: false,
  }
}

/** Drops repetitions: claims whose id was granted before, or comes a second time here. */
function withoutRepeats(claims: readonly ClaimRequest[], known: GrantsByClaim): ClaimRequest[] {
  const met = new Set<string>()
  return claims.filter(({ id }) => {
    if (id === undefined) return true
    const isRepeat = known.has(id) || met.has(id)
    met.add(id)
    return !isRepeat
  })
}

/** The part of `received` that is for this collection. */
const spansFor = (
  { database, collection }: CollectionKey,
  received: readonly UpstreamRange[],
): Span[] =>
  received
    .filter(
      (range) =>
        range.database.toLowerCase() === database && range.collection.toLowerCase() === collection,
    )
    .map(({ low, high, node }) => (node === undefined ? [low, high] : [low, high, node]))

/**
 * The blocks of a hook come in rising order. One that is not above all others came late, because
 * another server has stored a higher one meanwhile; or the counter gave it twice.
 */
const usableOf = (authority: Authority, { max }: NumberLine, spans: readonly Span[]): Span[] =>
  // guard: H20 a block of a hook that comes late is a gap
  spans.filter(([low]) => authority !== 'hook' || low > max)

function newGrant(
  claim: ClaimRequest,
  [low, high, node]: Span,
  id: string,
  serial: number,
): GrantRow {
  return {
    id,
    database: claim.database,
    collection: claim.collection,
    claim: claim.id ?? null,
    claimedBy: claim.by ?? null,
    device: claim.device ?? '',
    low,
    high,
    firstHigh: high,
    issued: low - 1,
    count: claim.count,
    serverTag: node ?? claim.serverTag,
    grantedAt: claim.at,
    tokenVersion: 0,
    serial,
    checkIn: null,
    heardAt: claim.at,
  }
}

/** The device has acted on the answer to this claim, so a repetition comes from a copy of it. */
const isSpent = (grant: GrantRow): boolean =>
  grant.tokenVersion > 0 || grant.high !== grant.firstHigh

function toGrant(row: GrantRow, { tokens, nameOf }: LedgerContext): Grant {
  const { low, high, count, serverTag, grantedAt: at } = row
  return { low, high, count, serverTag, at, token: tokens.write(row), ledger: nameOf(row) }
}
