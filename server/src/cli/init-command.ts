/** The command `init`: makes a ledger, once, where there is none. */
import type { Command } from 'commander'
import { openLedger } from '../open-ledger.js'
import { ledgerCommand, withSettings } from './flags.js'
import { placeIn, versionAt } from './place.js'

export const initCommand = (): Command =>
  ledgerCommand(
    'init',
    'Make a new ledger, which begins at 1. Once, before the first start.',
  ).action((_, command: Command) =>
    withSettings(command, async ({ dataDir, databaseUrl, secrets }) => {
      const place = { dataDir, databaseUrl }
      if ((await versionAt(place)) !== undefined)
        throw new Error(`There is a ledger in ${placeIn(place)} already. Nothing was changed.`)
      await (await openLedger({ ...place, secrets, create: true })).close()
      process.stdout.write(newLedgerLine(place))
    }),
  )

export const newLedgerLine = (place: Parameters<typeof placeIn>[0]): string =>
  `The ledger in ${placeIn(place)} is new: its numbers begin at 1.\n`
