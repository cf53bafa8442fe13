/**
 * The Worker in front of the objects. It finds the object of a database, and itself answers the
 * requests about none. Guarantees that a name which is not listed makes no object, and that a
 * client which an object fails is told to ask again.
 */
import { createHandler, type Handler } from '../../http/handler.js'
import { answer } from '../../http/messages.js'
import { databaseIn, routeOf } from '../../http/paths.js'
import {
  badRequest,
  databaseMissing,
  pathOf,
  RETRY_SECONDS,
  Refusal,
  refusalBody,
  tryLater,
} from '../../http/refusals.js'
import type { Ledger } from '../../ledger/ledger.js'
import { LedgerUnavailable } from '../../ledger/ledger-errors.js'
import type { ObjectNamespace } from './cloudflare.js'
import { type HiloDatabase, type HiloDatabaseClass, hiloDatabase } from './hilo-database.js'
import { operatorRequest, UNANSWERED } from './operator.js'
import { PORTS } from './ports.js'
import { checkWorkerOptions, type HiloWorkerOptions } from './worker-options.js'

/** The binding to the class `Database`, as wrangler.jsonc has it. */
export interface HiloEnv {
  HILO: ObjectNamespace<HiloDatabase>
}

export interface HiloWorker<Env> {
  /** The class of the objects, to be exported by the Worker. */
  Database: HiloDatabaseClass<Env>
  fetch(request: Request, env: Env): Promise<Response>
}

/**
 * @example
 * const hilo = createHiloWorker((env) => ({
 *   databases: ['Shop'],
 *   tokens: env.ID_TOKENS?.split(','),
 * }))
 * export const HiloDatabase = hilo.Database
 * export default { fetch: hilo.fetch }
 */
export function createHiloWorker<Env extends HiloEnv>(
  options: HiloWorkerOptions | ((env: Env) => HiloWorkerOptions),
): HiloWorker<Env> {
  const optionsIn = typeof options === 'function' ? options : () => options
  let front: { env: Env; answer: Handler } | undefined

  return {
    Database: hiloDatabase(optionsIn),
    fetch(request, env) {
      if (front?.env !== env) front = { env, answer: frontOf(optionsIn(env), env.HILO) }
      return front.answer(request)
    },
  }
}

/** The `/healthz` of an object. */
interface Health {
  ledger: string
  stopped: string[]
  others: Record<string, string[]>
}

function frontOf(options: HiloWorkerOptions, objects: ObjectNamespace<HiloDatabase>): Handler {
  const { databases, operatorToken, handler } = checkWorkerOptions(options)
  if (objects === undefined)
    throw new Error(
      'The Worker has no binding HILO. Bind it to the class of objects that the Worker exports, ' +
        'as in wrangler.jsonc of examples/cloudflare.',
    )
  const listed = new Set(databases.map((name) => name.toLowerCase()))
  // A new stub each time: one that has failed does not recover.
  function objectOf(name: string): HiloDatabase | undefined {
    // guard: H31 a name that is not listed makes no object
    if (!listed.has(name.toLowerCase())) return undefined
    return objects.get(objects.idFromName(name.toLowerCase()))
  }
  const own = createHandler({ ...handler, ledger: NO_LEDGER }, PORTS)
  const log = handler.log ?? PORTS.createLog()
  const origins = handler.cors?.origins ?? []

  async function route(request: Request): Promise<Response> {
    const operator = await operatorRequest(request, operatorToken)
    if (operator) {
      const object = objectOf(operator.database)
      if (!object) throw databaseMissing(operator.database, 500, 'This server lists others.')
      return operator.run(object, log)
    }
    if (routeOf(request) === '/healthz' && /^(GET|HEAD)$/.test(request.method))
      return health(request.url)
    const name = databaseIn(request)
    const object = name === undefined ? undefined : objectOf(name)
    return object ? object.fetch(request) : own(request)
  }

  /** Each object has a ledger of its own, and answers for it. */
  async function health(url: string): Promise<Response> {
    const responses = await Promise.all(
      databases.map((name) => objectOf(name)!.fetch(new Request(url))),
    )
    const failed = responses.find(({ ok }) => !ok)
    if (failed) return failed
    const all = await Promise.all(responses.map((each) => each.json() as Promise<Health>))
    return answer({
      status: 'ok',
      ledgers: Object.fromEntries(
        all.map(({ ledger }, i) => [databases[i]!.toLowerCase(), ledger]),
      ),
      stopped: all.flatMap(({ stopped }) => stopped),
      others: Object.assign({}, ...all.map(({ others }) => others)),
    })
  }

  return async (request) => {
    try {
      return await route(readOnce(request))
    } catch (error) {
      const refusal = error instanceof Refusal ? error : unanswered()
      if (refusal !== error) log.error({ err: error }, UNANSWERED)
      return answer(refusalBody(refusal, pathOf(request.url)), refusal.status, {
        ...refusal.headers,
        ...readableBy(request.headers.get('Origin'), origins),
      })
    }
  }
}

/**
 * workerd passes on an address as it came. Read, `/databases/a/../b` is one of `b`: what finds the
 * object has to see that, as the object does.
 */
function readOnce(request: Request): Request {
  if (!URL.canParse(request.url))
    throw badRequest(`This request names no address: ${request.url}. Nothing was done.`)
  const { href } = new URL(request.url)
  // guard: H31 a database is asked in its own object
  return href === request.url ? request : new Request(href, request)
}

/** The platform drops the object's answer where its commit fails: its outcome is unknown. */
const unanswered = (): Refusal =>
  tryLater('database', 'The database did not answer. Send the same request again.', RETRY_SECONDS)

/** No other method is called: requests about a database are answered by its object. */
const NO_LEDGER = {
  claim: () => Promise.reject(new LedgerUnavailable('The object of the database has the ledger.')),
  onRestored() {},
} as Partial<Ledger> as Ledger

/** Without these, a page of an allowed origin could not read why it has to wait. */
function readableBy(origin: string | null, origins: readonly string[]): Record<string, string> {
  if (origin === null || !origins.includes(origin)) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Expose-Headers': 'Retry-After',
    Vary: 'Origin',
  }
}
