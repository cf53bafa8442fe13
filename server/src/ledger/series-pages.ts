/**
 * Lists of series, in pages. Guarantees that one page is read in small steps and stays small,
 * however many periods devices have told: a claim that waits comes between two pages.
 */
import type { SeriesPlace } from './ledger.js'
import type { RowStore } from './row-store.js'
import type { SeriesRow } from './rows.js'

/** The most series of a page. */
export const MOST_LISTED = 100
/** A page ends with the series that makes it longer than this. */
const MOST_CHARACTERS = 1_000_000
/** Rows of one statement. The longest has some 200 kB. */
const AT_ONCE = 20

interface Page {
  rows: SeriesRow[]
  /** The place of its last series, where there are more behind it. */
  next?: SeriesPlace
}

const FIRST: SeriesPlace = { collection: '', place: 0 }

/** @param collection only of this one: `after` is in it */
export async function readPage(
  { readSeries }: Pick<RowStore, 'readSeries'>,
  database: string,
  { after = FIRST, limit = MOST_LISTED, collection }: PageQuestion,
): Promise<Page> {
  const rows: SeriesRow[] = []
  for (let at = after, length = 0; ; ) {
    const some = await readSeries(database, at, AT_ONCE)
    for (const row of some) {
      if (collection !== undefined && row.collection !== collection) return { rows }
      // guard: H26 a page of series has an end
      if (rows.length >= limit || length > MOST_CHARACTERS) return { rows, next: at }
      rows.push(row)
      length += lengthOf(row)
      at = placeOf(row)
    }
    if (some.length < AT_ONCE) return { rows }
  }
}

interface PageQuestion {
  after?: SeriesPlace | undefined
  limit?: number | undefined
  collection?: string | undefined
}

const placeOf = ({ collection, letter }: SeriesRow): SeriesPlace => ({ collection, place: letter })

const lengthOf = ({ periods, toldByOthers, handOvers, ranges }: SeriesRow): number =>
  periods.length + toldByOthers.length + handOvers.length + ranges.length
