/**
 * RavenDB's HiLo as it really behaves: one `Max` per tag and node, no tokens, no memory of who was granted what, and its dangerous return.
 * Each node is a database of its own.
 */
import { capacity, formatServerTime, type NextAnswer, parseServerTime } from '../../src/core/wire.js'
import type { Checker } from './checker.js'
import type { Reply, Request } from './network.js'

export class RavenModel {
  readonly #node: string
  readonly #checker: Checker
  readonly #now: () => number
  readonly #max = new Map<string, number>()

  constructor(node: string, checker: Checker, now: () => number) {
    this.#node = node
    this.#checker = checker
    this.#now = now
  }

  async handle({ method, url, from }: Request): Promise<Reply> {
    const action = url.pathname.split('/').at(-1)
    const query = url.searchParams
    const tag = query.get('tag') ?? ''
    if (method === 'GET' && action === 'next') return { status: 201, body: JSON.stringify(this.#next(tag, query, from)) }
    if (method === 'PUT' && action === 'return') {
      this.#return(tag, Number(query.get('end')), Number(query.get('last')), from)
      return { status: 204, body: '' }
    }
    return { status: 404, body: '{}' }
  }

  #next(tag: string, query: URLSearchParams, from: string): NextAnswer {
    const lastRangeAt = parseServerTime(query.get('lastRangeAt') ?? '')
    const count = capacity(Number(query.get('lastBatchSize')), lastRangeAt === undefined ? undefined : this.#now() - lastRangeAt)
    const low = Math.max(this.#maxOf(tag), Number(query.get('lastMax') ?? 0)) + 1
    const high = low + count - 1
    this.#max.set(tag.toLowerCase(), high)
    this.#checker.granted(`${tag}-${this.#node}`, from, low, high)
    return {
      Prefix: `${tag}/`,
      Low: low,
      High: high,
      LastSize: count,
      ServerTag: this.#node,
      LastRangeAt: formatServerTime(this.#now()),
    }
  }

  /** Whoever names the right end may set the counter back, as often as he likes. */
  #return(tag: string, end: number, last: number, from: string): void {
    if (this.#maxOf(tag) !== end || last > end) return
    this.#max.set(tag.toLowerCase(), last)
    if (last < end) this.#checker.returned(`${tag}-${this.#node}`, from, last + 1, end)
  }

  #maxOf(tag: string): number {
    return this.#max.get(tag.toLowerCase()) ?? 0
  }
}
