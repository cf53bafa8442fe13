/** The handler with Node's log and metrics. */
import { createHandler } from '../http/handler.js'
import type { HandlerOptions } from '../http/handler-options.js'
import { createLog } from './pino-log.js'
import { createMetrics } from './prometheus-metrics.js'

/**
 * @example
 * const ledger = await openLedger({ databaseUrl: process.env.DATABASE_URL })
 * app.mount('/', createHiloHandler({ ledger, databases: ['Shop'], authorize: isSignedIn }))
 */
export function createHiloHandler(
  options: HandlerOptions,
): (request: Request) => Promise<Response> {
  return createHandler(options, { createLog, createMetrics })
}
