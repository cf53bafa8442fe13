/**
 * Lets in who sends one of the tokens as `Authorization: Bearer …`. Comparing takes the same time
 * wherever a wrong token differs.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { forbidden } from './refusals.js'

const bearerOf = (headers: Headers): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.get('Authorization') ?? '')?.[1]

/**
 * @param tokens a function is asked at every request, so that tokens can change while the server
 * runs
 */
export function bearerGuard(
  tokens: readonly string[] | (() => readonly string[]),
): MiddlewareHandler {
  return async (c, next) => {
    const sent = bearerOf(c.req.raw.headers)
    const valid = typeof tokens === 'function' ? tokens() : tokens
    if (!sent || !isOneOf(sent, valid))
      throw forbidden(
        "Forbidden: this server asks for 'Authorization: Bearer <token>', with one of the " +
          'tokens from its configuration.',
      )
    await next()
  }
}

function isOneOf(sent: string, valid: readonly string[]): boolean {
  const digest = sha256(sent)
  let found = false
  // Every token is compared, so that the time does not tell which one matched.
  for (const token of valid) found = timingSafeEqual(digest, sha256(token)) || found
  return found
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()
