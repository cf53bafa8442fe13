/**
 * The command `drop`: forgets a database, or a collection of it. It does nothing without `--yes`.
 */

import type { Command } from 'commander'
import type { OperatedLedger } from '../http/operated.js'
import { isOf } from '../ledger/operation.js'
import { allSeries } from './all-series.js'
import { operatedCommand } from './flags.js'
import { operate } from './ledger-commands.js'

export const dropCommand = (): Command =>
  operatedCommand(
    'drop',
    'Forget a database or a collection. Devices lose the numbers that they hold of it.',
  )
    .argument('<database>')
    .argument('[collection]')
    .option('--yes', 'do it, instead of saying only what would go')
    .action(
      (
        database: string,
        collection: string | undefined,
        { yes }: { yes?: boolean },
        command: Command,
      ) =>
        operate(command, database, (ledger) =>
          drop(ledger, { database, collection }, yes === true),
        ),
    )

interface Named {
  database: string
  collection: string | undefined
}

/** @throws Error when there is nothing of that name, a series is open, or nobody said yes */
async function drop(ledger: OperatedLedger, named: Named, isConfirmed: boolean): Promise<string> {
  const { database, collection } = named
  const what = collection === undefined ? database : `'${collection}' of ${database}`
  const isDropped = isOf(database.toLowerCase(), collection?.toLowerCase())
  const statuses = await ledger.status()
  const found = statuses.filter(isDropped)
  const identities = (await ledger.names()).identities.filter(
    (identity) => collection === undefined && identity.database === database.toLowerCase(),
  )
  const isStopped =
    collection === undefined && (await ledger.restored()).includes(database.toLowerCase())
  if (found.length + identities.length === 0 && !isStopped) {
    const names = [...new Set(statuses.map((status) => status.database))].join(', ')
    throw new Error(`There is no ${what}. Databases with collections: ${names || 'none'}.`)
  }
  const open = (await allSeries(ledger, database)).filter(
    (series) => isDropped(series) && series.closed === undefined,
  )
  if (open.length > 0)
    throw new Error(
      `Series of ${what} are not closed: ${open.map((each) => each.letter).join(', ')}. Their ` +
        'devices go on with them. Close them first: offline-hilo-server series --help',
    )
  const numbers = found.reduce((sum, { outstanding }) => sum + outstanding, 0)
  const size =
    `${found.length} collections with ${numbers} numbers in grants, ` +
    `and ${identities.length} identities`
  if (!isConfirmed)
    throw new Error(
      `Nothing was dropped. It would be ${what}: ${size}. Devices that hold numbers of it lose ` +
        'them at their next check-in. To drop it, add --yes.',
    )
  await ledger.drop({ database, collection, at: Date.now() })
  return (
    `Dropped ${what}: ${size}. If somebody claims under the name again, numbers go on above ` +
    'all that were ever granted.' +
    (isStopped ? ' It was restored from a backup: before that, raise its floors.\n' : '\n')
  )
}
