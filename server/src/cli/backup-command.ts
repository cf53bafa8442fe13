/** The command `backup`: a copy of the ledger beside a running server. */
import type { Command } from 'commander'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { ledgerCommand, withSettings } from './flags.js'

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
            'as a test copy, gets its own before it starts: offline-hilo-server renew-secret.\n',
        )
      }),
    )
