/** The commands `check` and `adopt`, for collections whose numbers come from another counter. */
import type { Command } from 'commander'
import { firstOption, ledgerCommand, withSettings } from './flags.js'

export const checkCommand = (): Command =>
  ledgerCommand(
    'check',
    'Look at every counter that a collection is bound to: can it be used as configured?',
  )
    .addOption(firstOption())
    .option(
      '--table <table.column>',
      'the id column to compare the counter with, like orders.id; where several collections are ' +
        'bound, name it as `ids` of each instead',
    )
    .action(({ table }: { table?: string }, command: Command) =>
      withSettings(command, async (settings) => {
        const { check } = await import('./counters.js')
        process.stdout.write(await check(settings, table))
      }),
    )

export const adoptCommand = (): Command =>
  ledgerCommand(
    'adopt',
    'Put the counter that a collection is bound to above every id in use. Only up.',
  )
    .argument('<database>')
    .argument('<collection>')
    .requiredOption(
      '--from <table.column>',
      'the id column of the table that moves to HiLo, like orders.id',
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

interface AdoptFlags {
  from: string
  apply?: boolean
}
