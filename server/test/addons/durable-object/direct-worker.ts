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
  readonly #sql: ObjectState['storage']['sql']

  constructor(ctx: ObjectState, env: Env) {
    super(ctx, env)
    this.#sql = ctx.storage.sql
  }

  changeRow(text: string): unknown[] {
    return [...this.#sql.exec(text)]
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
