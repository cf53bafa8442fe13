/** A server's use of the server entry, with Node's types. */
import { createHiloHandler, type HiloServer, openLedger, serve } from 'offline-hilo-server'

const ledger = await openLedger({ dataDir: 'hilo-data' })

export const answer: Promise<Response> = createHiloHandler({ ledger, host: 'localhost' })(
  new Request('http://localhost/healthz'),
)
export const server: HiloServer = await serve({ port: 0 })
