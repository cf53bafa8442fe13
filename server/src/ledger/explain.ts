/**
 * Where one number is: which grant covers it, or which series may have made it. Pure. Guarantees
 * that it says no more than the ledger's rows do: what is not on record is called so.
 */
import type {
  ExplainedGrant,
  ExplainedSeries,
  Explanation,
  NumberQuestion,
  SeriesPeriod,
} from './ledger.js'
import { type CollectionRow, freeOf, type GrantRow, type SeriesRow, toSeries } from './rows.js'

/** What the store knows that may be about a number. */
export interface Evidence {
  /** Undefined: no range of the collection was ever granted, or it was dropped. */
  collection: CollectionRow | undefined
  /** The grants that cover the number, or did before it came back; oldest first. */
  grants: readonly GrantRow[]
  /** Of the collection. */
  series: readonly SeriesRow[]
}

export function explain(asked: NumberQuestion, evidence: Evidence): Explanation {
  const { database, collection, number, series, period } = asked
  const { collection: row, grants } = evidence
  const isAbout = ({ name }: SeriesRow) =>
    series === undefined || [series, series.toUpperCase()].includes(name)
  return {
    database,
    collection,
    number,
    ...(series === undefined && row && { id: { ...stateOf(number, row, grants), max: row.max } }),
    grants: series === undefined ? grants.map((grant) => grantOf(number, grant)) : [],
    series: evidence.series.filter(isAbout).map((each) => inSeries(number, each, period)),
  }
}

function stateOf(
  number: number,
  row: CollectionRow,
  grants: readonly GrantRow[],
): Pick<NonNullable<Explanation['id']>, 'state' | 'floor'> {
  const floor = number <= row.floor ? { floor: row.floor } : {}
  const holder = grants.find(({ high }) => number <= high)
  if (holder) return { state: number <= holder.issued ? 'used' : 'held', ...floor }
  if (freeOf(row).some(([low, high]) => low <= number && number <= high)) return { state: 'free' }
  if (number > Math.max(row.max, row.peak)) return { state: 'above', ...floor }
  // The end of the line came back: the next grants begin there.
  if (number > row.max && number > row.floor) return { state: 'free' }
  return { state: grants.length > 0 ? 'returned' : 'forgotten', ...floor }
}

function grantOf(number: number, row: GrantRow): ExplainedGrant {
  const { low, high, firstHigh, issued, grantedAt, heardAt, serverTag, device, claimedBy } = row
  return {
    low,
    high: firstHigh,
    grantedAt,
    heardAt,
    serverTag,
    device,
    by: claimedBy ?? undefined,
    isReturned: number > high,
    usedTo: issued >= low ? issued : undefined,
  }
}

function inSeries(number: number, row: SeriesRow, period: string | undefined): ExplainedSeries {
  const { letter: series, device, last, periods, seenAt, ...end } = toSeries(row)
  const { closed, doubtful, handedOver } = end
  const marks: readonly SeriesPeriod[] =
    periods.length > 0 ? periods : last > 0 ? [{ period: '', first: 1, last }] : []
  const heard = marks.filter(
    (mark) =>
      mark.first <= number && number <= mark.last && (period ?? mark.period) === mark.period,
  )
  return { series, device, last, heard, seenAt, closed, doubtful, handedOver }
}
