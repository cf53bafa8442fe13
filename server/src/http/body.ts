/**
 * Reads the body of a request, and writes every answer. Guarantees that a body which ends too early
 * is refused as the client's failure, that no cache keeps an answer, and that no browser guesses
 * its type. JSON goes out under RavenDB's content type.
 */
import type { Context } from 'hono'
import { badRequest } from './refusals.js'

/**
 * Resolves with the parsed JSON, or undefined if the body is not JSON.
 * @throws Refusal where the body has another type. A page of another site can send plain text
 * without asking first, but not `application/json`.
 */
export async function readJson(c: Context): Promise<unknown> {
  const type = c.req.header('Content-Type')
  // guard: H26 a body says that it is JSON
  if (!/^application\/json *(;|$)/i.test(type ?? ''))
    throw badRequest(
      `This body has to be JSON, sent with 'Content-Type: application/json'; it came ` +
        `${type === undefined ? 'without a type' : `as '${type}'`}. Nothing was done.`,
    )
  return parseJson(await readText(c))
}

/** @throws Refusal */
export async function readText(c: Context): Promise<string> {
  try {
    return await c.req.text()
  } catch {
    throw cutOff()
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const cutOff = () =>
  badRequest('The request ended before its body did. Nothing was done; send it again.')

// As a plain object, Node writes it as it is. `Headers` would be made and taken apart again.
const ALWAYS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
const ALWAYS_WITH_JSON = { ...ALWAYS, 'Content-Type': 'application/json; charset=utf-8' }

export const answer = (
  body: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...headers, ...ALWAYS_WITH_JSON } : ALWAYS_WITH_JSON,
  })

/** @param type as `Content-Type` */
export const answerText = (text: string, type: string): Response =>
  new Response(text, { headers: { ...ALWAYS, 'Content-Type': type } })

export const answerNothing = (status: 204 | 304 | 404): Response =>
  new Response(null, { status, headers: ALWAYS })
