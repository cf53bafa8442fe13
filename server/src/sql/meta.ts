/**
 * The table `hilo_meta`: the settings of whole databases, and the mark by which a process knows its
 * ledger again. A process remembers the highest state that it has seen: the mark, which every
 * commit raises, and the timeline of the database. Guarantees that no transaction commits on a
 * lower state, or on a ledger with another secret: not on an old primary that came back, nor on a
 * copy in the ledger's place. Nor does a server commit that would make the ids of another ledger,
 * or misread tables that a newer one has upgraded.
 */

import { isKeptOutside, type Secrets } from '../ledger/grant-token.js'
import type { IdParts } from '../ledger/ledger.js'
import { LedgerReplaced, LedgerUpgraded, OtherIds } from '../ledger/ledger-errors.js'
import type { DatabaseChange, RowChanges } from '../ledger/row-store.js'
import { type DatabaseRow, newDatabase } from '../ledger/rows.js'
import { versionIn } from './shape.js'
import { type SqlConnection, statement, type Work } from './statements.js'

/** The next state of the same ledger is at least as high in both. */
interface State {
  mark: number
  timeline: number
}

interface StateRow {
  version: string | null
  secret: string | null
  /** Null before the first commit. */
  mark: string | null
  /** Null on a standby, which takes no commit. */
  timeline: number | null
  /** Null before the first commit of a server that has one. */
  nodeTag: string | null
  serverPrefix: string | null
}

export interface SameLedger extends SqlConnection {
  useIdParts(parts: IdParts): void
}

/** Where the ledger keeps the parts of its ids that no other ledger has. */
const ID_PARTS = { nodeTag: 'node-tag', serverPrefix: 'server-prefix' } as const
const PARTS = Object.keys(ID_PARTS) as (keyof IdParts)[]

/** How a process knows its ledger again. */
interface Known {
  /** Their `isOurs`: does the ledger keep its secret still, or the fingerprint of a given one? */
  secrets: Pick<Secrets, 'isOurs'>
  /** Of its tables, as this program knows them. */
  version: number
}

export function sameLedger(connection: SqlConnection, known: Known): SameLedger {
  const { schema, timeline } = connection.dialect
  const settingAs = (key: string, name: string) =>
    `(SELECT value FROM ${schema}.hilo_meta WHERE key = '${key}') AS "${name}"`
  const readState = statement(
    `SELECT ${['version', SECRET, 'mark'].map((key) => settingAs(key, key)).join()},
      ${PARTS.map((part) => settingAs(ID_PARTS[part], part)).join()}, ${timeline} AS "timeline"`,
  )
  const raiseMark = statement(
    `INSERT INTO ${schema}.hilo_meta AS m (key, value) VALUES ('mark', '1') ON CONFLICT (key)
      DO UPDATE SET value = CAST(CAST(m.value AS BIGINT) + 1 AS TEXT)`,
  )
  const keepPart = `INSERT INTO ${schema}.hilo_meta (key, value) VALUES ($1, $2)
    ON CONFLICT (key) DO NOTHING`
  let seen: State = { mark: 0, timeline: 0 }
  /** From this timeline on, the database lacks commits that this process has seen. */
  let lacking = Number.POSITIVE_INFINITY
  /** Of the server. A command has none. */
  let parts: IdParts | undefined

  /** Runs the work in a transaction that first checks whether this is the same ledger. */
  async function watch<T>(work: Work<T>, run: (work: Work<T>) => Promise<T>): Promise<T> {
    let least = seen
    let reached = seen
    let newParts: (keyof IdParts)[] = []
    const requireSame = ([states]: readonly unknown[][]) => {
      const row = states![0] as StateRow
      reached = stateIn(row, known, least)
      const isOlder = !(reached.mark >= least.mark)
      // guard: H31 what a promoted standby lacks does not come by the commits of others
      if (isOlder && reached.timeline > least.timeline) lacking = reached.timeline
      // guard: H31 an older state of the ledger grants nothing
      if (isOlder || reached.timeline >= lacking) throw new LedgerReplaced(LACKS)
      // guard: H10 a server makes no ids of another ledger
      if (parts) refuseOthers(row, parts)
      newParts = PARTS.filter((part) => row[part] === null && parts?.[part] !== undefined)
    }
    const answer = await run({
      hasShortLockTimeout: work.hasShortLockTimeout,
      reads: [readState, ...work.reads],
      begins() {
        // Commits of others from here on may be missing in these rows.
        least = seen
      },
      ask(found) {
        requireSame(found)
        return work.ask?.(found.slice(1)) ?? []
      },
      step(found, answers) {
        requireSame(found)
        const outcome = work.step(found.slice(1), answers)
        if (outcome.writes.length === 0) return outcome
        reached = { ...reached, mark: reached.mark + 1 }
        const kept = newParts.map((part) => statement(keepPart, ID_PARTS[part], parts![part]))
        // Last, so that others wait for its row no longer than the commit takes.
        return { ...outcome, writes: [...outcome.writes, ...kept, raiseMark] }
      },
    })
    seen = {
      mark: Math.max(seen.mark, reached.mark),
      timeline: Math.max(seen.timeline, reached.timeline),
    }
    return answer
  }

  return {
    ...connection,
    transaction: (work) => watch(work, connection.transaction),
    ping: (work) => watch(work, connection.ping),
    useIdParts(given) {
      if (parts) refuseOthers(parts, given)
      parts = given
    },
  }
}

/**
 * @param kept null: nothing is known yet
 * @throws OtherIds
 */
function refuseOthers(
  kept: Record<keyof IdParts, string | null | undefined>,
  given: IdParts,
): void {
  for (const part of PARTS)
    if (kept[part] !== null && kept[part] !== given[part])
      throw new OtherIds(part, ID_PARTS[part], kept[part], given[part])
}

/**
 * @throws LedgerReplaced on an older timeline, or where the ledger has another secret
 * @throws LedgerUpgraded
 * @throws LedgerTablesChanged where the version of tables is lost
 */
function stateIn(row: StateRow, { secrets, version }: Known, least: State): State {
  const found = { mark: Number(row.mark ?? 0), timeline: row.timeline ?? least.timeline }
  const stored = versionIn(row.version ?? undefined, false)!
  // guard: H17 a server that would misread upgraded tables grants nothing
  if (stored > version + 1) throw new LedgerUpgraded('the tables of this ledger', stored, version)
  // guard: H31 another ledger grants nothing
  if (!secrets.isOurs(row.secret))
    throw new LedgerReplaced(
      isKeptOutside(row.secret)
        ? 'its secret is kept outside of it, and this server has not been given it. Another ' +
            'server of this ledger was started with HILO_SECRETS: all of them need the same'
        : 'it has another secret',
    )
  // guard: H31 an old primary that comes back grants nothing
  if (found.timeline < least.timeline)
    throw new LedgerReplaced('it is on an older timeline, as a primary that came back is')
  return found
}

const LACKS = 'it lacks commits that this server has seen, as a copy or a late standby does'

/** A setting: a row of `hilo_meta`. */
export interface Setting {
  key: string
  value: string
}

/** Writes a setting. */
export const putSetting = (schema: string): string =>
  `INSERT INTO ${schema}.hilo_meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

/** The settings of a database, by the beginning of their keys: which fields are stored there. */
const SETTINGS: Readonly<Record<string, StoredFields>> = {
  'restored:': {
    field: 'isRestored',
    /** `yes`, `dropped`, or empty. */
    write: ({ isRestored, isDropped }) => (isDropped ? 'dropped' : isRestored ? 'yes' : ''),
    read: (value) => ({ isRestored: value !== '', isDropped: value === 'dropped' }),
  },
  'floors:': {
    field: 'floor',
    write: ({ floor, serial }) => JSON.stringify({ floor, serial }),
    read: JSON.parse,
  },
  'listing:': {
    field: 'restores',
    write: ({ restores, isUnlisted }) => JSON.stringify({ restores, isUnlisted }),
    read: JSON.parse,
  },
  'follows:': {
    field: 'follows',
    /** By the name of the other ledger: `{"k3…": 640}`. */
    write: ({ follows }) => JSON.stringify(follows),
    read: (value) => ({ follows: JSON.parse(value) }),
  },
}

interface StoredFields {
  /** A change that has it changes the setting. */
  field: keyof DatabaseRow
  write(change: DatabaseChange): string
  read(value: string): Partial<DatabaseRow>
}

/** The secret of the grant tokens, in the same table. */
export const SECRET = 'secret'
/** The ledger's public name. */
export const NAME = 'name'

/** Settings of every database. */
export const settingsOfDatabases = (schema: string): string => `
  SELECT key AS "key", value AS "value" FROM ${schema}.hilo_meta
  WHERE ${Object.keys(SETTINGS)
    .map((start) => `key LIKE '${start}%'`)
    .join(' OR ')}`

export const settingKeysOf = (databases: readonly string[]): string[] =>
  databases.flatMap((name) => Object.keys(SETTINGS).map((start) => start + name))

/** By name. */
export function toDatabases(settings: readonly Setting[]): Map<string, DatabaseRow> {
  const found = new Map<string, DatabaseRow>()
  for (const { key, value } of settings) {
    const end = key.indexOf(':') + 1
    const name = key.slice(end)
    const row = found.get(name) ?? newDatabase(name)
    found.set(name, { ...row, ...SETTINGS[key.slice(0, end)]?.read(value) })
  }
  return found
}

/** The changes of a step, as settings. */
export const settingsFrom = ({ databases = [], secret }: RowChanges): Setting[] => [
  ...databases.flatMap((change) =>
    Object.entries(SETTINGS).flatMap(([start, { field, write }]) =>
      field in change ? { key: start + change.database, value: write(change) } : [],
    ),
  ),
  ...(secret === undefined ? [] : [{ key: SECRET, value: secret }]),
]
