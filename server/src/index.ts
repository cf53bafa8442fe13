/** The server's public surface. */
export type {
  CounterHook,
  CounterHooks,
  FreeCall,
  HiCall,
  HiMeaning,
} from './addons/bound/hook/hook-options.js'
export type { CounterOptions } from './addons/bound/orm/counter-options.js'
export type { StrategyName } from './addons/bound/orm/strategies.js'
export type { RavenOptions } from './addons/bound/raven/raven-options.js'
export type { EtcdOptions, RootOptions, RootSetting } from './addons/region/region-options.js'
export type { HandlerLimits, HandlerOptions, Wanted } from './http/handler-options.js'
export type { Log } from './http/log.js'
export type { Action, ScopedToken, Tokens } from './http/tokens.js'
export type * from './ledger/ledger.js'
export {
  CounterUnusable,
  CounterWentBack,
  LedgerMissing,
  LedgerUnavailable,
} from './ledger/ledger-errors.js'
export { createHiloHandler } from './node/node-handler.js'
export { type LedgerOptions, openLedger } from './open-ledger.js'
export { type CloseOptions, type HiloServer, type ServeOptions, serve } from './serve.js'
