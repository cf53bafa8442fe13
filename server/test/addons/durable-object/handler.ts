/**
 * A handler as `newHandler` makes one, but in Durable Objects of the real workerd, asked over a
 * socket. Handlers with the same options share a workerd, each with objects of its own.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { atFileEnd } from '../../../../test/support/file-end.js'
import type { Handler } from '../../../src/http/handler.js'
import type { HandlerOptions } from '../../../src/index.js'
import { LEDGER_HEADER } from './ledger-header.js'
import { startWorkerd } from './workerd.js'

/** By its options, where a workerd listens. */
const running = new Map<string, Promise<string>>()

/** @param options without what only this process could call; its log is left out */
export async function handlerInWorkerd({
  log: _,
  ...options
}: Omit<HandlerOptions, 'ledger'>): Promise<Handler> {
  const text = JSON.stringify(options, (name, value) => {
    if (typeof value === 'function') throw new Error(`workerd cannot call ${name}.`)
    return value
  })
  if (!running.has(text)) running.set(text, start(text))
  const url = await running.get(text)!
  const ledger = randomUUID()
  return (request) => send(request, url, ledger)
}

async function start(text: string): Promise<string> {
  const { url, kill } = await startWorkerd({ options: JSON.parse(text) })
  atFileEnd(async () => {
    running.delete(text)
    await kill()
  })
  return url
}

/** `fetch` would set headers of its own. */
async function send(request: Request, at: string, ledger: string): Promise<Response> {
  const { host, pathname, search } = new URL(request.url)
  const { hostname, port } = new URL(at)
  const body = Buffer.from(await request.arrayBuffer())
  const headers = {
    host,
    ...Object.fromEntries(request.headers),
    ...(body.length > 0 && { 'content-length': String(body.length) }),
    [LEDGER_HEADER]: ledger,
  }
  const { method } = request
  const sent = httpRequest({ hostname, port, method, path: pathname + search, headers })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const text = Buffer.concat(await answer.toArray())
  const { statusCode, headersDistinct } = answer
  const pairs = Object.entries(headersDistinct).flatMap(([name, values]) =>
    values!.map((value): [string, string] => [name, value]),
  )
  return new Response(text.length > 0 ? text : null, { status: statusCode!, headers: pairs })
}
