import { Hono } from 'hono'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

type Handler = (request: Request) => Promise<Response>

let opening: Promise<Handler> | undefined

/** Opens the ledger at the first request, because `next build` loads this file, too. */
async function handle(request: Request): Promise<Response> {
  opening ??= openLedger().then((ledger) => createHiloHandler({ ledger }))
  const handler = await opening.catch((error: unknown) => {
    opening = undefined // The next request tries again.
    throw error
  })
  return handler(request)
}

const { fetch } = new Hono().mount('/ids', handle)

export { fetch as DELETE, fetch as GET, fetch as POST, fetch as PUT }
