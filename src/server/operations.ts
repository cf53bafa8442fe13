/** For those who run the server: `/healthz`, which really asks the database, and `/metrics`. */
import { Hono } from 'hono'
import type { Ledger } from './ledger.js'
import type { Metrics } from './metrics.js'

/** Open to everybody: a load balancer has no token. */
export const healthRoutes = (ledger: Ledger): Hono =>
  new Hono().get('/healthz', async (c) => {
    await ledger.ping()
    return c.json({ status: 'ok' })
  })

export const metricsRoutes = (metrics: Metrics): Hono =>
  new Hono().get('/metrics', async (c) => {
    const { text, type } = await metrics.read()
    return c.body(text, 200, { 'Content-Type': type })
  })
