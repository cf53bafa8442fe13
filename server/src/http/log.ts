/**
 * The server's log: JSON lines on stderr, failures only unless asked for more.
 * Guarantees that no query is logged, since a lease token may stand in it, and no header.
 */
import type { MiddlewareHandler } from 'hono'
import { destination, pino } from 'pino'

/** What a pino logger can do; anything else may stand in. */
export interface Log {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

const STDERR = 2

/** Written at once, so that the last line before an end is there. */
export const createLog = (): Log =>
  pino({ name: 'offline-hilo' }, destination({ fd: STDERR, sync: true }))

export const requestLog =
  (log: Log): MiddlewareHandler =>
  async (c, next) => {
    const start = performance.now()
    await next()
    log.info(
      {
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round(performance.now() - start),
      },
      'request',
    )
  }
