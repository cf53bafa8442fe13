/** The public surface for Cloudflare: a Worker, and a Durable Object for each database. */

export type { HandlerLimits, Wanted } from '../../http/handler-options.js'
export type { Log } from '../../http/log.js'
export type { Action, ScopedToken, Tokens } from '../../http/tokens.js'
export type { HiloDatabase, HiloDatabaseClass } from './hilo-database.js'
export { createHiloWorker, type HiloEnv, type HiloWorker } from './worker.js'
export type { HiloWorkerOptions } from './worker-options.js'
