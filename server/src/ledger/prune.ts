/**
 * Which rows the ledger forgets, and when. Pure. Guarantees that a number of a forgotten grant is
 * never granted again, and that a device of which nothing was heard still finds its numbers.
 */
import { z } from 'zod'
import { DAY_MS } from '../../../src/core/day.js'
import { keyText } from './collections.js'
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
      tombstones: pruned.filter(mayComeBack).map(toTombstone),
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
  !isSettled(grant) && (grant.claim !== null || grant.tokenVersion > 0)

const toTombstone = (grant: GrantRow): Tombstone => {
  const { id, database, collection, high, serial, tokenVersion, checkIn } = grant
  return { id, database, collection, high, serial, tokenVersion, checkIn }
}

export const PRUNE_INTERVAL_MS = DAY_MS
/** No request is repeated after so many days. */
const SETTLED_DAYS = 30
export const DEFAULT_HORIZON_DAYS = 400
const MAX_HORIZON_DAYS = 36_500

export const horizon = z
  .number('has to be a number of days')
  .min(SETTLED_DAYS, `has to be at least ${SETTLED_DAYS} days`)
  .max(MAX_HORIZON_DAYS, `has to be at most ${MAX_HORIZON_DAYS} days`)

/** The times before which rows are old enough. */
export const pruningAt = (now: number, horizonDays: number): Pruning => ({
  settledBefore: now - SETTLED_DAYS * DAY_MS,
  heardBefore: now - horizonDays * DAY_MS,
})
