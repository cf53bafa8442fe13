import { Hono } from 'hono'
import { createHiloHandler, type Ledger, openLedger } from 'offline-hilo-server'

let opening: Promise<Ledger> | undefined
let answer: ((request: Request) => Promise<Response>) | undefined

async function handle(request: Request): Promise<Response> {
  // At the first request, because `next build` loads this file, too.
  opening ??= openLedger({ dataDir: 'hilo-data' })
  const ledger = await opening.catch((error: unknown) => {
    opening = undefined // The next request tries again.
    throw error
  })
  answer ??= createHiloHandler({ ledger, open: process.env.HILO_OPEN === 'true' })
  return answer(request)
}

const { fetch } = new Hono().mount('/ids', handle)

export { fetch as DELETE, fetch as GET, fetch as POST, fetch as PUT }
