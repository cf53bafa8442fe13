/**
 * The server's log: JSON lines on stderr. It has failures, and requests where they are asked for.
 * Guarantees that no query and no header is logged, since either may hold a secret.
 */
import type { MiddlewareHandler } from 'hono'
import { destination, pino } from 'pino'

/** Where the server logs. A pino logger is one. */
export interface Log {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

const STDERR = 2

/** Written at once, so that the last line before the process ends is there. */
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
