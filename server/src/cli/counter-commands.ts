/** The commands `check` and `adopt`, for collections whose numbers come from another counter. */
import type { Command } from 'commander'
import type { Flags } from '../settings.js'
import { ledgerCommand, readFlags } from './flags.js'

export const checkCommand = (): Command =>
  ledgerCommand(
    'check',
    'Look at every counter that a collection is bound to: can it be used as configured?',
  ).action(async (flags: Flags) => {
    const { check } = await import('./counters.js')
    process.stdout.write(await check(readFlags(flags)))
  })

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
    .option('--apply', 'run the statement, instead of printing it only')
    .action(async (database: string, collection: string, flags: AdoptFlags) => {
      const { from, apply = false, ...settings } = flags
      const { adopt } = await import('./counters.js')
      const adoption = { database, collection, from, isApplied: apply }
      process.stdout.write(await adopt(readFlags(settings), adoption))
    })

interface AdoptFlags extends Flags {
  from: string
  apply?: boolean
}
