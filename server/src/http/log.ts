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

/** While lines cannot be written, as on a full disk, so much of them waits, and more is dropped. */
const MAX_WAITING_BYTES = 2 ** 24

/** No request waits until its line is written. The last lines are written when the process ends. */
export function createLog(): Log {
  const lines = destination({ fd: STDERR, sync: false, maxLength: MAX_WAITING_BYTES })
  let isWritable = true
  lines.on('write', () => {
    isWritable = true
  })
  lines.on('error', () => {
    isWritable = false
  })
  // It tries until it succeeds, so that the process would never end.
  const { flushSync } = lines
  lines.flushSync = () => {
    if (isWritable) flushSync.call(lines)
  }
  return pino({ name: 'offline-hilo-server' }, lines)
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
