/**
 * After a restore: a person lists the series that exist, since the ledger may have forgotten some.
 * Until then it gives no name and no range.
 */
import { visible } from '../http/messages.js'
import { isSeriesName } from '../http/operated.js'
import { seriesKey } from '../ledger/collections.js'
import type { Series } from '../ledger/ledger.js'
import { allSeries } from './all-series.js'
import type { Change, SeenLedger } from './confirm.js'
import type { SeriesFlags } from './series-steps.js'

/** @throws Error when it is no name of a series, or the ledger still grants nothing */
export async function noteSeries(
  ledger: SeenLedger,
  database: string,
  letter: string,
  { collection }: SeriesFlags,
): Promise<Change | string> {
  if (!collection) throw new Error('--exists needs the --collection of the series.')
  if (!isSeriesName(letter))
    throw new Error(`${visible(letter)} is no name of a series. Nothing was changed.`)
  const known = (await allSeries(ledger, database)).find(
    (each) =>
      each.collection === collection.toLowerCase() && seriesKey(each.letter) === seriesKey(letter),
  )
  if (known) return `Nothing was changed: series ${known.letter} of '${collection}' is listed.\n`
  return {
    plan:
      `Series ${letter} of '${collection}' exists, and no device gets its name any more. A ` +
      'device that has it from after the backup ends it at its next check-in. You may hand it ' +
      'over.\n',
    apply: async (changed) => {
      const asked = { database, collection, letter, at: Date.now() }
      const done = await changed.noteSeries(asked)
      if ('refused' in done)
        throw new Error(
          done.refused === 'restored'
            ? `${database} was restored. Raise its floors first: ` +
                'npx offline-hilo-server raise-floor.'
            : `${letter} could not be listed (${done.refused}). Compare it with the documents.`,
        )
      return `Series ${done.letter} of '${done.collection}' is listed.\n`
    },
  }
}

export async function reopenSeries(ledger: SeenLedger, database: string): Promise<Change | string> {
  if (!(await ledger.unlisted()).includes(database.toLowerCase()))
    return `Nothing was changed: ${database} gives names and ranges already.\n`
  const known = await allSeries(ledger, database)
  return {
    plan:
      `These series of ${database} exist: ${known.map(listed).join('; ') || 'none'}.\nFrom now ` +
      'on every other name, and every other range, is given to a device that asks. If one is ' +
      'missing that was given after the backup, its documents will come twice.\n',
    apply: async (changed) => {
      if (!(await changed.reopenSeries({ database })))
        throw new Error(
          `${database} was restored. Raise its floors first: npx offline-hilo-server raise-floor.`,
        )
      return `${database} gives names and ranges again.\n`
    },
  }
}

const listed = ({ collection, letter, ranges }: Series): string =>
  `${collection} ${letter}` +
  (ranges.length > 0 ? ` with ${ranges.map(({ from, to }) => `${from} to ${to}`).join(', ')}` : '')
