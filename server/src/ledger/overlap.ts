/**
 * Guarantees that no two grants hold one number, also if the row of their counter is wrong. The row
 * may have gone back, as when somebody restores one table or edits a row (H20). A step says of each
 * new grant which numbers no other grant may hold; the store looks in the statement that adds the
 * grant.
 */

import type { CollectionKey, IdentityKey } from './ledger.js'
import { CounterWentBack } from './ledger-errors.js'
import { MAX_NUMBER } from './number-line.js'
import type { GrantRow } from './rows.js'

/** A grant as a step makes it. */
export interface NewGrant extends GrantRow {
  /** No other grant holds a number from `low` to here. Undefined: nor any above. */
  clearTo?: number | undefined
  /**
   * The node of an upstream that counted its numbers. Those of other nodes are other numbers.
   * Undefined: no node did.
   */
  node?: string | undefined
}

type Numbers = Pick<GrantRow, 'low' | 'high'>

/** Does that grant forbid this new one? */
export function meets(grant: NewGrant, other: GrantRow): boolean {
  const { low, clearTo = MAX_NUMBER, node, serial } = grant
  const isHeld = other.low <= clearTo && other.high >= Math.max(low, other.low)
  return other.serial >= serial || (isHeld && (node ?? other.serverTag) === other.serverTag)
}

/**
 * @param granted in one step, of one collection
 * @throws CounterWentBack
 */
export function refuseOverlaps(granted: readonly NewGrant[]): void {
  const sorted = granted.toSorted(
    (a, b) => (a.node ?? '').localeCompare(b.node ?? '') || a.low - b.low,
  )
  for (const [i, grant] of sorted.entries()) {
    const before = sorted[i - 1]
    // guard: H20 two claims of one commit get no number both
    if (before && before.node === grant.node && before.high >= grant.low)
      throw grantedBefore(grant, grant, before, Math.max(grant.high, before.high))
  }
}

/**
 * @param next the range that would have been granted
 * @param before the grant that holds it
 * @param highest that is known to be in use
 */
export const grantedBefore = (
  { database, collection }: CollectionKey,
  next: Numbers,
  before: Numbers,
  highest: number,
): CounterWentBack =>
  new CounterWentBack(
    `'${collection}' of ${database} granted nothing: ${next.low} to ${next.high} came next, but ` +
      `${before.low} to ${before.high} were granted before. Its counter went back, as when ` +
      'somebody restores or edits a part of the ledger. Nothing was changed. An operator has to ' +
      'raise its floor to the highest number that may be in use, which is this or a higher one: ' +
      `npx offline-hilo-server raise-floor ${database} '${collection}' ${highest}`,
  )

export const numberedBefore = (
  { database, name }: IdentityKey,
  next: number,
  highest: number,
): CounterWentBack =>
  new CounterWentBack(
    `Identity '${name}' of ${database} gave nothing: ${next} came next, but the numbers up to ` +
      `${highest} were given before. It went back, as when somebody restores or edits a part of ` +
      `the ledger. Nothing was changed. An operator has to seed it with ${highest} or a higher ` +
      `number, or run: npx offline-hilo-server raise-floor ${database} --all --by <numbers>`,
  )
