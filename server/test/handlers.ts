/** A handler on a new ledger, asked without a socket. */
import { atFileEnd } from '../../test/support/file-end.js'
import {
  createHiloHandler,
  type HandlerOptions,
  type Ledger,
  type LedgerOptions,
  openLedger,
} from '../src/index.js'
import { newFolder } from './folders.js'

interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  body: any
}

export type Ask = (path: string, init?: RequestInit) => Promise<Answer>

export async function newHandler(
  options: Omit<HandlerOptions, 'ledger'> = {},
  ledgerOptions: LedgerOptions = { dataDir: newFolder() },
): Promise<{ ask: Ask; handler: (request: Request) => Promise<Response>; ledger: Ledger }> {
  const ledger = await openLedger({ create: true, ...ledgerOptions })
  atFileEnd(() => ledger.close())
  const handler = createHiloHandler({ ledger, ...options })
  return {
    ledger,
    handler,
    ask: async (path, init) =>
      toAnswer(await handler(new Request(new URL(path, 'http://ids.test'), init))),
  }
}

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
