/**
 * The HiLo server as a function from Request to Response: RavenDB's routes and our extension, for
 * Hono, Node, Vite and everything that uses fetch's types. Guarantees that pages of other sites are
 * refused unless their origin is listed, that nothing is cached, and that one place answers errors.
 */
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { cors } from 'hono/cors'
import { createAccess, refuseOtherSites } from './access.js'
import { createBudgets, createCosts, type KeptBudgets } from './budgets.js'
import { documentRoutes } from './document-routes.js'
import { explainRoutes } from './explain-routes.js'
import { createGate } from './gate.js'
import { checkHandlerOptions, type HandlerOptions } from './handler-options.js'
import { hiloRoutes } from './hilo-routes.js'
import { identityRoutes } from './identity-routes.js'
import { failureLog, type Log, requestLog } from './log.js'
import { answer, cutOff } from './messages.js'
import type { Metrics, WatchedLedger } from './metrics.js'
import { metricsRoutes, openRoutes, topologyRoutes } from './operation-routes.js'
import { otherLedgers } from './other-ledgers.js'
import { routeOf } from './paths.js'
import { noRoute, pathOf, Refusal, refusalBody, tooLarge, toRefusal } from './refusals.js'
import { seriesRoutes } from './series-routes.js'

const PREFLIGHT_SECONDS = 600

/** The handler's ports, which differ between Node and a Durable Object. */
export interface Ports {
  /** Called where the options name no log. */
  createLog(): Log
  createMetrics(ledger: WatchedLedger): Metrics
  /** Absent: each process counts in its memory. */
  budgets?: KeptBudgets
}

export type Handler = (request: Request) => Promise<Response>

export function createHandler(options: HandlerOptions, ports: Ports): Handler {
  const checked = checkHandlerOptions(options, ports.createLog)
  const { limits, ledger, nodeTag, serverPrefix } = checked
  ledger.useIdParts?.({ nodeTag, serverPrefix })
  const metrics = ports.createMetrics(checked.ledger)
  metrics.budgets(limits)
  const gate = createGate(limits.waiting, (who) => metrics.overBudget(who, 'waiting'))
  metrics.watchQueue(gate)
  const access = createAccess(
    checked,
    createBudgets(limits, metrics.overBudget, ports.budgets),
    gate,
  )
  const costs = createCosts(checked.ledger)
  const logFailure = failureLog(checked.log)
  const others = otherLedgers(checked.log)
  checked.ledger.onRestored((database) =>
    checked.log.error(
      { database },
      'THIS DATABASE WAS RESTORED FROM A BACKUP, AND GRANTS NOTHING. A device has numbers that ' +
        'were granted after the backup. Others may have more of them. Run: npx ' +
        'offline-hilo-server raise-floor <database> --all --by <numbers>.',
    ),
  )
  checked.ledger.onCaution?.((caution) =>
    checked.log.error({ caution }, 'LOOK AT THE COUNTER OF YOUR BACK END.'),
  )
  const app = new Hono({ getPath: routeOf })

  if (checked.logRequests) app.use(requestLog(checked.log))
  const withCors = cors({
    origin: [...(checked.cors?.origins ?? [])],
    allowMethods: ['GET', 'PUT', 'POST', 'DELETE'],
    allowHeaders: ['Content-Type', 'Authorization', 'If-Match', 'If-None-Match'],
    exposeHeaders: ['Retry-After'],
    credentials: true,
    maxAge: PREFLIGHT_SECONDS,
  })
  app.use((c, next) => (c.req.header('Origin') === undefined ? next() : withCors(c, next)))
  // Before the method and the host are checked: a load balancer asks by HEAD, and by address.
  app.route('/', openRoutes(checked, others))
  const withLimit = bodyLimit({
    maxSize: limits.body,
    onError: () => {
      throw tooLarge(413, `The body has more than ${limits.body} bytes.`)
    },
  })
  // One for all: each middleware costs a request more than these checks do.
  app.use((c, next) => {
    const { method, url, raw } = c.req
    // Hono answers HEAD by the GET route, which would grant a range that nobody reads.
    if (method === 'HEAD') throw noRoute('HEAD', pathOf(url))
    if (url.length > limits.url)
      throw tooLarge(414, `The URL has more than ${limits.url} characters.`)
    refuseOtherSites(raw, checked)
    // A GET has no body. To look for one costs as much as all else before the ledger.
    return method === 'GET' ? next() : withLimit(c, next).catch(refuseCutOff)
  })
  app.route('/', metricsRoutes(metrics, access))
  app.route('/', topologyRoutes(checked, access))
  app.route('/databases/:database', hiloRoutes(checked, access, costs, metrics, logFailure, others))
  app.route('/databases/:database', seriesRoutes(checked, access, metrics, others))
  app.route('/databases/:database', explainRoutes(checked, access))
  app.route('/databases/:database', identityRoutes(checked, access, costs, metrics, others))
  app.route('/databases/:database', documentRoutes(checked, access, costs))

  app.notFound((c) => {
    throw noRoute(c.req.method, pathOf(c.req.url))
  })
  const failed = (error: unknown, url: string): Response => {
    const refusal = toRefusal(error, logFailure)
    metrics.refused(refusal)
    return answer(refusalBody(refusal, pathOf(url)), refusal.status, refusal.headers)
  }
  app.onError(async (error, c) => failed(await access.toldOf(c, error), c.req.url))
  return async (request) => {
    try {
      // `authorize` is given the request that came. `bodyLimit` replaces a request whose body tells
      // no length by a copy.
      return await app.fetch(request, { request })
    } catch (thrown) {
      // Of what is no Error, Hono makes no answer: functions of the application may throw anything.
      return failed(thrown, request.url)
    }
  }
}

/** A client that goes away in the middle of its body is no failure of the server: no log line. */
function refuseCutOff(error: unknown): never {
  throw error instanceof Refusal ? error : cutOff()
}
