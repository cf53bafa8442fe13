/**
 * Connections to PostgreSQL, and transactions whose commit is on disk before they resolve.
 * Guarantees that a hanging database is given up on, and that a connection which failed is never
 * used again. Statements are sent without waiting for the answers to those before them; the
 * database runs them one after another.
 */
import pg from 'pg'
import type { Query, SqlDatabase } from '../ledger/counter-port.js'
import { CounterUnusable, LedgerUnavailable, reasonOf } from '../ledger/errors.js'
import type { Connections } from '../ledger/ledger.js'
import { createMissing } from './create-missing.js'

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

/**
 * Set in each transaction: it then holds behind a pooler, which gives every transaction another
 * session, and against any default of role or database.
 */
// guard: H21 PostgreSQL syncs each commit to the disk
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET LOCAL lock_timeout = ${STATEMENT_TIMEOUT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${QUERY_TIMEOUT_MS}`

/** Sends a statement whose rows nobody wants; when it fails, so does its transaction. */
export type Write = (text: string, parameters?: unknown[]) => void
type Step<T> = (query: Query, write: Write) => Promise<T>

export interface PostgresPool extends SqlDatabase {
  /**
   * What `step` did is durable when this resolves, or undone, or (the connection broke at the
   * commit) unknown: then it rejects. Its first statement travels with the beginning of the
   * transaction, and the commit with its last writes.
   */
  transaction<T>(step: Step<T>): Promise<T>
  connections(): Connections
  close(): Promise<void>
}

export function openPool(databaseUrl: string): PostgresPool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'offline-hilo',
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
    // The schema keeps every number at or below 2^53−1.
    types: {
      getTypeParser: (oid: number, format?: 'text') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
    } as never,
  })
  // A connection that breaks while idle has left the pool already; without a listener it would end
  // the process.
  pool.on('error', () => {})

  const sessions = new WeakMap<pg.PoolClient, Session>()

  async function attempt<T>(step: Step<T>): Promise<T> {
    const client = await pool.connect()
    // A failure while nobody waits for this connection is told by the next query.
    const ignore = () => {}
    client.on('error', ignore)
    const session = sessions.get(client) ?? new Session(client)
    sessions.set(client, session)
    let isSound = false
    try {
      const result = await session.transaction(step)
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

  const transaction: PostgresPool['transaction'] = (step) =>
    guard(async () => {
      for (let attempts = 1; ; attempts++) {
        try {
          return await attempt(step)
        } catch (error) {
          const { code } = error as { code?: string }
          if (
            attempts === MAX_ATTEMPTS ||
            (code !== SERIALIZATION_FAILURE && code !== DEADLOCK_DETECTED)
          )
            throw error
        }
      }
    })

  return {
    query: (text, parameters) => transaction((query) => query(text, parameters)),
    transaction,
    createMissing: (table, statement) =>
      transaction((query) => createMissing(query, table, statement)),
    connections: () => ({
      open: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

/** What one connection sends. Its `query` is the same function in all its transactions. */
class Session {
  readonly #client: pg.PoolClient
  /** The first of this transaction; statements behind it fail only because it did. */
  #failure: { error: unknown } | undefined
  #writes: Promise<unknown>[] = []

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async transaction<T>(step: Step<T>): Promise<T> {
    this.#failure = undefined
    this.#writes = [this.#send(BEGIN)]
    const result = await step(this.#query, this.#write)
    await Promise.all([...this.#writes, this.#send('COMMIT')])
    // PostgreSQL answers the commit of a failed transaction as if nothing were wrong, and undoes
    // it.
    this.#check()
    return result
  }

  readonly #query: Query = async <Row>(text: string, parameters?: unknown[]) => {
    const result = await this.#send(text, parameters).catch(() => undefined)
    this.#check()
    return result!.rows as Row[]
  }

  readonly #write: Write = (text, parameters) => {
    this.#writes.push(this.#send(text, parameters))
  }

  #send(text: string, parameters?: unknown[]): Promise<pg.QueryResult> {
    const sent = this.#client.query(text, parameters)
    sent.catch((error: unknown) => {
      this.#failure ??= { error }
    })
    return sent
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error
  }
}

/**
 * Classes of SQLSTATE that speak of the database's state, not of our statements: connection,
 * rollback, resources, operator, system; read-only.
 */
const UNAVAILABLE = /^(08|40|53|55P03|57|58|25006|XX)/

async function guard<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    // What PostgreSQL itself says has a SQLSTATE; everything else comes from the connection.
    const isAnswer = error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code!)
    if (isAnswer || error instanceof LedgerUnavailable || error instanceof CounterUnusable)
      throw error
    throw new LedgerUnavailable(`PostgreSQL did not do it: ${reasonOf(error)}.`, { cause: error })
  }
}
