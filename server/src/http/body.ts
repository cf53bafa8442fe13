/**
 * Reads a request's body. Guarantees that a body which ends too early is refused as the client's
 * failure, and not logged as the server's.
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
