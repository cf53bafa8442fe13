/** The handler with Node's log and metrics. */
import { createHandler, type Handler } from '../http/handler.js'
import type { HandlerOptions } from '../http/options.js'
import { createLog } from './log.js'
import { createMetrics } from './metrics.js'

/**
 * @example
 * const ledger = await openLedger()
 * app.mount('/', createHiloHandler({ ledger }))
 */
export const createHiloHandler = (options: HandlerOptions): Handler =>
  createHandler(options, { createLog, createMetrics })
