import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

// This machine only. Beyond it, the handler has to know who may ask.
const hostname = '127.0.0.1'
const ledger = await openLedger({ dataDir: 'hilo-data' })
const ids = createHiloHandler({ ledger, host: hostname })

const app = new Hono()
app.all('/databases/*', (c) => ids(c.req.raw))
app.use(serveStatic({ root: 'public' }))

const port = Number(process.env.PORT ?? 8080)
serve({ fetch: app.fetch, hostname, port }, () => console.log(`http://${hostname}:${port}`))
