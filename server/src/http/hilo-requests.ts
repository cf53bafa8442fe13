/**
 * Reads the requests of `hilo/next`, `hilo/return` and `hilo/checkin`, by query or by body.
 * Guarantees that its results are safe to count with, to store and to log.
 */
import { z } from 'zod'
import {
  type CheckInRequest,
  capacity,
  LIMITS,
  type NextManyRequest,
  type ReturnManyRequest,
  type ReturnRequest,
} from '../../../src/core/wire.js'
import type { LedgerNames, ShownGrant } from '../ledger/ledger.js'
import {
  checkTag,
  DEFAULT_SEPARATOR,
  type Parameters,
  readId,
  readLastRangeAt,
  readSeparator,
  text,
} from './messages.js'
import { badRequest, tooMany } from './refusals.js'

/** The range that a claim of one collection asks for. */
interface WantedRange {
  collection: string
  /** The text before the number. */
  prefix: string
  count: number
  lastMax: number
}

/** As the query of `GET hilo/next` or the body of `POST hilo/next` says it. */
interface Wish {
  tag: string
  separator: string | undefined
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
  const lastRangeAt = query.optional('lastRangeAt') ?? ''
  const { collection, prefix, count, lastMax } = readWish({
    tag: query.single('tag'),
    separator: query.optional('identityPartsSeparator'),
    count: () => capacityFor(query.number('lastBatchSize'), lastRangeAt, now, maxCount),
    lastMax: () => query.number('lastMax'),
  })
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
 * Reads a claim of one collection, in both forms of a request.
 * @throws Refusal
 */
function readWish(wish: Wish): WantedRange {
  const { tag } = wish
  const separator = readSeparator(wish.separator ?? DEFAULT_SEPARATOR)
  checkTag(tag, separator)
  return { collection: tag, prefix: tag + separator, count: wish.count(), lastMax: wish.lastMax() }
}

/** How many numbers one of RavenDB's clients is granted. */
function capacityFor(asked: number, lastRangeAt: string, now: number, maxCount: number): number {
  const lastRange = readLastRangeAt(lastRangeAt)
  if (lastRange === undefined) checkCount(asked, maxCount)
  return Math.min(capacity(asked, lastRange === undefined ? undefined : now - lastRange), maxCount)
}

function checkCount(count: number, maxCount: number): number {
  if (count > maxCount)
    throw tooMany(
      'limit',
      `This server grants at most ${maxCount} numbers at once, ${count} were asked for. Ask ` +
        'several times for fewer, or raise limits.count of the server.',
    )
  return count
}

export function readReturnQuery(query: Parameters): ReturnedRange[] {
  const collection = query.single('tag')
  for (const name of ['end', 'last']) query.mandatory(name)
  checkTag(collection, DEFAULT_SEPARATOR)
  const [token] = query.all('token')
  return [{ collection, end: query.number('end'), last: query.number('last'), token }]
}

interface RangeWithTokens extends WantedRange {
  shown: readonly ShownGrant[]
  ledgers: LedgerNames | undefined
}

const tag = z.string().regex(/\S/)

const grants = z.array(z.object({ token: z.string(), next: z.int().min(0) }))

/** A device knows few nodes. */
export const ledgers = z.record(z.string().max(4), text(LIMITS.nameBytes))

const claimBody = z.object({
  claim: z.string(),
  device: text(LIMITS.nameBytes).optional(),
  collections: z
    .array(
      z.object({
        tag,
        count: z.int().min(1),
        lastMax: z.int().min(0).default(0),
        identityPartsSeparator: z.string().default(DEFAULT_SEPARATOR),
        grants: grants.default([]),
        ledgers: ledgers.optional(),
      }),
    )
    .min(1),
}) satisfies z.ZodType<NextManyRequest>

/** A text that stands for a header has to be one. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const returned = z.object({ tag, end: z.int(), last: z.int(), token: z.string() })

const authorization = z.string().regex(HEADER_VALUE).optional()

const returnBody = returned.extend({ authorization }) satisfies z.ZodType<ReturnRequest>

const returnManyBody = z.object({
  returns: z.array(returned).min(1).max(LIMITS.tokens),
  authorization,
}) satisfies z.ZodType<ReturnManyRequest>

const checkInBody = z.object({
  id: z.string(),
  grants,
  spent: z.array(z.string()).default([]),
  ledgers: ledgers.optional(),
}) satisfies z.ZodType<CheckInRequest>

/**
 * @param maxCount numbers of one claim
 * @throws Refusal
 */
export function readClaimBody(
  body: unknown,
  maxCount: number,
): { id: string; device: string | undefined; ranges: RangeWithTokens[] } {
  const { data } = claimBody.safeParse(body)
  const shown = data?.collections.reduce((sum, { grants }) => sum + grants.length, 0) ?? 0
  if (!data || data.collections.length > LIMITS.claims || shown > LIMITS.tokens)
    throw badRequest(
      'A claim is JSON {"claim": "<uuid>", "collections": [{"tag": "orders", "count": 32}, ' +
        `…]}, with 1 to ${LIMITS.claims} collections, and at most ${LIMITS.tokens} grants.`,
    )
  const id = readId(data.claim, 'claim')
  const ranges = data.collections.map((wanted): RangeWithTokens => {
    const { tag, count, lastMax, identityPartsSeparator: separator } = wanted
    const size = () => checkCount(count, maxCount)
    const wish = { tag, separator, count: size, lastMax: () => lastMax }
    return { ...readWish(wish), shown: wanted.grants, ledgers: wanted.ledgers }
  })
  refuseRepeated(ranges.map(({ collection }) => collection))
  return { id, device: data.device, ranges }
}

/**
 * All ranges of a request have one claim id. A claim that comes again with its id is answered with
 * the same range, so a collection that is named twice would get one range twice.
 */
function refuseRepeated(collections: readonly string[]): void {
  const names = collections.map((each) => each.toLowerCase())
  const repeated = collections.find((_, i) => names.indexOf(names[i]!) < i)
  // guard: H11 a claim names each collection once
  if (repeated !== undefined)
    throw badRequest(
      `A claim names each collection once, but '${repeated}' comes twice. Upper and lower case ` +
        'do not matter. Nothing was granted.',
    )
}

/** Stands for the header, which a page that closes cannot send to another origin. */
export const authorizationIn = (body: unknown): string | undefined =>
  z.object({ authorization }).safeParse(body).data?.authorization

/** @throws Refusal */
export function readReturnBody(body: unknown): ReturnedRange[] {
  const many = returnManyBody.safeParse(body).data
  const one = returnBody.safeParse(body).data
  const returns = many?.returns ?? (one && [one])
  if (!returns)
    throw badRequest(
      'A give-back is JSON {"tag": "orders", "end": 32, "last": 16, "token": "…"}, or ' +
        `{"returns": […]} with 1 to ${LIMITS.tokens} of them. Nothing came back.`,
    )
  return returns.map(({ tag, end, last, token }) => {
    checkTag(tag, DEFAULT_SEPARATOR)
    return { collection: tag, end, last, token }
  })
}

/** @throws Refusal */
export function readCheckInBody(body: unknown): CheckInRequest & { spent: string[] } {
  const { data } = checkInBody.safeParse(body)
  if (!data || data.grants.length > LIMITS.tokens || data.spent.length > LIMITS.tokens)
    throw badRequest(
      'A check-in is JSON {"id": "<uuid>", "grants": [{"token": "…", "next": 1}, …]}, with ' +
        `at most ${LIMITS.tokens} grants.`,
    )
  return { ...data, id: readId(data.id, 'id') }
}
