/**
 * Shared by the steps of a ledger. A ledger that was restored from a backup is an older copy of
 * itself, and some grant tokens prove that: `provesOlderCopy` says which (H20). Guarantees that
 * such a database grants nothing before its floors were raised, and that each step works on rows
 * above their floors.
 */
import {
  authorityOf,
  type BoundCollections,
  distinct,
  keyOf,
  keyText,
  normalized,
  serialText,
} from './collections.js'
import { type GrantTokens, grantTokens, newGrantId, type TokenContent } from './grant-token.js'
import type { CollectionKey, IdentityKey, LedgerLimits } from './ledger.js'
import { namesOf, ownName } from './name.js'
import type { DatabaseChange, RowStore, Rows, Selection, Transaction } from './row-store.js'
import { type CollectionRow, type DatabaseRow, newDatabase, withFloor } from './rows.js'

/** Tokens that a device shows to one database. */
export interface ShownTokens {
  database: string
  /** Undefined: this ledger never wrote the token. */
  shown: readonly { token: TokenContent | undefined }[]
}

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
 * This ledger signed the tokens. Each of these proves that it is an older copy of itself:
 *
 * - a token of a grant that would be newer than the newest one here,
 * - a token of a grant in whose place another one stands,
 * - a token that is newer than its grant's.
 *
 * These prove nothing:
 *
 * - a token of a grant that was pruned, which is known by its place,
 * - a token that is older than its grant's: a copy of the device shows it,
 * - a token from before the floors were raised: the operator knows already. But if that grant is
 *   not known and went above the floor, the operator did not know how much was lost.
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
      // An upstream's numbers go above the floor for other reasons, too; so do those of an ORM's
      // counter that the copy did not know.
      const authority = authorityOf(bound, { database, ...token })
      const isCounted = authority === 'ledger' || (authority === 'counter' && place !== undefined)
      const floor = Math.max(raised.floor, place?.floor ?? 0)
      // guard: H20 a token from before the floors were raised proves nothing any more
      // guard: H20 floors that were raised too little are raised again
      return !grant && isCounted && token.high > floor
    }
    // guard: H20 a token that is newer than its grant proves an older copy
    if (grant) return grant.database === database && grant.tokenVersion < token.tokenVersion
    // guard: H20 a token that is not known any more proves one, too
    return place === undefined || place.newest < token.serial || place.grant !== null
  })

/** Databases that these requests prove to be older copies, and that nobody proved before. */
export const provenBy = (
  rows: Rows,
  requests: readonly ShownTokens[],
  bound: BoundCollections,
): DatabaseChange[] =>
  databasesOf(requests.filter((request) => provesOlderCopy(rows, request, bound)))
    .filter((database) => !isRestored(rows, database))
    .map((database) => ({ database, isRestored: true, isDropped: false }))

/** Does this database grant nothing? */
export const isRestored = (rows: Rows, database: string): boolean =>
  // guard: H20 a database that was restored grants nothing
  databaseIn(rows, database).isRestored

/** Has no person listed the series of this database since it was restored? */
export const isUnlisted = (rows: Rows, database: string): boolean =>
  databaseIn(rows, database).isUnlisted

/** The rows once a step's changes of databases are saved. */
export function withDatabases(rows: Rows, changes: readonly DatabaseChange[] = []): Rows {
  if (changes.length === 0) return rows
  const changed = changes.map(
    (change) => [change.database, { ...databaseIn(rows, change.database), ...change }] as const,
  )
  return { ...rows, databases: new Map([...rows.databases, ...changed]) }
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
      if (row.highWater < floor)
        return { ...row, value: Math.max(row.value, floor), highWater: floor }
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

export const databaseIn = (rows: Rows, database: string): DatabaseRow =>
  rows.databases.get(database) ?? newDatabase(database)

const mapped = <Row>(
  rows: ReadonlyMap<string, Row>,
  change: (row: Row) => Row,
): ReadonlyMap<string, Row> => new Map([...rows].map(([key, row]) => [key, change(row)]))

export interface LedgerContext {
  limits: LedgerLimits
  bound: BoundCollections
  tokens: GrantTokens
  newGrantId(): string
  /** The public name of this ledger. */
  name: string
  /** The name of where the numbers of a collection come from. Undefined: it has none. */
  nameOf(key: CollectionKey): string | undefined
}

export interface LedgerCore {
  store: RowStore
  context: LedgerContext
  alarm: Alarm
  /** @param databases their settings are input of the step */
  change<T>(databases: readonly string[], transaction: Transaction<T>): Promise<T>
  /** All names, also of bound collections. Each may have granted numbers before a restore. */
  names(): Promise<{ collections: CollectionKey[]; identities: IdentityKey[] }>
}

export function ledgerCore(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): LedgerCore {
  const { name, secrets } = store
  // Devices know ledgers apart by their names. All regions have the name of their root.
  // guard: H20 the token of another region proves nothing
  const region = ownName(name, bound) === undefined ? name : ''
  const tokens = grantTokens(secrets.known, region)
  const nameOf = namesOf(name, bound)
  const context: LedgerContext = { limits, bound, tokens, newGrantId, name, nameOf }
  const alarm = createAlarm()

  async function change<T>(
    databases: readonly string[],
    { select, ask, step }: Transaction<T>,
  ): Promise<T> {
    let after: DatabaseRow[] = []
    const answer = await store.change<T>({
      select: { ...select, databases },
      ...(ask && { ask: (rows) => ask(withFloors(rows, bound)) }),
      step: (loaded, answers) => {
        const rows = withFloors(loaded, bound)
        const result = step(rows, answers)
        const saved = 'changes' in result ? withDatabases(rows, result.changes.databases) : rows
        after = databases.map((name) => databaseIn(saved, name))
        return result
      },
    })
    alarm.look(after)
    return answer
  }

  async function names() {
    const { collections, identities } = await store.readNames()
    const keys = [...collections, ...[...bound.values()].map((key) => keyOf(normalized(key)))]
    return { collections: distinct(keys, keyText), identities }
  }

  return { store, context, alarm, change, names }
}

export const databasesOf = (keys: readonly { database: string }[]): string[] => [
  ...new Set(keys.map(({ database }) => database)),
]

interface Alarm {
  /** The databases, as they are known now. */
  look(databases: readonly DatabaseRow[]): void
  listen(listener: (database: string) => void): void
}

function createAlarm(): Alarm {
  /** The floors under which each was restored: to grant again they are raised, by any server. */
  const told = new Map<string, number>()
  const listeners: ((database: string) => void)[] = []
  return {
    look(databases) {
      for (const { database, isRestored, floor } of databases) {
        if (!isRestored || told.get(database) === floor) continue
        told.set(database, floor)
        for (const listener of listeners) listener(database)
      }
    },
    listen: (listener) => void listeners.push(listener),
  }
}
