/** The commands that look at a ledger and change it beside a running server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { CollectionCounts, Ledger } from '../ledger/ledger.js'
import { DEFAULT_DATA_DIR, openLedger } from '../open-ledger.js'
import type { ServeOptions } from '../serve.js'
import type { Settings } from '../settings.js'
import { refuseOlder, SQLITE_FILE } from '../sql/schema.js'
import { ledgerCommand, withSettings } from './flags.js'
import { type Column, table } from './table.js'

export const statusCommand = (): Command =>
  ledgerCommand('status', 'Show what was granted, per collection.').action((_, command: Command) =>
    // Works also while the counters of bound collections cannot be used.
    report(command, { collections: undefined }, async (ledger) =>
      [...(await ledger.restored()).map(restoredLine), statusTable(await ledger.status())].join(''),
    ),
  )

/**
 * Opens the ledger, prints what `step` resolves with, closes it.
 * @param instead of settings that were given
 */
export const report = (
  command: Command,
  instead: Partial<Settings>,
  step: (ledger: Ledger) => Promise<string>,
): Promise<void> =>
  withSettings(command, async (settings) => {
    const ledger = await openExisting({ ...settings, ...instead })
    try {
      process.stdout.write(await step(ledger))
    } finally {
      await ledger.close()
    }
  })

/** Opens a ledger that exists. A mistyped folder or database does not become a new one. */
async function openExisting(settings: ServeOptions): Promise<Ledger> {
  const { dataDir, databaseUrl, collections, upstream } = settings
  const folder = dataDir ?? DEFAULT_DATA_DIR
  if (databaseUrl === undefined) await requireLedgerIn(folder)
  else await requireLedgerAt(databaseUrl)
  return openLedger({ dataDir, databaseUrl, collections, upstream })
}

export function requireLedgerFile(folder: string): void {
  if (existsSync(join(folder, SQLITE_FILE))) return
  throw new Error(
    `There is no ledger in ${folder}. Give the server's --data or --database-url, or start it ` +
      'there once.',
  )
}

async function requireLedgerIn(folder: string): Promise<void> {
  requireLedgerFile(folder)
  const { readSqliteVersion } = await import('../sqlite/file.js')
  refuseOlder(readSqliteVersion(folder))
}

async function requireLedgerAt(databaseUrl: string): Promise<void> {
  const { openPool } = await import('../postgres/pool.js')
  const { requireLedger } = await import('../postgres/upgrade.js')
  const pool = openPool(databaseUrl)
  try {
    await requireLedger(pool)
  } finally {
    await pool.close()
  }
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

const statusTable = (statuses: readonly CollectionCounts[]): string =>
  statuses.length === 0 ? 'No collection yet.\n' : table(COLUMNS, statuses)
