/** A person's commands for a series of consecutive numbers, and their output. */
import { userInfo } from 'node:os'
import { z } from 'zod'
import { isNote, LIMITS, time, visible } from '../http/messages.js'
import { isPrefix } from '../http/operated.js'
import { seriesKey } from '../ledger/collections.js'
import type { RangeRefusal, Series, StatedPeriod } from '../ledger/ledger.js'
import { allSeries } from './all-series.js'
import type { Change, SeenLedger } from './confirm.js'
import { lastDocument, nextDocument } from './next-document.js'

const DAY_MS = 86_400_000

export interface SeriesFlags {
  close?: string
  handOver?: string
  give?: string
  range?: string
  prefix?: string
  until?: string
  note?: string
  rename?: string
  exists?: string
  document?: string
  account?: string
  again?: boolean
  allListed?: boolean
  to?: string
  last?: number
  /** False: `--no-period`. */
  period?: string | false
  newPeriod?: string
  /** False: `--no-other`. */
  other?: StatedPeriod[] | false
  collection?: string
  reason?: string
  by?: string
}

/** @throws Error when there is no such series, or more than one */
export async function closeSeries(
  ledger: SeenLedger,
  database: string,
  letter: string,
  given: SeriesFlags,
): Promise<Change> {
  const { reason, by } = signed('--close', given)
  const found = await find(ledger, database, letter, given.collection)
  const { letter: series, collection, closed: before } = found
  return {
    plan: before
      ? `Series ${series} of '${collection}' is closed already, and stays as it is.\n`
      : `Series ${series} of '${collection}' ends. ${nameOf(found)} has it, and makes numbers ` +
        `without a network until it checks in.\nThe next document, ${nextDocument(found)}, is ` +
        `not made after that. ${heardOf(found)}\n` +
        unclear(found) +
        voidToken(found),
    apply: async (changed) => {
      const { closed, last } = (await changed.closeSeries({
        ...found,
        by,
        reason,
        at: Date.now(),
      }))!
      return (
        `Series ${series} of '${collection}' is closed, by ${closed!.by}: ${closed!.reason}. The ` +
        `server has heard of numbers up to ${last}. The device is told when it checks in next.\n`
      )
    },
  }
}

/** A device that lost its storage before it printed has no entry of its last number. */
function unclear(series: Series): string {
  const last = lastDocument(series)
  return last
    ? `The last document of which the server has heard is ${last}. If it does not exist, say so ` +
        'in --reason.\n'
    : ''
}

/** Its device, for people. */
export const nameOf = ({ device }: Series): string => visible(device || 'a device without a name')

/** A person with a lost till in mind need not close the series of another one. */
const voidToken = ({ handedOver }: Series): string =>
  handedOver
    ? `It was handed over from ${visible(handedOver.from)}, whose token is void already.\n`
    : ''

const heardOf = ({ last, seenAt }: Series): string =>
  `The server has heard of ${last} numbers, the last time ${time(seenAt)}.`

/** @throws Error when there is no such series, or more than one */
export async function renameDevice(
  ledger: SeenLedger,
  database: string,
  letter: string,
  { to, collection }: SeriesFlags,
): Promise<Change> {
  if (!to) throw new Error('--rename needs --to, the new name of the device. Nothing was changed.')
  checkName(to)
  const found = await find(ledger, database, letter, collection)
  return {
    plan:
      `The device of series ${found.letter} of '${found.collection}' is ${nameOf(found)}, and ` +
      `will be called ${visible(to)}. The next document stays ${nextDocument(found)}.\n`,
    apply: async (changed) => {
      await changed.renameDevice({ ...found, device: to })
      return (
        `The device of series ${found.letter} of '${found.collection}' is called ${to} here from ` +
        'now on. If it asks for another series, the name that its app gives it then counts: ' +
        'change that, too.\n'
      )
    },
  }
}

/** @throws Error with the form of a name */
export function checkName(name: string): void {
  if (!isNote(name, LIMITS.nameBytes))
    throw new Error(
      `--to has up to ${LIMITS.nameBytes} bytes of UTF-8, without control characters.`,
    )
}

/** @throws Error when it was not given, with a remedy */
export async function giveRange(
  ledger: SeenLedger,
  database: string,
  letter: string,
  given: SeriesFlags,
): Promise<Change> {
  const { until: validUntil, note: data, prefix, again = false } = given
  const [from = 0, to = 0] = (/^(\d+)-(\d+)$/.exec(given.range ?? '') ?? []).slice(1).map(Number)
  if (![from, to].every(Number.isSafeInteger) || from < 1 || to < from)
    throw new Error('--give needs a --range such as 2001-3000. Nothing was changed.')
  if (validUntil !== undefined && !z.iso.date().safeParse(validUntil).success)
    throw new Error('--until is a day, such as 2027-12-31. Nothing was changed.')
  // Somewhere it is still yesterday.
  const yesterday = new Date(Date.now() - DAY_MS).toISOString()
  if (validUntil !== undefined && validUntil < yesterday.slice(0, 10) && !again)
    throw new Error(`--until: ${validUntil} has passed, and no number would be made.`)
  if (prefix !== undefined && !isPrefix(prefix))
    throw new Error('--prefix has 1 to 20 of A-Z, a-z, 0-9, -, ., _ and /. Nothing was changed.')
  if (data !== undefined && !isNote(data, LIMITS.nameBytes))
    throw new Error(
      `--note has up to ${LIMITS.nameBytes} bytes of UTF-8, without control characters.`,
    )
  const found = await find(ledger, database, letter, given.collection)
  const range = { from, to, prefix, validUntil, data }
  const asked = { ...found, range, again }
  const givenOr = (done: Series | RangeRefusal): Series => {
    if (!('refused' in done)) return done
    throw new Error(`${whyNotGiven(done, found)} Nothing was changed.`)
  }
  const planned = givenOr(await ledger.giveRange({ ...asked, dryRun: true }))
  const until = `${prefix ? ` of ${prefix}` : ''}${validUntil ? ` until ${validUntil}` : ''}`
  return {
    plan:
      `Series ${found.letter} of '${found.collection}', which ${nameOf(found)} has, gets the ` +
      `numbers ${from} to ${to}${until}.\nThe next document is ${nextDocument(planned)}, where ` +
      "its app says `ranges: 'server'`.\n",
    apply: async (changed) => {
      givenOr(await changed.giveRange(asked))
      return (
        `Series ${found.letter} of '${found.collection}' has the numbers ${from} to ${to}` +
        `${until}. Its device gets them when it checks in next, and uses them where its app says ` +
        "`ranges: 'server'`.\n"
      )
    },
  }
}

function whyNotGiven(refusal: RangeRefusal, { letter }: Series): string {
  switch (refusal.refused) {
    case 'heard':
      return (
        `Series ${refusal.letter} has numbers from ${refusal.from} to ${refusal.to}, as ` +
        'the server ' +
        'was told, and a number is given once. Give numbers that no series has. After a restore, ' +
        'a range that was lost goes to the series that had it, as it was.'
      )
    case 'overlap':
      return (
        `Series ${refusal.letter} has the numbers ${refusal.from} to ${refusal.to}, and a number ` +
        'is given once.'
      )
    case 'below':
      return (
        `Series ${letter} has made number ${refusal.last}, and goes on above it: it would make ` +
        'none of these. Give higher numbers, or give these to another series. If they have ' +
        'another prefix than the ones before, say it with --prefix.'
      )
    case 'crowded':
      return `Series ${letter} has as many ranges as the server keeps.`
    case 'restored':
      return (
        'The database was restored. Raise its floors first: ' +
        'npx offline-hilo-server raise-floor.'
      )
    case 'unlisted':
      return (
        'The database was restored, and may have given these numbers before. First give each ' +
        'range again that was given after the backup, with --again. List the series, too: ' +
        '--exists <name>. Then say --all-listed.'
      )
    case 'closed':
      return `Series ${letter} is closed, and a closed series never goes on.`
    case 'missing':
      return `Series ${letter} is not there any more.`
  }
}

/** @throws Error without a reason, or where a text needs more than a line */
export function signed(
  flag: string,
  { reason, by = userName() }: SeriesFlags,
): { reason: string; by: string } {
  if (!reason) throw new Error(`${flag} needs a --reason, which the list then shows.`)
  // As the server asks of a request. The list has a line per series.
  if (!isNote(reason, LIMITS.reasonBytes) || !isNote(by, LIMITS.nameBytes))
    throw new Error(
      `--reason has up to ${LIMITS.reasonBytes} bytes of UTF-8, --by ${LIMITS.nameBytes}, both ` +
        'without control characters such as line breaks. Nothing was changed.',
    )
  return { reason, by }
}

/** @throws Error when there is no such series, or more than one */
export async function find(
  ledger: SeenLedger,
  database: string,
  letter: string,
  collection: string | undefined,
): Promise<Series> {
  const found = (await allSeries(ledger, database)).filter(
    (each) =>
      seriesKey(each.letter) === seriesKey(letter) &&
      (collection === undefined || each.collection === collection.toLowerCase()),
  )
  if (found.length === 0)
    throw new Error(
      `There is no series ${letter}${collection ? ` of '${collection}'` : ''} in ${database}. ` +
        `npx offline-hilo-server series ${database} lists them.` +
        ((await ledger.unlisted()).includes(database.toLowerCase())
          ? ' The database was restored. If the series was given after the backup, list it ' +
            `first: npx offline-hilo-server series ${database} --exists ${letter} --collection ` +
            `${collection ?? '<collection>'}.`
          : ''),
    )
  if (found.length > 1)
    throw new Error(
      `Several collections have a series ${letter}: say which with --collection ` +
        `(${found.map((each) => each.collection).join(', ')}).`,
    )
  return found[0]!
}

/** @throws Error for a user without a name, as containers may have */
function userName(): string {
  try {
    return userInfo().username
  } catch (error) {
    throw new Error('This user has no name on this machine: say with --by who does it.', {
      cause: error,
    })
  }
}
