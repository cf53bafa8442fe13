/**
 * Gives a page's numbers back to the server, when there may be no time for an answer. A page loads
 * this file once it has its first ids; until then nothing is offered to it.
 */
import { MOST_TOKENS, type ReturnManyRequest, type ReturnRequest } from '../core/wire.js'
import type { OwnerConfig } from '../device/contract.js'
import {
  type ReturnedPiece,
  returnManyRequest,
  returnRequest,
  returnUrl,
} from '../device/requests.js'

export type GiveBack = typeof giveBack

interface Sent {
  method: 'PUT' | 'POST'
  url: string
  body?: ReturnRequest | ReturnManyRequest
}

/**
 * A browser refuses a request that outlives its page once 64 kB of such are under way, perhaps with
 * their headers. The page itself may live on: it is only hidden, say.
 */
const MOST_KEPT_ALIVE = 60_000

/**
 * Highest range first: the server's counter can only step back from its end. Each is sent once
 * (H8), before this returns; its promise resolves when the answers are here, if the page still is.
 */
export async function giveBack(
  { url: server, credentials = 'same-origin' }: OwnerConfig,
  headers: Record<string, string>,
  pieces: readonly ReturnedPiece[],
): Promise<void> {
  const authorization = new Headers(headers).get('Authorization') ?? undefined
  let length = 0
  const sent = requestsOf(server, pieces).map(({ method, url, body }) => {
    const text = body && JSON.stringify({ ...body, authorization })
    length += new Blob([text ?? '']).size
    return fetch(url, {
      method,
      keepalive: length <= MOST_KEPT_ALIVE,
      credentials,
      // There is no time for a preflight, which plain text without headers does not need. Our
      // server also finds the token in the body.
      ...(text && { body: text }),
      ...((!text || isOwnOrigin(url)) && { headers }),
    })
  })
  await Promise.allSettled(sent)
}

/** Those with tokens of one database go together, as many as the server takes at once. */
function requestsOf(server: string, pieces: readonly ReturnedPiece[]): Sent[] {
  const groups: ReturnedPiece[][] = []
  const open = new Map<string, ReturnedPiece[]>()
  for (const piece of [...pieces].sort((a, b) => b.range.from - a.range.from)) {
    const { target, range } = piece
    const group = range.token === undefined ? undefined : open.get(target.database)
    if (group && group.length < MOST_TOKENS) group.push(piece)
    else {
      const created = [piece]
      groups.push(created)
      if (range.token !== undefined) open.set(target.database, created)
    }
  }
  return groups.map((group) => {
    const [{ target, range }] = group as [ReturnedPiece]
    if (group.length === 1) return returnRequest(server, target, range)
    const url = returnUrl(server, target.database)
    return { method: 'POST', url, body: returnManyRequest(group) }
  })
}

const isOwnOrigin = (url: string): boolean =>
  typeof location !== 'undefined' && new URL(url, location.href).origin === location.origin
