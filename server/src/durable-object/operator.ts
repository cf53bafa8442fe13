/**
 * What an operator does by `POST /operator/<database>/<what>` with a JSON body: the commands of the
 * other servers, which need a file or a connection. Guarantees that nothing is done without the
 * operator's token.
 */
import { z } from 'zod'
import { answer, MAX_NAME_BYTES, MAX_REASON_BYTES, text } from '../http/messages.js'
import { badRequest, forbidden, noRoute, pathOf } from '../http/refusals.js'
import { tokenFinder } from '../http/tokens.js'
import { checked } from '../ledger/options.js'
import type { HiloDatabase } from './database.js'

const OPERATOR_PATH = /^\/operator\/([^/]+)\/([a-z-]+)$/

const nothing = z.strictObject({})
const raise = z.strictObject({ by: z.int().min(1) })
const raiseOne = z.strictObject({ collection: z.string().min(1), floor: z.int().min(1) })
const drop = z.strictObject({ collection: z.string().min(1).optional() })
const explain = z.strictObject({
  collection: z.string().min(1),
  number: z.int().min(1),
  series: z.string().optional(),
  period: z.string().optional(),
})
const close = z.strictObject({
  collection: z.string().min(1),
  letter: z.string().min(1),
  by: z.string().min(1).max(100),
  reason: z.string().min(1).max(200),
})

const handOver = z.strictObject({
  collection: z.string().min(1),
  letter: z.string().min(1),
  to: text(MAX_NAME_BYTES).min(1),
  last: z.int().min(1),
  period: z.string().default(''),
  by: text(MAX_NAME_BYTES).min(1),
  reason: text(MAX_REASON_BYTES).min(1),
})

const give = z.strictObject({
  collection: z.string().min(1),
  letter: z.string().min(1),
  range: z
    .strictObject({
      from: z.int().min(1),
      to: z.int().min(1),
      validUntil: z.iso.date().optional(),
      data: text(MAX_NAME_BYTES).optional(),
    })
    .refine(({ from, to }) => from <= to),
})

const rename = z.strictObject({
  collection: z.string().min(1),
  letter: z.string().min(1),
  device: text(MAX_NAME_BYTES).min(1),
})

type Step = (object: HiloDatabase, database: string, body: unknown) => Promise<unknown>

const step =
  <T>(
    body: z.ZodType<T>,
    run: (object: HiloDatabase, database: string, given: T) => Promise<unknown>,
  ): Step =>
  (object, database, given) =>
    run(object, database, readBody(body, given))

const STEPS: Readonly<Record<string, Step>> = {
  status: step(nothing, (object) => object.status()),
  restored: step(nothing, (object) => object.restored()),
  names: step(nothing, (object) => object.names()),
  explain: step(explain, (object, database, asked) => object.explain({ database, ...asked })),
  'raise-floor': step(raiseOne, (object, database, floor) =>
    object.raiseFloor({ database, ...floor }),
  ),
  'raise-floors': step(raise, (object, database, { by }) => object.raiseFloors({ database, by })),
  drop: step(drop, (object, database, { collection }) => object.drop({ database, collection })),
  series: step(nothing, (object, database) => object.series(database)),
  'hand-over-series': step(handOver, (object, database, given) =>
    object.handOverSeries({ ...given, database }),
  ),
  'give-range': step(give, (object, database, given) => object.giveRange({ ...given, database })),
  'close-series': step(close, (object, database, given) =>
    object.closeSeries({ database, ...given }),
  ),
  'rename-device': step(rename, (object, database, given) =>
    object.renameDevice({ database, ...given }),
  ),
}

export interface OperatorRequest {
  database: string
  run(object: HiloDatabase): Promise<Response>
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
  const found = Object.hasOwn(STEPS, what) ? STEPS[what] : undefined
  if (!found || request.method !== 'POST') throw noRoute(request.method, pathOf(request.url))
  const body: unknown = await request.json().catch(() => ({}))
  const database = decoded(name)
  return {
    database,
    run: async (object) => answer((await found(object, database, body).catch(refused)) ?? {}),
  }
}

/** @throws Refusal */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw badRequest('The name of the database is not encoded as in a URL.')
  }
}

/** @throws Refusal for what the ledger calls a mistake, otherwise the error */
function refused(error: unknown): never {
  throw error instanceof RangeError ? badRequest(error.message) : error
}

function readBody<T>(schema: z.ZodType<T>, given: unknown): T {
  try {
    return checked(schema, given, 'The request')
  } catch (error) {
    throw badRequest((error as Error).message)
  }
}
