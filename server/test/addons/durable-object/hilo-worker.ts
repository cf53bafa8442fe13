/** The Worker that the tests ask: its options come from the test, and a header names a ledger. */
import {
  createHiloWorker,
  type HiloEnv,
  type HiloWorkerOptions,
} from 'offline-hilo-server/durable-object'
import { LEDGER_HEADER } from './ledger-header.js'

interface Env extends HiloEnv {
  OPTIONS: Partial<HiloWorkerOptions>
}

const hilo = createHiloWorker<Env>(({ OPTIONS }) => ({
  databases: ['Shop'],
  create: true,
  open: true,
  ...OPTIONS,
}))

export const HiloDatabase = hilo.Database

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    const ledger = request.headers.get(LEDGER_HEADER)
    return hilo.fetch(request, ledger === null ? env : { ...env, HILO: ofLedger(env.HILO, ledger) })
  },
}

const ofLedger = (objects: Env['HILO'], ledger: string): Env['HILO'] => ({
  idFromName: (name) => objects.idFromName(`${ledger}/${name}`),
  get: (id) => objects.get(id),
})
