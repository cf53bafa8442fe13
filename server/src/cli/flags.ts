/** What every command is told by flags and environment variables: where the ledger is. */
import { Command, Option } from 'commander'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { type Flags, readConfig, type Settings } from '../settings.js'

/** A command with the flags that name a ledger. */
export const ledgerCommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .addOption(
      new Option('--data <folder>', `SQLite in this folder (default ${DEFAULT_DATA_DIR})`).env(
        'HILO_DATA',
      ),
    )
    .addOption(
      new Option(
        '--database-url <url>',
        'PostgreSQL instead, as in postgres://user:password@host/database; also DATABASE_URL',
      ).env('HILO_DATABASE_URL'),
    )
    .addOption(
      new Option(
        '--config <file>',
        'JSON file with these settings and: databases, cors, tokens, limits, …',
      ).env('HILO_CONFIG'),
    )

/** `DATABASE_URL` is the name that hosting platforms use. */
export function readFlags(flags: Flags): Settings {
  const { DATABASE_URL } = process.env
  const isGiven = !DATABASE_URL || flags.databaseUrl !== undefined || flags.data !== undefined
  return readConfig(isGiven ? flags : { ...flags, databaseUrl: DATABASE_URL })
}
