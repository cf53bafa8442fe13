/** All series of a database, wherever its ledger is, page by page: no answer grows with them. */
import type { OperatedLedger } from '../http/operated.js'
import type { Series, SeriesPlace } from '../ledger/ledger.js'

export async function allSeries(
  ledger: Pick<OperatedLedger, 'seriesPage'>,
  database: string,
): Promise<Series[]> {
  const all: Series[] = []
  for (let after: SeriesPlace | undefined; ; ) {
    const { series, next } = await ledger.seriesPage({ database, after })
    all.push(...series)
    if (!next) return all
    after = next
  }
}
