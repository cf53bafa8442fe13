/**
 * Connections to PostgreSQL, and transactions whose commit is on disk before they resolve.
 * Guarantees that a hanging database is given up on, and that a connection which failed is never used again.
 */
import pg from 'pg'
import { CounterUnusable, LedgerUnavailable } from './ledger.js'

/** More would only queue inside the database, which is fastest with a few. */
const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 5_000
/** What the database itself does not answer, because it or the network is gone. */
const QUERY_TIMEOUT_MS = 10_000
/** Lost races in a distributed database; each was rolled back as a whole. */
const MAX_ATTEMPTS = 5
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'
const INT8 = 20

/** The same function for one connection. */
export type Query = <Row>(text: string, parameters?: unknown[]) => Promise<Row[]>

export interface PostgresPool {
  query: Query
  /** What `step` did is durable when this resolves, or undone, or (the connection broke at the commit) unknown: then it rejects. */
  transaction<T>(step: (query: Query) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function openPool(databaseUrl: string): PostgresPool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'offline-hilo',
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: QUERY_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    // The schema keeps every number at or below 2^53−1.
    types: { getTypeParser: (oid: number, format?: 'text') => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) } as never,
  })
  // A connection that breaks while idle has left the pool already; without a listener it would end the process.
  pool.on('error', () => {})

  async function attempt<T>(step: (query: Query) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    // A failure while nobody waits for this connection is told by the next query.
    const ignore = () => {}
    client.on('error', ignore)
    let isSound = false
    try {
      // Per transaction: it also holds behind a pooler, and against a default of the role or the database.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on')
      const result = await step(queryOf(client))
      await client.query('COMMIT')
      isSound = true
      return result
    } catch (error) {
      isSound = await client.query('ROLLBACK').then(
        () => true,
        () => false,
      )
      throw error
    } finally {
      client.off('error', ignore)
      client.release(!isSound)
    }
  }

  return {
    query: (text, parameters) => guard(() => queryOf(pool)(text, parameters)),
    transaction: (step) =>
      guard(async () => {
        for (let attempts = 1; ; attempts++) {
          try {
            return await attempt(step)
          } catch (error) {
            const { code } = error as { code?: string }
            if (attempts === MAX_ATTEMPTS || (code !== SERIALIZATION_FAILURE && code !== DEADLOCK_DETECTED)) throw error
          }
        }
      }),
    close: () => pool.end(),
  }
}

const queries = new WeakMap<pg.Pool | pg.PoolClient, Query>()

/** One connection's is always the same. */
function queryOf(on: pg.Pool | pg.PoolClient): Query {
  const query = queries.get(on) ?? (async <Row>(text: string, parameters?: unknown[]) => (await on.query(text, parameters)).rows as Row[])
  queries.set(on, query)
  return query
}

/** Classes of SQLSTATE that speak of the database's state, not of our statements: connection, rollback, resources, operator, system; read-only. */
const UNAVAILABLE = /^(08|40|53|55P03|57|58|25006|XX)/

async function guard<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    // An error of PostgreSQL has five characters of SQLSTATE; everything else comes from the connection.
    if (
      error instanceof LedgerUnavailable ||
      error instanceof CounterUnusable ||
      (code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !UNAVAILABLE.test(code))
    )
      throw error
    throw new LedgerUnavailable(`PostgreSQL did not do it: ${message}.`, { cause: error })
  }
}
