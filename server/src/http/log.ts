/**
 * The port of the server's log, and its line per request. Guarantees that no query and no header is
 * logged, since either may hold a secret.
 */
import type { MiddlewareHandler } from 'hono'

/** Where the server logs. A pino logger is one. */
export interface Log {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

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
