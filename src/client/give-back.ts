/**
 * Sends what a page gives back to the server, when there may be no time for an answer. A page loads
 * this file once it has its first ids; until then nothing is offered to it.
 */
import type { OwnerConfig, Target } from '../core/contract.js'
import type { Range } from '../core/range.js'
import { returnRequest } from '../core/requests.js'

export type GiveBack = typeof giveBack

/**
 * Highest range first: the server's counter can only step back from its end. Each is sent once
 * (H8), before this returns; its promise resolves when the answers are here, if the page still is.
 */
export async function giveBack(
  { url: server, credentials = 'same-origin' }: OwnerConfig,
  headers: Record<string, string>,
  target: Target,
  ranges: readonly Range[],
): Promise<void> {
  const authorization = new Headers(headers).get('Authorization') ?? undefined
  const sent = [...ranges]
    .sort((a, b) => b.from - a.from)
    .map((range) => {
      const { method, url, body } = returnRequest(server, target, range)
      return fetch(url, {
        method,
        keepalive: true,
        credentials,
        // There is no time for a preflight, which plain text without headers does not need. Our
        // server reads in the body, too, who asks.
        ...(body && { body: JSON.stringify({ ...body, authorization }) }),
        ...((!body || isOwnOrigin(url)) && { headers }),
      })
    })
  await Promise.allSettled(sent)
}

const isOwnOrigin = (url: string): boolean =>
  typeof location !== 'undefined' && new URL(url, location.href).origin === location.origin
