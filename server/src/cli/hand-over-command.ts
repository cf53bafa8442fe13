/** `series --hand-over`: another device goes on with the series of a lost one. */
import { type Terms, whyNotHandedOver } from '../http/hand-over-words.js'
import { time, visible } from '../http/messages.js'
import { isOfPrefix, periodsIn, rangeNamed } from '../ledger/heard.js'
import type { HandOverRefusal, Series, SeriesPeriod } from '../ledger/ledger.js'
import type { Change, SeenLedger } from './confirm.js'
import { isBare, nextOf } from './next-document.js'
import { checkName, find, nameOf, type SeriesFlags, signed } from './series-steps.js'

/** @throws Error when it cannot be handed over, with a remedy */
export async function handOverSeries(
  ledger: SeenLedger,
  database: string,
  letter: string,
  given: SeriesFlags,
): Promise<Change | string> {
  const { reason, by } = signed('--hand-over', given)
  const { to, last } = given
  if (!to || last === undefined)
    throw new Error(
      '--hand-over needs --to, the name of the device that goes on, and --last, the last number ' +
        'that was made: look at the documents themselves. Nothing was changed.',
    )
  checkName(to)
  const stated = statedPeriod(given)
  const found = await find(ledger, database, letter, given.collection)
  const otherPeriods = given.other === undefined ? {} : { otherPeriods: given.other || [] }
  const asked = { ...found, to, last, ...stated, ...otherPeriods, by, reason, at: Date.now() }
  const handedOver = (done: Series | HandOverRefusal): Series => {
    if (!('refused' in done)) return done
    throw new Error(`${whyNotHandedOver(done, asked, FLAGS)} Nothing was changed.`)
  }
  const planned = handedOver(await ledger.handOverSeries({ ...asked, dryRun: true }))
  if (planned.handedOver?.at === found.handedOver?.at) return doneBefore(found)
  return {
    plan: planOf(found, planned),
    apply: async (changed) => {
      const now = await find(changed, database, letter, given.collection)
      // guard: H28 a hand-over that somebody read is not done to another device's series
      if (JSON.stringify(now.handedOver) !== JSON.stringify(found.handedOver))
        throw new Error(
          `Meanwhile series ${found.letter} went to ${nameOf(now)}. Nothing was changed. Does it ` +
            'go on there? Else look at its documents, and begin again.',
        )
      return summary(found, handedOver(await changed.handOverSeries(asked)))
    },
  }
}

const FLAGS: Terms = {
  last: '--last',
  period: '--period',
  newPeriod: (period) => `--new-period ${JSON.stringify(period)}`,
  noPeriod: '--no-period',
  otherPeriod: ({ period, last }) => `--other ${JSON.stringify(`${period}=${last}`)}`,
  noOtherPeriod: '--no-other',
}

/** @throws Error for a period that nobody can mean */
function statedPeriod({ period, newPeriod }: SeriesFlags): {
  period?: string
  newPeriod?: boolean
} {
  if (period !== undefined && newPeriod !== undefined)
    throw new Error(
      '--period, --new-period and --no-period: give one of them. Nothing was changed.',
    )
  const named = newPeriod ?? period
  if (named === '')
    throw new Error('The period is empty. If the numbers have none, say --no-period.')
  if (newPeriod !== newPeriod?.trim())
    throw new Error('The new period begins or ends with a space. Nothing was changed.')
  if (named === undefined) return {}
  return named === false ? { period: '' } : { period: named, newPeriod: newPeriod !== undefined }
}

/** The plan and the next document, for the person that has to say yes. */
function planOf(found: Series, planned: Series): string {
  const { letter, collection, closed } = found
  const { last, period } = planned.handedOver!
  const ofPeriod = period && ` of ${visible(period)}`
  const heard = periodsIn(found).find((each) => each.period === period)?.last
  const after = periodsIn(planned)
  const stated = after.find((each) => each.period === period)!
  const others = after.filter((each) => each !== stated && !rangeNamed(each))
  const next = (each: SeriesPeriod) => nextOf(letter, highest(each, after), isBare(each))
  const lines = [
    `Series ${letter} of '${collection}' goes from ${nameOf(found)} to ${nameOf(planned)}.`,
    closed && `It was closed by ${visible(closed.by)}: ${visible(closed.reason)}. It goes on.`,
    `The next document${isBare(stated) ? '' : ofPeriod} is ${next(stated)}.`,
    `You say that number ${last}${ofPeriod} is the last one made. The server has heard of ` +
      `${heard === undefined ? `no number${ofPeriod}` : `numbers up to ${heard}`}.`,
    others.length > 0 && `In other periods it goes on with ${newest(others.map(next))}.`,
    !isBare(stated) && 'Any other period begins at 1.',
    'The app may write it in another form: compare period and number with the last document.',
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** Without a period the next number is above all. */
const highest = (stated: SeriesPeriod, all: readonly SeriesPeriod[]): SeriesPeriod =>
  isBare(stated)
    ? all
        .filter((each) => isOfPrefix(rangeNamed(stated) ?? {})(rangeNamed(each) ?? {}))
        .reduce((a, b) => (b.last > a.last ? b : a), stated)
    : stated

/** How many periods the plan names at most. */
const MOST_NAMED = 5

const newest = (texts: readonly string[]): string =>
  (texts.length > MOST_NAMED ? '…, ' : '') + texts.slice(-MOST_NAMED).join(', ')

function summary(found: Series, done: Series): string {
  const { last, period } = done.handedOver!
  const ofPeriod = period && ` of ${visible(period)}`
  const from = nameOf(found)
  return (
    `Series ${found.letter} of '${found.collection}' goes to ${nameOf(done)}, which gets it when ` +
    `it asks for a series, and goes on at ${last + 1}${ofPeriod}. The token that ${from} had is ` +
    `void. If ${from} comes back, what it has made after ${last}${ofPeriod} is doubtful, and it ` +
    'makes no number of the series any more.\n'
  )
}

function doneBefore({ letter, collection, handedOver }: Series): string {
  const { by, at, to, isTaken } = handedOver!
  return (
    `Nothing was changed: ${by} has done exactly this ${time(at)}, and ` +
    `${visible(to)} ${isTaken ? 'has' : 'gets'} series ${letter} of '${collection}'. If that ` +
    'device was lost, too, hand the series over to a device of another name.\n'
  )
}
