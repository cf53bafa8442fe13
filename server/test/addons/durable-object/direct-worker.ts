/**
 * A Worker whose owner asks an object himself: `POST /direct/<object>/<method>`, with the argument
 * as JSON, or the path of a request.
 */
import {
  createHiloWorker,
  type HiloEnv,
  type HiloWorkerOptions,
} from 'offline-hilo-server/durable-object'
import type { ObjectState } from '../../../src/addons/durable-object/cloudflare.js'

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
  readonly #storage: ObjectState['storage']

  constructor(ctx: ObjectState, env: Env) {
    super(ctx, env)
    this.#storage = ctx.storage
  }

  changeRow(text: string): unknown[] {
    return [...this.#storage.sql.exec(text)]
  }

  /** The object's alarm goes off at once. */
  async ring(): Promise<number> {
    const at = Date.now()
    await this.#storage.setAlarm(at)
    return at
  }

  alarmAt(): Promise<number | null> {
    return this.#storage.getAlarm()
  }
}

type Called = Record<string, (asked: unknown) => Promise<unknown>>

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, name, method] = /^\/direct\/(.+)\/(.+)$/.exec(new URL(request.url).pathname) ?? []
    if (name === undefined) return hilo.fetch(request, env)
    const object = env.HILO.get(env.HILO.idFromName(name))
    const asked = await request.json()
    if (method === 'fetch')
      return object.fetch(new Request(new URL((asked as { path: string }).path, request.url)))
    return (object as unknown as Called)[method!]!(asked).then(
      (answer) => Response.json(answer),
      ({ message }) => Response.json({ Message: message }),
    )
  },
}
