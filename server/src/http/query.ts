/**
 * Reads the queries of `hilo/next`, `hilo/return` and `identity/…`. Guarantees that its results are
 * safe to count with, to store and to log.
 */
import { Buffer } from 'node:buffer'
import { isSeparator } from '../../../src/core/names.js'
import { capacity } from '../../../src/core/wire.js'
import { readLastRangeAt } from './last-range-at.js'
import type { Parameters } from './parameters.js'
import { badParameter, badRequest, Refusal, tooMany } from './refusals.js'

/** RavenDB keeps a counter in a document of this name. */
export const HILO_DOCUMENT = 'Raven/Hilo/'
const MAX_DOCUMENT_ID_BYTES = 512
export const DEFAULT_SEPARATOR = '/'
/** A `raft-request-id` is stored with its number. */
const MAX_REQUEST_ID_BYTES = 128
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** What a claim of one collection asks for. */
export interface WantedRange {
  collection: string
  /** What stands before the number. */
  prefix: string
  count: number
  lastMax: number
}

/** As the query of `GET hilo/next` or the body of `POST hilo/next` says it. */
interface Wish {
  tag: string
  separator: string | undefined
  /** RavenDB's own clients send it; ours does not. */
  lastRangeAt?: string | undefined
  /** Read after the name, which RavenDB judges first. */
  count(): number
  lastMax(): number
}

export interface NextQuery extends WantedRange {
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
export function readNextQuery(query: Parameters, now: number, maxCount: number): NextQuery {
  const { collection, prefix, count, lastMax } = readWish(
    {
      tag: query.single('tag'),
      separator: query.optional('identityPartsSeparator'),
      lastRangeAt: query.optional('lastRangeAt'),
      count: () => query.number('lastBatchSize'),
      lastMax: () => query.number('lastMax'),
    },
    now,
    maxCount,
  )
  const claim = query.all('claim')[0]
  return {
    collection,
    prefix,
    count,
    lastMax,
    id: claim === undefined ? undefined : readId(claim, 'claim'),
  }
}

/**
 * Reads what a claim asks of one collection, however the request says it.
 * @throws Refusal
 */
export function readWish(wish: Wish, now: number, maxCount: number): WantedRange {
  const { tag, lastRangeAt = '' } = wish
  const separator = readSeparator(wish.separator ?? DEFAULT_SEPARATOR)
  checkTag(tag, separator)
  const lastRange = readLastRangeAt(lastRangeAt)
  const asked = wish.count()
  if (lastRange === undefined) checkCount(asked, maxCount)
  const size = capacity(asked, lastRange === undefined ? undefined : now - lastRange)
  return {
    collection: tag,
    prefix: tag + separator,
    count: Math.min(size, maxCount),
    lastMax: wish.lastMax(),
  }
}

function checkCount(count: number, maxCount: number): void {
  if (count > maxCount)
    throw tooMany(
      'limit',
      `This server grants at most ${maxCount} numbers at once, ${count} were asked for. Ask ` +
        'several times for fewer, or raise limits.count of the server.',
    )
}

export function readReturnQuery(query: Parameters): ReturnedRange {
  const collection = query.single('tag')
  for (const name of ['end', 'last']) query.mandatory(name)
  checkTag(collection, DEFAULT_SEPARATOR)
  return {
    collection,
    end: query.number('end'),
    last: query.number('last'),
    token: query.all('token')[0],
  }
}

export function readIdentityQuery(query: Parameters): {
  name: string
  id: string | undefined
} {
  const text = query.single('name')
  if (text === '|') throw badParameter("The name of an identity is more than its '|'.")
  const name = text.endsWith('|') ? text : `${text}|`
  const id = query.optional('raft-request-id')
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

export function readSeedQuery(query: Parameters): {
  name: string
  value: number
  isForced: boolean
} {
  const { name } = readIdentityQuery(query)
  query.mandatory('value')
  const value = query.number('value')
  if (value < 0) throw badParameter('An identity starts at 0 or above.')
  return { name, value, isForced: query.flag('force', 'bool, val') }
}

/** @throws Refusal if ids with this separator could be read in two ways */
function readSeparator(separator: string): string {
  if (separator.length !== 1)
    throw new Refusal(
      'bad-request',
      500,
      'System.InvalidOperationException',
      `Query string identityPartsSeparator is expecting single character, but got '${separator}'.`,
    )
  if (!isSeparator(separator))
    throw badParameter(
      "identityPartsSeparator is one character, and neither '|', which RavenDB keeps for " +
        'identities, nor a letter, a digit or an invisible character.',
    )
  return separator
}

/** @throws Refusal if RavenDB cannot name a document by this tag, or its ids could be misread */
export function checkTag(tag: string, separator: string): void {
  if (!isPlain(tag))
    throw badParameter('The tag has control characters or is no well-formed Unicode.')
  checkDocumentId(HILO_DOCUMENT + tag)
  if (tag.endsWith(separator))
    throw badParameter(`The tag may not end in the separator '${separator}', which is added to it.`)
}

function checkDocumentId(id: string): void {
  const bytes = Buffer.byteLength(id)
  if (bytes > MAX_DOCUMENT_ID_BYTES)
    throw badParameter(
      `Document ID cannot exceed ${MAX_DOCUMENT_ID_BYTES} bytes, but the ID was ${bytes} bytes. ` +
        `The invalid ID is '${id}'. (Parameter 'str')`,
    )
  if (id.endsWith('|'))
    throw new Refusal(
      'bad-request',
      500,
      'System.NotSupportedException',
      `Document ids cannot end with '|', but was called with ${id}. Identities are only ` +
        'generated for external requests, not calls to PutDocument and such.',
    )
}

export function readId(id: string, name: string): string {
  if (!UUID.test(id)) throw badRequest(`${name} has to be a UUID.`)
  return id.toLowerCase()
}

/**
 * Has neither a lone surrogate, which UTF-8 cannot carry, nor a control character, which could make
 * a second line in a log.
 */
export const isPlain = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text)
