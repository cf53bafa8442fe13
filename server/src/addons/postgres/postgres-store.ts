/**
 * The ledger's rows in PostgreSQL, for several servers. Each transaction first locks the rows of
 * the collections it touches, always in the same order. So steps on one collection follow each
 * other, and each reads the commit of the one before.
 */
import { keyText } from '../../ledger/collections.js'
import type { CounterAnswer, CounterAsk, OrmCounters, Query } from '../../ledger/counter-port.js'
import { LedgerUnavailable } from '../../ledger/ledger-errors.js'
import type { RowStore } from '../../ledger/row-store.js'
import { HEALTH_KEY, type Opening } from '../../sql/schema.js'
import { sqlStore } from '../../sql/sql-store.js'
import type { Dialect, SqlConnection, Statement, Work } from '../../sql/statements.js'
import type { Naming } from '../../sql/tables.js'
import { openPool, type PostgresPool, SHORT_LOCK_TIMEOUT, type Write } from './pool.js'
import { placeOf } from './postgres-address.js'
import { ledgerFailure } from './postgres-failures.js'
import { namingIn } from './schemas.js'
import { type LedgerSchemas, upgradePostgres } from './upgrade.js'

const POSTGRES: Omit<Dialect, 'timeline' | keyof Naming> = {
  // The limit tells the planner how many rows there are. It would plan for a hundred, and scan
  // whole tables for them.
  rows: (name, columns) => {
    const types = columns.map(([column, type]) => `"${column}" ${type}`)
    return `(SELECT * FROM pg_catalog.json_to_recordset($1) AS rows (${types}) LIMIT $2) ${name}`
  },
  given: (rows) => [JSON.stringify(rows), rows.length],
  lock: (table) => `FOR UPDATE OF ${table}`,
}

const addHealth = (schema: string): string => `
  INSERT INTO ${schema}.hilo_meta (key, value) SELECT '${HEALTH_KEY}', ''
  WHERE NOT EXISTS (SELECT 1 FROM ${schema}.hilo_meta WHERE key = '${HEALTH_KEY}')
  ON CONFLICT DO NOTHING`
/** Does not wait for a row that another server writes just now: that server may hang. */
const changeHealth = (schema: string): string => `
  UPDATE ${schema}.hilo_meta SET value = $1 WHERE key IN
    (SELECT key FROM ${schema}.hilo_meta WHERE key = '${HEALTH_KEY}' FOR UPDATE SKIP LOCKED)`

/** @param startCounters makes ready the ORMs' counters in the same database */
export async function openPostgresStore(
  databaseUrl: string,
  startCounters: (pool: PostgresPool, schemas: LedgerSchemas) => Promise<OrmCounters>,
  opening: Opening = {},
): Promise<RowStore> {
  const pool = openPool(databaseUrl)
  try {
    const { schemas, ...identity } = await upgradePostgres(pool, placeOf(databaseUrl), opening)
    const counters = await startCounters(pool, schemas)
    const connection = connectionTo(pool, schemas.ledger, counters, await timelineOf(pool))
    return sqlStore(connection, identity)
  } catch (error) {
    await pool.close()
    throw error
  }
}

/** A standby has none of its own. */
const TIMELINE = `CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL ELSE ('x' ||
  pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)
  )::bit(32)::bigint END`

/** Databases that only speak like PostgreSQL, as Aurora does, may have no timeline. */
async function timelineOf(pool: PostgresPool): Promise<string> {
  try {
    await pool.query(`SELECT ${TIMELINE}`)
    return TIMELINE
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw error
    return '0'
  }
}

const failed = (error: unknown): never => {
  throw ledgerFailure(error)
}

/** @param schema of the ledger, as SQL has it */
export function connectionTo(
  pool: PostgresPool,
  schema: string,
  counters: OrmCounters,
  timeline = '0',
): SqlConnection {
  async function answersTo(query: Query, asks: readonly CounterAsk[] = []) {
    const answers = new Map<string, CounterAnswer>()
    for (const ask of asks)
      try {
        answers.set(keyText(ask), await counters.answer(query, ask))
      } catch (error) {
        throw withRaised(error as Error, asks, answers)
      }
    return answers
  }

  // The reads are sent at once, and the database runs them one after another. The writes travel
  // with the commit.
  async function run<T>({ begins, reads, ask, step }: Work<T>, query: Query, write: Write) {
    begins?.()
    const found = await Promise.all(
      reads.map(({ text, parameters }) => query<unknown>(text, [...parameters])),
    )
    const { answer, writes } = step(found, await answersTo(query, ask?.(found)))
    for (const { text, parameters } of writes) write(text, [...parameters])
    return answer
  }

  return {
    dialect: { ...POSTGRES, ...namingIn(schema), timeline },
    transaction: (work) =>
      pool
        .transaction(
          (query, write) => run(work, query, write),
          work.hasShortLockTimeout ? SHORT_LOCK_TIMEOUT : undefined,
        )
        .catch(failed),
    read: <Row>({ text, parameters }: Statement) =>
      pool.query<Row>(text, [...parameters]).catch(failed),
    connections: () => pool.connections(),
    ping: (work) =>
      pool
        .transaction(async (query, write) => {
          await run(work, query, write)
          write(addHealth(schema))
          write(changeHealth(schema), [new Date().toISOString()])
        })
        .catch(failed),
    close: () => pool.close(),
  }
}

/** Of counters that are raised together, one cannot be: its error says which ones were. */
function withRaised(
  error: Error,
  asks: readonly CounterAsk[],
  answers: ReadonlyMap<string, CounterAnswer>,
): Error {
  const raised = asks
    .filter((ask) => ask.raiseBy !== undefined && answers.has(keyText(ask)))
    .map(({ collection }) => collection)
  if (raised.length > 0)
    error.message +=
      ` The counters of these went up before: ${raised.join(', ')}. ` +
      'A sequence does not come down again, so that is a gap. No floor was raised. Run it again ' +
      'once this is mended.'
  return error
}
