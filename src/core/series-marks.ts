/** How far a series has come, and its ranges, as the device, the wire and the ledger share them. */

/** The numbers of one period of a series that the server has heard of. */
export interface SeriesPeriod {
  /** Empty: the series has no periods, and does not begin with 1. */
  period: string
  first: number
  /** 0: the period was closed before it had a number. */
  last: number
  /** No number of it is made any more, unless a person opens it again. */
  closed?: true | undefined
}

/** How far a series has come, over all periods and in each. */
export interface SeriesMark {
  /** How many numbers were made. */
  last: number
  /** The newest last. */
  periods: readonly SeriesPeriod[]
}

/** A period that was closed or reopened, or is told again. */
export interface ToldPeriod {
  period: string
  closed: boolean
  /** Absent: its numbers are not told again. */
  first?: number | undefined
  last?: number | undefined
}

/** A record of a chain, or an entry of a register: its place there, and its hash. */
export interface SeriesLink {
  at: number
  hash: string
}

/** Numbers that an authority gave. */
export interface SeriesRange {
  from: number
  to: number
  /**
   * Stands before them. Numbers of two prefixes are different numbers: the period of this range is
   * called `SETP:1-1000`. Default: nothing.
   */
  prefix?: string | undefined
  /** The last day on which they are made: `2027-12-31`. */
  validUntil?: string | undefined
  /** The authority's name for the range. */
  data?: string | undefined
}

/** How far each period has come, with the newest report added. */
export function joined(
  known: readonly SeriesPeriod[],
  told: readonly SeriesPeriod[],
): SeriesPeriod[] {
  const periods = new Map(known.map((each) => [each.period, each]))
  for (const { period, first, last } of told) {
    const before = periods.get(period)
    // One that was closed before it had a number begins where its first number is.
    const isBegun = before !== undefined && before.last > 0
    periods.set(period, {
      ...before,
      period,
      first: isBegun ? Math.min(first, before.first) : first,
      last: isBegun ? Math.max(last, before.last) : last,
    })
  }
  return [...periods.values()]
}

/** The same of numbers, one by one. */
export const marksOf = (numbers: readonly { period?: string; number: number }[]): SeriesPeriod[] =>
  joined(
    [],
    numbers.map(({ period = '', number }) => ({ period, first: number, last: number })),
  )
