/**
 * A handler on a new ledger, asked without a socket; in the project `unit-workerd`, one in a
 * Durable Object.
 */
import { inject, test } from 'vitest'
import { atFileEnd } from '../../test/support/file-end.js'
import { shownLog } from '../../test/support/shown-log.js'
import type { Handler } from '../src/http/handler.js'
import {
  createHiloHandler,
  type HandlerOptions,
  type Ledger,
  type LedgerOptions,
  openLedger,
} from '../src/index.js'
import { newFolder } from './folders.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where `newHandler` makes its handlers: in this process if nothing is said. */
    place: 'workerd' | undefined
  }
}

type MakeHandler = (options: Omit<HandlerOptions, 'ledger'>) => Promise<Handler>
let makeInWorkerd: MakeHandler
/** Set in the project `unit-workerd`, so that the others do without workerd. */
export const makeHandlersBy = (make: MakeHandler): void => {
  makeInWorkerd = make
}

/** Are the handlers in workerd? */
export const isInWorkerd = inject('place') === 'workerd'

/** A test whose functions or clock the handler calls in this process, or that asks its ledger. */
export const testHere = test.skipIf(isInWorkerd)

interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  body: any
}

export type Ask = (path: string, init?: RequestInit) => Promise<Answer>

export async function newHandler(
  given: Omit<HandlerOptions, 'ledger'> = {},
  ledgerOptions: LedgerOptions = { dataDir: newFolder() },
): Promise<{ ask: Ask; handler: Handler; ledger: Ledger }> {
  const options = { open: true, ...given }
  if (isInWorkerd) {
    const handler = await makeInWorkerd(options)
    return { handler, ask: asking(handler), ledger: undefined as never }
  }
  const ledger = await openLedger({ create: true, ...ledgerOptions })
  atFileEnd(() => ledger.close())
  const handler = createHiloHandler({ ledger, log: shownLog, ...options })
  return { ledger, handler, ask: asking(handler) }
}

const asking =
  (handler: Handler): Ask =>
  async (path, init) =>
    toAnswer(await handler(new Request(new URL(path, 'http://ids.test'), init)))

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text ? JSON.parse(text) : undefined,
  }
}

/** @param headers besides `Content-Type` */
export const json = (
  body: unknown,
  method = 'POST',
  headers: Record<string, string> = {},
): RequestInit & { headers: Record<string, string> } => ({
  method,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** What is no JSON, though it says so. */
export const claimedJson = (body: string, method = 'POST'): RequestInit => ({
  ...json({}, method),
  body,
})
