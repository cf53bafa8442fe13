/** `series`: which device holds which series of consecutive numbers, and closing one by hand. */
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { isNote, MAX_NAME_BYTES, MAX_REASON_BYTES } from '../http/texts.js'
import type { Ledger, Series, SeriesPeriod } from '../ledger/ledger.js'
import { ledgerCommand } from './flags.js'
import { report } from './ledger-commands.js'
import { type Column, table } from './table.js'

interface Given {
  close?: string
  collection?: string
  reason?: string
  by?: string
}

export const seriesCommand = (): Command =>
  ledgerCommand('series', 'Show who holds which series of consecutive numbers, or close one.')
    .argument('<database>')
    .option('--close <letter>', 'no more numbers in this series, once its device has heard of it')
    .option('--collection <name>', 'only series of this collection')
    .option('--reason <text>', 'why it is closed')
    .option('--by <name>', "who closes it (default: the user's name on this machine)")
    .action((database: string, given: Given, command: Command) =>
      // Works also while the counters of bound collections cannot be used.
      report(command, { collections: undefined }, (ledger) =>
        given.close === undefined
          ? list(ledger, database, given.collection)
          : close(ledger, database, given.close, given),
      ),
    )

const time = (at: number): string => new Date(at).toISOString()

const COLUMNS: Column<Series>[] = [
  ['collection', ({ collection }) => collection],
  ['series', ({ letter }) => letter],
  ['last', ({ last, periods }) => periods.at(-1)?.last ?? last],
  ['periods', ({ periods }) => periods.map(periodText).join(', ') || '-'],
  ['last seen', ({ seenAt }) => time(seenAt)],
  ['device', ({ device }) => device],
  [
    'closed',
    ({ closed }) => (closed ? `${time(closed.at)} by ${closed.by}: ${closed.reason}` : '-'),
  ],
  ['doubtful', ({ doubtful }) => (doubtful ? `${doubtful.from} to ${doubtful.to}` : '-')],
]

const periodText = ({ period, first, last }: SeriesPeriod): string =>
  `${period && `${period}: `}${first} to ${last}`

async function list(ledger: Ledger, database: string, only?: string): Promise<string> {
  const series = (await ledger.series(database)).filter(
    ({ collection }) => only === undefined || collection === only.toLowerCase(),
  )
  return series.length === 0 ? `No series in ${database} yet.\n` : table(COLUMNS, series)
}

/** @throws Error when there is no such series, or more than one */
async function close(
  ledger: Ledger,
  database: string,
  letter: string,
  { collection, reason, by = userName() }: Given,
): Promise<string> {
  if (!reason) throw new Error('--close needs a --reason, which the list then shows.')
  // As the server asks of a request. The list has a line per series.
  if (!isNote(reason, MAX_REASON_BYTES) || !isNote(by, MAX_NAME_BYTES))
    throw new Error(
      `--reason has up to ${MAX_REASON_BYTES} bytes of UTF-8 and --by ${MAX_NAME_BYTES}, both ` +
        'without control characters such as line breaks. Nothing was closed.',
    )
  const found = (await ledger.series(database)).filter(
    (each) =>
      [letter, letter.toUpperCase()].includes(each.letter) &&
      (collection === undefined || each.collection === collection.toLowerCase()),
  )
  if (found.length === 0)
    throw new Error(
      `There is no series ${letter}${collection ? ` of '${collection}'` : ''} in ${database}. ` +
        `offline-hilo-server series ${database} lists them.`,
    )
  if (found.length > 1)
    throw new Error(
      `Several collections have a series ${letter}: say which with --collection ` +
        `(${found.map((each) => each.collection).join(', ')}).`,
    )
  const closed = await ledger.closeSeries({ ...found[0]!, by, reason, at: Date.now() })
  return (
    `Series ${closed!.letter} of '${closed!.collection}' is closed, by ${closed!.closed!.by}: ` +
    `${closed!.closed!.reason}. The server has heard of numbers up to ${closed!.last}. The ` +
    'device is told when it checks in next.\n'
  )
}

/** @throws Error for a user without a name, as containers may have */
function userName(): string {
  try {
    return userInfo().username
  } catch (error) {
    throw new Error('This user has no name on this machine: say with --by who closes the series.', {
      cause: error,
    })
  }
}
