/**
 * Holds a client to so many requests per second. Counted in this process only: several servers
 * allow as many times more.
 */
import type { MiddlewareHandler } from 'hono'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { tooMany } from './refusals.js'

/** Counted over so long, so that a page which starts may ask for all its collections at once. */
const WINDOW_SECONDS = 10

export function rateLimit(
  requestsPerSecond: number,
  clientOf: (request: Request) => string,
): MiddlewareHandler {
  const limiter = new RateLimiterMemory({
    points: requestsPerSecond * WINDOW_SECONDS,
    duration: WINDOW_SECONDS,
  })
  return async (c, next) => {
    const client = clientOf(c.env.request)
    try {
      await limiter.consume(client)
    } catch (error) {
      throw tooMany(requestsPerSecond, Math.ceil((error as RateLimiterRes).msBeforeNext / 1000))
    }
    await next()
  }
}

const NETWORK_GROUPS = 4

/**
 * Whose an address is: itself, or in IPv6 its /64, since everybody there has 2^64 addresses to
 * choose from.
 */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? []
  if (mapped || !address.includes(':')) return mapped ?? address
  const [head, tail] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = tail ? Array(8 - head!.length - tail.length).fill('0') : []
  return [...head!, ...zeros, ...(tail ?? [])].slice(0, NETWORK_GROUPS).join(':')
}
