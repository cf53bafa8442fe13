/**
 * Numbers of an authority that a person gives to a series. Pure. Guarantees that no two series of a
 * collection have the same one.
 */
import type { RangeRefusal, SeriesGift, SeriesRange } from './ledger.js'
import type { Rows, StepResult } from './row-store.js'
import type { SeriesRow } from './rows.js'

/** In one row, which is written at each check-in. */
const MOST_RANGES = 100

const rangesOf = ({ ranges }: SeriesRow): SeriesRange[] => JSON.parse(ranges)

/** For an answer to the device. */
export const givenTo = (row: SeriesRow): { ranges?: SeriesRange[] } =>
  row.ranges === '[]' ? {} : { ranges: rangesOf(row) }

/** @param rows with all series of the collection */
export function giveRange(
  rows: Rows,
  grant: string,
  { range }: SeriesGift,
): StepResult<SeriesRow | RangeRefusal> {
  const refuse = (answer: RangeRefusal) => ({ answer, changes: {} })
  const row = rows.series.get(grant)
  if (!row) return refuse({ refused: 'missing' })
  if (row.closedAt !== null) return refuse({ refused: 'closed' })
  // guard: H28 a number of a range is given once
  for (const each of rows.series.values())
    for (const other of rangesOf(each))
      if (range.from <= other.to && other.from <= range.to)
        return refuse({ refused: 'overlap', letter: each.name, from: other.from, to: other.to })
  const ranges = [...rangesOf(row), range].sort((a, b) => a.from - b.from)
  if (ranges.length > MOST_RANGES) return refuse({ refused: 'crowded' })
  const changed: SeriesRow = { ...row, ranges: JSON.stringify(ranges) }
  return { answer: changed, changes: { series: [changed] } }
}
