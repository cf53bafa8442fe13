import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { DatabaseSync } from '@photostructure/sqlite'
import { Hono } from 'hono'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

const app = new Hono()

// This machine only. Beyond it, the handler has to know who may ask.
const host = '127.0.0.1'

// The ids.
const ledger = await openLedger({ dataDir: 'hilo-data' })
const open = process.env.HILO_OPEN === 'true'
const ids = createHiloHandler({ ledger, host, open })
app.all('/databases/*', (c) => ids(c.req.raw))

// The API. The id says whether an order is here already: one that comes twice is stored once.
const db = new DatabaseSync('shop.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, madeAt TEXT)')
const store = db.prepare('INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
const same = db.prepare('SELECT 1 FROM orders WHERE id = ? AND customer = ? AND madeAt = ?')

app.post('/api/orders', async (c) => {
  const { id, customer, madeAt } = await c.req.json()
  if (![id, customer, madeAt].every((each) => typeof each === 'string'))
    return c.json({ refused: 'It needs an id, a customer and a time.' }, 400)
  store.run(id, customer, madeAt)
  if (!same.get(id, customer, madeAt)) return c.json({ refused: 'Another order has this id.' }, 409)
  return c.json({ id }, 201)
})
app.get('/api/orders', (c) => c.json(db.prepare('SELECT * FROM orders ORDER BY madeAt').all()))

// The built page. A file that is missing is answered 404, and not with the page.
app.use(serveStatic({ root: 'dist' }))

const port = Number(process.env.PORT ?? 8080)
const server = serve({ fetch: app.fetch, hostname: host, port }, () =>
  console.log(`http://${host}:${port}`),
)
server.on('error', (error) => {
  console.error(`${error.message}. Stop what listens there, and start again.`)
  ledger.close()
  process.exitCode = 1
})
process.on('SIGTERM', () => server.close(() => ledger.close()))
