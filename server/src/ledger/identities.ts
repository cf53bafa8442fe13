/**
 * How identities move. Pure. Guarantees that no number of an identity is handed out twice, whatever
 * it is seeded to, and that a repeated claim gets the same number.
 */
import type { LedgerContext } from './context.js'
import { identityText } from './keys.js'
import type { IdentityClaim, IdentityOutcome, IdentitySeed } from './ledger.js'
import { MAX_NUMBER } from './number-line.js'
import { isRestored } from './restored.js'
import type { Rows, StepResult } from './row-store.js'
import type { IdentityClaimRow, IdentityRow } from './rows.js'

export function nextIdentities(
  rows: Rows,
  claims: readonly IdentityClaim[],
): StepResult<IdentityOutcome[]> {
  const moved = new Map<string, IdentityRow>()
  const identityClaims: IdentityClaimRow[] = []
  /** Of this step, by identity and claim. */
  const given = new Map<string, number>()
  const answer = claims.map((claim): IdentityOutcome => {
    const { database, name, id, at } = claim
    const key = identityText(claim)
    const row = moved.get(key) ?? rows.identities.get(key)
    if (isRestored(rows, database)) return { refused: 'restored', value: row?.value ?? 0 }
    if (!row) return { refused: 'full', value: 0 }
    const claimed = `${key}\n${id}`
    const known =
      id === undefined ? undefined : (given.get(claimed) ?? rows.answered.get(key)?.get(id)?.value)
    if (known !== undefined) return { value: known }
    const value = row.value + 1
    if (value > MAX_NUMBER) return { refused: 'overflow', value: row.value }
    moved.set(key, { ...row, value, peak: Math.max(row.peak, value) })
    if (id !== undefined) {
      given.set(claimed, value)
      identityClaims.push({ database, name, claim: id, value, claimedAt: at })
    }
    return { value }
  })
  return { answer, changes: { identities: [...moved.values()], identityClaims } }
}

export function seedIdentity(
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
  const value = Math.max(seed.value, seed.isForced ? row.peak : row.value)
  return { answer: { value }, changes: { identities: [{ ...row, value }] } }
}
