/** The server's public surface. */

export type { CounterOptions } from './bound/orm/binding.js'
export type { UpstreamOptions } from './bound/upstream/options.js'
export { createHiloHandler } from './http/handler.js'
export type { Log } from './http/log.js'
export type {
  Action,
  HandlerLimits,
  HandlerOptions,
  ScopedToken,
  Tokens,
  Wanted,
} from './http/options.js'
export {
  type CheckIn,
  type CheckInFate,
  type ClaimOutcome,
  type ClaimRefusal,
  type ClaimRequest as Claim,
  type CollectionKey,
  type CollectionStatus,
  type Connections,
  CounterUnusable,
  type Floor,
  type GiveBack,
  type Grant,
  type IdentityClaim,
  type IdentityKey,
  type IdentityOutcome,
  type IdentitySeed,
  type Ledger,
  type LedgerLimits,
  LedgerUnavailable,
  type Mark,
  type MarkRefusal,
  type MarkWrite,
  type ShownGrant as ShownLease,
  type UpstreamRange,
} from './ledger/ledger.js'
export { type LedgerOptions, openLedger } from './open-ledger.js'
export { type CloseOptions, type HiloServer, type ServeOptions, serve } from './serve.js'
