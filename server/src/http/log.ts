/**
 * The port of the server's log, its line per request, and its lines of failures. Guarantees that no
 * query and no header is logged, since either may hold a secret, and that an outage is a short line
 * now and then, however many requests it fails.
 */
import type { MiddlewareHandler } from 'hono'
import {
  CounterUnusable,
  CounterWentBack,
  LedgerFileChanged,
  LedgerReplaced,
  LedgerTablesChanged,
  LedgerUnavailable,
  LedgerUpgraded,
  OtherIds,
  UpstreamUnavailable,
} from '../ledger/ledger-errors.js'

/** Where the server logs. A pino logger is one. */
export interface Log {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

export const requestLog =
  (log: Log): MiddlewareHandler =>
  async (c, next) => {
    const start = performance.now()
    await next()
    log.info(
      {
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round(performance.now() - start),
      },
      'request',
    )
  }

export type FailureLog = (error: unknown) => void

/**
 * A device showed a token that this ledger never wrote. Anybody can make one up, so it proves
 * nothing. Many of them say that this is another ledger, or that it has lost its secret.
 */
export class UnknownToken extends Error {
  override name = 'UnknownToken'
  readonly database: string

  constructor(database: string) {
    super(database)
    this.database = database
  }
}

/** Failures that explain themselves. The first line that fits is logged. */
const LINES: readonly (readonly [new (...given: never[]) => Error, string])[] = [
  [UpstreamUnavailable, 'The server that numbers come from gives none now.'],
  [LedgerFileChanged, "THE LEDGER'S FILE: NOTHING IS GRANTED."],
  [LedgerTablesChanged, "THE LEDGER'S TABLES: NOTHING IS GRANTED."],
  [LedgerReplaced, 'ANOTHER LEDGER: NOTHING IS GRANTED.'],
  [LedgerUpgraded, 'A NEWER VERSION: NOTHING IS GRANTED.'],
  [OtherIds, 'IDS OF ANOTHER LEDGER: NOTHING IS GRANTED.'],
  [LedgerUnavailable, 'The database does not answer.'],
  [CounterUnusable, 'What the numbers come from cannot be used.'],
  [CounterWentBack, 'A COUNTER WENT BACK: NOTHING OF IT IS GRANTED.'],
]

/** The same failure is logged once in this time. */
const QUIET_MS = 10_000
/** So many unknown tokens in that time are no single device's. */
const MANY_TOKENS = 20
/** How many different failures are remembered: a message may contain a client's text. */
const MAX_KINDS = 100

export function failureLog(log: Log): FailureLog {
  const logged = new Map<string, { at: number; more: number }>()

  return (error) => {
    const kind = String(error)
    const last = logged.get(kind)
    const now = performance.now()
    if (last && now - last.at < QUIET_MS) {
      last.more++
      if (error instanceof UnknownToken && last.more === MANY_TOKENS)
        log.error(
          { database: error.database, more: last.more },
          'MANY DEVICES SHOW GRANT TOKENS THAT THIS LEDGER DOES NOT KNOW: IS IT THE RIGHT ONE? ' +
            'After renew-secret it is: devices get new tokens as they claim. Otherwise, another ' +
            'ledger grants what they hold: look where this server keeps its ledger, and whether ' +
            'it was restored with its secret.',
        )
      return
    }
    if (logged.size >= MAX_KINDS) logged.clear()
    logged.set(kind, { at: now, more: 0 })
    // How often it happened since the last line, and was not logged.
    const more = last?.more ? { more: last.more } : {}
    const line = LINES.find(([Kind]) => error instanceof Kind)?.[1]
    if (line !== undefined) log.error({ reason: (error as Error).message, ...more }, line)
    else if (error instanceof UnknownToken)
      log.error(
        { database: error.database, ...more },
        'A device showed a grant token that this ledger never wrote: it is of another server, or ' +
          'of this one under another secret. Was this ledger restored without its secret? In ' +
          'development: was the ledger made anew? Then delete the data of the site in the browser.',
      )
    else log.error({ err: error, ...more }, 'A request failed.')
  }
}
