/**
 * SQL for the desk's tables, on the embedded SQLite file or on PostgreSQL, with `?` for parameters
 * in both. On SQLite, one transaction runs at a time. On both, a transaction resolves when its
 * commit is on disk.
 */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'

export type Query = <Row>(text: string, ...parameters: (string | number | null)[]) => Promise<Row[]>

export interface Sql {
  query: Query
  transaction<T>(step: (query: Query) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const BUSY_TIMEOUT_MS = 5_000

/** @param where a `postgres://` URL, or the folder of the file that the HiLo ledger is in too */
export const openSql = (where: { databaseUrl: string } | { data: string }): Sql =>
  'databaseUrl' in where ? openPostgres(where.databaseUrl) : openSqlite(join(where.data, 'hilo.db'))

function openSqlite(file: string): Sql {
  const db = new DatabaseSync(file)
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = ' +
      `${BUSY_TIMEOUT_MS}; PRAGMA foreign_keys = ON`,
  )
  const query: Query = async <Row>(text: string, ...parameters: unknown[]) => {
    const statement = db.prepare(text)
    return statement.all(...parameters) as Row[]
  }
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  return {
    query: (text, ...parameters) => inTurn(() => query(text, ...parameters)) as never,
    transaction: (step) =>
      inTurn(async () => {
        db.exec('BEGIN IMMEDIATE')
        try {
          const result = await step(query)
          db.exec('COMMIT')
          return result
        } catch (error) {
          if (db.isTransaction) db.exec('ROLLBACK')
          throw error
        }
      }),
    close: () =>
      inTurn(async () => {
        if (db.isOpen) db.close()
      }),
  }
}

function openPostgres(databaseUrl: string): Sql {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'order-desk',
    connectionTimeoutMillis: 5_000,
  })
  // The pool has already removed a connection that breaks while idle. If one breaks in a
  // transaction, the next query fails.
  const ignore = () => {}
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  const queryOn =
    (on: pg.Pool | pg.PoolClient): Query =>
    async <Row>(text: string, ...parameters: unknown[]) => {
      let count = 0
      return (
        await on.query(
          text.replaceAll('?', () => `$${++count}`),
          parameters,
        )
      ).rows as Row[]
    }
  return {
    query: queryOn(pool),
    async transaction(step) {
      const client = await pool.connect()
      let isSound = false
      try {
        await client.query('BEGIN')
        const result = await step(queryOn(client))
        await client.query('COMMIT')
        isSound = true
        return result
      } finally {
        if (!isSound) await client.query('ROLLBACK').catch(() => {})
        client.release(!isSound)
      }
    },
    close: () => pool.end(),
  }
}
