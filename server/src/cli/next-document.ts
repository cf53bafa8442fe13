/** Which document a series makes next, as the package itself writes it: `T3-2026-000132`. */
import { visible } from '../http/messages.js'
import { isOfPrefix, periodsIn, rangeNamed } from '../ledger/heard.js'
import type { Series, SeriesPeriod } from '../ledger/ledger.js'

const DIGITS = 6

/** Is there no period in the text of its numbers? */
export const isBare = (each: SeriesPeriod): boolean =>
  each.period === '' || rangeNamed(each) !== undefined

export function nextOf(letter: string, mark: SeriesPeriod, isWithout = isBare(mark)): string {
  const { period, last, closed } = mark
  if (closed) return `the first one of another period: ${visible(period)} is closed`
  if (rangeNamed(mark)?.to === last) return `the first one of a range above ${last}`
  return textOf(letter, last + 1, isWithout ? prefixOf(mark) : period)
}

const textOf = (letter: string, number: number, period: string): string =>
  visible([letter, ...(period ? [period] : []), String(number).padStart(DIGITS, '0')].join('-'))

/** The last document of a series of which the server has heard. Undefined: there is none. */
export function lastDocument(series: Series): string | undefined {
  const newest = periodsIn(series).findLast(({ last }) => last > 0)
  if (!newest) return undefined
  const { letter } = series
  return textOf(letter, newest.last, isBare(newest) ? prefixOf(newest) : newest.period)
}

const prefixOf = (mark: SeriesPeriod): string => rangeNamed(mark)?.prefix ?? ''

/** The next document of a series, as far as the server has heard of it. */
export function nextDocument(series: Series): string {
  const { letter, ranges } = series
  const periods = periodsIn(series)
  const newest = periods.at(-1)
  const isBegun = newest && rangeNamed(newest)
  const begun = ranges.findIndex((each) => isBegun && isOfPrefix(isBegun)(each))
  for (const { from, to, prefix } of ranges.slice(Math.max(0, begun))) {
    const ofPrefix = periods.filter((each) => isOfPrefix({ prefix })(rangeNamed(each) ?? {}))
    const number = Math.max(from - 1, ...ofPrefix.map(({ last }) => last)) + 1
    if (number > to) continue
    return textOf(letter, number, prefix ?? '')
  }
  return newest ? nextOf(letter, newest) : `its first one, such as ${textOf(letter, 1, '')}`
}
