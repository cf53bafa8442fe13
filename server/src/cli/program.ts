/** The program `offline-hilo-server`: its commands, and what `--help` teaches. */
import { Command } from 'commander'
import { DEFAULT_HOST, DEFAULT_PORT } from '../open.js'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { backupCommand } from './backup-command.js'
import { adoptCommand, checkCommand } from './counter-commands.js'
import { dropCommand } from './drop-command.js'
import { explainCommand } from './explain-command.js'
import { fail } from './fail.js'
import { initCommand } from './init-command.js'
import { statusCommand } from './ledger-commands.js'
import { raiseFloorCommand } from './raise-floor-command.js'
import { renewSecretCommand } from './renew-secret-command.js'
import { seriesCommand } from './series-command.js'
import { serveCommand } from './serve-command.js'
import { VERSION } from './version.js'

const EXAMPLES = `
Examples:
  $ offline-hilo-server
      serves on ${DEFAULT_HOST}:${DEFAULT_PORT}, with SQLite in ${DEFAULT_DATA_DIR}
  $ offline-hilo-server --database-url postgres://hilo@db/hilo --host 0.0.0.0 \\
      --config hilo.json
  $ offline-hilo-server status
      what was granted, per collection
  $ offline-hilo-server series Shop
      the series of consecutive numbers, with the device that holds each
  $ offline-hilo-server explain Shop orders 1234
      where is number 1234: which device got it, when, what is known of it
  $ offline-hilo-server check --config hilo.json
      are the counters that collections are bound to as configured?
  $ offline-hilo-server backup hilo-2026-11-22.db
      a copy of the ledger, while it is in use
  $ offline-hilo-server raise-floor Shop --all --by 10000
      after a restore: grant nothing that may have been granted since the backup

A flag goes before its environment variable, that before the configuration file:
  {"nodeTag": "A", "databases": ["Shop"], "tokens": ["…"],
   "cors": {"origins": ["https://app.example.com"]}, "limits": {"count": 100000}}`

/** Runs the command that the process was started with. Resolves also where it failed. */
export async function run(): Promise<void> {
  // Who reads the output may stop before its end. That ends no server.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  const program = new Command('offline-hilo-server')
    .description('HiLo server: final, short, numeric ids for apps that work offline.')
    .version(VERSION)
    .addHelpText('after', EXAMPLES)
    .addCommand(serveCommand(), { isDefault: true })
  const commands = [
    initCommand(),
    statusCommand(),
    seriesCommand(),
    explainCommand(),
    backupCommand(),
    raiseFloorCommand(),
    checkCommand(),
    adoptCommand(),
    dropCommand(),
    renewSecretCommand(),
  ]
  for (const command of commands) program.addCommand(command)
  await program.parseAsync().catch(fail)
}
