/**
 * Identities: RavenDB's counters without ranges. The rules are pure. Guarantees that no number of
 * an identity is handed out twice, whatever value it is seeded with, and that a repeated claim gets
 * the same number.
 */
import { distinct, identityText, normalizedIdentity } from './collections.js'
import { databaseIn, databasesOf, isRestored, type LedgerContext, type LedgerCore } from './core.js'
import type { Identities, IdentityClaim, IdentityOutcome, IdentitySeed } from './ledger.js'
import { otherLedger, ownName } from './name.js'
import { MAX_NUMBER } from './number-line.js'
import { numberedBefore } from './overlap.js'
import type { LoadedIdentity, Rows, StepResult } from './row-store.js'
import type { IdentityClaimRow } from './rows.js'

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
        step: (rows) => nextIdentities(rows, claims, ownName(context.name, context.bound)),
      })
    },

    seedIdentity(request) {
      const seed = normalizedIdentity(request)
      return change([seed.database], {
        select: { identities: [seed], quota: limits },
        step: (rows) => seedIdentity(rows, seed, context),
      })
    },

    hasIdentity(unread) {
      const { database, name } = normalizedIdentity(unread)
      const identity = { database, name }
      return store.change({
        select: { identities: [identity] },
        step: (rows) => ({ answer: rows.identities.has(identityText(identity)), changes: {} }),
      })
    },
  }
}

function nextIdentities(
  rows: Rows,
  claims: readonly IdentityClaim[],
  ledger: string | undefined,
): StepResult<IdentityOutcome[]> {
  const moved = new Map<string, LoadedIdentity>()
  const identityClaims: IdentityClaimRow[] = []
  /** Of this step, by identity and claim. */
  const given = new Map<string, number>()
  const answer = claims.map((claim): IdentityOutcome => {
    const { database, name, id, at, ledgers, serverTag = '' } = claim
    const { follows } = databaseIn(rows, database)
    const other = otherLedger(ledgers, serverTag, ledger, database, follows)
    // Who follows that one has raised its identities above it, too.
    // guard: H34 a device of another ledger gets no identity
    if (other && other.above === undefined) return { refused: 'other-ledger', value: 0, other }
    const key = identityText(claim)
    const row = moved.get(key) ?? rows.identities.get(key)
    if (isRestored(rows, database)) return { refused: 'restored', value: row?.value ?? 0 }
    if (!row) return { refused: 'full', value: 0 }
    const claimed = `${key}\n${id}`
    const known =
      id === undefined ? undefined : (given.get(claimed) ?? rows.answered.get(key)?.get(id)?.value)
    if (known !== undefined) return { value: known }
    const value = row.value + 1
    // guard: H20 an identity that went back gives no number again
    if (row.value < givenTo(row)) throw numberedBefore(claim, value, givenTo(row))
    if (value > MAX_NUMBER) return { refused: 'overflow', value: row.value }
    moved.set(key, { ...row, value, highWater: Math.max(row.highWater, value) })
    if (id !== undefined) {
      given.set(claimed, value)
      identityClaims.push({ database, name, claim: id, value, claimedAt: at })
    }
    return { value }
  })
  return { answer, changes: { identities: [...moved.values()], identityClaims } }
}

function seedIdentity(
  rows: Rows,
  seed: IdentitySeed,
  { limits }: LedgerContext,
): StepResult<IdentityOutcome> {
  const row = rows.identities.get(identityText(seed))
  if (isRestored(rows, seed.database))
    return { answer: { refused: 'restored', value: row?.value ?? 0 }, changes: {} }
  if (!row) return { answer: { refused: 'full', value: 0 }, changes: {} }
  if (seed.value > row.value + limits.maxJump)
    return { answer: { refused: 'jump', value: row.value }, changes: {} }
  const least = seed.isForced ? givenTo(row) : row.value
  const value = Math.max(seed.value, least)
  return { answer: { value }, changes: { identities: [{ ...row, value }] } }
}

/** The highest number that an identity is known to have given. */
export const givenTo = ({ highWater, answered = 0 }: LoadedIdentity): number =>
  Math.max(highWater, answered)
