/**
 * The command `follow`: this ledger goes on in the place of one that is lost. Devices that hold
 * numbers of the lost one drop them, and go on with this one (H34).
 */
import type { Command } from 'commander'
import { LEDGER_NAME, within } from '../ledger/name.js'
import { checked, databaseName } from '../ledger/option-checks.js'
import { changingCommand, readNumber } from './flags.js'
import { operate } from './ledger-commands.js'
import { CLOSED_NAMES } from './raise-floor-command.js'

interface Flags {
  name: string
  above: number
}

export const followCommand = (): Command =>
  changingCommand('follow', 'Go on in the place of a ledger that is lost, above all it granted.')
    .argument('<database>')
    .requiredOption('--name <name>', 'of the lost ledger, as the message of a device says it')
    .requiredOption('--above <number>', 'no collection of it had a higher number', readNumber)
    .action(async (database: string, { name, above }: Flags, command: Command) => {
      checked(databaseName, database, 'follow', () => 'database')
      if (!LEDGER_NAME.test(name))
        throw new Error(
          `'${name}' is no name of a ledger: it has 16 letters and digits, and may end with a ` +
            "database, as in a device's message: k3m9x2dq7rwt5hza/shop.",
        )
      await operate(
        command,
        database,
        async (ledger) => {
          const [lost, other] = within(name, database).split('/')
          if ((await ledger.readName()) === lost)
            throw new Error(
              other === undefined
                ? `${name} is the name of this ledger. Nothing was changed.`
                : `${name} is another database of this ledger: something leads its devices to ` +
                    `${database}. Lead them back. Nothing was changed.`,
            )
          return {
            plan:
              `${database} goes on in the place of ${name}. Each of its collections goes on ` +
              `${above} above where it is. If ${name} granted a number above ${above}, that one ` +
              'comes twice.\n',
            apply: async (changed) => {
              const { collections, floor } = await changed.follow({ database, name, above })
              return (
                `${database} follows ${name}. ${collections} collections go on ${above} above ` +
                `where they were; new ones begin at ${floor + 1}. A device that holds numbers of ` +
                `${name} goes on here with its next request, unless it has one above ${above}.\n` +
                CLOSED_NAMES
              )
            },
          }
        },
        true,
      )
    })
