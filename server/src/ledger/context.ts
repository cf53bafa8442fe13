/** What every step of a ledger gets besides rows and request. */
import type { BoundCollections } from './bound-collections.js'
import type { GrantTokens } from './grant-token.js'
import type { LedgerLimits } from './ledger.js'

export interface LedgerContext {
  limits: LedgerLimits
  bound: BoundCollections
  tokens: GrantTokens
  newGrantId(): string
}
