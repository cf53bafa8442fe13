/**
 * A ledger that is an older copy of itself, because it was restored from a backup: which tokens
 * prove that, and what raised floors do then (H20). Pure. Guarantees that such a database grants
 * nothing before its floors were raised, and then nothing that may have been granted before.
 */
import { authorityOf, type BoundCollections, refuseChanged } from './bound-collections.js'
import type { CounterAnswers, CounterAsk } from './counter-port.js'
import { CounterUnusable } from './errors.js'
import type { TokenContent } from './grant-token.js'
import { distinct, keyText, serialText } from './keys.js'
import type { Floors, RaisedFloors } from './ledger.js'
import { MAX_NUMBER } from './number-line.js'
import type { RowChanges, Rows, Selection, StepResult } from './row-store.js'
import { type CollectionRow, type DatabaseRow, newDatabase, withFloor } from './rows.js'

/** Tokens that a device shows to one database. */
export interface ShownTokens {
  database: string
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined }[]
}

/**
 * The serials that a collection skips when its floor is raised: more than the grants that any
 * restored ledger has lost.
 */
const SERIALS_SKIPPED = 1e9

/** Nobody grants more between two backups. A floor never goes down again. */
const MAX_RAISE = 1e12

/** The rows that are needed to judge the tokens. */
export function selectionOfShown(
  requests: readonly ShownTokens[],
): Required<Pick<Selection, 'grants' | 'serials'>> {
  const tokens = requests.flatMap(({ database, shown }) =>
    shown.flatMap(({ token }) => (token ? { ...token, database } : [])),
  )
  return {
    grants: [...new Set(tokens.map(({ id }) => id))],
    serials: distinct(
      tokens.map(({ database, collection, serial }) => ({ database, collection, serial })),
      serialText,
    ),
  }
}

/**
 * This ledger signed the tokens. One of these proves that it is an older copy of itself: a token of
 * a grant that would be newer than the newest one here, a token of a grant in whose place another
 * one stands, or a token that is newer than its grant's.
 *
 * Three other tokens prove nothing: one of a grant that was pruned, which is known by its place;
 * one that is older than its grant's, which a copy of the device shows; and one from before the
 * floors were raised, which proves only what the operator knows. But if that grant is not known and
 * went above the floor, the operator did not know how much was lost.
 */
const provesOlderCopy = (
  rows: Rows,
  { database, shown }: ShownTokens,
  bound: BoundCollections,
): boolean =>
  shown.some(({ token }) => {
    if (!token) return false
    const raised = databaseIn(rows, database)
    const grant = rows.grants.get(token.id) ?? rows.tombstones.get(token.id)
    const place = rows.serials.get(serialText({ database, ...token }))
    if (token.serial <= raised.serial) {
      // Where another authority counts, its numbers go above the floor for other reasons, too.
      const isCounted = authorityOf(bound, { database, ...token }) === 'ledger'
      const floor = Math.max(raised.floor, place?.floor ?? 0)
      // guard: H20 a token from before the floors were raised proves nothing any more
      // guard: H20 floors that were raised too little are raised again
      return !grant && isCounted && token.high > floor
    }
    // guard: H20 a token that is newer than its grant proves an older copy
    if (grant) return grant.database === database && grant.rotation < token.rotation
    // guard: H20 a token that is not known any more proves one, too
    return place === undefined || place.newest < token.serial || place.grant !== null
  })

/** Databases that these requests prove to be older copies, and that nobody proved before. */
export const provenBy = (
  rows: Rows,
  requests: readonly ShownTokens[],
  bound: BoundCollections,
): string[] =>
  distinct(
    requests.filter((request) => provesOlderCopy(rows, request, bound)),
    ({ database }) => database,
  )
    .map(({ database }) => database)
    .filter((database) => !isRestored(rows, database))

/** Does this database grant nothing? */
export const isRestored = (rows: Rows, database: string): boolean =>
  // guard: H20 a database that was restored grants nothing
  databaseIn(rows, database).isRestored

/** The rows once a step's changes of databases are saved. */
export function withDatabases(
  rows: Rows,
  { restored = [], floors = [] }: Pick<RowChanges, 'restored' | 'floors'>,
): Rows {
  if (restored.length + floors.length === 0) return rows
  const changed = [
    ...restored.map((name) => ({ ...databaseIn(rows, name), isRestored: true })),
    ...floors.map((row) => ({ ...row, isRestored: false, isDropped: false })),
  ]
  const databases = new Map(rows.databases)
  for (const row of changed) databases.set(row.database, row)
  return { ...rows, databases }
}

/**
 * The rows above their databases' floors: also those that were not there when the floors were
 * raised.
 */
export function withFloors(rows: Rows, bound: BoundCollections): Rows {
  if (![...rows.databases.values()].some(({ floor }) => floor > 0)) return rows
  return {
    ...rows,
    collections: mapped(rows.collections, (row) =>
      aboveFloor(row, databaseIn(rows, row.database), bound),
    ),
    identities: mapped(rows.identities, (row) => {
      const { floor } = databaseIn(rows, row.database)
      // guard: H20 an identity that a copy did not know begins above the floor
      if (row.peak < floor) return { ...row, value: Math.max(row.value, floor), peak: floor }
      return row
    }),
  }
}

/** A bound collection is counted by its own counter. */
export function aboveFloor<Row extends CollectionRow>(
  row: Row,
  { floor, serial }: DatabaseRow,
  bound: BoundCollections,
): Row {
  if (row.serial >= serial) return row
  const isCounted = authorityOf(bound, row) === 'ledger'
  // guard: H20 a collection that a copy did not know begins above the floor
  return { ...row, ...(isCounted && withFloor(row, floor)), serial }
}

/** @throws RangeError when the number is a mistake */
export function checkFloors({ by }: Floors): void {
  if (Number.isSafeInteger(by) && by >= 1 && by <= MAX_RAISE) return
  throw new RangeError(
    `Floors are raised by 1 to 1,000,000,000,000, so ${by} is taken for a mistake. Nothing was ` +
      'changed. If one collection was granted more since the backup, raise that one by its name ' +
      'first.',
  )
}

/** The counters of ORMs are raised from where they stand: back ends take from them, too. */
export const asksOfFloors = (rows: Rows, { by }: Floors, bound: BoundCollections): CounterAsk[] =>
  [...rows.collections.values()].flatMap((row): CounterAsk[] => {
    refuseChanged(bound, row, row.binding)
    if (authorityOf(bound, row) !== 'counter') return []
    const { database, collection, peak } = row
    const floor = Math.min(peak + by, MAX_NUMBER)
    return [{ database, collection, raiseTo: floor, raiseBy: by, above: floor, missing: 0 }]
  })

/** @param rows all rows of the database */
export function raiseFloors(
  rows: Rows,
  { database, by }: Floors,
  answers: CounterAnswers,
): StepResult<RaisedFloors> {
  const before = databaseIn(rows, database)
  const loaded = [...rows.collections.values()]
  const floor = sum(before.floor, by)
  const serial = sum(Math.max(before.serial, ...loaded.map((row) => row.serial)), SERIALS_SKIPPED)
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
    return { ...withFloor(row, raised(row.collection, row.peak)), serial }
  })
  const identities = [...rows.identities.values()].map((row) => {
    const value = raised(row.name, Math.max(row.value, row.peak))
    return { ...row, value, peak: value }
  })
  return {
    answer: { collections: collections.length, identities: identities.length, floor, usedUp },
    changes: { collections, identities, floors: [{ database, floor, serial }] },
  }
}

export const databaseIn = (rows: Rows, database: string): DatabaseRow =>
  rows.databases.get(database) ?? newDatabase(database)

function sum(number: number, by: number): number {
  if (by > MAX_NUMBER - number)
    throw new RangeError(
      `${number} plus ${by} passes 2^53-1, which JavaScript cannot count. Nothing was changed.`,
    )
  return number + by
}

const mapped = <Row>(
  rows: ReadonlyMap<string, Row>,
  change: (row: Row) => Row,
): ReadonlyMap<string, Row> => new Map([...rows].map(([key, row]) => [key, change(row)]))
