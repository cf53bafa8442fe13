/**
 * The ledger's rows in PostgreSQL, for several servers. Each transaction first locks the rows of
 * the collections it touches, always in the same order. So steps on one collection follow each
 * other, and each reads what the one before has committed.
 */

import { type StatusRow, type StoredLists, spansOf } from '../ledger/columns.js'
import type { CounterAnswer, CounterAsk, OrmCounters, Query } from '../ledger/counter-port.js'
import { SETTINGS_OF_DATABASES, type Setting, toDatabases } from '../ledger/database-rows.js'
import { keyText } from '../ledger/keys.js'
import type { CollectionKey, IdentityKey } from '../ledger/ledger.js'
import type { RowStore } from '../ledger/row-store.js'
import type { GrantRow, SeriesRow } from '../ledger/rows.js'
import { HEALTH_KEY, SCHEMA } from '../ledger/schema.js'
import {
  COLLECTION_NAMES,
  DROPPINGS,
  FREE_LISTS,
  IDENTITY_NAMES,
  identitiesOf,
  oldGrants,
  prunings,
  STATUS,
  seriesOf,
} from '../ledger/sql.js'
import { addMissing, missingFrom } from './add-missing.js'
import { deviceStore } from './devices.js'
import { load, readCollection } from './load.js'
import { HASTY, openPool, type PostgresPool } from './pool.js'
import { save } from './save.js'
import { upgradePostgres } from './upgrade.js'

const ADD_HEALTH = `
  INSERT INTO hilo_meta (key, value) SELECT '${HEALTH_KEY}', ''
  WHERE NOT EXISTS (SELECT 1 FROM hilo_meta WHERE key = '${HEALTH_KEY}') ON CONFLICT DO NOTHING`
/** Does not wait for a row that another server writes just now: that server may hang. */
const WRITE_HEALTH = `
  UPDATE hilo_meta SET value = $1 WHERE key IN
    (SELECT key FROM hilo_meta WHERE key = '${HEALTH_KEY}' FOR UPDATE SKIP LOCKED)`

/** @param startCounters makes ready the ORMs' counters in the same database */
export async function openPostgresStore(
  databaseUrl: string,
  startCounters: (pool: PostgresPool) => Promise<OrmCounters>,
  schema = SCHEMA,
): Promise<RowStore> {
  const pool = openPool(databaseUrl)
  try {
    const secret = await upgradePostgres(pool, schema)
    return storeOver(pool, secret, await startCounters(pool))
  } catch (error) {
    await pool.close()
    throw error
  }
}

function storeOver(pool: PostgresPool, secret: string, counters: OrmCounters): RowStore {
  async function answersTo(query: Query, asks: readonly CounterAsk[] = []) {
    const answers = new Map<string, CounterAnswer>()
    for (const ask of asks) answers.set(keyText(ask), await counters.answer(query, ask))
    return answers
  }

  /** Until there is no row left. */
  async function repeat(statement: string, parameters?: unknown[]): Promise<void> {
    while ((await pool.query(statement, parameters)).length > 0);
  }

  return {
    secret,
    devices: deviceStore(pool),

    async change({ select, ask, step }) {
      let wanted = select
      for (let mayAdd = true; ; ) {
        const result = await pool.transaction(
          async (query, write) => {
            const rows = await load(query, wanted)
            const missing = mayAdd ? missingFrom(rows, wanted) : undefined
            if (missing) return { missing }
            const result = step(rows, await answersTo(query, ask?.(rows)))
            if ('answer' in result) save(write, rows, result.changes)
            return result
          },
          wanted.isHasty ? HASTY : undefined,
        )
        if ('answer' in result) return result.answer
        if ('select' in result) wanted = { ...wanted, ...result.select }
        else {
          await pool.transaction((query) => addMissing(query, result.missing))
          mayAdd = false
        }
      }
    },

    readCollection: (key) => readCollection(pool.query, key),
    readStatus: () => pool.query<StatusRow>(STATUS),
    readSeries: (database) => pool.query<SeriesRow>(seriesOf('$1'), [database]),
    readDatabases: async () => toDatabases(await pool.query<Setting>(SETTINGS_OF_DATABASES)),
    readNames: async () => ({
      collections: await pool.query<CollectionKey>(COLLECTION_NAMES),
      identities: await pool.query<IdentityKey>(IDENTITY_NAMES),
    }),
    readFree: async () => (await pool.query<StoredLists>(FREE_LISTS)).map(spansOf),
    readOld: ({ settledBefore, heardBefore }) =>
      pool.query<GrantRow>(oldGrants('$1', '$2'), [settledBefore, heardBefore]),
    readIdentities: (database) => pool.query<IdentityKey>(identitiesOf('$1'), [database]),
    pruneAnswers: async (before) => {
      for (const statement of prunings('$1')) await repeat(statement, [before])
    },
    removeDropped: async () => {
      for (const statement of DROPPINGS) await repeat(statement)
    },
    connections: () => pool.connections(),
    ping: () =>
      pool.transaction(async (_, write) => {
        write(ADD_HEALTH)
        write(WRITE_HEALTH, [new Date().toISOString()])
      }),
    close: () => pool.close(),
  }
}
