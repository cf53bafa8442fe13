/**
 * What stands between a device and its server: the sign-in page of a hotel, a proxy whose server is
 * down, a cache that answers again what it answered before, a limit on the size of claims.
 */
import { TOO_MANY } from '../../src/core/wire.js'
import type { Reply, Request } from './network.js'
import type { Random } from './random.js'
import type { SharedCache } from './shared-cache.js'

/** Probabilities per request. */
export interface GatewayFaults {
  /** The portal answers 200 with a page in HTML, and the server hears nothing. */
  portal: number
  /** The portal answers only writes. What was read before comes from a cache. */
  isForWrites: boolean
  /** The server hears the request, and a page in HTML replaces its answer. */
  replaced: number
  /** The proxy answers by itself. */
  proxy: number
  /** What the proxy answers: a broken proxy gives the same answer again and again. */
  status: (typeof STATUSES)[number]
  /** A request that was answered before gets the same answer, and the server hears nothing. */
  cached: number
}

/** A proxy, an ingress or a portal says these without a HiLo server: they refuse nothing. */
export const STATUSES = [401, 403, 404, 407, 410, 502, 503, 504] as const

export const NO_GATEWAY: GatewayFaults = {
  portal: 0,
  isForWrites: false,
  replaced: 0,
  proxy: 0,
  status: 502,
  cached: 0,
}

const TOO_MANY_BODY = JSON.stringify({ Type: TOO_MANY, Message: 'Nobody may claim so many.' })

const SIGN_IN: Reply = {
  status: 200,
  headers: { 'Content-Type': 'text/html' },
  body: '<!doctype html><title>Sign in</title>',
}

export class Gateway {
  faults: GatewayFaults = { ...NO_GATEWAY }
  /** A cache that ignores the query of addresses, while there is one. */
  cache: SharedCache | undefined
  readonly #random: Random
  readonly #hit: (fault: string) => void
  /** Called with each claim that it refuses for good: its device forgets that claim. */
  readonly #refused: (claim: string) => void
  /** The gateway refuses claims for more numbers than this. */
  readonly #largest: number | undefined
  /** By address: the answer to a claim. */
  readonly #answers = new Map<string, Reply>()

  constructor(
    random: Random,
    largest: number | undefined,
    hit: (fault: string) => void,
    refused: (claim: string) => void = () => {},
  ) {
    this.#random = random
    this.#largest = largest
    this.#hit = hit
    this.#refused = refused
  }

  /** The answer of the gateway itself. Undefined: the request reaches the server. */
  answer(request: Request): Reply | undefined {
    const { portal, isForWrites, proxy, status, cached } = this.faults
    if (this.#random.chance(portal) && !(isForWrites && request.method === 'GET')) {
      this.#hit('answered with HTML')
      return SIGN_IN
    }
    if (this.#random.chance(proxy)) {
      this.#hit(`answered ${status}`)
      return { status, headers: { 'Content-Type': 'text/html' }, body: '<h1>Sorry</h1>' }
    }
    const before = isClaim(request) && this.#answers.get(request.url.href)
    if (before && this.#random.chance(cached)) {
      this.#hit('answer came again')
      return before
    }
    const kept = this.cache?.answer(request)
    if (kept) {
      this.#hit(kept.isOfAnother ? 'answer to another request' : 'own answer out of a shared cache')
      return kept
    }
    if (this.#largest !== undefined && sizeOf(request) > this.#largest) {
      this.#hit('refused for its size')
      this.#refused(claimOf(request))
      return { status: 422, body: TOO_MANY_BODY }
    }
    return undefined
  }

  /** @returns what the device gets when the server has answered */
  pass(request: Request, reply: Reply): Reply {
    if (this.#random.chance(this.faults.replaced)) {
      this.#hit('answer replaced by HTML')
      return SIGN_IN
    }
    this.cache?.keep(request, reply)
    if (isClaim(request) && reply.status < 300) this.#answers.set(request.url.href, reply)
    return reply
  }
}

const isClaim = ({ method, url }: Request): boolean =>
  method === 'GET' && url.pathname.endsWith('/next')

const claimOf = ({ url, body }: Request): string =>
  url.searchParams.get('claim') ?? (body === undefined ? '' : JSON.parse(body).claim)

function sizeOf({ url, body }: Request): number {
  if (!url.pathname.endsWith('/next')) return 0
  const { collections } = body === undefined ? { collections: [] } : JSON.parse(body)
  return Number(url.searchParams.get('lastBatchSize') ?? collections[0]?.count ?? 0)
}
