/** The command `drop`: forgets a database, or a collection of it. */
import type { Command } from 'commander'
import { isOf } from '../ledger/operation.js'
import { allSeries } from './all-series.js'
import type { Change, SeenLedger } from './confirm.js'
import { changingCommand } from './flags.js'
import { operate } from './ledger-commands.js'

export const dropCommand = (): Command =>
  changingCommand(
    'drop',
    'Forget a database or a collection. Devices lose the numbers that they hold of it.',
  )
    .argument('<database>')
    .argument('[collection]')
    .action((database: string, collection: string | undefined, _, command: Command) =>
      operate(command, database, (ledger) => planDrop(ledger, { database, collection })),
    )

interface Named {
  database: string
  collection: string | undefined
}

/** @throws Error when there is nothing of that name, or a series is open */
export async function planDrop(ledger: SeenLedger, named: Named): Promise<Change> {
  const { database, collection } = named
  const what = whatOf(named)
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
  await refuseOpen(ledger, named)
  const numbers = found.reduce((sum, { outstanding }) => sum + outstanding, 0)
  const size =
    `${found.length} collections with ${numbers} numbers in grants, ` +
    `and ${identities.length} identities`
  const done =
    `Dropped ${what}: ${size}. If somebody claims under the name again, numbers go on above ` +
    'all that were ever granted.' +
    (isStopped ? ' It was restored from a backup: before that, raise its floors.\n' : '\n')
  return {
    plan:
      `This drops ${what}: ${size}. Devices that hold numbers of it lose them at their next ` +
      'check-in.\n',
    apply: async (changed) => {
      // A device may have asked for a series while the person read.
      await refuseOpen(changed, named)
      await changed.drop({ database, collection, at: Date.now() })
      return done
    },
  }
}

/** @throws Error when a series is open */
async function refuseOpen(ledger: SeenLedger, { database, collection }: Named): Promise<void> {
  const isDropped = isOf(database.toLowerCase(), collection?.toLowerCase())
  const open = (await allSeries(ledger, database)).filter(
    (series) => isDropped(series) && series.closed === undefined,
  )
  if (open.length > 0)
    throw new Error(
      `Series of ${whatOf({ database, collection })} are not closed: ` +
        `${open.map((each) => each.letter).join(', ')}. Their devices go on with them. Close ` +
        'them first: npx offline-hilo-server series --help',
    )
}

const whatOf = ({ database, collection }: Named): string =>
  collection === undefined ? database : `'${collection}' of ${database}`
