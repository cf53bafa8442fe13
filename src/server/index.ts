/** The server's public surface. */
export { createHiloHandler } from './handler.js'
export {
  type CheckIn,
  type CheckInFate,
  type Claim,
  type ClaimOutcome,
  type ClaimRefusal,
  type CollectionKey,
  type CollectionStatus,
  CounterUnusable,
  type Floor,
  type GiveBack,
  type Grant,
  type Holder,
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
  type ShownLease,
  type UpstreamRange,
} from './ledger.js'
export type { Log } from './log.js'
export { type LedgerOptions, openLedger } from './open-ledger.js'
export type { HandlerLimits, HandlerOptions, Wanted } from './options.js'
export { type HiloServer, type ServeOptions, serve } from './serve.js'
export type { CounterOptions } from './strategies/binding.js'
export type { UpstreamOptions } from './upstream-options.js'
