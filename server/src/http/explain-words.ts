/**
 * What the ledger knows of a number, in words for people. Guarantees a line of its own for each
 * grant and series, and that a name which a device chose begins no line.
 */
import type { ExplainedGrant, ExplainedSeries, Explanation } from '../ledger/ledger.js'
import { visible } from './messages.js'

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
    'belong. Compare the names with: offline-hilo-server status, and offline-hilo-server series ' +
    `${database}\n`
  )
}

type State = NonNullable<Explanation['id']>

function stateInWords({ state, max, floor }: State): string {
  const never = floor === undefined ? '' : ` Nothing up to ${floor} is granted any more.`
  switch (state) {
    case 'used':
      return (
        'its device has said that it is gone there: used for something, or lost in a crash.' + never
      )
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
  const { series, device, last, heard, seenAt, closed, doubtful, handedOver } = found
  const where = heard.flatMap(({ period }) => (period === '' ? [] : [visible(period)])).join(', ')
  const made =
    heard.length > 0
      ? `${whose(device)} has made ${number}${where && ` in ${where}`}`
      : `the server has not heard of ${number}, but of ${last} numbers of ${whose(device)}`
  const doubt = doubtful
    ? ` Two devices may have made its numbers ${doubtful.from} to ${doubtful.to}.`
    : ''
  const over = handedOver
    ? ` ${visible(handedOver.by)} handed the series over to ${visible(handedOver.to)} ` +
      `${time(handedOver.at)}, after number ${handedOver.last}` +
      `${handedOver.period && ` of ${visible(handedOver.period)}`} of ${whose(handedOver.from)}: ` +
      `${visible(handedOver.reason)}.`
    : ''
  const end = closed
    ? ` The series was closed ${time(closed.at)} by ${visible(closed.by)}: ` +
      `${visible(closed.reason)}.`
    : ''
  const more =
    heard.length > 0 ? ' Whether it is on a document or was cancelled, its report says.' : ''
  const seen = `last heard of ${time(seenAt)}`
  return `${visible(collection)}, series ${series}: ${made}; ${seen}.${more}${over}${doubt}${end}`
}

const moreInWords = (collection: string): string =>
  `${visible(collection)} has more series, which were not looked at. Name the one on the ` +
  'document with --series, or with series= in the address.'

const whose = (device: string): string =>
  device === '' ? 'a device without a name' : visible(device)

const time = (at: number): string => new Date(at).toISOString()
