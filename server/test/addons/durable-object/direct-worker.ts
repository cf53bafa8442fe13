/**
 * A Worker whose owner asks an object himself: `POST /direct/<object>/<method>`, with the argument
 * as JSON, or the path of a request.
 */
import {
  createHiloWorker,
  type HiloDatabase as Database,
  type HiloEnv,
  type HiloWorkerOptions,
} from 'offline-hilo-server/durable-object'

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
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, name, method] = /^\/direct\/(.+)\/(.+)$/.exec(new URL(request.url).pathname) ?? []
    if (name === undefined) return hilo.fetch(request, env)
    const object = env.HILO.get(env.HILO.idFromName(name))
    const asked = await request.json()
    if (method === 'fetch')
      return object.fetch(new Request(new URL((asked as { path: string }).path, request.url)))
    const call = method as Exclude<keyof Database, 'fetch'>
    return object[call](asked as never).then(
      (answer) => Response.json(answer),
      ({ message }) => Response.json({ Message: message }),
    )
  },
}
