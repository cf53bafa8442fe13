/**
 * How many more collections, or identities, a database may have, and how many more databases there
 * may be: their names come from requests. If several processes add at the same moment, they may go
 * above a limit by what each of them adds.
 */
import type { Quota } from './row-store.js'

export interface Usage {
  /** Collections, or identities, of each database that was asked about and has any. */
  perDatabase: ReadonlyMap<string, number>
  /** Databases that have any. */
  databases: number
}

/** No limit: for what an operator adds. */
export const UNLIMITED: Quota = {
  collections: Number.POSITIVE_INFINITY,
  databases: Number.POSITIVE_INFINITY,
}

/** Those of new `keys` that may be added, in their order. */
export function withinQuota<K extends { database: string }>(
  keys: readonly K[],
  { perDatabase, databases }: Usage,
  quota: Quota,
): K[] {
  const counts = new Map(perDatabase)
  let used = databases
  return keys.filter(({ database }) => {
    const count = counts.get(database) ?? 0
    if (count > 0 ? count >= quota.collections : used >= quota.databases) return false
    if (count === 0) used++
    counts.set(database, count + 1)
    return true
  })
}
