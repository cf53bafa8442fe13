/**
 * The command `raise-floor`: of one collection, or of a whole database that was restored.
 * Guarantees that a person reads whether there is such a name before saying yes.
 */
import type { Command } from 'commander'
import { checkTag } from '../http/messages.js'
import { isOfLetters } from '../ledger/collections.js'
import { checked, databaseName } from '../ledger/option-checks.js'
import type { Settings } from '../settings.js'
import type { Change, SeenLedger } from './confirm.js'
import { changingCommand, readNumber } from './flags.js'
import { operate } from './ledger-commands.js'

interface Flags {
  all?: boolean
  by?: number
}

/** How many names a message lists at most. */
const MOST_NAMES = 20

export const raiseFloorCommand = (): Command =>
  changingCommand('raise-floor', 'Grant nothing at or below a number any more. Only up.')
    .argument('<database>')
    .argument('[collection]')
    .argument('[number]', 'the highest number that may be in use', readNumber)
    .option('--all', 'after a restore: raise all collections and identities, and grant again')
    .option(
      '--by <numbers>',
      'more than any went up since the backup, also by raise-floor',
      readNumber,
    )
    .action(
      async (
        database: string,
        collection: string | undefined,
        floor: number | undefined,
        flags: Flags,
        command: Command,
      ) => {
        const { all = false, by } = flags
        const raise = all
          ? by !== undefined && collection === undefined && raiseAll(database, by)
          : by === undefined &&
            collection !== undefined &&
            floor !== undefined &&
            raiseOne(database, collection, floor)
        if (!raise)
          command.error(
            'error: give a collection and a number, or --all and --by. See raise-floor --help.',
          )
        checkNames(database, collection)
        const plan = async (ledger: SeenLedger, { upstream }: Settings): Promise<Change> => ({
          ...raise,
          plan:
            (await aboutName(ledger, database, collection)) +
            raise.plan +
            (upstream === undefined ? '' : OF_REGION),
        })
        await operate(command, database, plan, true)
      },
    )

/** What else the command does there. */
const OF_REGION =
  'This is a region. It has its root go on above, too, and drops the numbers that it keeps for ' +
  'when its root is away, and a claim under way: a gap. So the root has to answer.\n'

/**
 * A name that no client can ask for would stay in the ledger for nothing.
 * @throws Error
 */
function checkNames(database: string, collection: string | undefined): void {
  checked(databaseName, database, 'raise-floor', () => 'database')
  // The letters of a series are counted under the collection's name with a stroke.
  const tag = collection?.replace(/\|$/, '')
  if (tag?.trim() === '') throw new Error('The name of the collection is empty.')
  if (tag !== undefined) checkTag(tag, '|')
}

const raiseOne = (database: string, collection: string, floor: number): Change => ({
  plan: `'${collection}' of ${database} grants nothing up to ${floor} any more.\n`,
  async apply(ledger) {
    const max = await ledger.raiseFloor({ database, collection, floor })
    if (max !== floor)
      throw new Error(
        `Max stays: '${collection}' of ${database} is at ${max} already. Numbers up to ${floor} ` +
          'that come back are not granted again.',
      )
    if (floor === Number.MAX_SAFE_INTEGER)
      return `'${collection}' of ${database} grants nothing any more. Go on under a new name.\n`
    return (
      `'${collection}' of ${database} goes on at ${floor + 1}. Free numbers below are not ` +
      `granted again.\n${isOfLetters(collection) ? CLOSED_NAMES : ''}`
    )
  },
})

const raiseAll = (database: string, by: number): Change => ({
  plan:
    `Each collection and identity of ${database} goes on ${by} above where it is, and the ` +
    'database grants again. If one went up by more since the backup, also by an earlier ' +
    'raise-floor, numbers come twice.\n',
  async apply(ledger) {
    const { collections, identities, floor, usedUp } = await ledger.raiseFloors({ database, by })
    const begin =
      floor > 0
        ? `New ones begin at ${floor + 1}.`
        : 'Where new ones begin, the root of this region says.'
    const end =
      usedUp.length === 0
        ? ''
        : `Of these, ${usedUp.length} had no ${by} numbers left below 2^53-1, and grant nothing ` +
          `any more: ${listed(usedUp)}. Go on under new names.\n`
    return (
      `${database} grants again, ${by} above where it was (collections: ${collections}, ` +
      `identities: ${identities}). ${begin}\n${end}${CLOSED_NAMES}`
    )
  },
})

/** The hint for a ledger that may have forgotten series. */
export const CLOSED_NAMES =
  'Names of series, and ranges of an authority, are given again once you have listed those that ' +
  'exist: npx offline-hilo-server series --help\n'

const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', …' : '')

/** Empty: there is such a name. A name with a stroke is of series, and perhaps of an identity. */
async function aboutName(
  ledger: SeenLedger,
  database: string,
  collection: string | undefined,
): Promise<string> {
  const { collections, identities } = await ledger.names()
  const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const databases = [...new Set([...collections, ...identities].map((key) => key.database))]
  const inDatabase = collections.filter((key) => isSame(key.database, database))
  const [what, there] = databases.some((name) => isSame(name, database))
    ? [`collection '${collection}' in ${database}`, inDatabase.map((key) => key.collection)]
    : [`database ${database}`, databases]
  const isThere =
    collection === undefined
      ? databases.some((name) => isSame(name, database))
      : inDatabase.some((key) => isSame(key.collection, collection))
  const isIdentity = identities.some(
    (key) => isSame(key.database, database) && isSame(key.name, collection ?? ''),
  )
  return (
    (isThere ? '' : `There is no ${what} yet. There are: ${listed(there) || 'none'}.\n`) +
    (isIdentity
      ? `The identity '${collection}' of ${database} goes on as before: seed it. This raises the ` +
        `series of '${collection!.slice(0, -1)}'.\n`
      : '')
  )
}
