/**
 * Reads the queries of `hilo/next`, `hilo/return` and `identity/…`. Guarantees that what passes is
 * safe to count with, to store and to log.
 */
import { isSeparator } from '../../../src/core/names.js'
import { capacity, parseServerTime } from '../../../src/core/wire.js'
import { badParameter, badRequest, refused } from './refusals.js'

/** RavenDB keeps a counter in a document of this name. */
export const HILO_DOCUMENT = 'Raven/Hilo/'
const MAX_DOCUMENT_ID_BYTES = 512
export const DEFAULT_SEPARATOR = '/'
/** A `raft-request-id` is stored with its number. */
const MAX_REQUEST_ID_BYTES = 128
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i

export interface NextQuery {
  collection: string
  /** What stands before the number. */
  prefix: string
  count: number
  lastMax: number
  /** The claim's id. */
  id: string | undefined
}

/** `[last + 1, end]` comes back, under the grant's token or as RavenDB's clients return it. */
export interface ReturnedRange {
  collection: string
  end: number
  last: number
  token?: string | undefined
}

/**
 * @param now milliseconds since the epoch
 * @param maxCount a range that doubles by itself stops here; a larger request is refused
 */
export function readNextQuery(query: URLSearchParams, now: number, maxCount: number): NextQuery {
  const separator = query.get('identityPartsSeparator') || DEFAULT_SEPARATOR
  const tag = readTag(query.get('tag'), separator)
  const lastRange = parseServerTime(query.get('lastRangeAt') ?? '')
  const lastBatchSize = readNumber(query, 'lastBatchSize')
  if (lastRange === undefined) checkCount(lastBatchSize, maxCount)
  const claim = query.get('claim')
  return {
    collection: tag,
    prefix: tag + separator,
    count: Math.min(
      capacity(lastBatchSize, lastRange === undefined ? undefined : now - lastRange),
      maxCount,
    ),
    lastMax: readNumber(query, 'lastMax'),
    id: claim === null ? undefined : readId(claim, 'claim'),
  }
}

export function checkCount(count: number, maxCount: number): void {
  if (count > maxCount)
    throw refused(
      'limit',
      `This server grants at most ${maxCount} numbers at once, ${count} were asked for. Ask ` +
        'several times for fewer, or raise limits.count of the server.',
    )
}

export function readReturnQuery(query: URLSearchParams): ReturnedRange {
  const collection = readTag(query.get('tag'), DEFAULT_SEPARATOR)
  for (const name of ['end', 'last'])
    if (!query.get(name))
      throw badParameter(`Query string ${name} is mandatory, but wasn't specified.`)
  return {
    collection,
    end: readNumber(query, 'end'),
    last: readNumber(query, 'last'),
    token: query.get('lease') ?? undefined,
  }
}

export function readIdentityQuery(query: URLSearchParams): {
  name: string
  id: string | undefined
} {
  const text = query.get('name')
  if (!text || text === '|')
    throw badParameter("Query string name is mandatory, but wasn't specified.")
  const name = text.endsWith('|') ? text : `${text}|`
  const id = query.get('raft-request-id') || undefined
  if (!isPlain(name) || !isPlain(id ?? ''))
    throw badParameter(
      'name or raft-request-id has control characters or is no well-formed Unicode.',
    )
  if (Buffer.byteLength(name) > MAX_DOCUMENT_ID_BYTES)
    throw badParameter(`The name has more than ${MAX_DOCUMENT_ID_BYTES} bytes of UTF-8.`)
  if (Buffer.byteLength(id ?? '') > MAX_REQUEST_ID_BYTES)
    throw badParameter(`raft-request-id has more than ${MAX_REQUEST_ID_BYTES} bytes of UTF-8.`)
  return { name, id }
}

export function readSeedQuery(query: URLSearchParams): {
  name: string
  value: number
  isForced: boolean
} {
  const { name } = readIdentityQuery(query)
  if (!query.get('value'))
    throw badParameter("Query string value is mandatory, but wasn't specified.")
  const value = readNumber(query, 'value')
  if (value < 0) throw badParameter('An identity starts at 0 or above.')
  return { name, value, isForced: query.get('force')?.toLowerCase() === 'true' }
}

export function readTag(tag: unknown, separator: string): string {
  if (typeof tag !== 'string' || tag === '')
    throw badParameter("Query string tag is mandatory, but wasn't specified.")
  if (!isSeparator(separator))
    throw badParameter(
      "identityPartsSeparator is one character, and neither '|', which RavenDB keeps for " +
        'identities, nor a letter, a digit or a control character.',
    )
  if (!isPlain(tag))
    throw badParameter('The tag has control characters or is no well-formed Unicode.')
  if (tag.endsWith('|') || tag.endsWith(separator))
    throw badParameter(
      `The tag may not end in '|', nor in the separator '${separator}', which is added to it.`,
    )
  if (Buffer.byteLength(HILO_DOCUMENT + tag) > MAX_DOCUMENT_ID_BYTES)
    throw badParameter(
      `The tag has more than ${MAX_DOCUMENT_ID_BYTES - HILO_DOCUMENT.length} bytes of UTF-8.`,
    )
  return tag
}

export function readId(id: string, name: string): string {
  if (!UUID.test(id)) throw badRequest(`${name} is a UUID.`)
  return id.toLowerCase()
}

/** Absent is 0. */
function readNumber(query: URLSearchParams, name: string): number {
  const text = query.get(name)
  if (!text) return 0
  const number = Number(text)
  if (!/^-?\d{1,19}$/.test(text))
    throw badParameter(`Could not parse query string '${name}' as a whole number.`)
  if (!Number.isSafeInteger(number))
    throw badParameter(
      `Query string '${name}' is beyond 2^53-1, the highest number this server grants.`,
    )
  return number
}

/**
 * Has neither a lone surrogate, which UTF-8 cannot carry, nor a control character, which could make
 * a second line in a log.
 */
export const isPlain = (text: string): boolean =>
  Buffer.from(text).toString() === text && !/\p{Cc}/u.test(text)
