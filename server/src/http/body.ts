/**
 * Reads a request's body. Guarantees that one which ends too early is refused as the client's
 * failure, and not logged as the server's.
 */
import type { Context } from 'hono'
import { badRequest } from './refusals.js'

/** Resolves with what the JSON says, or undefined where the body is no JSON. */
export const readJson = async (c: Context): Promise<unknown> => parseJson(await readText(c))

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
