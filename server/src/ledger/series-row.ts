/**
 * Reads the row of a series: who had it, who made which of its numbers, and which ranges it was
 * given. Pure.
 */
import { joined } from './heard.js'
import type { HandOver, PastHandOver, Series, SeriesPeriod, SeriesRange } from './ledger.js'
import type { SeriesRow, StoredHandOver } from './rows.js'

export const handOversOf = ({ handOvers }: SeriesRow): StoredHandOver[] => JSON.parse(handOvers)

export const rangesOf = ({ ranges }: SeriesRow): SeriesRange[] => JSON.parse(ranges)

/** For an answer to the device. */
export const givenTo = (row: SeriesRow): { ranges?: SeriesRange[] } =>
  row.ranges === '[]' ? {} : { ranges: rangesOf(row) }

/** The rest of a series when another device goes on with it. */
export function restOf({
  link,
  register,
  closedAt: at,
  closedBy: by,
  reason,
}: SeriesRow): Pick<StoredHandOver, 'link' | 'register' | 'closed'> {
  return {
    ...(link !== null && { link: JSON.parse(link) }),
    ...(register !== null && { register: JSON.parse(register) }),
    ...(at !== null && { closed: { at, by: by!, reason: reason! } }),
  }
}

/** Those of `periods` that no device made which had the series before. */
export function numbersAfter(
  before: readonly StoredHandOver[],
  periods: readonly SeriesPeriod[],
): SeriesPeriod[] {
  const made = joined(
    [],
    before.flatMap(({ numbers, others }) => [...numbers, ...others]),
  )
  return periods.flatMap(({ period, first, last }) => {
    const known = made.find((each) => each.period === period)
    const from = Math.max(first, (known?.last ?? 0) + 1)
    return from <= last ? [{ period, first: from, last }] : []
  })
}

/**
 * The device that made a number, of which was heard.
 * @returns undefined: nobody knows which of those that had the series
 */
export function makerOf(row: SeriesRow, { period }: SeriesPeriod, number: number) {
  const isIn = (each: SeriesPeriod) =>
    each.period === period && each.first <= number && number <= each.last
  const done = handOversOf(row)
  const before = done.find(({ numbers }) => numbers.some(isIn))
  if (before) return before.from
  return done.some(({ others }) => others.some(isIn)) ? undefined : row.device
}

export function toSeries(row: SeriesRow): Series {
  const { database, collection, name: letter, device, last, registeredAt, seenAt } = row
  const { doubtfulFrom: from, doubtfulTo: to } = row
  const { link, register, closed } = restOf(row)
  const handOvers = handOversOf(row).map(toHandOver)
  const newest = handOvers.at(-1)
  return {
    ...{ database, collection, letter, device, last, registeredAt, seenAt },
    periods: JSON.parse(row.periods),
    doubtful: from === null ? undefined : { from, to: to! },
    ...{ link, register, closed },
    handedOver: newest && { ...statedOf(newest), isTaken: newest.isTaken },
    handOvers,
    ranges: rangesOf(row),
  }
}

const toHandOver = ({ claim, ...done }: StoredHandOver): PastHandOver => {
  const { numbers, link, register, closed } = done
  return { ...statedOf(done), isTaken: claim !== undefined, numbers, link, register, closed }
}

/** The statement of a person. */
export function statedOf(done: HandOver): HandOver {
  const { from, to, period, last, otherPeriods, heard, by, reason, at } = done
  return { from, to, period, last, heard, by, reason, at, ...(otherPeriods && { otherPeriods }) }
}
