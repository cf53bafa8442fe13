/** The Worker that the tests ask: its options come from the test. */
import {
  createHiloWorker,
  type HiloEnv,
  type HiloWorkerOptions,
} from 'offline-hilo-server/durable-object'

interface Env extends HiloEnv {
  OPTIONS: Partial<HiloWorkerOptions>
}

const hilo = createHiloWorker<Env>(({ OPTIONS }) => ({
  databases: ['Shop'],
  create: true,
  ...OPTIONS,
}))

export const HiloDatabase = hilo.Database
export default { fetch: hilo.fetch }
