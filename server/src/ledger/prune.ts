/**
 * What the ledger forgets. Pure. Guarantees that a number of a forgotten grant is never granted
 * again, and that a device of which nothing was heard still finds its numbers.
 */
import { keyText } from './keys.js'
import type { Pruning } from './ledger.js'
import type { Rows, StepResult } from './row-store.js'
import {
  type CollectionRow,
  type GrantRow,
  isSettled,
  sizeOfGrant,
  type Tombstone,
  withTotals,
} from './rows.js'

/** Resolves with how many grants of `rows` were forgotten. Some may have been heard of since. */
export function prune(rows: Rows, pruning: Pruning): StepResult<number> {
  const collections = new Map<string, CollectionRow>()
  const pruned: GrantRow[] = []
  for (const grant of rows.grants.values()) {
    const key = keyText(grant)
    const row = collections.get(key) ?? rows.collections.get(key)
    if (!row || !isOld(grant, pruning)) continue
    pruned.push(grant)
    collections.set(key, withoutGrant(row, grant))
  }
  return {
    answer: pruned.length,
    changes: {
      collections: [...collections.values()],
      prunedGrants: pruned.map(({ id }) => id),
      newTombstones: pruned.filter(mayComeBack).map(toTombstone),
    },
  }
}

const isOld = (grant: GrantRow, { settledBefore, heardBefore }: Pruning): boolean =>
  grant.heardAt < (isSettled(grant) ? settledBefore : heardBefore)

function withoutGrant(row: CollectionRow, grant: GrantRow): CollectionRow {
  const numbers = sizeOfGrant(grant)
  return {
    ...withTotals(row, { grants: -1, numbers: -numbers }),
    forgotten: numbers > 0 ? Math.max(row.forgotten, grant.high) : row.forgotten,
  }
}

/** Only clients that claim with an id show tokens. */
const mayComeBack = (grant: GrantRow): boolean =>
  !isSettled(grant) && (grant.claim !== null || grant.rotation > 0)

const toTombstone = (grant: GrantRow): Tombstone => {
  const { id, database, collection, high, serial, rotation, checkIn } = grant
  return { id, database, collection, high, serial, rotation, checkIn }
}
