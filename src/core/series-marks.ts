/** What the device, the wire and the ledger say of a series in the same words. */

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

/** Body of `POST /databases/{db}/hilo/series/checkin`. */
export interface SeriesCheckInRequest {
  /** A UUID. */
  id: string
  /** Empty: the device has no series any more, and asks only which ledger answers. */
  token: string
  /** The name of the ledger that gave the series. */
  ledger?: string | undefined
  /** How many numbers this device has made in the series, over all periods. */
  last: number
  /**
   * How far each period has come whose numbers are named here for the first time, and that of the
   * number before them. Absent: the series counts 1, 2, 3 … without periods.
   */
  periods?: SeriesPeriod[] | undefined
  /** The record of the number `last` in a chain, where it has one. */
  link?: SeriesLink | undefined
  /**
   * The last number that the server has confirmed, as the device stores it now. Absent: there is
   * none.
   */
  heard?: { last: number; link?: SeriesLink | undefined } | undefined
  /**
   * The last entry of the device's register. The server keeps the one with the highest place, and
   * judges nothing by it. Absent: it has none yet.
   */
  register?: SeriesLink | undefined
  /**
   * Periods that were closed or reopened since the last check-in. After an answer with `again`:
   * all periods, each with its numbers, if it has any.
   */
  closings?: ToldPeriod[] | undefined
  /** As the last answer had it. */
  mark?: string | undefined
}

/** The last number of a period, as the documents themselves say. */
export interface StatedPeriod {
  period: string
  last: number
}

/** What a person says of a series that another device goes on with. */
export interface StatedHandOver {
  /** The name of that device: it gets the series when it asks for one. */
  to: string
  /** The last number that was made, as the documents themselves say. */
  last: number
  /** Of which period. Empty: it has none. Absent: nor has any number that the server heard of. */
  period?: string | undefined
  /** The server has not heard of the period. Only then is one accepted that it does not know. */
  newPeriod?: boolean | undefined
  /**
   * The same of other periods; each that is left out goes on after what the server has heard of it.
   * Needed after a restore, unless the device was heard since: then none is left out. Empty: there
   * are no others.
   */
  otherPeriods?: readonly StatedPeriod[] | undefined
  /** Changes nothing, and answers how the series would be. */
  dryRun?: boolean | undefined
}

/** From which device to which a series went. */
export interface DoneHandOver {
  from: string
  to: string
  /** The last number that was made, as the person says, and its period. */
  last: number
  /** Empty: the series has none. */
  period: string
  /** The same of other periods. Absent: the person said none. */
  otherPeriods?: readonly StatedPeriod[] | undefined
  /** How many numbers the server had heard of, over all periods. */
  heard: number
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
