/** For those who run the server: `/healthz`, which asks the database, and `/metrics`. */
import { Hono } from 'hono'
import type { Access } from './access.js'
import type { Metrics } from './metrics.js'
import type { CheckedOptions } from './options.js'
import { RETRY_SECONDS, tryLater } from './refusals.js'

/**
 * Open to everybody, since a load balancer has no token. Requests that come at the same time share
 * one question to the database, so that nobody can keep it busy.
 */
export function healthRoutes({ ledger, isReady }: CheckedOptions): Hono {
  let ping: Promise<void> | undefined
  return new Hono().get('/healthz', async (c) => {
    if (!isReady()) throw tryLater('stopping', 'This server is about to stop.', RETRY_SECONDS)
    ping ??= ledger.ping().finally(() => {
      ping = undefined
    })
    await ping
    return c.json({ status: 'ok' })
  })
}

export const metricsRoutes = (metrics: Metrics, access: Access): Hono =>
  new Hono().get('/metrics', async (c) => {
    await access.allowStatus(c)
    const { text, type } = await metrics.read()
    return c.body(text, 200, { 'Content-Type': type })
  })
