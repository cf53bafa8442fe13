/**
 * The options of `createHiloHandler`, checked when the server starts. A message names the option
 * and the fix.
 */
import { z } from 'zod'
import { LIMITS } from '../../../src/core/wire.js'
import type { Ledger } from '../ledger/ledger.js'
import {
  type Checks,
  checked,
  databaseName,
  ledgerLimits,
  nodeTag,
  type Optional,
  publicUrl,
} from '../ledger/option-checks.js'
import type { Log } from './log.js'
import { namesToAnswer } from './open.js'
import { type Action, type ScopedToken, TOKEN_FORM, type Tokens, tokens } from './tokens.js'

export interface HandlerOptions {
  /** From `openLedger`. The handler does not close it. */
  ledger: Ledger
  /**
   * Ends every id: `orders/1-A`. Servers on one ledger share it, and the ledger keeps it; servers
   * on different ledgers must not. Default `A`.
   */
  nodeTag?: string | undefined
  /**
   * The prefix in the document `Raven/ServerPrefixForHilo`, for RavenDB 2 and 3 clients. Default:
   * there is no such document.
   */
  serverPrefix?: string | undefined
  /** The address in the answer of `/topology`. Default: the host that was asked for. */
  publicUrl?: string | undefined
  /**
   * The databases that exist, or `'any'`: a database is then made when it is first asked for. To be
   * given with `tokens` or `authorize`. Default without them: those of `collections` and
   * `counters`, or any where there are none.
   */
  databases?: readonly string[] | 'any' | undefined
  /** Other sites whose pages may ask. Default: only pages of the server's own origin. */
  cors?: { origins: readonly string[] } | undefined
  /**
   * Names under which the server may be asked, as in `ids.example.com` or `localhost:8080`; without
   * a port, at any port. Others are refused, so that no other site can let its own name lead here
   * (DNS rebinding). Default: any; with `host` alone, the names of this machine.
   */
  hosts?: readonly string[] | undefined
  /**
   * Where your server listens, if that is this machine only: `localhost` or `127.0.0.1`. Then
   * nobody is asked for a token, and the handler answers for the names of this machine only. With
   * any other address, a handler needs `tokens`, `authorize` or `open`.
   */
  host?: string | undefined
  /**
   * All clients that reach the handler may ask, without a token. Default false: a handler that is
   * given neither `tokens` nor `authorize`, nor a `host` of this machine, is not made.
   */
  open?: boolean | undefined
  /**
   * The tokens of clients, sent as `Authorization: Bearer …`. A text may do all but read and write
   * documents, seed identities, list and close series, and read the metrics. A function is called
   * for each request. Default: see `open`.
   */
  tokens?: Tokens | undefined
  /**
   * Decides for the application; true allows the request. It must not read the request's body.
   * Default: see `open`.
   */
  authorize?: ((request: Request, wanted: Wanted) => boolean | Promise<boolean>) | undefined
  /**
   * Called for each `/healthz`, which answers 503 unless it says true: a server that is about to
   * stop says so to load balancers. Default: always ready.
   */
  isReady?: (() => boolean | Promise<boolean>) | undefined
  /** Default: JSON lines on stderr, by pino. */
  log?: Log | undefined
  /** One line per request. Default false. */
  logRequests?: boolean | undefined
  limits?: Optional<HandlerLimits> | undefined
}

/** The wish of a request, for `authorize`. */
export interface Wanted {
  action: Action
  /** Undefined for `status`, which is about all databases. */
  database?: string | undefined
  /**
   * `orders`, or `orders|` of an identity. Undefined if the request is not about a single one, or
   * has a mistake: that is told only to who may do the action.
   */
  tag?: string | undefined
  /** Numbers that are claimed; 0 where the request claims none. */
  count: number
}

export interface HandlerLimits {
  /** Numbers per claim. Default 1,048,576, where RavenDB's doubling stops. */
  count: number
  /** Documents of one request. Default 100. */
  batch: number
  /**
   * Claims and other requests that are here at a time, and the tokens in them. More are answered
   * 503. One token has a tenth of these places. Default 2,000.
   */
  waiting: number
  /** Bytes of a request's body. At least 262,144, the default: a device may send so many. */
  body: number
  /** Characters of a request's URL. At least 4,096. Default 8,192. */
  url: number
  /** Requests that one token may make in an hour. Default 3,600. */
  requestsPerHour: number
  /** Numbers, with those that a claim makes its counter skip. Default 1,048,576. */
  numbersPerHour: number
  /**
   * Rows that are written, and grant tokens that are shown. At least 200: so many has a check-in.
   * Default 10,000.
   */
  rowsPerHour: number
  /** New collections, identities and series. Default 100. */
  namesPerHour: number
  /**
   * Series of consecutive numbers that one token may have in a database and nobody has closed, for
   * each device that uses it. Default 20.
   */
  seriesPerToken: number
}

export const serverPrefix = z
  .string()
  .regex(/^[\x21-\x7e]{1,32}$/, 'a server prefix has 1 to 32 characters without spaces')
  .regex(/\D$/, "ends in a digit: number 13 after 'S1' is number 113 after 'S'. Add a /")

/** The origin of an app's pages, as in `capacitor://localhost`, which `URL` cannot tell. */
const APP_ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/

const isWebOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

export const origin = z
  .string()
  .refine(
    (text) => (/^https?:/.test(text) ? isWebOrigin(text) : APP_ORIGIN.test(text)),
    'an origin is scheme, host and port only, as in https://app.example.com or ' +
      'capacitor://localhost; there is no *, and no null',
  )

export const host = z
  .string()
  .refine(
    (text) =>
      /^([\p{L}\p{N}._-]+|\[[\da-f:.]+\])(:\d+)?$/iu.test(text) && URL.canParse(`http://${text}`),
    'a host is a name or an address, as in ids.example.com or localhost:8080',
  )

const MAX_PORT = 65_535

export const port = z
  .int('has to be a number')
  .min(0)
  .max(MAX_PORT, `has to be 0 to ${MAX_PORT}; 0 picks a free one`)

export const databaseList = z.array(databaseName).superRefine((names, context) => {
  const lower = names.map((name) => name.toLowerCase())
  for (const [i, name] of names.entries())
    if (lower.indexOf(lower[i]!) < i)
      context.addIssue({
        code: 'custom',
        path: [i],
        message: `is '${name}', which is listed already: case makes no difference. Remove it`,
      })
})

export const databases = z.union(
  [databaseList.min(1, 'is empty: list the databases, or say "any"'), z.literal('any')],
  'has to be a list of names, or "any"',
)

const positive = (max: number, min = 1) =>
  z
    .int('has to be a whole number')
    .min(min, `has to be at least ${min}`)
    .max(max, `has to be at most ${max}`)

export const limits = z.strictObject({
  count: positive(2 ** 40).default(1_048_576),
  batch: positive(10_000).default(100),
  waiting: positive(1_000_000).default(2_000),
  body: positive(2 ** 24, LIMITS.bodyBytes).default(LIMITS.bodyBytes),
  url: positive(65_536, LIMITS.urlLength).default(8_192),
  requestsPerHour: positive(2 ** 40).default(3_600),
  numbersPerHour: positive(2 ** 53 - 1).default(1_048_576),
  rowsPerHour: positive(2 ** 40, 2 * LIMITS.tokens).default(10_000),
  namesPerHour: positive(2 ** 40).default(100),
  seriesPerToken: positive(2 ** 40).default(20),
} satisfies Checks<HandlerLimits>)

/** Of a server: its handler's, and its ledger's. */
export const allLimits = z.strictObject({ ...limits.shape, ...ledgerLimits.shape })

const callback = <T>() => z.custom<T>((value) => typeof value === 'function', 'is no function')

interface Rights {
  databases?: unknown
  tokens?: unknown
  authorize?: unknown
}

/** Without a list, any request makes the database that it names, although not everybody may ask. */
export const DATABASES_LISTED: [(options: Rights) => boolean, object] = [
  ({ databases, tokens, authorize }) => Boolean(databases || !(tokens || authorize)),
  {
    path: ['databases'],
    error:
      'is missing: with tokens or authorize, list the databases that exist, as in ["Shop"], or ' +
      'say "any": every name that is asked for then becomes a database',
  },
]

interface Listed {
  databases?: unknown
  tokens?: unknown
  collections?: unknown
  counters?: unknown
  ledger?: Ledger
}

/** @throws by Zod's issues where a token or a binding is for a database that is not there */
export function refuseUnlisted(
  { databases, tokens, collections, counters, ledger }: Listed,
  context: z.RefinementCtx,
): void {
  if (!Array.isArray(databases)) return
  const listed = databases.map((name) => String(name).toLowerCase())
  const bound = { collections, counters, ledger: ledger?.boundDatabases?.() }
  // guard: H24 a binding is for a database that exists
  for (const [option, names] of Object.entries(bound))
    for (const name of Array.isArray(names) ? names : Object.keys(Object(names)))
      if (!listed.includes(name.toLowerCase()))
        context.addIssue({
          code: 'custom',
          path: [option, name],
          message:
            'is not among databases, so nobody would use these bindings. If the name is ' +
            'mistyped, the server would count by itself, and make ids that are in use',
        })
  const list = (Array.isArray(tokens) ? tokens : []) as (string | ScopedToken)[]
  for (const [i, token] of list.entries())
    for (const [j, name] of (typeof token === 'string' ? [] : (token.databases ?? [])).entries())
      if (!listed.includes(name.toLowerCase()))
        context.addIssue({
          code: 'custom',
          path: ['tokens', i, 'databases', j],
          message:
            `is '${name}', which is not among databases, so the token could do nothing there. ` +
            'Correct the name, or list the database',
        })
}

/** Of each option alone. */
export const handlerChecks = z.strictObject({
  ledger: z.custom<Ledger>(
    (value) => typeof (value as Ledger | undefined)?.claim === 'function',
    'is missing: pass what openLedger() resolves with',
  ),
  nodeTag: nodeTag.default('A'),
  serverPrefix: serverPrefix.optional(),
  publicUrl: publicUrl.optional(),
  databases: databases.optional(),
  cors: z.strictObject({ origins: z.array(origin) }).optional(),
  hosts: z.array(host).min(1, 'is empty: nobody could ask; leave it out to allow any').optional(),
  host: z.string().min(1, 'is empty: leave it out').optional(),
  open: z.boolean().default(false),
  tokens: z.union([tokens, callback<Extract<Tokens, () => unknown>>()], TOKEN_FORM).optional(),
  authorize: callback<NonNullable<HandlerOptions['authorize']>>().optional(),
  isReady: callback<NonNullable<HandlerOptions['isReady']>>().default(() => () => true),
  log: z
    .custom<Log>((value) => {
      const { info, error } = (value ?? {}) as Partial<Log>
      return typeof info === 'function' && typeof error === 'function'
    }, 'needs the methods info and error, as a pino logger has them')
    .optional(),
  logRequests: z.boolean().default(false),
  limits: limits.prefault({}),
} satisfies Checks<HandlerOptions>)

const handlerOptions = handlerChecks.refine(...DATABASES_LISTED).superRefine(refuseUnlisted)

export type CheckedOptions = Omit<z.output<typeof handlerOptions>, 'hosts' | 'log'> & {
  hosts: readonly string[] | undefined
  log: Log
}

/**
 * @param createLog called where the options name no log
 * @throws Error that names the option and the fix
 */
export function checkHandlerOptions(given: HandlerOptions, createLog: () => Log): CheckedOptions {
  const whole = checked(handlerOptions, given ?? {}, 'createHiloHandler')
  const { log = createLog(), ...options } = whole
  // guard: H24 beside bindings, a mistyped database does not count by itself
  const databases = options.databases ?? options.ledger.boundDatabases?.()
  return { ...options, log, databases, hosts: namesToAnswer(options) }
}
