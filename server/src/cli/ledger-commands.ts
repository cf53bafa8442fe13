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
import { ledgerCommand, withSettings } from './flags.js'
import { placeIn, versionAt } from './place.js'
import { type Column, table } from './table.js'

export const statusCommand = (): Command =>
  ledgerCommand('status', 'Show what was granted, per collection.').action((_, command: Command) =>
    // Works also while the counters of bound collections cannot be used.
    report(command, { collections: undefined }, async (ledger, settings) =>
      [
        ...(await ledger.restored()).map(restoredLine),
        statusTable(await ledger.status()),
        budgetLine(settings),
      ].join(''),
    ),
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
