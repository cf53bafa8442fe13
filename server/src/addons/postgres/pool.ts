/**
 * Connections to PostgreSQL, and transactions whose commit is on disk before they resolve.
 * Guarantees that a hanging database is given up on, and that a connection which failed is never
 * used again. Statements are sent without waiting for the answers to those before them; the
 * database runs them one after another.
 */
import pg from 'pg'
import type { Query, SqlDatabase } from '../../ledger/counter-port.js'
import type { Connections } from '../../ledger/ledger.js'
import { createMissing } from './postgres-address.js'
import {
  commitFailure,
  connectionFailure,
  isOfItsServer,
  mayRetry,
  OutcomeUnknown,
  transactionFailure,
} from './postgres-failures.js'

/** The database is fastest with a few connections. Statements on more would wait inside it. */
const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
/**
 * After a fail-over the address of the database leads elsewhere, while a connection may go on to
 * the old server. Managed databases move their address within a minute or so; a new connection
 * takes some milliseconds.
 */
export const MAX_CONNECTION_AGE_S = 60
/** Lost races in a distributed database; connections that lead to a standby. */
const MAX_ATTEMPTS = 5
const INT8 = 20
/** The SQLSTATE of a message that is for the log. */
const NO_WARNING = '00000'

/** How long a transaction waits, in milliseconds. */
export interface Waits {
  /** For a row or a table that somebody else has locked; 0: as long as it takes. */
  lock: number
  /** For each of its statements; 0: as long as it takes. */
  statement: number
  /** For an answer that does not come, because the database or the network is gone. */
  answer: number
}

const USUAL: Waits = { lock: 5_000, statement: 5_000, answer: 10_000 }
/** Short waits, because many claims wait for one commit. */
export const SHORT_LOCK_TIMEOUT: Waits = { ...USUAL, lock: 500 }

// guard: H27 a warning is heard, whatever the role asks for
const HEAR_WARNINGS = 'SET LOCAL client_min_messages = warning'

// guard: H20 a statement that would not see all rows fails
const ALL_ROWS = 'SET LOCAL row_security = off'

/**
 * Every transaction sets this. So it also holds behind a pooler, which gives every transaction
 * another session, and with any defaults of role and database.
 */
const begin = ({ lock, statement, answer }: Waits): string =>
  // guard: H21 PostgreSQL syncs each commit to the disk
  `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on;
  ${HEAR_WARNINGS}; ${ALL_ROWS};
  SET LOCAL statement_timeout = ${statement}; SET LOCAL lock_timeout = ${lock};
  SET LOCAL idle_in_transaction_session_timeout = ${answer}`

/** Sends a statement and ignores its rows. If it fails, its transaction fails. */
export type Write = (text: string, parameters?: unknown[]) => void
type TransactionStep<T> = (query: Query, write: Write) => Promise<T>

export interface PostgresPool extends SqlDatabase {
  /**
   * When this resolves, the step's changes are durable. When it rejects, they are undone, or nobody
   * knows (the connection broke at the commit, or PostgreSQL warned about it). The step's first
   * statement is sent together with the beginning of the transaction, and the commit together with
   * its last writes.
   */
  transaction<T>(step: TransactionStep<T>, waits?: Waits): Promise<T>
  connections(): Connections
  close(): Promise<void>
}

export function openPool(databaseUrl: string): PostgresPool {
  const pool = new pg.Pool({
    Client,
    connectionString: databaseUrl,
    application_name: 'offline-hilo',
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    maxLifetimeSeconds: MAX_CONNECTION_AGE_S,
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

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      throw connectionFailure(error)
    }
  }

  async function attempt<T>(step: TransactionStep<T>, waits: Waits): Promise<T> {
    const client = await connect()
    const session = sessions.get(client) ?? new Session(client)
    sessions.set(client, session)
    let isSound = false
    try {
      const result = await session.transaction(step, waits)
      isSound = true
      return result
    } catch (error) {
      isSound = !isOfItsServer(error) && (await session.rollback())
      throw error
    } finally {
      client.release(!isSound)
    }
  }

  const transaction: PostgresPool['transaction'] = async (step, waits = USUAL) => {
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt(step, waits)
      } catch (error) {
        if (attempts === MAX_ATTEMPTS || !mayRetry(error)) throw transactionFailure(error)
      }
    }
  }

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

/** Closes a connection that cannot be made: its open socket would keep the process from ending. */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    // A failure between two queries is reported by the next one. Without a listener it would end
    // the process, also in the moment in which the pool gives the client away.
    this.on('error', () => {})
    this.connection.once('error', () => this.connection.stream.destroy())
  }
}

/** The queries of one connection. Its `query` is the same function in all its transactions. */
class Session {
  readonly #client: pg.PoolClient
  #waits = USUAL
  /** The first of this transaction; statements behind it fail only because it did. */
  #failure: { error: unknown } | undefined
  #writes: Promise<unknown>[] = []
  /** Statements that were sent and are not answered yet. */
  #unanswered = 0
  #isCommitSent = false
  /** PostgreSQL's warning during the commit. */
  #warning: string | undefined

  constructor(client: pg.PoolClient) {
    this.#client = client
    client.on('notice', ({ code, message }) => {
      if (code === NO_WARNING) return
      if (this.#isCommitSent && this.#unanswered === 1) this.#warning = message
    })
  }

  async transaction<T>(step: TransactionStep<T>, waits: Waits): Promise<T> {
    this.#waits = waits
    this.#failure = undefined
    this.#isCommitSent = false
    this.#warning = undefined
    this.#writes = [this.#send(begin(waits))]
    const result = await step(this.#query, this.#write)
    const committed = this.#send('COMMIT')
    this.#isCommitSent = true
    await Promise.all([...this.#writes, committed])
    // PostgreSQL undoes a failed transaction at its commit, and answers without an error.
    this.#check()
    // A commit whose wait for the standbys was cancelled is on the primary alone.
    // guard: H27 a commit with a warning has an unknown outcome
    if (this.#warning !== undefined)
      throw new OutcomeUnknown(`PostgreSQL warned while it committed: ${this.#warning}.`)
    return result
  }

  /** @returns false when the connection cannot be used any more */
  rollback(): Promise<boolean> {
    return this.#send('ROLLBACK').then(
      () => true,
      () => false,
    )
  }

  readonly #query: Query = async <Row>(text: string, parameters?: unknown[]) => {
    const result = await this.#send(text, parameters).catch(() => undefined)
    this.#check()
    return result!.rows as Row[]
  }

  readonly #write: Write = (text, parameters) => {
    this.#writes.push(this.#send(text, parameters))
  }

  #send(text: string, values?: unknown[]): Promise<pg.QueryResult> {
    const query = { text, values, query_timeout: this.#waits.answer }
    this.#unanswered++
    this.#holdBack()
    const sent = new Promise<pg.QueryResult>((resolve, reject) => {
      // A callback runs before the next message of the connection is read. A promise's runs later.
      void this.#client.query(query as pg.QueryConfig, (error: Error | null, result) => {
        this.#unanswered--
        // A lost answer does not say that nothing was committed.
        if (error) reject((this.#isCommitSent ? commitFailure : connectionFailure)(error))
        else resolve(result)
      })
    })
    sent.catch((error: unknown) => {
      this.#failure ??= { error }
    })
    return sent
  }

  /** Statements that are sent one after another, without waiting, leave in one packet. */
  #holdBack(): void {
    const { stream } = this.#client.connection
    if (stream.writableCorked > 0) return
    stream.cork()
    process.nextTick(() => stream.uncork())
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error
  }
}
