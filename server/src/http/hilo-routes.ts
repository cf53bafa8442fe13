/**
 * `/databases/{db}/hilo/…`: claim and give back, as RavenDB does, and our check-in. A plain RavenDB
 * client never notices the extension.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import {
  type CheckInAnswer,
  type CheckInRequest,
  capacity,
  type NextManyAnswer,
  type NextManyRequest,
  type ReturnRequest,
} from '../../../src/core/wire.js'
import type { ClaimOutcome, ClaimRequest, GiveBack } from '../ledger/ledger.js'
import { authorize, databaseOf } from './access.js'
import { claimAnswer, claimRefused } from './claim-answer.js'
import { claimLanes, type FailedClaim } from './claim-lanes.js'
import type { Metrics } from './metrics.js'
import type { CheckedOptions } from './options.js'
import {
  checkCount,
  DEFAULT_SEPARATOR,
  readId,
  readNextQuery,
  readReturnQuery,
  readTag,
} from './query.js'
import { badRequest, pathOf, refusalBody, toRefusal } from './refusals.js'

const returnBody = z.object({
  tag: z.string(),
  end: z.int(),
  last: z.int(),
  lease: z.string(),
}) satisfies z.ZodType<ReturnRequest>

export function hiloRoutes(options: CheckedOptions, metrics: Metrics): Hono {
  const { ledger, nodeTag, limits, log } = options
  const combined = claimLanes(ledger, limits.waiting, metrics.committed)
  const checkInBody = z.object({
    id: z.string(),
    leases: z.array(z.object({ lease: z.string(), next: z.int().min(0) })).max(limits.batch),
    spent: z.array(z.string()).max(limits.batch).default([]),
  }) satisfies z.ZodType<CheckInRequest>
  const manyBody = z.object({
    claim: z.string(),
    collections: z
      .array(
        z.object({
          tag: z.string(),
          count: z.int().min(1),
          lastMax: z.int().min(0).default(0),
          identityPartsSeparator: z.string().default(DEFAULT_SEPARATOR),
        }),
      )
      .min(1)
      .max(limits.batch),
  }) satisfies z.ZodType<NextManyRequest>

  /** @throws what failed, if every claim did */
  async function claim(
    c: Context,
    claims: readonly ClaimRequest[],
  ): Promise<(ClaimOutcome | FailedClaim)[]> {
    for (const { database, collection: tag, count } of claims)
      await authorize(c, options, { database, tag, count })
    const start = performance.now()
    const outcomes = await combined(claims)
    const answered = outcomes.filter((outcome): outcome is ClaimOutcome => !('failure' in outcome))
    if (answered.length === 0) throw (outcomes[0] as FailedClaim).failure
    metrics.claimed(answered, (performance.now() - start) / 1000)
    return outcomes
  }

  async function giveBack(c: Context, range: Omit<GiveBack, 'database' | 'at'>): Promise<Response> {
    const database = databaseOf(c, options)
    await authorize(c, options, { database, tag: range.collection, count: 0 })
    metrics.returned(await ledger.giveBack({ database, ...range, at: Date.now() }))
    return c.body(null, 204)
  }

  const routes = new Hono()
  routes.get('/hilo/next', async (c) => {
    const at = Date.now()
    const database = databaseOf(c, options)
    const { tag, prefix, count, lastMax, claim: id } = readNextQuery(queryOf(c), at, limits.count)
    const wish: ClaimRequest = {
      database,
      collection: tag,
      id,
      count,
      lastMax,
      serverTag: nodeTag,
      at,
    }
    const [outcome] = (await claim(c, [wish])) as [ClaimOutcome]
    if ('refused' in outcome) throw claimRefused(outcome, wish)
    return c.json(claimAnswer(outcome.grant, prefix), outcome.isRepeat ? 200 : 201)
  })
  routes.post('/hilo/next', async (c) => {
    const at = Date.now()
    const database = databaseOf(c, options)
    const body = manyBody.safeParse(await c.req.json().catch(() => undefined))
    if (!body.success)
      throw badRequest(
        'A claim is JSON {"claim": "<uuid>", "collections": [{"tag": "orders", "count": 32}, ' +
          `…]}, with 1 to ${limits.batch} collections.`,
      )
    const id = readId(body.data.claim, 'claim')
    const claims = body.data.collections.map(
      ({ tag, count, lastMax, identityPartsSeparator: separator }) => {
        checkCount(count, limits.count)
        const granted = {
          database,
          id,
          count: Math.min(capacity(count, undefined), limits.count),
          lastMax,
          serverTag: nodeTag,
          at,
        }
        return { ...granted, collection: readTag(tag, separator), separator }
      },
    )
    const outcomes = await claim(c, claims)
    const failures = new Set(
      outcomes.flatMap((outcome) => ('failure' in outcome ? [outcome.failure] : [])),
    )
    // One line in the log for each, however many claims failed with it.
    const refusals = new Map([...failures].map((failure) => [failure, toRefusal(failure, log)]))
    const answers = outcomes.map((outcome, i) => {
      if ('grant' in outcome)
        return claimAnswer(outcome.grant, claims[i]!.collection + claims[i]!.separator)
      const refusal =
        'failure' in outcome ? refusals.get(outcome.failure)! : claimRefused(outcome, claims[i]!)
      return refusalBody(refusal, pathOf(c.req.url))
    })
    const isNew = outcomes.some((outcome) => 'grant' in outcome && !outcome.isRepeat)
    return c.json({ collections: answers } satisfies NextManyAnswer, isNew ? 201 : 200)
  })
  routes.put('/hilo/return', (c) => giveBack(c, readReturnQuery(queryOf(c))))
  routes.post('/hilo/return', async (c) => {
    // Whatever type the body has: a page that goes sends plain text, which needs no preflight.
    const text = await c.req.text()
    return giveBack(c, text === '' ? readReturnQuery(queryOf(c)) : readReturn(text))
  })
  routes.post('/hilo/checkin', async (c) => {
    const database = databaseOf(c, options)
    const body = checkInBody.safeParse(await c.req.json().catch(() => undefined))
    if (!body.success)
      throw badRequest(
        'A check-in is JSON {"id": "<uuid>", "leases": [{"lease": "…", "next": 1}, …]}, with ' +
          `at most ${limits.batch} leases.`,
      )
    await authorize(c, options, { database, count: 0 })
    const { leases, spent } = body.data
    const fates = await ledger.checkIn({
      database,
      id: readId(body.data.id, 'id'),
      grants: leases.map(({ lease, next }) => ({ token: lease, next })),
      spent,
    })
    return c.json({
      leases: fates.map((fate) =>
        typeof fate === 'string' ? asFlag(fate) : { lease: fate.token, high: fate.high },
      ),
    } satisfies CheckInAnswer)
  })
  return routes
}

/** @throws Refusal */
function readReturn(text: string): Omit<GiveBack, 'database' | 'at'> {
  const body = returnBody.safeParse(parseJson(text))
  if (!body.success)
    throw badRequest(
      'A give-back is JSON {"tag": "orders", "end": 32, "last": 16, "lease": "…"}. Nothing came ' +
        'back.',
    )
  const { tag, end, last, lease } = body.data
  return { collection: readTag(tag, DEFAULT_SEPARATOR), end, last, token: lease }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const queryOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams

const asFlag = (fate: 'superseded' | 'unknown') =>
  fate === 'superseded' ? { superseded: true as const } : { unknown: true as const }
