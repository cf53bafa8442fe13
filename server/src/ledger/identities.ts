/**
 * How an identity moves, whichever store keeps it. Guarantees that no number is handed out twice,
 * whatever it is seeded to.
 */

import type {
  IdentityClaim,
  IdentityKey,
  IdentityOutcome,
  IdentitySeed,
  LedgerLimits,
} from './ledger.js'
import { MAX_NUMBER } from './number-line.js'

export interface IdentityRow extends IdentityKey {
  value: number
  /** The highest number handed out. */
  peak: number
}

export interface IdentityClaimRow extends IdentityKey {
  claim: string
  value: number
  claimed_at: number
}

export const newIdentityRow = ({ database, name }: IdentityKey): IdentityRow => ({
  database,
  name,
  value: 0,
  peak: 0,
})

export const normalizedIdentity = <K extends IdentityKey>(key: K): K => ({
  ...key,
  database: key.database.toLowerCase(),
  name: key.name.toLowerCase(),
})

/** The row after one more number, which is its `value`. */
export function advanced(
  row: IdentityRow,
): IdentityRow | Extract<IdentityOutcome, { refused: string }> {
  const value = row.value + 1
  return value > MAX_NUMBER
    ? { refused: 'overflow', value: row.value }
    : { ...row, value, peak: Math.max(row.peak, value) }
}

export function seeded(
  row: IdentityRow,
  { value, isForced }: IdentitySeed,
  { maxJump }: Pick<LedgerLimits, 'maxJump'>,
) {
  if (value > row.value + maxJump) return { refused: 'jump' as const, value: row.value }
  return { ...row, value: Math.max(value, isForced ? row.peak : row.value) }
}

export const toIdentityClaimRow = (
  { database, name, id, at }: IdentityClaim,
  value: number,
): IdentityClaimRow => ({
  database,
  name,
  claim: id!,
  value,
  claimed_at: at,
})
