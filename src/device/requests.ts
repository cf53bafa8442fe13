/**
 * The addresses of the HiLo protocol, for the source and for the request that a page sends when it
 * closes. Every value is encoded.
 */
import type { Range } from '../core/range.js'
import type { NextManyRequest, ReturnManyRequest, ReturnRequest } from '../core/wire.js'
import type { Target } from './contract.js'
import type { Mark } from './mark.js'
import type { DeviceClaim } from './state.js'

/**
 * The claim of our server: of one collection, or of several of one database, which all have one id.
 * The id and the tokens are in the body, because proxies log addresses: a reader of such a log
 * could get the token by the claim's id.
 */
export function nextCall(
  url: string,
  wanted: readonly WantedRange[],
  device: string | undefined,
): NextCall {
  const { target, claim } = wanted[0]!
  return {
    url: `${databaseUrl(url, target.database)}/hilo/next`,
    body: { claim: claim.id, device, collections: wanted.map(collectionOf) },
  }
}

export interface WantedRange {
  target: Target
  claim: DeviceClaim
}

function collectionOf({ target, claim }: WantedRange): NextManyRequest['collections'][number] {
  const { lastBatchSize: count, lastMax, shown: grants, ledgers } = claim
  return {
    tag: target.collection,
    count,
    lastMax,
    identityPartsSeparator: target.separator,
    ...(grants && { grants }),
    ...(ledgers && { ledgers }),
  }
}

interface NextCall {
  url: string
  body: NextManyRequest
}

/**
 * The claim of a RavenDB.
 * @param id a RavenDB ignores it: it keeps a cache from taking two claims for one. RavenDB's own
 * clients send none
 */
export function nextUrl(
  url: string,
  target: Target,
  { tag, count }: Mark,
  lastMax: number,
  id?: string,
): string {
  return hiloUrl(url, target, 'next', {
    tag,
    // Without `lastRangeAt`, a RavenDB grants exactly as many.
    lastBatchSize: count,
    identityPartsSeparator: target.separator,
    lastMax,
    claim: id,
  })
}

/**
 * Gives back all of `range`: the server may grant again from `range.from`. A range with a grant
 * token goes back to our server, as JSON in the body; one without to a RavenDB, in the query.
 */
export function returnRequest(url: string, target: Target, range: Range): ReturnCall {
  const { token } = range
  const returned = returnedRange(target, range)
  return token === undefined
    ? { method: 'PUT', url: hiloUrl(url, target, 'return', returned) }
    : { method: 'POST', url: returnUrl(url, target.database), body: { ...returned, token } }
}

/** The same of several ranges of one database, which all have grant tokens. */
export const returnManyRequest = (pieces: readonly ReturnedPiece[]): ReturnManyRequest => ({
  returns: pieces.map(({ target, range }) => ({
    ...returnedRange(target, range),
    token: range.token!,
  })),
})

/** A range that goes back, of its collection. */
export interface ReturnedPiece {
  target: Target
  range: Range
}

export const returnUrl = (url: string, database: string): string =>
  `${databaseUrl(url, database)}/hilo/return`

const returnedRange = ({ collection: tag }: Target, { from, to: end }: Range) => ({
  tag,
  end,
  last: from - 1,
})

/**
 * A return of no numbers, which every server ignores. RavenDB's own client sends it when it closes
 * before it got a range.
 */
export const emptyReturnUrl = (url: string, target: Target): string =>
  hiloUrl(url, target, 'return', { tag: target.collection, end: 0, last: 1 })

interface ReturnCall {
  method: 'PUT' | 'POST'
  url: string
  body?: ReturnRequest
}

/**
 * RavenDB answers a repeated `raft-request-id` with the same number. It passes over `claim`, which
 * our own server's answer has.
 */
export const identityUrl = (url: string, database: string, name: string, key: string): string =>
  `${databaseUrl(url, database)}/identity/next?` +
  queryOf({ name: `${name}|`, 'raft-request-id': key, claim: key })

export const checkInUrl = (url: string, database: string): string =>
  `${databaseUrl(url, database)}/hilo/checkin`

const hiloUrl = (url: string, { database }: Target, action: string, query: Query): string =>
  `${databaseUrl(url, database)}/hilo/${action}?${queryOf(query)}`

type Query = Record<string, string | number | undefined>

const queryOf = (query: Query): string =>
  Object.entries(query)
    .flatMap(([key, value]) => (value === undefined ? [] : `${key}=${encodeURIComponent(value)}`))
    .join('&')

const databaseUrl = (url: string, database: string): string =>
  `${url}/databases/${encodeURIComponent(database)}`
