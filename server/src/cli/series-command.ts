/**
 * `series`: which device holds which series of consecutive numbers, and a person's commands for
 * one: close it, hand it over to another device, or list it after a restore.
 */
import { type Command, InvalidArgumentError } from 'commander'
import { time } from '../http/messages.js'
import type { Series, SeriesPeriod, SeriesRange, StatedPeriod } from '../ledger/ledger.js'
import { allSeries } from './all-series.js'
import type { Change, SeenLedger } from './confirm.js'
import { changingCommand, readNumber } from './flags.js'
import { handOverSeries } from './hand-over-command.js'
import { type Column, operate, table } from './ledger-commands.js'
import { noteSeries, reopenSeries } from './listed-series.js'
import { account, explainDocument } from './series-answers.js'
import { closeSeries, giveRange, renameDevice, type SeriesFlags } from './series-steps.js'

export const seriesCommand = (): Command =>
  changingCommand(
    'series',
    'Show who holds which series of consecutive numbers; close one, hand one over, give a range.',
  )
    .argument('<database>')
    .option('--document <text>', 'who made this document, as in T3-2026-000133, and when')
    .option('--account <letter>', 'all that the server was told of a series, and what it was not')
    .option('--close <letter>', 'no more numbers in this series, once its device has heard of it')
    .option('--collection <name>', 'only series of this collection')
    .option('--hand-over <letter>', 'another device goes on with this series of a lost one')
    .option('--rename <letter>', 'another name for the device of this series')
    .option('--to <device>', 'the other device, as its app names it, or the new name')
    .option('--last <number>', 'the last number that was made, of all documents', readNumber)
    .option('--period <text>', 'its period, one that the server has heard of')
    .option('--new-period <text>', 'its period, one that the server has not heard of yet')
    .option('--no-period', 'it has none: for a series of which the server has heard no number')
    .option('--other <period=last>', 'the same of another period: once for each', readOther)
    .option('--no-other', 'after a restore: there is no other period')
    .option('--give <letter>', 'this series gets a range of numbers that an authority gave')
    .option('--range <numbers>', 'which: 2001-3000')
    .option('--prefix <text>', 'what stands before them: numbers of another prefix begin anew')
    .option('--until <day>', 'the last day on which they are made: 2027-12-31')
    .option('--note <text>', 'what comes with each of them, such as what the authority calls them')
    .option('--exists <letter>', 'after a restore: this series was given after the backup')
    .option('--again', 'after a restore: the range was given after the backup')
    .option('--all-listed', 'after a restore: all series and ranges that exist are listed')
    .option('--reason <text>', 'why')
    .option('--by <name>', "who does it (default: the user's name on this machine)")
    .action((database: string, given: SeriesFlags, command: Command) =>
      operate(command, database, (ledger) => {
        const { name, run } = stepOf(command, given)
        return run(ledger, database, String(name && given[name]), given)
      }),
    )

function readOther(text: string, before?: StatedPeriod[] | boolean): StatedPeriod[] {
  const [, period, last = ''] = /^(.*)=(.*)$/s.exec(text) ?? []
  if (period === undefined) throw new InvalidArgumentError('It has to be as in "2026=124".')
  return [...(Array.isArray(before) ? before : []), { period, last: readNumber(last) }]
}

type Flag = keyof SeriesFlags

interface Step {
  /** The flag that asks for it. Undefined: none, and the series are listed. */
  name?: Flag
  /** The other flags that it reads. */
  reads: Flag[]
  run(
    ledger: SeenLedger,
    database: string,
    value: string,
    given: SeriesFlags,
  ): Promise<Change | string>
}

const HANDS_OVER: Flag[] = ['to', 'last', 'period', 'newPeriod', 'other', 'reason', 'by']
const STEPS: Step[] = [
  { name: 'close', reads: ['collection', 'reason', 'by'], run: closeSeries },
  { name: 'handOver', reads: ['collection', ...HANDS_OVER], run: handOverSeries },
  {
    name: 'give',
    reads: ['collection', 'range', 'prefix', 'until', 'note', 'again'],
    run: giveRange,
  },
  { name: 'rename', reads: ['collection', 'to'], run: renameDevice },
  { name: 'exists', reads: ['collection'], run: noteSeries },
  { name: 'document', reads: ['collection'], run: explainDocument },
  { name: 'account', reads: ['collection'], run: account },
  { name: 'allListed', reads: [], run: reopenSeries },
]
const LIST: Step = {
  reads: ['collection'],
  run: (ledger, database, _, given) => list(ledger, database, given),
}

/**
 * What the flags ask for. Which one of two is done must not depend on an order that nobody knows,
 * and somebody who gives a flag counts on it.
 * @throws Error for two of them, or a flag that would be passed over
 */
function stepOf(command: Command, given: SeriesFlags): Step {
  const flagOf = (name: Flag) =>
    command.options.find((option) => option.attributeName() === name)!.long!
  const flags = (steps: readonly Step[], between: string) =>
    steps.map(({ name }) => flagOf(name!)).join(between)
  const asked = STEPS.filter(({ name }) => given[name!] !== undefined)
  if (asked.length > 1)
    throw new Error(`${flags(asked, ' and ')}: give one of them. Nothing was changed.`)
  const [step = LIST] = asked
  const unread = STEPS.flatMap(({ reads }) => reads).find(
    (name) => given[name] !== undefined && !step.reads.includes(name),
  )
  if (!unread) return step
  const readers = STEPS.filter(({ reads }) => reads.includes(unread))
  throw new Error(
    `${flagOf(unread)} belongs to ${flags(readers, ' or ')}` +
      `${step.name ? `, and ${flagOf(step.name)} does not read it` : ''}. Nothing was changed.`,
  )
}

const COLUMNS: Column<Series>[] = [
  ['collection', ({ collection }) => collection],
  ['series', ({ letter }) => letter],
  ['last', ({ last, periods }) => periods.at(-1)?.last ?? last],
  ['periods', ({ periods }) => periods.map(periodText).join(', ') || '-'],
  ['ranges', ({ ranges }) => ranges.map(rangeText).join(', ') || '-'],
  ['last seen', ({ seenAt }) => time(seenAt)],
  ['device', ({ device }) => device],
  [
    'closed',
    ({ closed }) => (closed ? `${time(closed.at)} by ${closed.by}: ${closed.reason}` : '-'),
  ],
  [
    'handed over',
    ({ handOvers }) =>
      handOvers
        .map(({ at, by, from, to, reason }) => `${time(at)} by ${by}, ${from} to ${to}: ${reason}`)
        .join('; ') || '-',
  ],
  ['doubtful', ({ doubtful }) => (doubtful ? `${doubtful.from} to ${doubtful.to}` : '-')],
]

const periodText = ({ period, first, last, closed }: SeriesPeriod): string =>
  `${period && `${period}: `}${last > 0 ? `${first} to ${last}` : 'no number'}` +
  (closed ? ', closed' : '')

const rangeText = ({ from, to, prefix, validUntil }: SeriesRange): string =>
  `${prefix ? `${prefix} ` : ''}${from} to ${to}${validUntil ? ` until ${validUntil}` : ''}`

const UNLISTED =
  'The database was restored. It gives no name of a series and no range until you have listed ' +
  'those that were given after the backup (--exists, --give with --again), and say --all-listed.\n'

async function list(
  ledger: SeenLedger,
  database: string,
  { collection: only }: SeriesFlags,
): Promise<string> {
  const series = (await allSeries(ledger, database)).filter(
    ({ collection }) => only === undefined || collection === only.toLowerCase(),
  )
  const isClosed = (await ledger.unlisted()).includes(database.toLowerCase())
  const found = series.length === 0 ? `No series in ${database} yet.\n` : table(COLUMNS, series)
  return isClosed ? `${found}${UNLISTED}` : found
}
