/**
 * The addresses of the HiLo wire, for the source and for the request a page sends at its exit. Every value is
 * encoded.
 */
import type { Target } from './contract.js'
import type { Range } from './range.js'
import type { ClaimRequest } from './state.js'

export function nextUrl(url: string, target: Target, claim: ClaimRequest): string {
  return hiloUrl(url, target, 'next', {
    tag: target.collection,
    lastBatchSize: claim.lastBatchSize,
    lastRangeAt: claim.lastRangeAt,
    identityPartsSeparator: target.separator,
    lastMax: claim.lastMax,
    claim: claim.id,
  })
}

/** Gives back all of `range`: what the server may grant again starts at `range.from`. */
export function returnUrl(url: string, target: Target, range: Range): string {
  return hiloUrl(url, target, 'return', {
    tag: target.collection,
    end: range.to,
    last: range.from - 1,
    lease: range.token,
  })
}

/** RavenDB answers a repeated `raft-request-id` with the same number. */
export const identityUrl = (url: string, database: string, name: string, key: string): string =>
  `${databaseUrl(url, database)}/identity/next?name=${encodeURIComponent(`${name}|`)}&raft-request-id=${encodeURIComponent(key)}`

export const checkInUrl = (url: string, database: string): string =>
  `${databaseUrl(url, database)}/hilo/checkin`

function hiloUrl(
  url: string,
  { database }: Target,
  action: string,
  query: Record<string, string | number | undefined>,
): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : `${key}=${encodeURIComponent(value)}`,
  )
  return `${databaseUrl(url, database)}/hilo/${action}?${pairs.join('&')}`
}

const databaseUrl = (url: string, database: string): string =>
  `${url}/databases/${encodeURIComponent(database)}`
