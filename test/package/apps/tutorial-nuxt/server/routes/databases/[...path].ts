import { createHiloHandler, type Ledger, openLedger } from 'offline-hilo-server'

let opening: Promise<Ledger> | undefined
let answer: ((request: Request) => Promise<Response>) | undefined

/** Where Nuxt listens. Beyond this machine, the handler has to know who may ask. */
const host = import.meta.dev ? 'localhost' : process.env.HOST

export default defineEventHandler(async (event) => {
  opening ??= openLedger({ dataDir: 'hilo-data' })
  const ledger = await opening.catch((error: unknown) => {
    opening = undefined // The next request tries again.
    throw error
  })
  answer ??= createHiloHandler({ ledger, host, open: process.env.HILO_OPEN === 'true' })
  return answer(toWebRequest(event))
})
