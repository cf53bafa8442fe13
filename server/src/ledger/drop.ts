/**
 * How collections and identities are dropped. Pure. Guarantees that a row stays as a mark, so that
 * no number of before is granted again when somebody claims under the name later.
 */
import type { CollectionKey } from './ledger.js'
import { lettersOf } from './letters.js'
import { raise } from './number-line.js'
import { isRestored } from './restored.js'
import type { Rows, StepResult } from './row-store.js'
import { withLine } from './rows.js'

/** Does a `drop` of a database, or of a collection with its series, include this collection? */
export const isOf =
  (database: string, collection: string | undefined) =>
  (key: CollectionKey): boolean =>
    key.database === database &&
    (collection === undefined ||
      key.collection === collection ||
      key.collection === lettersOf({ database, collection }).collection)

/** @param databases that are dropped as a whole */
export function drop(rows: Rows, databases: readonly string[], at: number): StepResult<void> {
  return {
    answer: undefined,
    changes: {
      collections: [...rows.collections.values()].map((row) => ({
        // guard: H22 of a collection that was dropped no number comes back
        ...withLine(row, raise(row, row.peak)),
        grants: 0,
        outstanding: 0,
        droppedAt: at,
      })),
      identities: [...rows.identities.values()].map((row) => ({
        ...row,
        value: row.peak,
        droppedAt: at,
      })),
      dropped: databases.filter((name) => isRestored(rows, name)),
    },
  }
}
