/**
 * An operator's commands, each by `POST /operator/<database>/<command>` with a JSON body: those of
 * the other servers, which need a file or a connection. Guarantees that nothing is done without the
 * operator's token, and that an operator hears why a database does not answer.
 */
import type { z } from 'zod'
import type { Log } from '../../http/log.js'
import { answer, cutOff, parseJson } from '../../http/messages.js'
import {
  OPERATED,
  OPERATED_METHODS,
  type OperatedMethod,
  pathOfMethod,
} from '../../http/operated.js'
import {
  badRequest,
  forbidden,
  noRoute,
  pathOf,
  RETRY_SECONDS,
  Refusal,
  tryLater,
} from '../../http/refusals.js'
import { tokenFinder } from '../../http/tokens.js'
import { reasonOf } from '../../ledger/ledger-errors.js'
import { checked } from '../../ledger/option-checks.js'
import type { HiloDatabase } from './hilo-database.js'

const OPERATOR_PATH = /^\/operator\/([^/]+)\/([a-z-]+)$/

/** The log's words for it. */
export const UNANSWERED = 'A database did not answer.'

export interface OperatorRequest {
  database: string
  run(object: HiloDatabase, log: Log): Promise<Response>
}

/**
 * Undefined: it is no request of an operator.
 * @throws Refusal
 */
export async function operatorRequest(
  request: Request,
  token: string | undefined,
): Promise<OperatorRequest | undefined> {
  const [, name, what] = OPERATOR_PATH.exec(new URL(request.url).pathname) ?? []
  if (token === undefined || name === undefined || what === undefined) return undefined
  // guard: H26 an operator shows a token
  if (!tokenFinder([token])(request.headers))
    throw forbidden('no-token', "Forbidden: send 'Authorization: Bearer <operator token>'.")
  const method = OPERATED_METHODS.find((each) => pathOfMethod(each) === what)
  if (!method || request.method !== 'POST') throw noRoute(request.method, pathOf(request.url))
  const body = await bodyOf(request)
  const database = decoded(name)
  return {
    database,
    run: async (object, log) => {
      const done = run(object, method, database, body).catch((error) => refused(error, log))
      return answer((await done) ?? {})
    },
  }
}

async function run(
  object: HiloDatabase,
  method: OperatedMethod,
  database: string,
  body: unknown,
): Promise<unknown> {
  const given = { ...readBody(OPERATED[method], body), database }
  return object[method]((method === 'series' ? database : given) as never)
}

/** @throws Refusal. A `drop` whose body came broken would otherwise drop the whole database. */
async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text().catch(() => {
    throw cutOff()
  })
  const body = parseJson(text)
  if (body === undefined)
    throw badRequest('The body has to be JSON: {} where there is nothing to say. Nothing was done.')
  return body
}

/** @throws Refusal */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw badRequest('The name of the database is not encoded as in a URL.')
  }
}

/** @throws Refusal with the reason. Clients read none: it may name what is inside of the server */
function refused(error: unknown, log: Log): never {
  if (error instanceof Refusal) throw error
  if (error instanceof RangeError) throw badRequest(error.message)
  log.error({ err: error }, UNANSWERED)
  throw tryLater('database', `The database did not answer: ${reasonOf(error)}.`, RETRY_SECONDS)
}

function readBody<T>(schema: z.ZodType<T>, given: unknown): T {
  try {
    return checked(schema, given, 'The request')
  } catch (error) {
    throw badRequest((error as Error).message)
  }
}
