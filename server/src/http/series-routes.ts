/**
 * `/databases/{db}/hilo/series…`: series of consecutive numbers. A device gets a series and tells
 * how far it has come. A client with the right `series-list` sees all series, and one with
 * `series-close` closes a series by hand. One with `series-hand-over` says which device goes on
 * with a series.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import {
  LIMITS,
  LINK_HASH,
  type ListedSeries,
  SERIES_NAME,
  type SeriesAnswer,
  type SeriesCheckInRequest,
  type SeriesCloseRequest,
  type SeriesHandOverRequest,
  type SeriesList,
  type SeriesRequest,
} from '../../../src/core/wire.js'
import type { SeriesPageQuestion } from '../ledger/ledger.js'
import { toldAs } from '../ledger/name.js'
import { letterClaim } from '../ledger/series.js'
import { MOST_LISTED } from '../ledger/series-pages.js'
import type { Access } from './access.js'
import { notHandedOver } from './hand-over-words.js'
import type { CheckedOptions } from './handler-options.js'
import {
  answer,
  checkTag,
  DEFAULT_SEPARATOR,
  Parameters,
  readId,
  readJson,
  text,
} from './messages.js'
import type { Metrics } from './metrics.js'
import { handOver, signed } from './operated.js'
import type { OtherLedgers } from './other-ledgers.js'
import {
  badRequest,
  claimRefused,
  manySeries,
  nameTaken,
  noSeries,
  quotaReached,
  unlisted,
} from './refusals.js'
import { listed, placeText, readPlace, resultBody } from './series-bodies.js'

const ONE_SERIES = { rows: 2, names: 1 }

const number = z.int().min(0)
const seriesName = z.string().regex(SERIES_NAME)
const letters = z.union([z.string().regex(/^[A-Z]{1,12}$/), seriesName])

const seriesBody = z.object({
  claim: z.string(),
  collection: z.string().regex(/\S/),
  device: text(LIMITS.nameBytes).optional(),
  series: seriesName.optional(),
  ended: z
    .object({
      series: letters,
      token: z.string(),
      from: number,
      to: number,
    })
    .optional(),
  ledger: text(LIMITS.nameBytes).optional(),
}) satisfies z.ZodType<SeriesRequest>

const link = z.object({ at: number, hash: z.string().regex(LINK_HASH) })

const checkInBody = z.object({
  id: z.string(),
  token: z.string(),
  last: number,
  periods: z
    .array(z.object({ period: text(LIMITS.periodBytes), first: number, last: number }))
    .max(LIMITS.periods)
    .optional(),
  link: link.optional(),
  heard: z.object({ last: number, link: link.optional() }).optional(),
  register: link.optional(),
  closings: z
    .array(
      z.object({
        period: text(LIMITS.periodBytes),
        closed: z.boolean(),
        first: number.optional(),
        last: number.optional(),
      }),
    )
    .max(LIMITS.periods)
    .optional(),
  mark: z.string().optional(),
  ledger: text(LIMITS.nameBytes).optional(),
}) satisfies z.ZodType<SeriesCheckInRequest>

const closeBody = z.object({
  collection: z.string().regex(/\S/),
  series: letters,
  ...signed,
}) satisfies z.ZodType<SeriesCloseRequest>

const handOverBody = closeBody.extend(handOver) satisfies z.ZodType<SeriesHandOverRequest>

export function seriesRoutes(
  { ledger, nodeTag: serverTag, limits, log }: CheckedOptions,
  access: Access,
  metrics: Metrics,
  others: OtherLedgers,
): Hono {
  return new Hono()
    .get('/hilo/series', async (c) => {
      const { database, admit } = access.callerOf(c, ['series-list'])
      const asked = { database, ...readListQuery(new Parameters(c.req.url)) }
      const wanted = [{ action: 'series-list', count: 0 } as const]
      const { series, next } = await admit({ wanted }, () => ledger.seriesPage(asked))
      return answer({
        series: series.map(listed),
        ...(next && { next: placeText(next) }),
      } satisfies SeriesList)
    })
    .post('/hilo/series', async (c) => {
      const { database, name: by, devices, admit, refund } = access.callerOf(c, ['series'])
      const {
        claim,
        collection,
        device = '',
        series: name,
        ended,
        ...held
      } = await read(c, seriesBody, SERIES_FORM)
      const asked = {
        database,
        collection,
        id: readId(claim, 'claim'),
        by,
        most: limits.seriesPerToken * devices,
        device,
        name,
        ended: ended && { ...ended, letter: ended.series },
        ledger: held.ledger,
        serverTag,
        at: Date.now(),
      }
      const wanted = [{ action: 'series', tag: collection, count: 0 } as const]
      const outcome = await admit({ wanted, cost: ONE_SERIES }, () => ledger.claimSeries(asked))
      if ('refused' in outcome || outcome.isRepeat) refund(ONE_SERIES)
      if ('other' in outcome) others.note(database, outcome.other)
      if ('refused' in outcome) {
        if (outcome.refused === 'full') throw quotaReached('series')
        if (outcome.refused === 'taken') throw nameTaken(name!, collection)
        if (outcome.refused === 'many') throw manySeries(asked.most)
        if (outcome.refused === 'unlisted') throw unlisted(database)
        throw claimRefused(outcome, letterClaim(asked))
      }
      if (!outcome.isRepeat && !outcome.after) metrics.seriesBegan()
      const { name: series, token, after, mark, ranges } = outcome
      const granted: SeriesAnswer = {
        // guard: H11 an answer that gives a series names its claim
        claim: asked.id,
        series,
        token,
        ledger: outcome.ledger,
        database: toldAs(database),
        ...(after && { after }),
        ...(mark && { mark }),
        ...(ranges && { ranges }),
      }
      return answer(granted, outcome.isRepeat ? 200 : 201)
    })
    .post('/hilo/series/checkin', async (c) => {
      const { database, admit } = access.callerOf(c, ['series'])
      const told = await read(c, checkInBody, CHECK_IN_FORM)
      const wanted = [{ action: 'series', count: 0 } as const]
      const rows = 1 + (told.periods?.length ?? 0) + (told.closings?.length ?? 0)
      const id = readId(told.id, 'id')
      const asked = { database, ...told, id, serverTag, at: Date.now() }
      const result = await others.watch(
        database,
        admit({ wanted, cost: { rows }, units: rows, isShared: true }, () =>
          ledger.checkInSeries(asked),
        ),
      )
      // Without a token it is only the question which ledger answers.
      if (result === 'unknown') metrics.checkedIn(told.token === '' ? [] : ['unknown'])
      else if ('superseded' in result && !result.handedOver) metrics.checkedIn(['superseded'])
      else if (result.ended)
        log.error(
          {
            database,
            collection: result.ended.collection,
            series: result.ended.letter,
            reason: 'token' in result ? result.closed?.reason : result.handedOver?.reason,
          },
          'THE SERVER HAS CLOSED A SERIES, FOR THIS REASON. Compare the documents of the devices ' +
            'that had it. To see them, run: npx offline-hilo-server series <database>.',
        )
      // guard: H11 the answer to a series' check-in names it
      return answer({ id, ...resultBody(result, told.ledger) })
    })
    .post('/hilo/series/close', async (c) => {
      const { database, admit } = access.callerOf(c, ['series-close'])
      const { collection, series: letter, by, reason } = await read(c, closeBody, CLOSE_FORM)
      const wanted = [{ action: 'series-close', tag: collection, count: 0 } as const]
      const at = Date.now()
      const closed = await admit({ wanted, cost: { rows: 1 } }, () =>
        ledger.closeSeries({ database, collection, letter, by, reason, at }),
      )
      if (!closed) throw noSeries(letter, collection, 'closed')
      return answer(listed(closed) satisfies ListedSeries)
    })
    .post('/hilo/series/hand-over', async (c) => {
      const { database, admit } = access.callerOf(c, ['series-hand-over'])
      const { series: letter, ...given } = await read(c, handOverBody, HAND_OVER_FORM)
      const { collection } = given
      const wanted = [{ action: 'series-hand-over', tag: collection, count: 0 } as const]
      const at = Date.now()
      const done = await admit({ wanted, cost: { rows: 1 } }, () =>
        ledger.handOverSeries({ database, letter, ...given, at }),
      )
      if ('refused' in done && done.refused === 'missing')
        throw noSeries(letter, collection, 'handed over')
      if ('refused' in done) throw notHandedOver(done, { letter, ...given })
      return answer(listed(done) satisfies ListedSeries)
    })
}

/** @throws Refusal */
function readListQuery(query: Parameters): Omit<SeriesPageQuestion, 'database'> {
  const limit = query.optional('limit') === undefined ? MOST_LISTED : query.number('limit')
  if (limit < 1 || limit > MOST_LISTED)
    throw badRequest(`limit is 1 to ${MOST_LISTED}: so many series has a page.`)
  const after = query.optional('after')
  return { limit, after: after === undefined ? undefined : readPlace(after) }
}

/** @throws Refusal with its form */
async function read<T extends object>(c: Context, body: z.ZodType<T>, form: string): Promise<T> {
  const { data } = body.safeParse(await readJson(c))
  if (!data) throw badRequest(form)
  if ('collection' in data) checkTag(String(data.collection), DEFAULT_SEPARATOR)
  return data
}

const SERIES_FORM =
  'A series is asked for by JSON {"claim": "<uuid>", "collection": "receipts", ' +
  `"device"?: "Till 3", "series"?: "T3", ` +
  `"ended"?: {"series": "B", "token": "…", "from": 1, "to": 2}, "ledger"?: "…"}. The ` +
  `device's name has up to ${LIMITS.nameBytes} bytes of UTF-8, no control characters, the ` +
  `series' name 1 to 20 of A-Z, a-z, 0-9, -, ., _ and /, with a digit.`

const CHECK_IN_FORM =
  'A series checks in by JSON {"id": "<uuid>", "token": "…", "last": 124, "periods"?: ' +
  `[{"period": "2027", "first": 1, "last": 124}], "link"?: {"at": 1, "hash": "…"}, ` +
  '"heard"?: {"last": 123, "link"?: …}, "register"?: {"at": 9, "hash": "…"}, ' +
  '"ledger"?: "…"}, ' +
  `with up to ${LIMITS.periods} periods.`

const CLOSE_FORM =
  'A series is closed by JSON {"collection": "receipts", "series": "B", "by": "anna", ' +
  `"reason": "the till was stolen"}. "by" has at most ${LIMITS.nameBytes} bytes, the ` +
  `reason up to ${LIMITS.reasonBytes} bytes, both without control characters.`

const HAND_OVER_FORM =
  'A series is handed over by JSON {"collection": "receipts", "series": "T3", ' +
  '"to": "Till 4", "last": 131, "period"?: "2027", "newPeriod"?: true, "otherPeriods"?: ' +
  '[{"period": "2026", "last": 124}], "dryRun"?: true, ' +
  '"by": "anna", "reason": "the till was stolen"}. "last" is the last number that was made.'
