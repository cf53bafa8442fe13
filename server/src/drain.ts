/**
 * Ends an HTTP server without losing a request. First every answer ends its connection, so that a
 * proxy opens no new ones here once it has heard that the server is not ready. Then the server
 * stops listening. Then it waits for the requests that are under way.
 */
import type { Server } from 'node:http'
import { z } from 'zod'

const MAX_SECONDS = 600

export const drainSeconds = z
  .number('has to be a number of seconds')
  .min(0)
  .max(MAX_SECONDS, `has to be 0 to ${MAX_SECONDS} seconds`)

export interface Drain {
  /** True from the first call of `end` on. */
  readonly hasBegun: boolean
  /**
   * Resolves when the server is closed. Called again, it no longer waits for proxies.
   * @param seconds how long the server goes on listening
   */
  end(seconds: number): Promise<void>
}

/** Requests that are still under way then are cut off. Their claims can be sent again. */
const MAX_CLOSING_MS = 10_000
const STEP_MS = 20

export function drainOf(http: Server): Drain {
  let ended: Promise<void> | undefined
  let goOn = () => {}

  http.prependListener('request', (_, response) => {
    if (ended) response.setHeader('Connection', 'close')
  })

  async function run(seconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, seconds * 1000)
      goOn = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    await closed(http)
  }

  return {
    get hasBegun() {
      return ended !== undefined
    },
    end(seconds) {
      if (ended) goOn()
      ended ??= run(seconds)
      return ended
    },
  }
}

async function closed(http: Server): Promise<void> {
  // A connection that is kept alive is idle only between two requests, so look for idle ones often.
  const step = setInterval(() => http.closeIdleConnections(), STEP_MS)
  const last = setTimeout(() => http.closeAllConnections(), MAX_CLOSING_MS)
  await new Promise<void>((resolve) => http.close(() => resolve()))
  clearInterval(step)
  clearTimeout(last)
}
