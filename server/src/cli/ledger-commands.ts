/** The commands that look at a ledger and change it beside a running server. */
import type { Command } from 'commander'
import { BUDGETS } from '../http/budgets.js'
import { limits as handlerLimits } from '../http/options.js'
import type { CollectionCounts, Ledger } from '../ledger/ledger.js'
import { parted } from '../ledger/options.js'
import { openLedger } from '../open-ledger.js'
import type { ServeOptions } from '../serve.js'
import type { Settings } from '../settings.js'
import { refuseMissing, refuseOlder } from '../sql/schema.js'
import { operatedCommand, urlOf, withSettings } from './flags.js'
import { placeIn, versionAt } from './place.js'
import { type OperatedLedger, remoteLedger } from './remote-ledger.js'
import { type Column, table } from './table.js'

export const statusCommand = (): Command =>
  operatedCommand('status', 'Show what was granted, per collection.')
    .argument('[database]', 'only of this one')
    .action((database: string | undefined, _, command: Command) =>
      // Works also while the counters of bound collections cannot be used.
      operate(command, database, { collections: undefined }, async (ledger, settings) => {
        const isAsked = (name: string) => database === undefined || name === database.toLowerCase()
        const statuses = await ledger.status()
        return [
          ...(await ledger.restored()).filter(isAsked).map(restoredLine),
          statusTable(statuses.filter((each) => isAsked(each.database))),
          budgetLine(settings),
        ].join('')
      }),
    )

/**
 * Opens the ledger, prints what `step` resolves with, closes it.
 * @param instead of settings that were given
 */
export const report = (
  command: Command,
  instead: Partial<Settings>,
  step: (ledger: Ledger, settings: Settings) => Promise<string>,
): Promise<void> =>
  withSettings(command, async (settings) => {
    const ledger = await openExisting({ ...settings, ...instead })
    try {
      process.stdout.write(await step(ledger, settings))
    } finally {
      await ledger.close()
    }
  })

/** The same, also for a database of a ledger behind an address. */
export async function operate(
  command: Command,
  database: string | undefined,
  instead: Partial<Settings>,
  step: (ledger: OperatedLedger, settings: Settings) => Promise<string>,
): Promise<void> {
  const url = urlOf(command)
  if (url === undefined) return report(command, instead, step)
  if (database === undefined)
    throw new Error('--url needs the name of a database, as in: status Shop --url …')
  process.stdout.write(await step(remoteLedger(url, database), {}))
}

/** Opens a ledger that exists. A mistyped folder or database does not become a new one. */
async function openExisting(settings: ServeOptions): Promise<Ledger> {
  const { dataDir, databaseUrl, collections, upstream, secrets } = settings
  const version = await versionAt(settings)
  refuseMissing(version, placeIn(settings))
  refuseOlder(version)
  return openLedger({ dataDir, databaseUrl, collections, upstream, secrets })
}

const COLUMNS: Column<CollectionCounts>[] = [
  ['database', ({ database }) => database],
  ['collection', ({ collection }) => collection],
  ['max', ({ max }) => max],
  ['outstanding', ({ outstanding }) => outstanding],
  ['free', ({ free }) => free],
  ['grants', ({ grants }) => grants],
  [
    'last claim',
    ({ lastClaim }) => (lastClaim === undefined ? '-' : new Date(lastClaim).toISOString()),
  ],
]

const restoredLine = (database: string): string =>
  `${database} was restored from a backup, and grants nothing. Run: offline-hilo-server ` +
  `raise-floor ${database} --all --by <numbers>\n`

/** The servers count what they refuse, each for itself. */
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
