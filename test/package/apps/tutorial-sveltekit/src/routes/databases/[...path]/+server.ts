import type { RequestHandler } from '@sveltejs/kit'
import { createHiloHandler, openLedger } from 'offline-hilo-server'

let opening: Promise<(request: Request) => Promise<Response>> | undefined

/** Opens the ledger at the first request, because the build loads this file, too. */
async function open() {
  const ledger = await openLedger({ dataDir: 'hilo-data' })
  process.on('sveltekit:shutdown', () => ledger.close())
  return createHiloHandler({ ledger })
}

/** Every method. */
export const fallback: RequestHandler = async ({ request }) => {
  opening ??= open()
  const handler = await opening.catch((error: unknown) => {
    opening = undefined // The next request tries again.
    throw error
  })
  return handler(request)
}
