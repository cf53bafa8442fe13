/**
 * The ledger over a row store. Each file named here has some of its methods. A method reads a
 * request, and says which rows its step works on. The rules of the step stand beside it, and are
 * pure.
 */
import { checkingIn } from './check-in.js'
import { claiming } from './claim.js'
import type { BoundCollections } from './collections.js'
import { ledgerCore } from './core.js'
import { givingBack } from './give-back.js'
import { identities } from './identities.js'
import type { Ledger, LedgerLimits } from './ledger.js'
import { marks } from './marks.js'
import { operation } from './operation.js'
import type { RowStore } from './row-store.js'
import { seriesRegister } from './series-register.js'
import { withSharedCommits } from './shared-commits.js'

export function createLedger(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): Ledger {
  const core = withSharedCommits(ledgerCore(store, limits, bound))
  return {
    ...claiming(core),
    ...givingBack(core),
    ...checkingIn(core),
    ...marks(core),
    ...identities(core),
    ...seriesRegister(core),
    ...operation(core),
  }
}
