/**
 * The ledger's facts about a number, in words for people. Guarantees a line of its own for each
 * grant and series, and that a name which a device chose begins no line.
 */
import type {
  ExplainedGrant,
  ExplainedSeries,
  Explanation,
  PastHandOver,
  SeriesLink,
  SeriesPeriod,
} from '../ledger/ledger.js'
import { time, visible } from './messages.js'

export function inWords(explanation: Explanation): string {
  const { database, collection, number, id, grants, series, more } = explanation
  const lines = [
    ...(id ? [`${visible(collection)} ${number} of ${database}: ${stateInWords(id)}`] : []),
    ...grants.map((grant) => `  ${grantInWords(number, grant)}`),
    ...series.map((each) => seriesInWords(collection, number, each)),
    ...(more ? [moreInWords(collection)] : []),
  ]
  if (lines.length > 0) return `${lines.join('\n')}\n`
  return (
    `The ledger knows no '${visible(collection)}' in ${database} to which ${number} could ` +
    `belong. Compare the names with: npx offline-hilo-server status ${database}, and ` +
    `npx offline-hilo-server series ${database}\n`
  )
}

type State = NonNullable<Explanation['id']>

function stateInWords({ state, max, floor }: State): string {
  const never = floor === undefined ? '' : ` Nothing up to ${floor} is granted any more.`
  switch (state) {
    case 'used':
      return `its device has said that it is gone: used for something, or lost in a crash.${never}`
    case 'held':
      return (
        'a device holds it. It may have used it since the server heard of it last, and nobody ' +
        `else gets it.${never}`
      )
    case 'free':
      return 'nobody has it now. It will be granted to a device that asks.'
    case 'returned':
      return `it came back unused, and nobody gets it any more.${never}`
    case 'above':
      return `it was never granted. The highest number that was is ${max}.${never}`
    case 'elsewhere':
      return (
        'no grant on record here covers it. These numbers come from another server or counter, ' +
        `which may have given it to others: ask there.${never}`
      )
    case 'forgotten':
      return floor === undefined
        ? 'no grant on record covers it. It was granted and used so long ago that the server has ' +
            'forgotten its grant, or it was skipped: because a client had seen a higher number, ' +
            'or wrote one. Nobody gets it any more.'
        : `no grant on record covers it, and nothing up to ${floor} is granted any more: the ` +
            'numbers of this ledger begin above, or it was restored from a backup and may have ' +
            'granted it before.'
  }
}

function grantInWords(number: number, grant: ExplainedGrant): string {
  const { low, high, grantedAt, heardAt, isReturned, usedTo, serverTag, device } = grant
  const node = serverTag === '' ? '' : ` by node ${visible(serverTag)}`
  const end = isReturned
    ? `${number} came back from it`
    : usedTo === undefined
      ? 'the device has not said that one of them is used'
      : `used up to ${usedTo}`
  return (
    `granted ${time(grantedAt)}${node} to ${whose(device)}: ${low} to ${high}. Last heard of ` +
    `${time(heardAt)}: ${end}.`
  )
}

function seriesInWords(collection: string, number: number, found: ExplainedSeries): string {
  const { series, device, last, heard, isWhole, registeredAt, seenAt } = found
  const { closed, doubtful, link } = found
  const made =
    heard.length > 0
      ? heard.map((each) => madeInWords(number, each)).join(', ')
      : `the server has not heard of ${number}, but of ${last} numbers of ${whose(device)}`
  const between = `between ${time(registeredAt)}, when the series began, and ${time(seenAt)}`
  const sentences = [
    `${visible(collection)}, series ${series}: ${made}; last heard of ${time(seenAt)}.`,
    ...(heard.length > 0
      ? [
          ...(isWhole ? heard.map(withoutHole) : []),
          `It was made ${between}. Whether it is on a document or was cancelled, its report says.`,
        ]
      : [
          'What a device has made without a network, the server hears at its next check-in: ' +
            'until then nobody but the device knows whether the number was made.',
        ]),
    ...found.handOvers.map(handOverInWords),
    ...(link ? [linkInWords(device, link)] : []),
    ...(doubtful ? [doubtInWords(doubtful)] : []),
    ...(closed ? [closedInWords(closed)] : []),
  ]
  return sentences.join(' ')
}

const withoutHole = ({ period, first, last }: SeriesPeriod): string =>
  `All numbers from ${first} to ${last}${period && ` in ${visible(period)}`} were taken one ` +
  'after another, as devices told, or a person said at a hand-over: none was left out.'

function madeInWords(number: number, { period, device }: ExplainedSeries['heard'][number]): string {
  const maker =
    device === undefined ? 'a device that had the series before, or a copy of one,' : whose(device)
  return `${maker} has made ${number}${period && ` in ${visible(period)}`}`
}

export function handOverInWords({
  by,
  from,
  to,
  at,
  last,
  period,
  reason,
  ...done
}: PastHandOver): string {
  const { link, closed } = done
  const what =
    `${visible(by)} handed the series over to ${visible(to)} ${time(at)}, after number ${last}` +
    `${period && ` of ${visible(period)}`} of ${whose(from)}: ${visible(reason)}.`
  return [what, link && linkInWords(from, link), closed && closedInWords(closed)]
    .filter(Boolean)
    .join(' ')
}

export const linkInWords = (device: string, { last, hash }: NonNullable<ExplainedSeries['link']>) =>
  `The last record of ${whose(device)} that the server has heard of is of its number ${last}, ` +
  `all periods together, with the hash ${visible(hash)}. If its export has another hash there, ` +
  'or none, records were changed or deleted.'

export const registerInWords = (device: string, { at, hash }: SeriesLink): string =>
  `The register of ${whose(device)} had ${at} entries when the server heard of it last, the last ` +
  `one with the hash ${visible(hash)}. If its export has another hash at entry ${at}, or none, ` +
  'entries were changed or deleted. What came after that, nothing here protects.'

export const closedInWords = ({ at, by, reason }: NonNullable<ExplainedSeries['closed']>): string =>
  `The series was closed ${time(at)} by ${visible(by)}: ${visible(reason)}.`

export const doubtInWords = ({ from, to }: NonNullable<ExplainedSeries['doubtful']>): string =>
  `The server did not hear of its numbers ${from} to ${to} in time: another device may have made ` +
  'them, too.'

const moreInWords = (collection: string): string =>
  `${visible(collection)} has more series, which were not looked at. Name the one on the ` +
  'document with --series, or with series= in the address.'

const whose = (device: string): string =>
  device === '' ? 'a device without a name' : visible(device)
