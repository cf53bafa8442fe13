/**
 * The Worker that the tests ask: its options come from the test, and a header names a ledger. An
 * object says with each answer how many commits it began meanwhile.
 */
import {
  createHiloWorker,
  type HiloEnv,
  type HiloWorkerOptions,
} from 'offline-hilo-server/durable-object'
import type { ObjectState } from '../../../src/addons/durable-object/cloudflare.js'
import { COMMITS_HEADER, LEDGER_HEADER } from './ledger-header.js'

interface Env extends HiloEnv {
  OPTIONS: Partial<HiloWorkerOptions>
}

const hilo = createHiloWorker<Env>(({ OPTIONS }) => ({
  databases: ['Shop'],
  create: true,
  open: true,
  ...OPTIONS,
}))

export class HiloDatabase extends hilo.Database {
  #commits = 0

  constructor(ctx: ObjectState, env: Env) {
    super(ctx, env)
    const { storage } = ctx
    const counted: ObjectState['storage'] = {
      sql: storage.sql,
      transactionSync: (step) => {
        this.#commits++
        return storage.transactionSync(step)
      },
      sync: () => storage.sync(),
      getAlarm: () => storage.getAlarm(),
      setAlarm: (at) => storage.setAlarm(at),
    }
    Object.defineProperty(this, 'ctx', { value: { id: {}, storage: counted } })
  }

  override async fetch(request: Request): Promise<Response> {
    const before = this.#commits
    const answer = await super.fetch(request)
    answer.headers.set(COMMITS_HEADER, String(this.#commits - before))
    return answer
  }
}

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
