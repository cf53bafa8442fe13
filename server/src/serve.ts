/**
 * The HiLo server on a port of its own, on Node. Guarantees that slow and oversized requests are
 * cut off, and that `close` answers the requests under way before it closes the ledger.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { z } from 'zod'
import { drainOf, drainSeconds } from './drain.js'
import type { Handler } from './http/handler.js'
import {
  allLimits,
  port as checkPort,
  DATABASES_LISTED,
  type HandlerLimits,
  type HandlerOptions,
  handlerChecks,
  refuseUnlisted,
} from './http/handler-options.js'
import { DEFAULT_HOST, DEFAULT_PORT, namesToAnswer } from './http/open.js'
import type { Ledger, LedgerLimits } from './ledger/ledger.js'
import { checked, type Optional, parted } from './ledger/option-checks.js'
import { DEFAULT_HORIZON_DAYS, horizon, PRUNE_INTERVAL_MS, pruningAt } from './ledger/prune.js'
import { createHiloHandler } from './node/node-handler.js'
import { createLog } from './node/pino-log.js'
import { type LedgerOptions, openLedger } from './open-ledger.js'

export interface ServeOptions
  extends Omit<HandlerOptions, 'ledger' | 'limits'>,
    Omit<LedgerOptions, 'limits'> {
  /** Default 8080; 0 picks one. */
  port?: number | undefined
  /** Default `127.0.0.1`: this machine only. */
  host?: string | undefined
  /**
   * Everybody may ask, from every network and under every name. Without it, a server without
   * `tokens` or `authorize` listens on this machine only, and answers only for the names of this
   * machine. Default false.
   */
  open?: boolean | undefined
  limits?: Optional<LedgerLimits & HandlerLimits> | undefined
  /**
   * Days: a grant of which nothing was heard for so long counts as issued, and its row goes. A
   * device that comes back later keeps its numbers. Default 400, at least 30.
   */
  horizon?: number | undefined
}

export interface HiloServer {
  /** Without a slash at the end. */
  url: string
  /**
   * `/healthz` answers 503 from now on, and every answer ends its connection. After `drain` seconds
   * the server stops listening, waits for the requests under way (at most 10 seconds) and closes
   * the ledger. Called once more, it waits no longer.
   */
  close(options?: CloseOptions): Promise<void>
}

export interface CloseOptions {
  /** Seconds that load balancers need to notice that the server is not ready. Default 0.25. */
  drain?: number | undefined
}

/**
 * Stands for the missing `Host` of HTTP/1.0 requests, by which some load balancers ask `/healthz`.
 */
const NO_HOST = 'localhost'
/** No client of ours takes longer to send its headers or its body. */
const REQUEST_TIMEOUT_MS = 15_000
const HEADERS_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 16_384
/**
 * Longer than the 60 seconds after which load balancers, as a rule, close an idle connection. If
 * the server closed it first, a request that is on its way would be lost.
 */
const KEEP_ALIVE_MS = 75_000
/** A request may be on its way on a connection that seems idle. */
const IDLE_CONNECTION_SECONDS = 0.25

type Handlers = Omit<HandlerOptions, 'ledger' | 'limits'>
const OF_HANDLER = Object.keys(handlerChecks.shape) as (keyof Handlers)[]
const OF_LEDGER = [
  'dataDir',
  'databaseUrl',
  'collections',
  'counters',
  'upstream',
  'first',
  'create',
  'secrets',
] as const satisfies (keyof LedgerOptions)[]

/** The ledger looks at its own options. */
const later = z.unknown().optional()
const serveOptions = handlerChecks
  .omit({ ledger: true })
  .extend({
    ...Object.fromEntries(OF_LEDGER.map((name) => [name, later])),
    port: checkPort.optional(),
    horizon: horizon.optional(),
    limits: allLimits.optional(),
  })
  .refine(...DATABASES_LISTED)
  .superRefine(refuseUnlisted)

const closeOptions = z.strictObject({ drain: drainSeconds.optional() })

export async function serve(given: ServeOptions = {}): Promise<HiloServer> {
  // The handler asks, too. A refusal here leaves no ledger behind.
  // guard: H10 a start that waits goes on with the options that it was given
  const options: ServeOptions = checked(serveOptions, given, 'serve')
  const { ledgerLimits, handlerLimits } = parted(options.limits ?? {})
  const {
    port = DEFAULT_PORT,
    host = DEFAULT_HOST,
    horizon: horizonDays = DEFAULT_HORIZON_DAYS,
    log = createLog(),
    isReady = () => true,
  } = options
  namesToAnswer({ ...options, host })
  let answer: Handler = async () => starting()
  const http = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    getRequestListener((request) => answer(request), { hostname: NO_HOST }),
  )
  const drain = drainOf(http)
  // First: a port that is taken leaves no ledger behind.
  await listen(http, port, host)
  const { port: actual } = http.address() as AddressInfo
  const { ledger, handler } = await openHandler(
    { ...picked(options, OF_LEDGER), limits: ledgerLimits },
    {
      ...picked(options, OF_HANDLER),
      host,
      log,
      limits: handlerLimits,
      isReady: () => !drain.hasBegun && isReady(),
    },
  ).catch(async (error) => {
    await ended(http)
    throw error
  })
  answer = handler
  let closed: Promise<void> | undefined
  /** A failure is logged, and the next day's pruning makes up for it. */
  const prune = () =>
    ledger
      .prune(pruningAt(Date.now(), horizonDays))
      .catch((error) => closed || log.error({ err: error }, 'Old rows were not removed.'))
  void prune()
  const pruning = setInterval(prune, PRUNE_INTERVAL_MS)
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: async (options = {}) => {
      checked(closeOptions, options, 'close')
      const { drain: seconds = IDLE_CONNECTION_SECONDS } = options
      clearInterval(pruning)
      const drained = drain.end(seconds)
      closed ??= drained.finally(() => ledger.close())
      return closed
    },
  }
}

async function openHandler(
  ledgerOptions: LedgerOptions,
  handlerOptions: Omit<HandlerOptions, 'ledger'>,
): Promise<{ ledger: Ledger; handler: Handler }> {
  const ledger = await openLedger(ledgerOptions)
  try {
    const handler = createHiloHandler({ ...handlerOptions, ledger })
    // A server that could grant nothing does not start.
    await ledger.ping()
    return { ledger, handler }
  } catch (error) {
    await ledger.close()
    throw error
  }
}

/** No answer of a ledger: a client asks again later. */
const starting = () =>
  new Response('The server is starting.', { status: 503, headers: { 'Retry-After': '1' } })

function ended(http: Server): Promise<unknown> {
  const closed = new Promise((resolve) => http.close(resolve))
  http.closeAllConnections()
  return closed
}

const picked = <T extends object, Key extends keyof T>(from: T, keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, Key>

/** By the code of an error. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses that port: stop it, or choose another with `port` (0 for any)',
  EACCES: 'on most systems, ports below 1024 are for root: choose another, such as 8080',
  EADDRNOTAVAIL: 'this machine has no such address: choose 127.0.0.1, or 0.0.0.0 for all',
  ENOTFOUND: 'host has to be a name or an address of this machine, alone',
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => {
      const advice = ADVICE[error.code!] ?? 'check host and port'
      reject(
        new Error(`Cannot listen on ${host}:${port}: ${advice} (${error.code}).`, { cause: error }),
      )
    })
    http.listen(port, host, resolve)
  })
}
