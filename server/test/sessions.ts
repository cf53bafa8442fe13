/**
 * What others leave in the sessions of a database, as clients of the same pooler do. Guarantees
 * that each session of a ledger in this process begins with it; other clients find the sessions
 * that they always find.
 */
import pg from 'pg'

/** A name without its schema then leads nowhere: a statement with one fails. */
export const NO_PATH = "SET search_path TO ''"

/** By the name of the database. */
const left = new Map<string, string>()

/** @param sql for sessions that begin from now on */
export const leaveInSessions = (databaseUrl: string, sql: string): unknown =>
  left.set(new URL(databaseUrl).pathname.slice(1), sql)

type Connect = (this: pg.Client, callback: (error: Error | null) => void) => void

const prototype = pg.Client.prototype as unknown as { connect: Connect }
const { connect } = prototype

prototype.connect = function (callback) {
  const { database, connectionParameters } = this as unknown as {
    database: string
    connectionParameters: { application_name?: string }
  }
  const sql = left.get(database)
  if (sql === undefined || connectionParameters.application_name !== 'offline-hilo')
    return connect.call(this, callback)
  connect.call(this, (error) => {
    if (!error)
      this.query(sql).catch((failure) => {
        // A connection that breaks has left nothing.
        if (failure instanceof pg.DatabaseError) throw failure
      })
    callback(error)
  })
}
