/**
 * Limits the requests per second of each client. Each server counts for itself: two servers allow
 * twice as many.
 */
import type { MiddlewareHandler } from 'hono'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { tooMany } from './refusals.js'

/** Counted over ten seconds: a page that starts asks for all its collections at once. */
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
 * The part of an address that names a client: all of it in IPv4, and the /64 network in IPv6, where
 * one client can choose from 2^64 addresses.
 */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? []
  if (mapped || !address.includes(':')) return mapped ?? address
  const [head, tail] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = tail ? Array(8 - head!.length - tail.length).fill('0') : []
  return [...head!, ...zeros, ...(tail ?? [])].slice(0, NETWORK_GROUPS).join(':')
}
