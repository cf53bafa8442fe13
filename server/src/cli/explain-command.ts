/** The command `explain`: where one number is, and who has it. It changes nothing. */
import type { Command } from 'commander'
import { inWords } from '../http/explain-words.js'
import { operatedCommand, readNumber } from './flags.js'
import { operate } from './ledger-commands.js'

interface Given {
  series?: string
  period?: string
}

export const explainCommand = (): Command =>
  operatedCommand(
    'explain',
    'Say where a number is: which device got it, when, what is known of it.',
  )
    .argument('<database>')
    .argument('<collection>')
    .argument('<number>', 'the number in an id like orders/1234-A, or of a series', readNumber)
    .option('--series <letter>', 'only as a number of this series')
    .option('--period <text>', 'only in this period of a series')
    .action(
      (database: string, collection: string, number: number, given: Given, command: Command) =>
        // Works also while the counters of bound collections cannot be used.
        operate(command, database, { collections: undefined }, async (ledger) =>
          inWords(
            await ledger.explain({
              database,
              collection,
              number,
              series: given.series,
              period: given.period,
            }),
          ),
        ),
    )
