/** The store of the ledger's rows, written once for all databases that speak SQL. */
import { setImmediate } from 'node:timers'
import type { IdentityKey } from '../ledger/ledger.js'
import { LedgerUnavailable } from '../ledger/ledger-errors.js'
import type { NewGrant } from '../ledger/overlap.js'
import type { RowStore, Selection, StepResult, Transaction } from '../ledger/row-store.js'
import type { CountsRow, GrantRow } from '../ledger/rows.js'
import { requireSound } from '../ledger/sound-changes.js'
import { deviceStore } from './devices.js'
import { type Loader, loader, saver, toCollection } from './load-and-save.js'
import { type Setting, sameLedger, settingsOfDatabases, toDatabases } from './meta.js'
import {
  addMissing,
  changedOf,
  type LoadedRows,
  type Missing,
  missingFrom,
  withMissing,
} from './missing.js'
import { whyNotAdded } from './overlaps.js'
import type { Identity } from './schema.js'
import {
  type SqlConnection,
  type Statement,
  selected,
  selectedShort,
  statement,
  type Work,
} from './statements.js'
import { COLLECTIONS, decoded, GRANTS, type Naming, SERIES } from './tables.js'

/**
 * How many rows are found or deleted at once. It is repeated until there is none, so that no claim
 * waits long for it.
 */
const STEP = 1_000

/** Statements about whole tables. */
function textsIn({ schema }: Naming) {
  const series = `SELECT ${selected(SERIES)} FROM ${schema}.hilo_series t`
  return {
    status: `SELECT ${selectedShort(COLLECTIONS)} FROM ${schema}.hilo_collections t
      WHERE t.dropped_at IS NULL ORDER BY t.database, t.collection`,
    // Numbers above 2^53-1 are not exact: 1,000 collections may have as many free.
    free: `SELECT coalesce(sum(CAST(free_count AS DOUBLE PRECISION)), 0) AS "count"
      FROM ${schema}.hilo_collections WHERE free_count > 0`,
    collectionNames: `SELECT database AS "database", collection AS "collection"
      FROM ${schema}.hilo_collections ORDER BY database, collection`,
    identityNames: `SELECT database AS "database", name AS "name"
      FROM ${schema}.hilo_identities ORDER BY database, name`,
    identitiesOf: `SELECT database AS "database", name AS "name" FROM ${schema}.hilo_identities
      WHERE database = $1 AND dropped_at IS NULL ORDER BY name`,
    // The index of serials leads to the grants of one collection.
    covering: `SELECT ${selected(GRANTS)} FROM ${schema}.hilo_grants t
      WHERE t.database = $1 AND t.collection = $2 AND t.low <= $3 AND t.first_high >= $3
      ORDER BY t.serial DESC LIMIT 10`,
    seriesOf: `${series} WHERE t.database = $1 AND (t.collection, t.letter) > ($2, $3)
      ORDER BY t.collection, t.letter LIMIT $4`,
    seriesAt: `${series} WHERE t.database = $1 AND t.collection = $2 AND t.name_key = $3`,
    handedOver: `${series}
      WHERE t.database = $1 AND t.collection = $2 AND t.hand_overs <> '[]' ORDER BY t.letter`,
    seriesCount: `SELECT count(*) AS "count" FROM ${schema}.hilo_series t WHERE t.database = $1`,
    openSeriesCount: `SELECT count(*) AS "count" FROM ${schema}.hilo_series t
      JOIN ${schema}.hilo_grants g ON g.id = t.grant_id
      WHERE t.database = $1 AND t.closed_at IS NULL AND g.claimed_by = $2`,
    // Grants that may be pruned: those that are settled since `$1`, those not heard of since `$2`.
    oldGrants: `
      SELECT * FROM (${oldGrants(schema, 'issued >= high', '$1')}) AS done
      UNION ALL SELECT * FROM (${oldGrants(schema, 'issued < high', '$2')}) AS tombstones`,
    /**
     * Rows that belong to dropped collections and identities, and the notes about people in those
     * that stay.
     */
    droppings: [
      dropping(schema, 'hilo_grants', 'id', 'hilo_collections', 'collection'),
      dropping(schema, 'hilo_tombstones', 'id', 'hilo_collections', 'collection'),
      dropping(schema, 'hilo_identity_claims', 'database, name, claim', 'hilo_identities', 'name'),
      // The series stays, so that its name is given to nobody else. `|` as in `lettersOf`.
      `UPDATE ${schema}.hilo_series SET device = '', hand_overs = '[]',
        closed_by = CASE WHEN closed_by IS NULL THEN NULL ELSE '' END,
        reason = CASE WHEN reason IS NULL THEN NULL ELSE '' END
        WHERE grant_id IN (
          SELECT t.grant_id FROM ${schema}.hilo_collections n
          JOIN ${schema}.hilo_series t
            ON t.database = n.database AND t.collection || '|' = n.collection
          WHERE n.dropped_at IS NOT NULL AND (t.device <> '' OR t.closed_by <> ''
            OR t.reason <> '' OR t.hand_overs <> '[]')
          LIMIT ${STEP}) RETURNING 1 AS "dropped"`,
    ],
    /** Stored answers to requests from before `$1`. */
    prunings: [
      pruning(schema, 'hilo_returns', 'database, collection, range_end, range_last', 'returned_at'),
      pruning(schema, 'hilo_identity_claims', 'database, name, claim', 'claimed_at'),
    ],
  }
}

function oldGrants(schema: string, condition: string, before: string): string {
  return `SELECT id AS "id", database AS "database", collection AS "collection"
    FROM ${schema}.hilo_grants
    WHERE ${condition} AND heard_at < ${before} ORDER BY heard_at LIMIT ${STEP / 2}`
}

function dropping(schema: string, table: string, key: string, named: string, name: string): string {
  const columns = key.split(', ').map((column) => `t.${column}`)
  return `DELETE FROM ${schema}.${table} WHERE (${key}) IN (
    SELECT ${columns.join(', ')} FROM ${schema}.${named} n
    JOIN ${schema}.${table} t ON t.database = n.database AND t.${name} = n.${name}
    WHERE n.dropped_at IS NOT NULL LIMIT ${STEP}) RETURNING 1 AS "dropped"`
}

function pruning(schema: string, table: string, key: string, time: string): string {
  return `DELETE FROM ${schema}.${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${schema}.${table} WHERE ${time} < $1 LIMIT ${STEP})
    RETURNING 1 AS "pruned"`
}

export function sqlStore(unwatched: SqlConnection, identity: Identity): RowStore {
  const { secrets, name } = identity
  const connection = sameLedger(untilClosed(unwatched), identity)
  const { transaction, read } = connection
  const texts = textsIn(connection.dialect)
  const load = loader(connection.dialect)
  const change = changer(connection, load)
  const underWay = new Set<Promise<unknown>>()
  const readAll = <Row>(text: string, ...parameters: unknown[]): Promise<Row[]> =>
    read<Row>(statement(text, ...parameters))

  /** Until there is no row left. Requests that wait come first. */
  async function repeat(deletion: Statement): Promise<void> {
    const step = (found: readonly unknown[][]) => ({ answer: found[0]!.length, writes: [] })
    while ((await transaction({ reads: [deletion], step })) > 0)
      await new Promise((resolve) => setImmediate(resolve))
  }

  return {
    secrets,
    name,
    devices: deviceStore(connection),

    change(wanted) {
      const done = change(wanted).finally(() => underWay.delete(done))
      underWay.add(done)
      return done
    },

    readCollections: async (keys) => (await read(load.collections(keys))).map(toCollection),
    readStatus: () => readAll<CountsRow>(texts.status),
    readCovering: async ({ database, collection }, number) =>
      decoded<GrantRow>(
        GRANTS,
        await readAll(texts.covering, database, collection, number),
      ).reverse(),
    readSeries: async (database, { collection, place }, limit) =>
      decoded(SERIES, await readAll(texts.seriesOf, database, collection, place, limit)),
    findSeries: async ({ database, collection, nameKey }) =>
      decoded(SERIES, await readAll(texts.seriesAt, database, collection, nameKey))[0],
    readHandedOver: ({ database, collection }) => readAll(texts.handedOver, database, collection),
    countSeries: async (database) =>
      (await readAll<{ count: number }>(texts.seriesCount, database))[0]!.count,
    countOpenSeries: async (database, by) =>
      (await readAll<{ count: number }>(texts.openSeriesCount, database, by))[0]!.count,
    readDatabases: async () =>
      toDatabases(await readAll<Setting>(settingsOfDatabases(connection.dialect.schema))),
    readNames: async () => ({
      collections: await readAll(texts.collectionNames),
      identities: await readAll(texts.identityNames),
    }),
    countFree: async () => (await readAll<{ count: number }>(texts.free))[0]!.count,
    readOld: ({ settledBefore, heardBefore }) =>
      readAll(texts.oldGrants, settledBefore, heardBefore),
    readIdentities: (database) => readAll<IdentityKey>(texts.identitiesOf, database),
    pruneAnswers: async (before) => {
      for (const text of texts.prunings) await repeat(statement(text, before))
    },
    removeDropped: async () => {
      for (const text of texts.droppings) await repeat(statement(text))
    },
    ...(connection.connections && { connections: connection.connections }),
    useIdParts: connection.useIdParts,
    ping: () => connection.ping({ reads: [], step: () => ({ answer: undefined, writes: [] }) }),
    async close() {
      await Promise.allSettled(underWay)
      await connection.close()
    },
  }
}

/**
 * A server that has closed its ledger may still get requests: each is refused like one that nobody
 * answers. Other ledgers of this process may go on with the same connection to a file.
 */
function untilClosed(connection: SqlConnection): SqlConnection {
  let closed: Promise<void> | undefined
  const unlessClosed = <T>(ask: () => Promise<T>): Promise<T> =>
    closed ? Promise.reject(new LedgerUnavailable(CLOSED)) : ask()
  return {
    ...connection,
    transaction: (work) => unlessClosed(() => connection.transaction(work)),
    read: (statement) => unlessClosed(() => connection.read(statement)),
    ping: (work) => unlessClosed(() => connection.ping(work)),
    close() {
      closed ??= connection.close()
      return closed
    },
  }
}

const CLOSED =
  'This ledger was closed, and nothing is granted from it. Close it when nobody sends requests ' +
  'any more, or open it again.'

type ChangeOutcome<T> = StepResult<T> | { select: Selection } | { missing: Missing }

/** A name that was dropped so often, each time just after it was added, counts as refused. */
const MAX_ROUNDS = 100

/**
 * Loads rows, runs a step on them and saves its changes, in one transaction. A step that changes a
 * missing row runs again once that was added.
 */
function changer(connection: SqlConnection, load: Loader): RowStore['change'] {
  const save = saver(connection.dialect)
  return async <T>(transaction: Transaction<T>): Promise<T> => {
    const { select, ask, step } = transaction
    let wanted: Selection = select
    let full: Missing = []
    for (let rounds = 1; ; rounds++) {
      const loading = load.selected(wanted)
      const loaded = (found: readonly unknown[][]) => {
        const rows = loading.rows(found)
        return { rows, missing: missingFrom(rows, wanted, full) }
      }
      let granted: readonly NewGrant[] = []
      const work: Work<ChangeOutcome<T>> = {
        reads: loading.reads,
        hasShortLockTimeout: wanted.hasShortLockTimeout,
        ask(found) {
          if (!ask) return []
          const { rows, missing } = loaded(found)
          return missing.length > 0 ? [] : ask(rows)
        },
        step(found, answers) {
          const { rows, missing } = loaded(found)
          const answer =
            missing.length > 0 ? tried(transaction, rows, missing) : step(rows, answers)
          if (!('answer' in answer)) return { answer, writes: [] }
          // guard: H20 a change that could let a number out twice is not saved
          requireSound(rows, answer.changes)
          granted = answer.changes.newGrants ?? []
          return { answer, writes: save(rows, answer.changes) }
        },
      }
      const result = await connection.transaction(work).catch(async (error) => {
        if (error instanceof LedgerUnavailable) throw error
        throw (await whyNotAdded(connection, granted)) ?? error
      })
      if ('answer' in result) return result.answer
      if ('select' in result) wanted = { ...wanted, ...result.select }
      else {
        // What was added may be gone again: somebody dropped it.
        const refused = await addMissing(connection, result.missing, wanted.quota!)
        full = [...full, ...(rounds < MAX_ROUNDS ? refused : result.missing)]
      }
    }
  }
}

/** Runs a step as if the missing rows were there; or says which ones have to be added first. */
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
    return changed.length > 0 ? { missing: changed } : result
  } catch {
    // How a new name is bound is known once it is there.
    return { missing }
  }
}
