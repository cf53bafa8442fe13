/** Why a series was not handed over, in words for people, over HTTP and on the command line. */
import type { HandOverRefusal, SeriesHandOver } from '../ledger/ledger.js'
import { visible } from './messages.js'
import { Refusal } from './refusals.js'

/** How a person says it there. */
export interface Terms {
  last: string
  period: string
  newPeriod(period: string): string
  noPeriod: string
}

const IN_JSON: Terms = {
  last: '"last"',
  period: '"period"',
  newPeriod: (period) => `"period": ${JSON.stringify(period)} with "newPeriod": true`,
  noPeriod: '"period": ""',
}

type Asked = Pick<SeriesHandOver, 'letter' | 'to' | 'last' | 'period'>

export const notHandedOver = (refusal: HandOverRefusal, asked: Asked): Refusal =>
  new Refusal(
    'bad-request',
    409,
    'System.InvalidOperationException',
    `${whyNotHandedOver(refusal, asked, IN_JSON)} Nothing was changed.`,
  )

/** How many periods a message lists at most, the newest. */
const MOST_LISTED = 20

export function whyNotHandedOver(refusal: HandOverRefusal, asked: Asked, terms: Terms): string {
  const { letter, to, last, period } = asked
  switch (refusal.refused) {
    case 'heard':
      return (
        `The server has heard of numbers of series ${letter} up to ${refusal.least}, from its ` +
        `device, a copy, or a person. ${terms.last} is the last number that was made: at least ` +
        `${refusal.least}.`
      )
    case 'periods':
      return whichPeriod(letter, period, refusal.known, terms)
    case 'outside':
      return `The range ${period} goes from ${refusal.from} to ${refusal.to}: ${last} is not in it.`
    case 'crowded':
      return (
        `Series ${letter} has had more periods than the server keeps, so a number of an old one ` +
        `could be made again. Close it: ${visible(to)} gets a new series.`
      )
    case 'holder':
      return (
        `${visible(to)} has series ${refusal.letter} already, and goes on with it. If that one ` +
        'was lost, close it first.'
      )
    case 'missing':
      return `Series ${letter} is not there any more.`
  }
}

function whichPeriod(
  letter: string,
  asked: string | undefined,
  known: readonly string[],
  { last, period, newPeriod, noPeriod }: Terms,
): string {
  if (known.length === 0)
    return asked
      ? `The server has heard of no number of series ${letter}, so ${visible(asked)} is ` +
          'no period ' +
          `that it knows. If the last document has this period, say ${newPeriod(asked)}.`
      : `The server has heard of no number of series ${letter}, so it does not know whether its ` +
          `numbers have a period. Look at the last document. ${letter}-2027-000131 has the ` +
          `period 2027: say ${newPeriod('2027')}. ${letter}-000131 has none: say ${noPeriod}.`
  if (known.every((each) => each === ''))
    return (
      `The server has heard of numbers of series ${letter}, and none of them has a period: leave ` +
      `${period} out.`
    )
  const heard = `The server has heard of these periods of series ${letter}: ${listed(known)}.`
  if (asked === undefined) return `${heard} Say with ${period} of which ${last} is.`
  if (asked === '') return `${heard} Say with ${period} of which of them ${last} is.`
  if (known.includes(asked))
    return `${heard} ${visible(asked)} is not new. If ${last} is of it, say only ${period}.`
  return (
    `${heard} ${visible(asked)} is not one of them. If the last document has this period, the ` +
    `device was without a network since it began. Then say ${newPeriod(asked)}.`
  )
}

function listed(periods: readonly string[]): string {
  const newest = periods.slice(-MOST_LISTED).map((each) => visible(each) || 'no period')
  return (periods.length > MOST_LISTED ? '…, ' : '') + newest.join(', ')
}
