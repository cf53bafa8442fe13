/**
 * Reads the JSON bodies of `hilo/next`, `hilo/return` and `hilo/checkin`. Guarantees that its
 * results are safe to count with, to store and to log.
 */
import { z } from 'zod'
import type { CheckInRequest, NextManyRequest, ReturnRequest } from '../../../src/core/wire.js'
import type { ShownGrant } from '../ledger/ledger.js'
import {
  checkTag,
  DEFAULT_SEPARATOR,
  type ReturnedRange,
  readId,
  readWish,
  type WantedRange,
} from './query.js'
import { badRequest } from './refusals.js'
import { MAX_NAME_BYTES, text } from './texts.js'

interface ShowingRange extends WantedRange {
  shown: readonly ShownGrant[]
}

export interface GivenRange extends ReturnedRange {
  /** What stands for the header, which a page that closes cannot send to another origin. */
  authorization?: string | undefined
}

interface BodyLimits {
  /** Numbers of one claim. */
  count: number
  /** Collections of one claim, or grants of one check-in. */
  batch: number
}

const tag = z.string().regex(/\S/)

const grants = z.array(z.object({ token: z.string(), next: z.int().min(0) }))

const claimBody = z.object({
  claim: z.string(),
  device: text(MAX_NAME_BYTES).optional(),
  collections: z
    .array(
      z.object({
        tag,
        count: z.int().min(1),
        lastMax: z.int().min(0).default(0),
        identityPartsSeparator: z.string().default(DEFAULT_SEPARATOR),
        grants: grants.default([]),
      }),
    )
    .min(1),
}) satisfies z.ZodType<NextManyRequest>

const returnBody = z.object({
  tag,
  end: z.int(),
  last: z.int(),
  token: z.string(),
  authorization: z.string().optional(),
}) satisfies z.ZodType<ReturnRequest>

const checkInBody = z.object({
  id: z.string(),
  grants,
  spent: z.array(z.string()).default([]),
}) satisfies z.ZodType<CheckInRequest>

/** @throws Refusal */
export function readClaimBody(
  body: unknown,
  now: number,
  limits: BodyLimits,
): { id: string; device: string | undefined; ranges: ShowingRange[] } {
  const { data } = claimBody.safeParse(body)
  const shown = data?.collections.reduce((sum, { grants }) => sum + grants.length, 0) ?? 0
  if (!data || data.collections.length > limits.batch || shown > limits.batch)
    throw badRequest(
      'A claim is JSON {"claim": "<uuid>", "collections": [{"tag": "orders", "count": 32}, ' +
        `…]}, with 1 to ${limits.batch} collections, and at most ${limits.batch} grants.`,
    )
  const id = readId(data.claim, 'claim')
  const ranges = data.collections.map((wanted): ShowingRange => {
    const { tag, count, lastMax, identityPartsSeparator: separator } = wanted
    const wish = { tag, separator, count: () => count, lastMax: () => lastMax }
    return { ...readWish(wish, now, limits.count), shown: wanted.grants }
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

/** @throws Refusal */
export function readReturnBody(body: unknown): GivenRange {
  const { data } = returnBody.safeParse(body)
  if (!data)
    throw badRequest(
      'A give-back is JSON {"tag": "orders", "end": 32, "last": 16, "token": "…"}. Nothing came ' +
        'back.',
    )
  const { tag, end, last, token, authorization } = data
  checkTag(tag, DEFAULT_SEPARATOR)
  return { collection: tag, end, last, token, authorization }
}

/** @throws Refusal */
export function readCheckInBody(body: unknown, { batch }: BodyLimits): Required<CheckInRequest> {
  const { data } = checkInBody.safeParse(body)
  if (!data || data.grants.length > batch || data.spent.length > batch)
    throw badRequest(
      'A check-in is JSON {"id": "<uuid>", "grants": [{"token": "…", "next": 1}, …]}, with ' +
        `at most ${batch} grants.`,
    )
  return { ...data, id: readId(data.id, 'id') }
}
