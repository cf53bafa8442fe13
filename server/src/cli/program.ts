/** The program `offline-hilo-server`: its commands, and the text of `--help`. */
import type { Command } from 'commander'
import { DEFAULT_HOST, DEFAULT_PORT } from '../http/open.js'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { dropCommand } from './drop-command.js'
import { fail, firstOption, ledgerCommand, newCommand, readNumber, withSettings } from './flags.js'
import { followCommand } from './follow-command.js'
import { explainCommand, renewSecretCommand, statusCommand } from './ledger-commands.js'
import { backupCommand, initCommand } from './place.js'
import { raiseFloorCommand } from './raise-floor-command.js'
import { seriesCommand } from './series-command.js'
import { serveCommand } from './serve-command.js'
import { VERSION } from './start-line.js'

const EXAMPLES = `
Examples:
  $ npx offline-hilo-server
      serves on ${DEFAULT_HOST}:${DEFAULT_PORT}, with SQLite in ${DEFAULT_DATA_DIR}
  $ npx offline-hilo-server --database-url postgres://hilo@db/hilo --host 0.0.0.0 \\
      --config hilo.json
  $ npx offline-hilo-server status
      what was granted, per collection
  $ npx offline-hilo-server series Shop
      the series of consecutive numbers, with the device that holds each
  $ npx offline-hilo-server explain Shop orders 1234
      where is number 1234: which device got it, when, what is known of it
  $ npx offline-hilo-server check --config hilo.json
      are the counters that collections are bound to as configured?
  $ npx offline-hilo-server backup hilo-2026-11-22.db
      a copy of the ledger, while it is in use
  $ npx offline-hilo-server raise-floor Shop --all --by 10000
      after a restore: grant nothing that may have been granted since the backup
  $ npx offline-hilo-server follow Shop --name k3m9x2dq7rwt5hza --above 50000
      after a ledger was lost: go on in its place, above all that it granted

A flag goes before its environment variable, that before the configuration file:
  {"nodeTag": "A", "databases": ["Shop"], "tokens": ["…"],
   "cors": {"origins": ["https://app.example.com"]}, "limits": {"count": 100000}}`

/** Runs the command that the process was started with. Resolves also where it failed. */
export async function run(): Promise<void> {
  // A reader of the output may stop before its end. That ends no server.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  const program = newCommand(
    'offline-hilo-server',
    'HiLo server: final, short, numeric ids for apps that work offline.',
  )
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
    followCommand(),
    checkCommand(),
    adoptCommand(),
    dropCommand(),
    renewSecretCommand(),
  ]
  for (const command of commands) program.addCommand(command)
  await program.parseAsync().catch(fail)
}

export const checkCommand = (): Command =>
  ledgerCommand(
    'check',
    'Look at every counter that a collection is bound to: can it be used as configured?',
  )
    .addOption(firstOption())
    .option(
      '--prove [database/collection]',
      'watch one counter while the back end stores a few records, until they prove that strategy ' +
        'and size are right; the ledger remembers it',
    )
    .option('--timeout <seconds>', 'how long to watch', readNumber, PROVING_SECONDS)
    .action(({ prove: proves, timeout }: CheckFlags, command: Command) =>
      withSettings(command, async (settings) => {
        if (proves === undefined) {
          const { check } = await import('./counters.js')
          process.stdout.write(await check(settings))
          return
        }
        const { prove } = await import('./prove.js')
        const say = (line: string) => process.stdout.write(`${line}\n`)
        const name = proves === true ? undefined : proves
        await prove(settings, { name, seconds: timeout, say })
      }),
    )

export const adoptCommand = (): Command =>
  ledgerCommand(
    'adopt',
    'Put the counter that a collection is bound to above every id in use. Only up.',
  )
    .argument('<database>')
    .argument('<collection>')
    .option(
      '--from <table.column>',
      'another column with ids in use, like orders.id, besides those that `ids` names',
    )
    .addOption(firstOption())
    .option('--apply', 'run the statement, instead of printing it only')
    .action((database: string, collection: string, { from, apply }: AdoptFlags, command: Command) =>
      withSettings(command, async (settings) => {
        const { adopt } = await import('./counters.js')
        const adoption = { database, collection, from, isApplied: apply === true }
        process.stdout.write(await adopt(settings, adoption))
      }),
    )

/** A person stores the records by hand. */
const PROVING_SECONDS = 600

interface CheckFlags {
  prove?: string | true
  timeout: number
}

interface AdoptFlags {
  from?: string
  apply?: boolean
}
