/**
 * Requests of RavenDB's wire, sent to a server one after the other, and its answers in a form that
 * two servers can be compared by: without ids, times and addresses, which differ each time.
 */
import { type Answered, Words } from './words.js'

/** Requests that stand on each other. Each exchange has a database of its own. */
export interface Exchange {
  title: string
  requests: readonly (string | Asked)[]
}

interface Asked {
  /**
   * `GET hilo/next?tag=orders`, of the database, or from the root with a `/`. What stands in braces
   * is filled in: see `Words`.
   */
  line: string
  headers?: Record<string, string>
  /** JSON, as an object or as text. */
  body?: object | string
}

export interface Target {
  database: string
  send(path: string, init: RequestInit): Promise<Response>
}

/** In the order of the requests, each with the request's text. */
export async function play(exchange: Exchange, target: Target): Promise<Map<string, Answered>> {
  const words = new Words(target.database)
  const answers = new Map<string, Answered>()
  for (const request of exchange.requests) {
    const asked = typeof request === 'string' ? { line: request } : request
    const response = await send(asked, target, words)
    answers.set(nameOf(asked, answers), await words.answered(response.path, response.answer))
  }
  return answers
}

async function send({ line, headers = {}, body }: Asked, target: Target, words: Words) {
  const [method, rest] = words.fill(line).split(/ (.*)/, 2) as [string, string]
  const path = rest.startsWith('/') ? rest : `/databases/${target.database}/${rest}`
  const answer = await target.send(path, {
    method,
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, words.fill(value)]),
      ),
    },
    ...(body !== undefined && {
      body: typeof body === 'string' ? body : words.fill(JSON.stringify(body)),
    }),
  })
  return { path, answer }
}

/** A request that comes again is numbered. */
function nameOf({ line, headers = {}, body }: Asked, earlier: Map<string, unknown>): string {
  const text = [
    line,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [typeof body === 'string' ? body : JSON.stringify(body)]),
  ].join(' · ')
  let name = text
  for (let i = 2; earlier.has(name); i++) name = `${text} (${i})`
  return name
}
