/**
 * Asks the server for a series, and checks in, over HTTP. Guarantees that it accepts only a sound
 * answer; any other becomes a `HiloError` that names a remedy.
 */
import { brief } from '../../core/brief.js'
import { HiloError } from '../../core/errors.js'
import { plainHeaders } from '../../core/headers.js'
import { isNamed, ledgerOf } from '../../core/ledger-names.js'
import type { SeriesMark } from '../../core/series-marks.js'
import type {
  SeriesAnswer,
  SeriesCheckInAnswer,
  SeriesCheckInRequest,
  SeriesRequest,
} from '../../core/wire.js'
import { SERIES_NAME } from '../../core/wire.js'
import type { HiloOptions } from '../../device/hilo-options.js'
import { checkAsked, readAnswer } from '../../source/answers.js'
import { requester, type ServerAddress } from '../../source/http.js'
import { present } from './present.js'
import { isDay, isPrefix } from './ranges.js'

export interface SeriesServer {
  /**
   * @throws HiloError `server-unreachable`, `server-refused`, `no-hilo-server`, `invalid-response`
   */
  begin(request: SeriesRequest): Promise<SeriesAnswer>
  /** @throws HiloError as `begin` */
  checkIn(request: SeriesCheckInRequest): Promise<SeriesCheckInAnswer>
}

/** @param database of the server */
export function seriesServer(
  server: ServerAddress & Pick<HiloOptions, 'headers'>,
  database: string,
): SeriesServer {
  const { url, headers = {} } = server
  const request = requester(server, async () =>
    plainHeaders(typeof headers === 'function' ? await headers() : headers),
  )
  const address = `${url}/databases/${encodeURIComponent(database)}/hilo/series`
  return {
    async begin(body) {
      const said = await request('POST', address, body, NO_SERIES)
      const answer = readAnswer<SeriesAnswer>(said, url, 'series')
      const { series, token, ledger: name, database, after, mark, ranges } = answer
      checkAsked(answer.claim, body.claim, url, said)
      const isSound =
        isSeriesName(series) &&
        typeof token === 'string' &&
        typeof name === 'string' &&
        (after === undefined || isMark(Object(after))) &&
        areRanges(ranges)
      if (!isSound) throw invalid(url, answer)
      const ledger = ledgerOf(name, database)
      return { series, token, ledger, ...present({ after, mark, ranges }) } as SeriesAnswer
    },
    async checkIn(body) {
      const said = await request('POST', `${address}/checkin`, body)
      const answer = readAnswer<Outcomes>(said, url, 'token', 'superseded', 'unknown')
      checkAsked(answer.id, body.id, url, said)
      const { handedOver } = answer as { handedOver?: { last: unknown; heard: unknown } | null }
      const isSound =
        (typeof answer.token === 'string' && areRanges(answer.ranges)) ||
        answer.unknown === true ||
        (answer.superseded === true &&
          Number.isSafeInteger(answer.last) &&
          (handedOver === undefined ||
            (Number.isSafeInteger(handedOver?.last) && Number.isSafeInteger(handedOver?.heard))))
      // guard: H34 an answer of another ledger, or of none, changes nothing of a series
      if (!isSound || !isNamed(body.ledger, answer.ledger)) throw invalid(url, answer)
      return answer as SeriesCheckInAnswer
    },
  }
}

/** The outcomes that the answer to a check-in may have. */
type Outcomes = Record<
  'id' | 'token' | 'ledger' | 'ranges' | 'superseded' | 'unknown' | 'last' | 'handedOver',
  unknown
>

const isSeriesName = (series: unknown): boolean =>
  typeof series === 'string' && (/^[A-Z]+$/.test(series) || SERIES_NAME.test(series))

const isMark = ({ last, periods }: SeriesMark): boolean =>
  Number.isSafeInteger(last) &&
  Array.isArray(periods) &&
  periods.length > 0 &&
  periods.every((each) => typeof each?.period === 'string' && Number.isSafeInteger(each.last))

const areRanges = (ranges: unknown): boolean =>
  ranges === undefined ||
  (Array.isArray(ranges) &&
    ranges.every(
      (each) =>
        Number.isSafeInteger(each?.from) &&
        Number.isSafeInteger(each.to) &&
        (each.prefix === undefined || isPrefix(each.prefix)) &&
        (each.validUntil === undefined || isDay(each.validUntil)),
    ))

const NO_SERIES = 'Ask again later.'

const invalid = (url: string, answer: unknown): HiloError =>
  new HiloError(
    'invalid-response',
    `${url} answered with something that says nothing of a series. It began: ` +
      `${brief(JSON.stringify(answer), 8)}. Nothing was changed; check that the URL is that ` +
      'of an offline-hilo-server.',
  )
