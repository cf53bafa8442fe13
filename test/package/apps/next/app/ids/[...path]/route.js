import { Hono } from 'hono'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

const ledger = await openLedger({ dataDir: process.env.HILO_DATA })
const { fetch } = new Hono().mount('/ids', createHiloHandler({ ledger }))

export { fetch as DELETE, fetch as GET, fetch as POST, fetch as PUT }
