/**
 * RavenDB's HiLo as it really behaves: one `Max` per tag and node, no tokens, no memory of who was
 * granted what, and its dangerous return. Each node is a database of its own.
 */
import { capacity, formatServerTime, type NextAnswer } from '../../src/core/wire.js'
import type { Checker } from './checker.js'
import type { Reply, Request } from './network.js'

/** What a RavenDB says of a request that it does not know. */
const NO_ROUTE = JSON.stringify({
  Type: 'Raven.Client.Exceptions.Routing.RouteNotFoundException',
  Message: 'There is no handler for path.',
})

/** Hears what was granted, and what came back. */
type Witness = Pick<Checker, 'granted' | 'excuse' | 'returned' | 'returnedAstray'>

export class RavenModel {
  readonly #node: string
  readonly #checker: Witness
  readonly #now: () => number
  readonly #max = new Map<string, number>()
  /** Our client names its claims; RavenDB does not read that, and grants anew each time. */
  readonly #answered: (claim: string, series: string, low: number, high: number) => void

  constructor(
    node: string,
    checker: Witness,
    now: () => number,
    answered: (claim: string, series: string, low: number, high: number) => void = () => {},
  ) {
    this.#node = node
    this.#checker = checker
    this.#now = now
    this.#answered = answered
  }

  async handle({ method, url, from, answeredBy }: Request): Promise<Reply> {
    const action = url.pathname.split('/').at(-1)
    const query = url.searchParams
    const tag = query.get('tag') ?? ''
    if (method === 'GET' && action === 'next')
      return { status: 201, body: JSON.stringify(this.#next(tag, query, from)) }
    if (method === 'PUT' && action === 'return') {
      this.#return(tag, Number(query.get('end')), Number(query.get('last')), from, answeredBy)
      return { status: 204, body: '' }
    }
    return { status: 400, body: NO_ROUTE }
  }

  #next(tag: string, query: URLSearchParams, from: string): NextAnswer {
    // Our client sends no `lastRangeAt`.
    const count = capacity(Number(query.get('lastBatchSize')), undefined)
    const low = Math.max(this.#maxOf(tag), Number(query.get('lastMax') ?? 0)) + 1
    const high = low + count - 1
    this.#max.set(tag.toLowerCase(), high)
    const series = this.#seriesOf(tag)
    this.#checker.granted(series, from, low, high)
    const claim = query.get('claim')
    if (claim) this.#answered(claim, series, low, high)
    return {
      Prefix: `${tag}/`,
      Low: low,
      High: high,
      LastSize: count,
      ServerTag: this.#node,
      LastRangeAt: formatServerTime(this.#now()),
    }
  }

  /** Any client that names the right end can set the counter back, as often as it likes. */
  #return(
    tag: string,
    end: number,
    last: number,
    from: string,
    answeredBy: string | undefined,
  ): void {
    if (this.#maxOf(tag) !== end || last > end) {
      this.#checker.excuse(
        this.#seriesOf(tag),
        last + 1,
        end,
        'given back to a server without tokens, which did not take it',
      )
      return
    }
    this.#max.set(tag.toLowerCase(), last)
    if (last === end) return
    // Otherwise the device could not know that its requests reach another node by now.
    if (answeredBy === this.#node) this.#checker.returned(this.#seriesOf(tag), from, last + 1, end)
    else this.#checker.returnedAstray(this.#seriesOf(tag), last + 1, end)
  }

  /** Tags that differ in capitals are one tag. */
  #seriesOf(tag: string): string {
    return `${tag.toLowerCase()}-${this.#node}`
  }

  #maxOf(tag: string): number {
    return this.#max.get(tag.toLowerCase()) ?? 0
  }
}
