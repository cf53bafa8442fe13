import type { RequestHandler } from '@sveltejs/kit'
import { createHiloHandler, type Ledger, openLedger } from 'offline-hilo-server'
import { dev } from '$app/environment'

let opening: Promise<Ledger> | undefined
let answer: ((request: Request) => Promise<Response>) | undefined

/** Where SvelteKit listens. Beyond this machine, the handler has to know who may ask. */
const host = dev ? 'localhost' : process.env.HOST

/** Every method. */
export const fallback: RequestHandler = async ({ request }) => {
  // At the first request, because the build loads this file, too.
  opening ??= openLedger({ dataDir: 'hilo-data' })
  const ledger = await opening.catch((error: unknown) => {
    opening = undefined // The next request tries again.
    throw error
  })
  answer ??= createHiloHandler({ ledger, host, open: process.env.HILO_OPEN === 'true' })
  return answer(request)
}

process.on('sveltekit:shutdown', async () => (await opening)?.close())
