/**
 * Access: which pages may ask, which databases exist, the rights of a token, and the application's
 * own check. A browser sends the requests of every site's pages, and only hides the answers: a
 * claim would be lost. Guarantees that a request of another site's page is refused unless its
 * origin is listed, and that, with `tokens` or `authorize`, nobody moves a counter by a document or
 * a seed unless a token or the application's answer allows it.
 */
import { setImmediate } from 'node:timers'
import type { Context } from 'hono'
import { databaseName } from '../ledger/option-checks.js'
import type { Budgets, Cost, Turn } from './budgets.js'
import { type Gate, MOST_AT_WORK } from './gate.js'
import type { CheckedOptions, Wanted } from './handler-options.js'
import { Parameters } from './messages.js'
import { asksNobody } from './open.js'
import { databaseMissing, forbidden } from './refusals.js'
import { type Action, type FoundToken, type ScopedToken, tokenFinder } from './tokens.js'

export interface Access {
  /**
   * The rights of a request, and the database that its path names. Called before anything else of
   * the request is read: who may not ask is told none of its mistakes.
   * @param actions of the route. What the request says decides which
   * @param authorization the header's value, for a request that can have no header
   * @throws Refusal where tokens are asked for, without a valid one for one of these actions
   */
  callerOf(c: Context, actions: readonly Action[], authorization?: string): Caller
  /**
   * What a failed request is told: its mistake, unless the application says only now, without
   * having been told more than the action, that it may not ask.
   */
  toldOf(c: Context, failure: unknown): Promise<unknown>
  /** The database of `GET /topology?name=`. */
  topologyOf(c: Context): string
  /** May the metrics be read? */
  allowStatus(c: Context): Promise<void>
}

export interface Caller {
  database: string
  /** Of the token that it showed: the same for each of its requests, and no secret. */
  name: string | undefined
  /** How many devices use that token. */
  devices: number
  /**
   * The gate of every route that reads or writes the ledger: asks whether this is allowed, takes
   * its cost, waits for its turn, and then does the work. Where the work fails, nothing was taken.
   * @throws Refusal
   */
  admit<T>(asked: Asked, work: () => Promise<T>): Promise<T>
  /** A cost that was taken for nothing. */
  refund(cost: Cost): void
}

/** The wish and the cost of a request, before any work. */
export interface Asked {
  wanted: readonly Omit<Wanted, 'database'>[]
  /**
   * Of its token's hourly budget. Asked once all is allowed; it waits for a turn before it reads
   * the ledger. Default: nothing more.
   */
  cost?: Cost | ((turn: Turn) => Promise<Cost>)
  /** Its work shares a commit with that of others. Default: it has one, or reads, of its own. */
  isShared?: boolean
  /** How much of a commit it takes. Default 1. */
  units?: number
  /** The bound collection that it is about. Default: none. */
  lane?: string
}

/** Of the places, this part is for one device. */
const SHARE = 0.1
/** Of the work under way, this part. */
const PART = 0.2

/**
 * These actions move a counter to any number, show where it is or the numbers of other devices, or
 * end those.
 */
const ONLY_BY_NAME: readonly Action[] = [
  'document-read',
  'document-write',
  'explain',
  'seed',
  'series-list',
  'series-close',
  'series-hand-over',
  'status',
]

export function createAccess(
  { databases, tokens, authorize, limits, ledger }: CheckedOptions,
  budgets: Budgets,
  gate: Gate,
): Access {
  const findToken = tokens && tokenFinder(tokens)
  /** By request: asks the application, which has not been asked yet. */
  const unasked = new WeakMap<Request, () => Promise<void>>()

  /** Undefined where no tokens are asked for. */
  function tokenOf(headers: Headers): FoundToken | undefined {
    const token = findToken?.(headers)
    if (findToken && !token)
      throw forbidden(
        'no-token',
        "Forbidden: this server asks for 'Authorization: Bearer <token>', with one of the " +
          'tokens from its configuration.',
      )
    if (token) budgets.spend(token, ONE_REQUEST)
    return token
  }

  /** @throws Refusal unless the token may do one of these actions */
  function requireRight(
    token: ScopedToken | undefined,
    database: string | undefined,
    actions: readonly Action[],
  ): void {
    if (token?.databases && !isListed(token.databases, database)) throw notFor(database)
    if (!actions.some((action) => tokenAllows(token, action)))
      throw forbidden(
        'no-right',
        `Forbidden: this token may not do '${actions[0]}'. Name the action with the token in the ` +
          "server's configuration.",
      )
  }

  function allow(
    request: Request,
    token: ScopedToken | undefined,
    database: string | undefined,
    wanted: Omit<Wanted, 'database'>,
  ): Promise<void> | undefined {
    requireRight(token, database, [wanted.action])
    if (token?.collections) refuseOthers(token.collections, wanted)
    return authorize && askApplication(authorize, request, { ...wanted, database })
  }

  function tokenAllows(token: ScopedToken | undefined, action: Action): boolean {
    if (!token) return true
    // guard: H26 a token does what its actions say
    if (token.actions) return token.actions.includes(action)
    // The application's answer may still allow the others.
    // guard: H26 documents and seeds need a right of their own
    return authorize !== undefined || !ONLY_BY_NAME.includes(action)
  }

  /** Without tokens, all clients of a database are one. */
  function placesOf(token: FoundToken | undefined, database: string, isShared: boolean) {
    if (!token)
      return { who: database.toLowerCase(), share: Number.POSITIVE_INFINITY, part: MOST_AT_WORK }
    const { devices = 1 } = token
    const of = (places: number, part: number) => Math.ceil(places * Math.min(1, part * devices))
    return {
      who: token.name,
      share: of(limits.waiting, SHARE),
      // guard: H26 of what shares no commit, a token has one at work
      part: isShared ? of(MOST_AT_WORK, PART) : devices,
    }
  }

  return {
    callerOf(c, actions, authorization) {
      const request = withAuthorization(c.env.request, authorization)
      const token = tokenOf(request.headers)
      const database = c.req.param('database')!
      // guard: H26 who may not ask is told no mistake
      requireRight(token, database, actions)
      const wanted = { action: actions[0]!, database, count: 0 }
      if (authorize) unasked.set(c.env.request, () => askApplication(authorize, request, wanted))
      requireDatabase(databases, database, 500)
      ledger.askedThrough?.(request.headers)
      return {
        database,
        name: token?.name,
        devices: token?.devices ?? 1,
        refund: (cost) => token && budgets.refund(token, cost),
        async admit({ wanted, cost = {}, units = 1, lane = '', isShared = false }, work) {
          unasked.delete(c.env.request)
          for (const each of wanted) await allow(request, token, database, each)
          const enter = <T>(isShared: boolean, work: () => Promise<T>) =>
            gate.enter(
              { ...placesOf(token, database, isShared), units, lane },
              // Commits that others share come between two of these, also in a database that
              // commits synchronously.
              // guard: H26 what shares no commit lets the shared ones through
              isShared ? work : () => nextTurn().then(work),
            )
          if (!token) return enter(isShared, work)
          const price = typeof cost === 'function' ? await cost((read) => enter(false, read)) : cost
          // guard: H26 a token pays before it waits
          budgets.spend(token, price)
          return enter(isShared, work).catch((error) => {
            budgets.refund(token, price)
            throw error
          })
        },
      }
    },
    async toldOf(c, failure) {
      try {
        // guard: H26 whom the application refuses is told no mistake
        await unasked.get(c.env.request)?.()
        return failure
      } catch (refusal) {
        return refusal
      }
    },
    topologyOf(c) {
      const token = tokenOf(c.req.raw.headers)
      const name = new Parameters(c.req.url).single('name')
      if (token?.databases && !isListed(token.databases, name)) throw notFor(name)
      requireDatabase(databases, name, 503)
      return name
    },
    allowStatus: async (c) =>
      allow(c.env.request, tokenOf(c.req.raw.headers), undefined, { action: 'status', count: 0 }),
  }
}

/**
 * @param status RavenDB answers 503 on `/topology` and 500 elsewhere
 * @throws Refusal where there is no database of that name, and none can come to be
 */
export function requireDatabase(
  databases: CheckedOptions['databases'],
  name: string,
  status: 404 | 500 | 503,
): void {
  const { error } = databaseName.safeParse(name)
  if (error) throw databaseMissing(name, status, sentence(error.issues[0]!.message))
  if (Array.isArray(databases) && !isListed(databases, name))
    throw databaseMissing(
      name,
      status,
      'This server has a list of its databases: add it there, or correct the name.',
    )
}

/** Of the event loop. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const ONE_REQUEST: Cost = { requests: 1 }

/** @throws Refusal where the request is about a collection that is not listed, or about all. */
function refuseOthers(
  collections: readonly string[],
  { action, tag }: Pick<Wanted, 'action' | 'tag'>,
): void {
  if (tag === undefined ? action !== 'series-list' : isListed(collections, tag.replace(/\|$/, '')))
    return
  const what = tag === undefined ? 'all collections' : `the collection '${tag}'`
  throw forbidden('no-right', `Forbidden: this token is not for ${what}.`)
}

/** The request as it would be with this header, which counts only where there is none. */
function withAuthorization(request: Request, authorization: string | undefined): Request {
  if (authorization === undefined || request.headers.has('Authorization')) return request
  const headers = new Headers(request.headers)
  headers.set('Authorization', authorization)
  return new Request(request.url, { method: request.method, headers })
}

async function askApplication(
  authorize: NonNullable<CheckedOptions['authorize']>,
  request: Request,
  wanted: Wanted,
): Promise<void> {
  if ((await authorize(request, wanted)) === true) return
  const { action, tag } = wanted
  throw forbidden(
    'no-right',
    `Forbidden: this user may not do '${action}' ${tag === undefined ? 'here' : `of '${tag}'`}.`,
  )
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

const isListed = (names: readonly string[], name: string | undefined): boolean =>
  names.some((other) => other.toLowerCase() === name?.toLowerCase())

const notFor = (database: string | undefined) =>
  forbidden(
    'no-right',
    `Forbidden: this token is not for ` +
      `${database === undefined ? 'all databases' : `the database '${database}'`}.`,
  )

/** The values of `Sec-Fetch-Site` for a page of another site, and for our own page or none. */
const OTHER_SITES = ['cross-site', 'same-site']
const OWN_SITE = ['same-origin', 'none']

/** @throws Refusal */
export function refuseOtherSites(request: Request, options: CheckedOptions): void {
  const { cors, hosts, publicUrl } = options
  const { headers } = request
  const host = headers.get('Host') ?? new URL(request.url).host
  // A page of evil.lan whose name leads to this server's address (DNS rebinding) is of its own
  // origin for the browser. Only the host tells that the server is asked under a foreign name.
  // guard: H26 a server is asked under its own names only
  if (hosts && !hosts.some((known) => isHost(host, known)))
    throw forbidden(
      'other-host',
      `This server does not answer for the host '${host}'. ${
        asksNobody(options)
          ? 'It has no tokens, so it answers for the names of this machine only. Give it tokens; ' +
            'or say that everybody may ask, with open.'
          : 'Add it to hosts of the server, or use a name that is listed there.'
      }`,
    )
  const origin = headers.get('Origin')
  if (origin !== null && (cors?.origins.includes(origin) || origin === publicUrl)) return
  // Browsers send it to https and localhost only.
  const site = headers.get('Sec-Fetch-Site') ?? ''
  const isOther =
    OTHER_SITES.includes(site) ||
    (!OWN_SITE.includes(site) && origin !== null && !isOwnOrigin(origin, host))
  // guard: H26 a page of another site is refused
  if (isOther)
    throw forbidden(
      'other-site',
      `A page of '${origin ?? 'another site'}' may not ask at '${host}'. Add its origin to ` +
        "cors.origins of the server, or serve the page from the server's own origin. Behind a " +
        'proxy, let it pass the Host header on.',
    )
}

function isHost(host: string, known: string): boolean {
  const [asked, listed] = [urlOf('http:', host), urlOf('http:', known)]
  if (asked?.hostname !== listed!.hostname) return false
  return asked.port === listed!.port || !/:\d+$/.test(known)
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  if (page.origin !== origin.toLowerCase()) return false
  return urlOf(page.protocol, host)?.host === page.host
}

/** Undefined if the text is not a host. The scheme decides the default port. */
function urlOf(protocol: string, host: string): URL | undefined {
  const text = `${protocol}//${host}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.pathname === '/' ? url : undefined
}
