/**
 * The ledger over a row store. Each group of its methods reads requests, tells the store which rows
 * a step works on, and which step that is.
 */
import type { BoundCollections } from './bound-collections.js'
import { claims } from './groups/claims.js'
import { ledgerCore } from './groups/core.js'
import { identities } from './groups/identities.js'
import { marks } from './groups/marks.js'
import { operation } from './groups/operation.js'
import { seriesRegister } from './groups/series.js'
import type { Ledger, LedgerLimits } from './ledger.js'
import type { RowStore } from './row-store.js'

export function createLedger(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): Ledger {
  const core = ledgerCore(store, limits, bound)
  return {
    ...claims(core),
    ...marks(core),
    ...identities(core),
    ...seriesRegister(core),
    ...operation(core),
  }
}
