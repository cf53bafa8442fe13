/** The ledger's rows in a database that speaks SQL: the store is written once for all of them. */
import { setImmediate } from 'node:timers'
import type { IdentityKey } from '../ledger/ledger.js'
import type { RowStore, Rows, Selection, StepResult, Transaction } from '../ledger/row-store.js'
import { freeOf, type SeriesRow } from '../ledger/rows.js'
import type { SqlConnection } from './connection.js'
import { SETTINGS_OF_DATABASES, type Setting, toDatabases } from './database-rows.js'
import { deviceStore } from './devices.js'
import { type Loader, loader, toCollection } from './load.js'
import { addMissing, type Missing, missingFrom } from './missing.js'
import { DROPPINGS, OLD_GRANTS, PRUNINGS } from './old-rows.js'
import { sameLedger } from './same-ledger.js'
import { saver } from './save.js'
import { decoded, type Statement, selected, statement } from './statements.js'
import { COLLECTIONS, GRANTS, SERIES } from './tables.js'

const STATUS = `SELECT ${selected(COLLECTIONS)} FROM hilo_counters t
  WHERE t.dropped_at IS NULL ORDER BY t.database, t.tag`
const FREE = `SELECT ${selected(COLLECTIONS)} FROM hilo_counters t
  WHERE t.free <> '[]' OR t.fresh <> '[]'`
const COLLECTION_NAMES = `SELECT database AS "database", tag AS "collection" FROM hilo_counters
  ORDER BY database, tag`
const IDENTITY_NAMES = `SELECT database AS "database", name AS "name" FROM hilo_identities
  ORDER BY database, name`
const IDENTITIES_OF = `SELECT database AS "database", name AS "name" FROM hilo_identities
  WHERE database = $1 AND dropped_at IS NULL ORDER BY name`
const SERIES_OF = `SELECT ${selected(SERIES)} FROM hilo_series t
  WHERE t.database = $1 ORDER BY t.tag, t.letter`
const SERIES_AT = `SELECT ${selected(SERIES)} FROM hilo_series t
  WHERE t.database = $1 AND t.tag = $2 AND t.letter = $3`
const SERIES_COUNT = `SELECT count(*) AS "count" FROM hilo_series t WHERE t.database = $1`

/** @param secret of the grant tokens */
export function sqlStore(unwatched: SqlConnection, secret: string): RowStore {
  const connection = sameLedger(unwatched, secret)
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
    secret,
    devices: deviceStore(connection),

    change(wanted) {
      const done = change(wanted).finally(() => underWay.delete(done))
      underWay.add(done)
      return done
    },

    readCollection: async (key) => (await read(load.collection(key))).map(toCollection)[0],
    readStatus: async () => decoded(COLLECTIONS, await readAll(STATUS)),
    readSeries: (database) => readAll(SERIES_OF, database),
    findSeries: async ({ database, collection }, letter) =>
      (await readAll<SeriesRow>(SERIES_AT, database, collection, letter))[0],
    countSeries: async (database) =>
      (await readAll<{ count: number }>(SERIES_COUNT, database))[0]!.count,
    readDatabases: async () => toDatabases(await readAll<Setting>(SETTINGS_OF_DATABASES)),
    readNames: async () => ({
      collections: await readAll(COLLECTION_NAMES),
      identities: await readAll(IDENTITY_NAMES),
    }),
    readFree: async () => decoded(COLLECTIONS, await readAll(FREE)).map(freeOf),
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

/** Loads rows, runs a step on them and saves what it changed, in one transaction. */
function changer(connection: SqlConnection, load: Loader): RowStore['change'] {
  const save = saver(connection.dialect)
  return async <T>({ select, ask, step }: Transaction<T>): Promise<T> => {
    let wanted: Selection = select
    for (let mayAdd = true; ; ) {
      const rowsIn = (found: readonly unknown[][]) => load.rows(wanted, found)
      const missingIn = (rows: Rows) => (mayAdd ? missingFrom(rows, wanted) : undefined)
      const result = await connection.transaction<ChangeOutcome<T>>({
        reads: load.statements(wanted),
        isHasty: wanted.isHasty,
        ask(found) {
          const rows = ask && rowsIn(found)
          return rows && !missingIn(rows) ? ask(rows) : []
        },
        step(found, answers) {
          const rows = rowsIn(found)
          const missing = missingIn(rows)
          if (missing) return { answer: { missing }, writes: [] }
          const answer = step(rows, answers)
          return { answer, writes: 'answer' in answer ? save(rows, answer.changes) : [] }
        },
      })
      if ('answer' in result) return result.answer
      if ('select' in result) wanted = { ...wanted, ...result.select }
      else {
        await addMissing(connection, result.missing)
        mayAdd = false
      }
    }
  }
}
