/** Why a series was not handed over, in words for people, over HTTP and on the command line. */
import { rangeNamed } from '../ledger/heard.js'
import type { HandOverRefusal, SeriesHandOver, StatedPeriod } from '../ledger/ledger.js'
import { visible } from './messages.js'
import { Refusal } from './refusals.js'

/** How a person says it there. */
export interface Terms {
  last: string
  period: string
  newPeriod(period: string): string
  noPeriod: string
  otherPeriod(of: StatedPeriod): string
  noOtherPeriod: string
}

const IN_JSON: Terms = {
  last: '"last"',
  period: '"period"',
  newPeriod: (period) => `"period": ${JSON.stringify(period)} with "newPeriod": true`,
  noPeriod: '"period": ""',
  otherPeriod: (of) => `"otherPeriods": [${JSON.stringify(of)}]`,
  noOtherPeriod: '"otherPeriods": []',
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
  const { letter, to, period } = asked
  switch (refusal.refused) {
    case 'heard':
      return whichNumber(refusal, asked, terms)
    case 'periods':
      return whichPeriod(letter, period, refusal.known, terms)
    case 'untold':
      return whichOthers(letter, to, refusal.missing, terms)
    case 'outside':
      return (
        `The range ${refusal.period} goes from ${refusal.from} to ${refusal.to}: ` +
        `${refusal.last} is not in it.`
      )
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
    case 'restored':
      return 'The database was restored. Raise its floors first.'
    case 'missing':
      return `Series ${letter} is not there any more.`
  }
}

function whichNumber(
  { least, period }: Extract<HandOverRefusal, { refused: 'heard' }>,
  { letter, last }: Asked,
  terms: Terms,
): string {
  const range = rangeNamed({ period, first: last, last })
  if (range && range.to < least)
    return (
      `A copy of its device made ${least - last} numbers more, and ${visible(period)} has no ` +
      'more. So they are of another period. Say the last number of each, as in ' +
      `${terms.otherPeriod({ period: '201-204', last: 203 })}.`
    )
  return (
    `The server has heard of numbers of series ${letter} up to ${least}` +
    `${period && ` of ${visible(period)}`}, from its device, a copy, or a ` +
    `person. ${terms.last} is the last number that was made: at least ${least}.`
  )
}

function whichOthers(
  letter: string,
  to: string,
  missing: readonly string[],
  { otherPeriod, noOtherPeriod }: Terms,
): string {
  const example = otherPeriod({ period: visible(missing.at(-1) ?? '2026'), last: 124 })
  const none = otherPeriod({ period: '', last: 124 })
  const what =
    missing.length > 0
      ? `The last number of each period is needed, also of these: ${listed(missing, none)}. Say ` +
        `${example}.`
      : `If its documents have no other period, say ${noOtherPeriod}. If they have: ${example}.`
  return (
    `The database was restored, and since then the device of series ${letter} has not told all ` +
    'its numbers. What it made of other periods after the backup would be made again. If the ' +
    `device is there, let its app make a number online, and try again. If it is lost: ${what} ` +
    `Or close the series, and ${visible(to)} gets a new one.`
  )
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
  const periods = listed(known, noPeriod)
  const heard = `The server has heard of these periods of series ${letter}: ${periods}.`
  if (asked === undefined) return `${heard} Say with ${period} of which ${last} is.`
  if (asked === '') return `${heard} Say with ${period} of which of them ${last} is.`
  if (known.includes(asked))
    return `${heard} ${visible(asked)} is not new. If ${last} is of it, say only ${period}.`
  return (
    `${heard} ${visible(asked)} is not one of them. If the last document has this period, the ` +
    `device was without a network since it began. Then say ${newPeriod(asked)}.`
  )
}

/** @param none how a person says that numbers have no period */
function listed(periods: readonly string[], none: string): string {
  const newest = periods.slice(-MOST_LISTED).map((each) => visible(each) || `none (${none})`)
  return (periods.length > MOST_LISTED ? '…, ' : '') + newest.join(', ')
}
