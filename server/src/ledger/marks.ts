/**
 * How far collections have gone: set by a client or an operator, and raised after a restore. The
 * rules are pure. Guarantees that `max` never goes below a number of a grant, that a floor never
 * goes down, and that no number of a lost ledger is granted again.
 */
import {
  authorityOf,
  type BoundCollections,
  distinct,
  HOOK,
  isOfLetters,
  keyText,
  normalized,
  refuseChanged,
} from './collections.js'
import {
  aboveFloor,
  databaseIn,
  databasesOf,
  isRestored,
  type LedgerContext,
  type LedgerCore,
} from './core.js'
import type { CounterAnswers, CounterAsk } from './counter-port.js'
import { givenTo } from './identities.js'
import type {
  CollectionKey,
  Floor,
  Floors,
  Mark,
  MarkRefusal,
  Marks,
  MarkWrite,
  RaisedFloors,
} from './ledger.js'
import { CounterUnusable } from './ledger-errors.js'
import { within } from './name.js'
import { MAX_NUMBER, move } from './number-line.js'
import { grantedBefore } from './overlap.js'
import { type LoadedCollection, type Rows, type StepResult, UNLIMITED } from './row-store.js'
import {
  type CollectionRow,
  type DatabaseRow,
  freeOf,
  newCollection,
  newDatabase,
  toMark,
  withFloor,
  withLine,
} from './rows.js'

export function marks({ store, context, change, alarm, names }: LedgerCore): Marks {
  const { limits, bound } = context
  return {
    read: async (key) => (await readAll([key]))[0]!,

    readAll,

    write(requests) {
      const writes = requests.map(normalized)
      return change(databasesOf(writes), {
        select: { collections: distinct(writes, keyText), quota: limits, withHeld: true },
        step: (rows) => writeMarks(rows, writes, context),
      })
    },

    raiseFloor(unread) {
      const request = normalized(unread)
      return change([request.database], {
        select: { collections: [request], quota: UNLIMITED, withHeld: true },
        ask: (rows) => asksOfFloor(rows, request, context),
        step: (rows, answers) => raiseFloor(rows, request, answers),
      })
    },

    raiseFloors: ({ database, by }) => raiseAll({ database, by }),

    follow: ({ database, name, above }) =>
      raiseAll({ database, by: above }, within(name, database)),

    async restored({ dropped } = {}) {
      const databases = [...(await store.readDatabases()).values()]
      alarm.look(databases)
      return databases
        .filter(({ isRestored, isDropped }) => isRestored && (dropped || !isDropped))
        .map(({ database }) => database)
    },

    onRestored: alarm.listen,

    names,
  }

  async function readAll(unread: readonly CollectionKey[]): Promise<Mark[]> {
    const keys = unread.map(normalized)
    const found = await store.readCollections(distinct(keys, keyText))
    const rows = new Map(found.map((row) => [keyText(row), row]))
    const databases = await store.readDatabases()
    return keys.map((key) => {
      const row = rows.get(keyText(key)) ?? newCollection(key)
      const { database } = key
      return toMark(aboveFloor(row, databases.get(database) ?? newDatabase(database), bound))
    })
  }

  /** @param followed the name of a ledger that granted nothing above `by` */
  async function raiseAll({ database: name, by }: Floors, followed?: string) {
    const floors = { database: name.toLowerCase(), by }
    checkFloors(floors)
    const isThere = ({ database }: { database: string }) => database === floors.database
    const { collections, identities } = await names()
    return change([floors.database], {
      select: {
        collections: collections.filter(isThere),
        identities: identities.filter(isThere),
        quota: UNLIMITED,
        withHeld: true,
      },
      // Before a counter moves: a sequence does not roll back.
      ask(rows) {
        refuseFollowed(databaseIn(rows, floors.database), by, followed)
        return asksOfFloors(rows, floors, bound)
      },
      step: (rows, answers) => raiseFloors(rows, floors, answers, followed),
    })
  }
}

/** All of the writes, or none. */
export function writeMarks(
  rows: Rows,
  writes: readonly MarkWrite[],
  { bound, limits }: LedgerContext,
): StepResult<Mark[] | MarkRefusal> {
  const written = new Map<string, CollectionRow>()
  const marks: Mark[] = []
  for (const write of writes) {
    const key = keyText(write)
    const loaded = rows.collections.get(key)
    const row = written.get(key) ?? loaded
    const refuse = (refused: MarkRefusal['refused']): StepResult<MarkRefusal> => ({
      answer: { refused, write, mark: toMark(row) },
      changes: {},
    })
    if (isRestored(rows, write.database)) return refuse('restored')
    if (authorityOf(bound, write) !== 'ledger') return refuse('bound')
    if (!row) return refuse('full')
    refuseChanged(bound, write, loaded?.binding)
    if (write.version !== undefined && write.version !== row.version) return refuse('conflict')
    if (write.max > row.max + limits.maxJump) return refuse('jump')
    if (write.max > Math.max(row.max, limits.maxId)) return refuse('overflow')
    // guard: H22 max does not go below a number of a grant that was forgotten
    const held = Math.max(rows.held.get(key)?.high ?? 0, row.forgotten)
    // guard: H20 a document of a counter that went back is not written
    if (write.max > row.max && held > row.max)
      throw grantedBefore(
        write,
        { low: row.max + 1, high: write.max },
        { low: row.max + 1, high: held },
        held,
      )
    const moved = withLine(row, move(row, write.max, held))
    // A written document has a version, also `{"Max": 0}`.
    const isFirst = moved.version === 0
    written.set(key, isFirst ? { ...moved, version: 1 } : moved)
    marks.push(toMark(written.get(key)))
  }
  return { answer: marks, changes: { collections: [...written.values()] } }
}

const NOTHING_WANTED: Pick<CounterAsk, 'stock' | 'missing'> = { stock: [], missing: () => 0 }

/** A command does not have the function of the app, and no floor needs it. */
const isOfHook = ({ binding }: LoadedCollection): boolean => binding?.startsWith(HOOK) ?? false

/** The counter of an ORM is raised with the floor: the next block comes from above it. */
export function asksOfFloor(
  rows: Rows,
  { floor: asked, ...key }: Floor,
  { bound }: LedgerContext,
): CounterAsk[] {
  const row = rows.collections.get(keyText(key))!
  if (isOfHook(row)) return []
  refuseChanged(bound, key, row.binding)
  if (authorityOf(bound, key) !== 'counter') return []
  const floor = Math.max(asked, lostOf(rows, row))
  return [{ ...key, raiseTo: floor, above: floor, ...NOTHING_WANTED }]
}

export function raiseFloor(
  rows: Rows,
  request: Floor,
  answers: CounterAnswers,
): StepResult<number> {
  const { collection } = request
  const key = keyText(request)
  const row = rows.collections.get(key)!
  const floor = Math.max(request.floor, lostOf(rows, row))
  if (answers.get(key)?.isAtEnd)
    throw new CounterUnusable(
      `No block of '${collection}' is left above ${floor}: the id column ends before (maxId). ` +
        'Nothing was changed.',
    )
  // guard: H20 a floor that is raised leads above all grants, whose serials none gets again
  const serial = Math.max(row.serial, rows.held.get(key)?.serial ?? 0)
  const raised = { ...withFloor(row, floor), serial }
  // guard: H20 who raises the floor of letters has lost series, and lists those that exist
  const databases = isOfLetters(row.collection) ? [restoredAgain(rows, row.database)] : []
  return { answer: raised.max, changes: { collections: [raised], databases } }
}

/** From now on no name of a series and no range is given, until a person has listed them. */
const restoredAgain = (rows: Rows, database: string) => ({
  database,
  restores: databaseIn(rows, database).restores + 1,
  isUnlisted: true,
})

/**
 * The highest number that a grant holds or that is free, if the row went back to below it. 0: it
 * did not go back.
 */
function lostOf(rows: Rows, row: CollectionRow): number {
  const held = rows.held.get(keyText(row))?.high ?? 0
  const high = Math.max(held, row.forgotten, ...freeOf(row).map(([, high]) => high))
  return high > row.max ? high : 0
}

/**
 * The serials that a collection skips when its floor is raised: more than the grants that any
 * restored ledger has lost.
 */
const SERIALS_SKIPPED = 1e9
/** And so many for each number: a second restore of one backup adds those of the first. */
const SERIALS_PER_NUMBER = 100

/** Nobody grants more between two backups. A floor never goes down again. */
const MAX_RAISE = 1e12

/** @throws RangeError when the number is a mistake */
export function checkFloors({ by }: Floors): void {
  if (Number.isSafeInteger(by) && by >= 1 && by <= MAX_RAISE) return
  throw new RangeError(
    `Floors are raised by 1 to 1,000,000,000,000, so ${by} is taken for a mistake. Nothing was ` +
      'changed. If one collection was granted more since the backup, raise that one by its name ' +
      'first.',
  )
}

/** @throws RangeError when the ledger follows that one already, above `by` or more */
function refuseFollowed({ database, follows }: DatabaseRow, by: number, followed = ''): void {
  const already = follows[followed] ?? 0
  if (already >= by)
    throw new RangeError(
      `${database} follows ${followed} already, above ${already}. Nothing was changed. If a ` +
        'device holds a higher number, give that one.',
    )
}

/** The counters of ORMs are raised from where they stand: back ends take from them, too. */
export const asksOfFloors = (rows: Rows, { by }: Floors, bound: BoundCollections): CounterAsk[] =>
  [...rows.collections.values()].flatMap((row): CounterAsk[] => {
    if (isOfHook(row)) return []
    refuseChanged(bound, row, row.binding)
    if (authorityOf(bound, row) !== 'counter') return []
    const { database, collection } = row
    const floor = Math.min(reachOf(rows, row) + by, MAX_NUMBER)
    return [{ database, collection, raiseTo: floor, raiseBy: by, above: floor, ...NOTHING_WANTED }]
  })

/**
 * @param rows all rows of the database
 * @param followed the name of a ledger that granted nothing above `by`
 * @throws RangeError when the ledger follows that one already, above `by` or more
 */
export function raiseFloors(
  rows: Rows,
  { database, by }: Floors,
  answers: CounterAnswers,
  followed?: string,
): StepResult<RaisedFloors> {
  const before = databaseIn(rows, database)
  refuseFollowed(before, by, followed)
  const loaded = [...rows.collections.values()]
  const floor = sum(before.floor, by)
  const skipped = SERIALS_SKIPPED + SERIALS_PER_NUMBER * by
  const serial = sum(Math.max(before.serial, ...loaded.map((row) => row.serial)), skipped)
  const usedUp: string[] = []
  const raised = (name: string, number: number): number => {
    if (by < MAX_NUMBER - number) return number + by
    usedUp.push(name)
    // guard: H20 a line that ends before its raised floor grants nothing
    return MAX_NUMBER
  }
  const collections = loaded.map((row) => {
    if (answers.get(keyText(row))?.isAtEnd)
      throw new CounterUnusable(
        `No block of '${row.collection}' is left ${by} above where its counter stands: the ids ` +
          'end before (maxId). The database grants nothing yet. Give a smaller --by, if that is ' +
          'still more than was granted since the backup. Or let the id column store higher ids, ' +
          'as a bigint does, raise maxId in the configuration, and run the command again.',
      )
    // guard: H20 a counter's numbers up to where it was raised are granted to nobody
    const counted = answers.get(keyText(row))?.reach ?? 0
    const floor = Math.max(raised(row.collection, reachOf(rows, row)), counted)
    return { ...withFloor(row, floor), serial }
  })
  const identities = [...rows.identities.values()].map((row) => {
    const value = raised(row.name, Math.max(row.value, givenTo(row)))
    return { ...row, value, highWater: value }
  })
  return {
    answer: { collections: collections.length, identities: identities.length, floor, usedUp },
    changes: {
      collections,
      identities,
      databases: [
        {
          ...{ database, floor, serial, isRestored: false, isDropped: false },
          // guard: H20 after a restore a person lists which series exist
          ...restoredAgain(rows, database),
          ...(followed !== undefined && {
            // guard: H34 a ledger follows another one in the step that raises its floors above
            follows: { ...before.follows, [followed]: by },
          }),
        },
      ],
    },
  }
}

/** The highest number of a collection that is known. */
const reachOf = (rows: Rows, row: CollectionRow): number =>
  Math.max(row.highWater, lostOf(rows, row))

function sum(number: number, by: number): number {
  if (by > MAX_NUMBER - number)
    throw new RangeError(
      `${number} plus ${by} passes 2^53-1, which JavaScript cannot count. Nothing was changed.`,
    )
  return number + by
}
