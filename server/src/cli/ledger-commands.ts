/** The commands that look at a ledger and change it beside a running server, and their tables. */
import type { Command } from 'commander'
import { BUDGETS } from '../http/budgets.js'
import { inWords } from '../http/explain-words.js'
import { limits as handlerLimits } from '../http/handler-options.js'
import { time, visible } from '../http/messages.js'
import type { OperatedLedger } from '../http/operated.js'
import type { CollectionCounts, Ledger } from '../ledger/ledger.js'
import { hint, parted } from '../ledger/option-checks.js'
import { openLedger } from '../open-ledger.js'
import type { ServeOptions } from '../serve.js'
import type { Settings } from '../settings.js'
import { refuseMissing, refuseOlder } from '../sql/schema.js'
import { type Change, confirmed, type SeenLedger } from './confirm.js'
import { changingCommand, operatedCommand, readNumber, urlOf, withSettings } from './flags.js'
import { placeIn, versionAt } from './place.js'
import { remoteLedger } from './remote-ledger.js'

export const statusCommand = (): Command =>
  operatedCommand('status', 'Show what was granted, per collection.')
    .argument('[database]', 'only of this one')
    .action((database: string | undefined, _, command: Command) =>
      operate(command, database, async (ledger, settings) => {
        const isAsked = (name: string) => database === undefined || name === database.toLowerCase()
        const statuses = await ledger.status()
        const name = await ledger.readName()
        return [
          name === undefined ? '' : `Ledger ${name}\n`,
          ...(await ledger.restored()).filter(isAsked).map(restoredLine),
          statusTable(statuses.filter((each) => isAsked(each.database))),
          budgetLine(settings),
        ].join('')
      }),
    )

/** Resolves with the text to print, or with the change to confirm. */
type CommandStep = (ledger: SeenLedger, settings: Settings) => Promise<string | Change>

async function answer(
  command: Command,
  ledger: OperatedLedger,
  done: string | Change,
): Promise<void> {
  const yes = command.getOptionValue('yes') === true
  process.stdout.write(typeof done === 'string' ? done : await confirmed(done, ledger, yes))
}

/**
 * Opens the ledger, takes a step, closes it.
 * @param raised a database whose numbers go up: its counters are opened, too, which may be unusable
 */
const report = (command: Command, step: CommandStep, raised: string | undefined): Promise<void> =>
  withSettings(command, async (settings) => {
    const { collections, ...others } = settings
    if (raised !== undefined) refuseUnlisted(raised, settings)
    const ledger = await openExisting(raised === undefined ? others : settings)
    try {
      await answer(command, ledger, await step(ledger, settings))
    } finally {
      await ledger.close()
    }
  })

/**
 * Whoever mistypes the name would take the right one for raised.
 * @throws Error
 */
function refuseUnlisted(database: string, { databases, collections = {} }: Settings): void {
  const bound = Object.keys(collections)
  const listed = databases ?? (bound.length > 0 ? bound : 'any')
  if (listed === 'any' || listed.some((name) => name.toLowerCase() === database.toLowerCase()))
    return
  throw new Error(
    `${database} is not among the databases of the settings, so no client can ask for it. ` +
      `${hint([database], listed)}There are: ${listed.join(', ')}. Correct the name, or list it. ` +
      'Nothing was changed.',
  )
}

/**
 * The same, also for a database of a ledger behind an address.
 * @param raises its numbers go up
 */
export async function operate(
  command: Command,
  database: string | undefined,
  step: CommandStep,
  raises = false,
): Promise<void> {
  const url = urlOf(command)
  if (url === undefined) return report(command, step, raises ? database : undefined)
  if (database === undefined)
    throw new Error('--url needs the name of a database, as in: status Shop --url …')
  const ledger = remoteLedger(url, database)
  await answer(command, ledger, await step(ledger, {}))
}

/** Opens a ledger that exists. A mistyped folder or database does not become a new one. */
async function openExisting(settings: ServeOptions): Promise<Ledger> {
  const { dataDir, databaseUrl, collections, upstream, secrets } = settings
  const version = await versionAt(settings)
  refuseMissing(version, placeIn(settings))
  refuseOlder(version)
  const place = { dataDir, databaseUrl, collections, upstream }
  if (secrets === undefined) return openLedger(place)
  // A secret of its own stays in the ledger until a server is given another one.
  return openLedger(place).catch(() => openLedger({ ...place, secrets }))
}

const COLUMNS: Column<CollectionCounts>[] = [
  ['database', ({ database }) => database],
  ['collection', ({ collection }) => collection],
  ['max', ({ max }) => max],
  ['outstanding', ({ outstanding }) => outstanding],
  ['free', ({ free }) => free],
  ['grants', ({ grants }) => grants],
  ['last claim', ({ lastClaim }) => (lastClaim === undefined ? '-' : time(lastClaim))],
]

const restoredLine = (database: string): string =>
  `${database} was restored from a backup, and grants nothing. Run: npx ` +
  `offline-hilo-server raise-floor ${database} --all --by <numbers>\n`

/** Each server counts its own refusals. */
function budgetLine({ tokens, limits }: Settings): string {
  if (tokens === undefined) return ''
  const hourly = handlerLimits.parse(parted(limits ?? {}).handlerLimits)
  const budgets = BUDGETS.map((budget) => `${hourly[`${budget}PerHour`]} ${budget}`)
  return (
    `A token may use, for each of its devices: ${budgets.join(', ')} an hour. What was refused ` +
    'is in the /metrics of each server, as hilo_over_budget_total.\n'
  )
}

const statusTable = (statuses: readonly CollectionCounts[]): string =>
  statuses.length === 0 ? 'No collection yet.\n' : table(COLUMNS, statuses)

interface ExplainFlags {
  series?: string
  period?: string
}

export const explainCommand = (): Command =>
  operatedCommand(
    'explain',
    'Say where a number is: which device got it, when, what is known of it.',
  )
    .argument('<database>')
    .argument('<collection>')
    .argument('<number>', 'the number in an id like orders/1234-A, or of a series', readNumber)
    .option('--series <letter>', 'only as a number of this series')
    .option('--period <text>', 'only in this period of a series')
    .action(
      (
        database: string,
        collection: string,
        number: number,
        { series, period }: ExplainFlags,
        command: Command,
      ) =>
        operate(command, database, async (ledger) =>
          inWords(await ledger.explain({ database, collection, number, series, period })),
        ),
    )

export const renewSecretCommand = (): Command =>
  changingCommand('renew-secret', 'Give a ledger a new secret: a test copy, or after a leak.')
    .argument('[database]', 'with --url: of a Worker, where each database has its own')
    .action((database: string | undefined, _, command: Command) => {
      if (database !== undefined && urlOf(command) === undefined)
        throw new Error(
          `Only the databases of a Worker have secrets of their own: name its --url, or leave ` +
            `'${database}' out to renew the secret of all databases. Nothing was changed.`,
        )
      return operate(command, database, async () => ({
        plan:
          'With a new secret, a ledger knows none of the grant tokens that it has signed. ' +
          'That is right for a copy that serves other devices, such as a test copy: its tokens ' +
          'then stop no database of the original. It is right, too, if a backup got into wrong ' +
          'hands: whoever has it can sign tokens. Otherwise it is wrong for a ledger that goes ' +
          'on serving its devices, also after a restore: it could not notice any more that it is ' +
          'an older copy. Stop the servers of the ledger first. A Worker goes on.\n',
        apply: async (ledger) => {
          await ledger.renewSecret()
          return (
            'The ledger has a new secret. Its servers sign with it from their next start, a ' +
            'Worker at once. Grant tokens of before are unknown here, but for those that a ' +
            'secret in HILO_SECRETS, or `secrets`, has signed.\n'
          )
        },
      }))
    })

/** Numbers are aligned at their right. */
export type Column<T> = [title: string, read: (item: T) => string | number]

export function table<T>(columns: readonly Column<T>[], items: readonly T[]): string {
  const cells = items.map((item) => columns.map(([, read]) => read(item)))
  const rows = [columns.map(([title]) => title), ...cells.map((row) => row.map(visible))]
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const isNumber = columns.map((_, i) => cells.some((row) => typeof row[i] === 'number'))
  const line = (row: string[]) =>
    row
      .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()
  return `${rows.map(line).join('\n')}\n`
}
