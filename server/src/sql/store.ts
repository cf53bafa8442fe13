/** The ledger's rows in a database that speaks SQL: the store is written once for all of them. */
import { setImmediate } from 'node:timers'
import type { Secrets } from '../ledger/grant-token.js'
import type { IdentityKey } from '../ledger/ledger.js'
import type { RowStore, Selection, StepResult, Transaction } from '../ledger/row-store.js'
import type { CountsRow, GrantRow, SeriesRow } from '../ledger/rows.js'
import { deviceStore } from './devices.js'
import { SETTINGS_OF_DATABASES, type Setting, sameLedger, toDatabases } from './meta.js'
import {
  addMissing,
  both,
  changedOf,
  isAny,
  type LoadedRows,
  type Missing,
  missingFrom,
  NONE_MISSING,
  withMissing,
} from './missing.js'
import { type Loader, loader, saver, toCollection } from './rows.js'
import {
  type SqlConnection,
  type Statement,
  selected,
  selectedShort,
  statement,
} from './statements.js'
import { COLLECTIONS, decoded, GRANTS, SERIES } from './tables.js'

const STATUS = `SELECT ${selectedShort(COLLECTIONS)} FROM hilo_counters t
  WHERE t.dropped_at IS NULL ORDER BY t.database, t.tag`
// Numbers above 2^53-1 are not exact: 1,000 collections may have as many free.
const FREE = `SELECT coalesce(sum(CAST(free_count AS DOUBLE PRECISION)), 0) AS "count"
  FROM hilo_counters WHERE free_count > 0`
const COLLECTION_NAMES = `SELECT database AS "database", tag AS "collection" FROM hilo_counters
  ORDER BY database, tag`
const IDENTITY_NAMES = `SELECT database AS "database", name AS "name" FROM hilo_identities
  ORDER BY database, name`
const IDENTITIES_OF = `SELECT database AS "database", name AS "name" FROM hilo_identities
  WHERE database = $1 AND dropped_at IS NULL ORDER BY name`
/** The index of serials leads to the grants of one collection. */
const COVERING = `SELECT ${selected(GRANTS)} FROM hilo_grants t
  WHERE t.database = $1 AND t.tag = $2 AND t.low <= $3 AND t.first_high >= $3
  ORDER BY t.serial DESC LIMIT 10`
const SERIES_OF = `SELECT ${selected(SERIES)} FROM hilo_series t
  WHERE t.database = $1 ORDER BY t.tag, t.letter`
const SERIES_AT = `SELECT ${selected(SERIES)} FROM hilo_series t
  WHERE t.database = $1 AND t.tag = $2 AND t.name = $3`
const HANDED_OVER = `SELECT ${selected(SERIES)} FROM hilo_series t
  WHERE t.database = $1 AND t.tag = $2 AND t.hand_overs <> '[]' ORDER BY t.letter`
const SERIES_COUNT = `SELECT count(*) AS "count" FROM hilo_series t WHERE t.database = $1`

/**
 * How many rows are found or deleted at once. It is repeated until there is none, so that no claim
 * waits long for it.
 */
const STEP = 1_000

/** Grants that may be pruned: those that are settled since `$1`, those not heard of since `$2`. */
const OLD_GRANTS = `
  SELECT * FROM (${oldGrants('issued >= high', '$1')}) AS done
  UNION ALL SELECT * FROM (${oldGrants('issued < high', '$2')}) AS tombstones`

function oldGrants(condition: string, before: string): string {
  return `SELECT id AS "id", database AS "database", tag AS "collection" FROM hilo_grants
    WHERE ${condition} AND heard_at < ${before} ORDER BY heard_at LIMIT ${STEP / 2}`
}

/**
 * Rows that belong to dropped collections and identities, and what is written about people in those
 * that stay.
 */
const DROPPINGS: readonly string[] = [
  dropping('hilo_grants', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_tombstones', 'id', 'hilo_counters', 'tag'),
  dropping('hilo_identity_claims', 'database, name, claim', 'hilo_identities', 'name'),
  // The series stays, so that its name is given to nobody else. `|` as in `lettersOf`.
  `UPDATE hilo_series SET device = '', hand_overs = '[]',
    closed_by = CASE WHEN closed_by IS NULL THEN NULL ELSE '' END,
    reason = CASE WHEN reason IS NULL THEN NULL ELSE '' END
    WHERE grant_id IN (
      SELECT t.grant_id FROM hilo_counters n
      JOIN hilo_series t ON t.database = n.database AND t.tag || '|' = n.tag
      WHERE n.dropped_at IS NOT NULL AND (t.device <> '' OR t.closed_by <> '' OR t.reason <> ''
        OR t.hand_overs <> '[]')
      LIMIT ${STEP}) RETURNING 1 AS "dropped"`,
]

function dropping(table: string, key: string, named: string, name: string): string {
  const columns = key.split(', ').map((column) => `t.${column}`)
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${columns.join(', ')} FROM ${named} n
    JOIN ${table} t ON t.database = n.database AND t.${name} = n.${name}
    WHERE n.dropped_at IS NOT NULL LIMIT ${STEP}) RETURNING 1 AS "dropped"`
}

/** Stored answers to requests from before `$1`. */
const PRUNINGS: readonly string[] = [
  pruning('hilo_returns', 'database, tag, range_end, range_last', 'returned_at'),
  pruning('hilo_identity_claims', 'database, name, claim', 'claimed_at'),
]

function pruning(table: string, key: string, time: string): string {
  return `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${time} < $1 LIMIT ${STEP}) RETURNING 1 AS "pruned"`
}

/** @param secrets what signs the grant tokens */
export function sqlStore(unwatched: SqlConnection, secrets: Secrets): RowStore {
  const connection = sameLedger(unwatched, secrets.isOurs)
  const { transaction, read } = connection
  const load = loader(connection.dialect)
  const change = changer(connection, load)
  const underWay = new Set<Promise<unknown>>()
  const readAll = async <Row>(text: string, ...parameters: unknown[]): Promise<Row[]> =>
    (await read(statement(text, ...parameters))) as Row[]

  /** Until there is no row left. Requests that wait come first. */
  async function repeat(deletion: Statement): Promise<void> {
    const step = (found: readonly unknown[][]) => ({ answer: found[0]!.length, writes: [] })
    while ((await transaction({ reads: [deletion], step })) > 0)
      await new Promise((resolve) => setImmediate(resolve))
  }

  return {
    secrets,
    devices: deviceStore(connection),

    change(wanted) {
      const done = change(wanted).finally(() => underWay.delete(done))
      underWay.add(done)
      return done
    },

    readCollection: async (key) => (await read(load.collection(key))).map(toCollection)[0],
    readStatus: () => readAll<CountsRow>(STATUS),
    readCovering: async ({ database, collection }, number) =>
      decoded<GrantRow>(GRANTS, await readAll(COVERING, database, collection, number)).reverse(),
    readSeries: (database) => readAll(SERIES_OF, database),
    findSeries: async ({ database, collection, name }) =>
      (await readAll<SeriesRow>(SERIES_AT, database, collection, name))[0],
    readHandedOver: ({ database, collection }) => readAll(HANDED_OVER, database, collection),
    countSeries: async (database) =>
      (await readAll<{ count: number }>(SERIES_COUNT, database))[0]!.count,
    readDatabases: async () => toDatabases(await readAll<Setting>(SETTINGS_OF_DATABASES)),
    readNames: async () => ({
      collections: await readAll(COLLECTION_NAMES),
      identities: await readAll(IDENTITY_NAMES),
    }),
    countFree: async () => (await readAll<{ count: number }>(FREE))[0]!.count,
    readOld: async ({ settledBefore, heardBefore }) =>
      decoded(GRANTS, await readAll(OLD_GRANTS, settledBefore, heardBefore)),
    readIdentities: (database) => readAll<IdentityKey>(IDENTITIES_OF, database),
    pruneAnswers: async (before) => {
      for (const text of PRUNINGS) await repeat(statement(text, before))
    },
    removeDropped: async () => {
      for (const text of DROPPINGS) await repeat(statement(text))
    },
    ...(connection.connections && { connections: connection.connections }),
    ping: () => connection.ping({ reads: [], step: () => ({ answer: undefined, writes: [] }) }),
    async close() {
      await Promise.allSettled(underWay)
      await connection.close()
    },
  }
}

type ChangeOutcome<T> = StepResult<T> | { select: Selection } | { missing: Missing }

/**
 * Loads rows, runs a step on them and saves what it changed, in one transaction. A step that
 * changes what is not there yet runs again once that was added.
 */
function changer(connection: SqlConnection, load: Loader): RowStore['change'] {
  const save = saver(connection.dialect)
  return async <T>(transaction: Transaction<T>): Promise<T> => {
    const { select, ask, step } = transaction
    let wanted: Selection = select
    for (let added = NONE_MISSING; ; ) {
      const loading = load.selected(wanted)
      const loaded = (found: readonly unknown[][]) => {
        const rows = loading.rows(found)
        return { rows, missing: missingFrom(rows, wanted, added) }
      }
      const result = await connection.transaction<ChangeOutcome<T>>({
        reads: loading.reads,
        hasShortLockTimeout: wanted.hasShortLockTimeout,
        ask(found) {
          if (!ask) return []
          const { rows, missing } = loaded(found)
          return isAny(missing) ? [] : ask(rows)
        },
        step(found, answers) {
          const { rows, missing } = loaded(found)
          const answer = isAny(missing) ? tried(transaction, rows, missing) : step(rows, answers)
          return { answer, writes: 'answer' in answer ? save(rows, answer.changes) : [] }
        },
      })
      if ('answer' in result) return result.answer
      if ('select' in result) wanted = { ...wanted, ...result.select }
      else {
        await addMissing(connection, result.missing, wanted.quota!)
        added = both(added, result.missing)
      }
    }
  }
}

/** Runs a step as if what is missing were there; or says what has to be added before it can run. */
function tried<T>(
  { ask, step }: Transaction<T>,
  rows: LoadedRows,
  missing: Missing,
): ChangeOutcome<T> {
  const whole = withMissing(rows, missing)
  try {
    // A counter gives no number for a name that may be refused.
    if (ask && ask(whole).length > 0) return { missing }
    const result = step(whole, new Map())
    if ('select' in result) return result
    const changed = changedOf(missing, result.changes)
    return isAny(changed) ? { missing: changed } : result
  } catch {
    // How a new name is bound is known once it is there.
    return { missing }
  }
}
