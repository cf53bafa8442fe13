/**
 * The answers of `series`, about one document or about a whole series. Guarantees that they say no
 * more than devices and people have told the server, and that they name the gaps in that.
 */
import {
  closedInWords,
  doubtInWords,
  handOverInWords,
  inWords,
  linkInWords,
  registerInWords,
} from '../http/explain-words.js'
import { time, visible } from '../http/messages.js'
import { seriesKey } from '../ledger/collections.js'
import { isWhole, periodsIn, rangeNamed } from '../ledger/heard.js'
import type { PastHandOver, Series, SeriesPeriod } from '../ledger/ledger.js'
import { allSeries } from './all-series.js'
import type { SeenLedger } from './confirm.js'
import { lastDocument } from './next-document.js'
import { find, nameOf, type SeriesFlags } from './series-steps.js'

/** @throws Error when no series makes such a text */
export async function explainDocument(
  ledger: SeenLedger,
  database: string,
  text: string,
  { collection }: SeriesFlags,
): Promise<string> {
  const found = (await allSeries(ledger, database))
    .filter((each) => collection === undefined || each.collection === collection.toLowerCase())
    .flatMap((each) => placeOf(text, each))
  // Of T3 and T3-2, the longer name is the one that T3-2-000001 begins with.
  const longest = Math.max(...found.map(({ series }) => series.length))
  const places = found.filter(({ series }) => series.length === longest)
  if (places.length === 0)
    throw new Error(
      `No series of ${database} makes ${visible(text)}. If the app writes its numbers in another ` +
        `form, say what is on the document: npx offline-hilo-server explain ${database} ` +
        '<collection> <number> --series <letter> --period <period>.',
    )
  const answers = places.map(async (place) => inWords(await ledger.explain({ database, ...place })))
  return (await Promise.all(answers)).join('')
}

/** Where the document would be in a series. */
function placeOf(text: string, { collection, letter: series, periods }: Series) {
  if (!seriesKey(text).startsWith(`${seriesKey(series)}-`)) return []
  const [, written, digits] = /^(?:(.+)-)?(\d+)$/.exec(text.slice(series.length + 1)) ?? []
  const number = Number(digits)
  if (!Number.isSafeInteger(number) || number < 1) return []
  const ofPrefix = periods.find((each) => {
    const range = rangeNamed(each)
    return range?.prefix && range.prefix === written && range.from <= number && number <= range.to
  })
  return [{ collection, series, period: ofPrefix?.period ?? written, number }]
}

/** @throws Error when there is no such series, or more than one */
export async function account(
  ledger: SeenLedger,
  database: string,
  letter: string,
  { collection }: SeriesFlags,
): Promise<string> {
  const series = await find(ledger, database, letter, collection)
  const { device, handOvers, registeredAt, seenAt, link, register, closed, doubtful } = series
  const made = [
    ...handOvers.flatMap(({ numbers, from }) => numbers.map((each) => rangeOf(each, from))),
    ...numbersOfHolder(series, handOvers).map((each) => rangeOf(each, device)),
  ]
  const holder = nameOf(series)
  const last = lastDocument(series)
  const lines = [
    `Series ${series.letter} of '${series.collection}' began ${time(registeredAt)}.`,
    made.length === 0 ? 'The server has heard of no number.' : `Numbers: ${made.join('; ')}.`,
    made.length > 0 &&
      isWhole(series) &&
      'No number between the first and the last of a period was left out: a device takes each ' +
        'one above the one before. (Where a series was handed over, a person said so.) If a ' +
        'document is missing, its number was taken, and the report of ' +
        'its device says what became of it.',
    ...handOvers.flatMap((done) => [
      handOverInWords(done),
      done.register && registerInWords(done.from, done.register),
    ]),
    link && linkInWords(device, link),
    register
      ? registerInWords(device, register)
      : `${holder} has not told of its register: whether that was changed, nothing here shows.`,
    doubtful && doubtInWords(doubtful),
    closed && closedInWords(closed),
    last &&
      !closed &&
      `If ${holder} loses its storage before it prints, it has no entry of its last number: ` +
        `${last} may not exist. Then say so in the --reason of --close or of --hand-over.`,
    `The server has heard of ${holder} last ${time(seenAt)}. What a device did without a ` +
      'network, it tells at its next check-in: how many numbers it made, not at which time it ' +
      'made each one. Times are in its report and its export.',
    'The server was not told which of them are on a document, and which were cancelled: the ' +
      'report of the device says so. If the device is lost, nobody knows but from the documents.',
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** Numbers above those of the devices before. */
const numbersOfHolder = (series: Series, before: readonly PastHandOver[]): SeriesPeriod[] =>
  periodsIn(series).flatMap((each) => {
    const made = before
      .flatMap(({ numbers }) => numbers)
      .filter(({ period }) => period === each.period)
    const first = Math.max(each.first, ...made.map(({ last }) => last + 1))
    return first <= each.last ? [{ ...each, first }] : []
  })

const rangeOf = ({ period, first, last }: SeriesPeriod, device: string): string =>
  `${first} to ${last}${period && ` of ${visible(period)}`}, by ` +
  visible(device || 'a device without a name')
