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

export async function readPage(
  store: SeriesReader,
  database: string,
  { limit = MOST_LISTED, ...from }: PageQuestion,
): Promise<Page> {
  const rows: SeriesRow[] = []
  let length = 0
  for await (const row of eachSeries(store, database, from)) {
    // guard: H26 a page of series has an end
    if (rows.length >= limit || length > MOST_CHARACTERS)
      return { rows, next: placeOf(rows.at(-1)!) }
    rows.push(row)
    length += lengthOf(row)
  }
  return { rows }
}

/** Series of a database, of which few are in memory at a time. */
export async function* eachSeries(
  { readSeries }: SeriesReader,
  database: string,
  { after = FIRST, collection }: Pick<PageQuestion, 'after' | 'collection'> = {},
): AsyncGenerator<SeriesRow> {
  for (let at = after; ; ) {
    const some = await readSeries(database, at, AT_ONCE)
    for (const row of some) {
      if (collection !== undefined && row.collection !== collection) return
      yield row
      at = placeOf(row)
    }
    if (some.length < AT_ONCE) return
  }
}

type SeriesReader = Pick<RowStore, 'readSeries'>

interface PageQuestion {
  after?: SeriesPlace | undefined
  limit?: number | undefined
  /** Only of this one: `after` is in it. */
  collection?: string | undefined
}

const placeOf = ({ collection, ordinal }: SeriesRow): SeriesPlace => ({
  collection,
  place: ordinal,
})

const lengthOf = ({ periods, toldByOthers, handOvers, ranges }: SeriesRow): number =>
  periods.length + toldByOthers.length + handOvers.length + ranges.length
