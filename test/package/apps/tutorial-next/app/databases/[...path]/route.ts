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
  // `npm start` listens on this machine only. Beyond it, the handler has to know who may ask.
  answer ??= createHiloHandler({
    ledger,
    host: '127.0.0.1',
    open: process.env.HILO_OPEN === 'true',
  })
  return answer(request)
}

export { handle as DELETE, handle as GET, handle as POST, handle as PUT }
