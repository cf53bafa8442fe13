/**
 * Where the ledger is that the settings name, and which one is there; and the commands that make
 * one and copy it: `init` and `backup`.
 */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { placeOf } from '../addons/postgres/postgres-address.js'
import { DEFAULT_DATA_DIR, openLedger } from '../open-ledger.js'
import type { ServeOptions } from '../serve.js'
import { ledgerCommand, withSettings } from './flags.js'

export type Place = Pick<ServeOptions, 'dataDir' | 'databaseUrl'>

/** For people; without user and password. */
export const placeIn = ({ dataDir = DEFAULT_DATA_DIR, databaseUrl }: Place): string =>
  databaseUrl === undefined ? resolve(dataDir) : placeOf(databaseUrl)

/** Resolves with the version of the ledger's tables; undefined where there is no ledger. */
export async function versionAt({
  dataDir = DEFAULT_DATA_DIR,
  databaseUrl,
}: Place): Promise<number | undefined> {
  if (databaseUrl === undefined) {
    const { readSqliteVersion } = await import('../sqlite/sqlite-store.js')
    return readSqliteVersion(dataDir)
  }
  const { openPool } = await import('../addons/postgres/pool.js')
  const { readPostgresVersion } = await import('../addons/postgres/upgrade.js')
  const pool = openPool(databaseUrl)
  try {
    return await readPostgresVersion(pool)
  } finally {
    await pool.close()
  }
}

export const initCommand = (): Command =>
  ledgerCommand(
    'init',
    'Make a new ledger, which begins at 1. Once, before the first start.',
  ).action((_, command: Command) =>
    withSettings(command, async ({ dataDir, databaseUrl, secrets }) => {
      const place = { dataDir, databaseUrl }
      if ((await versionAt(place)) !== undefined)
        throw new Error(`There is a ledger in ${placeIn(place)} already. Nothing was changed.`)
      await (await openLedger({ ...place, secrets, create: true })).close()
      process.stdout.write(newLedgerLine(place))
    }),
  )

export const newLedgerLine = (place: Parameters<typeof placeIn>[0]): string =>
  `The ledger in ${placeIn(place)} is new: its numbers begin at 1.\n`

export const backupCommand = (): Command =>
  ledgerCommand('backup', 'Copy the ledger into a new file, also while a server runs.')
    .argument('<file>', 'which must not be there yet')
    .action((file: string, _: unknown, command: Command) =>
      withSettings(command, async ({ dataDir = DEFAULT_DATA_DIR, databaseUrl }) => {
        if (databaseUrl !== undefined)
          throw new Error(
            'This ledger is in PostgreSQL, which makes its own backups: use pg_dump or ' +
              'point-in-time recovery. All tables hilo_… belong together, and so do the counters ' +
              'of bound collections: take them in one backup. hilo_meta holds the secret.',
          )
        const { backUp } = await import('../sqlite/backup.js')
        backUp(dataDir, file)
        process.stdout.write(
          `${file} is a copy of the ledger in ${dataDir}. It holds the secret of the grant ` +
            'tokens: keep it as safe as the ledger. A copy that is to serve other devices, such ' +
            'as a test copy, gets its own before it starts: ' +
            'npx offline-hilo-server renew-secret.\n',
        )
      }),
    )
