// The files of an app and its ids on one origin, in one process:
// npm install express @hono/node-server offline-hilo-server
// npx offline-hilo-server init --data hilo-data; node express.mjs
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

// This machine only. With HOST=0.0.0.0 it starts only where one of the two below says who may ask.
const host = process.env.HOST ?? '127.0.0.1'
const ledger = await openLedger({ dataDir: 'hilo-data' })
const ids = getRequestListener(
  createHiloHandler({
    ledger,
    databases: ['Shop'],
    host,
    // Who may ask: whoever sends one of these tokens, or everybody. With the sessions of your app,
    // give `authorize` instead.
    tokens: process.env.ID_TOKENS?.split(','),
    open: process.env.HILO_OPEN === 'true',
  }),
)

const app = express()
// Before anything that reads bodies, and without a path of its own, which Express would cut off.
app.use((request, response, next) =>
  request.url.startsWith('/databases/') ? ids(request, response) : next(),
)
app.use(express.static('dist'))
// A file of an older build is missing, and not the page: a browser would take it for a script.
app.use('/assets', (_, response) => response.sendStatus(404))
// Every address of the app is its page.
app.use((_, response) => response.sendFile('index.html', { root: 'dist' }))

const server = app.listen(Number(process.env.PORT ?? 3000), host, () =>
  console.log(`http://${host}:${server.address().port}`),
)
