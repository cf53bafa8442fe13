/**
 * The HiLo server on a port of its own, on Node. Guarantees that slow and oversized requests are
 * cut off, and that `close` answers the requests under way before it closes the ledger.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { CollectionsOptions } from './bound/bindings.js'
import { createHiloHandler } from './http/handler.js'
import { createLog } from './http/log.js'
import type { HandlerLimits, HandlerOptions } from './http/options.js'
import { networkOf } from './http/rate-limit.js'
import type { LedgerLimits } from './ledger/ledger.js'
import type { Given } from './ledger/options.js'
import { openLedger } from './open-ledger.js'

export interface ServeOptions extends Omit<HandlerOptions, 'ledger' | 'limits'> {
  /** Default 8080; 0 picks one. */
  port?: number | undefined
  /** Default `127.0.0.1`: this machine only. */
  host?: string | undefined
  dataDir?: string | undefined
  databaseUrl?: string | undefined
  limits?: Given<LedgerLimits & HandlerLimits> | undefined
  /** As for `openLedger`. */
  collections?: CollectionsOptions | undefined
}

export interface HiloServer {
  /** Without a slash at the end. */
  url: string
  /** Stops listening, waits for what is under way, closes the ledger. */
  close(): Promise<void>
}

export const DEFAULT_PORT = 8080
export const DEFAULT_HOST = '127.0.0.1'

/** The `Host` of HTTP/1.0 requests, which have none. Some load balancers ask for health so. */
const NO_HOST = 'localhost'
/** No client of ours takes longer to send its headers or its body. */
const REQUEST_TIMEOUT_MS = 15_000
const HEADERS_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 16_384
/** Requests that are still under way then are cut off. Their claims can be sent again. */
const DRAIN_MS = 10_000
const DRAIN_STEP_MS = 20
const DAY_MS = 24 * 60 * 60 * 1000
const PRUNE_INTERVAL_MS = DAY_MS
/** No request is repeated after so long. */
const SETTLED_MS = 30 * DAY_MS

export async function serve({
  port = DEFAULT_PORT,
  host = DEFAULT_HOST,
  dataDir,
  databaseUrl,
  collections,
  limits = {},
  log = createLog(),
  ...rest
}: ServeOptions = {}): Promise<HiloServer> {
  const { maxJump, collections: maxCollections, databases: maxDatabases, ...handlerLimits } = limits
  const ledgerLimits = { maxJump, collections: maxCollections, databases: maxDatabases }
  const ledger = await openLedger({ dataDir, databaseUrl, collections, limits: ledgerLimits })
  try {
    const addresses = new WeakMap<Request, string>()
    const clientOf = (request: Request) => networkOf(addresses.get(request) ?? '')
    const handler = createHiloHandler({ clientOf, ...rest, log, limits: handlerLimits, ledger })
    const listener = getRequestListener(
      (request, { incoming }) => {
        addresses.set(request, incoming.socket.remoteAddress ?? '')
        return handler(request)
      },
      { hostname: NO_HOST },
    )
    const http = createServer(
      {
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: HEADERS_TIMEOUT_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        connectionsCheckingInterval: 1_000,
      },
      listener,
    )
    await listen(http, port, host)
    const { port: actual } = http.address() as AddressInfo
    let closing: Promise<void> | undefined
    /** A failure is logged, and the next day's pruning makes up for it. */
    const prune = () =>
      ledger
        .prune(Date.now() - SETTLED_MS)
        .catch((error) => closing || log.error({ err: error }, 'Old rows were not removed.'))
    void prune()
    const pruning = setInterval(prune, PRUNE_INTERVAL_MS)
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
      close: () => {
        clearInterval(pruning)
        closing ??= drain(http).finally(() => ledger.close())
        return closing
      },
    }
  } catch (error) {
    await ledger.close()
    throw error
  }
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => {
      const advice =
        error.code === 'EADDRINUSE'
          ? 'another program uses that port: choose another, or 0 for any'
          : 'check host and port'
      reject(
        new Error(`Cannot listen on ${host}:${port}: ${advice} (${error.code}).`, { cause: error }),
      )
    })
    http.listen(port, host, resolve)
  })
}

async function drain(http: Server): Promise<void> {
  // A connection that is kept alive is idle only between two requests, so look for idle ones often.
  const step = setInterval(() => http.closeIdleConnections(), DRAIN_STEP_MS)
  const end = setTimeout(() => http.closeAllConnections(), DRAIN_MS)
  await new Promise<void>((resolve) => http.close(() => resolve()))
  clearInterval(step)
  clearTimeout(end)
}
