/**
 * Databases for tests, on the PostgreSQL that all files share or the server at `DATABASE_URL`. A
 * file's databases are gone at its end.
 */
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { atFileEnd } from '../../test/support/file-end.js'
import { createDatabase as createNamed, runSql } from './postgres-cluster.js'
import { leaveInSessions, NO_PATH } from './sessions.js'

let shared: Promise<string> | undefined

/**
 * The URL of a new, empty database. A test that stops its server starts a cluster instead.
 * @param hasPath false: in a ledger's sessions, a name without its schema leads nowhere
 */
export async function newDatabase({ hasPath = false } = {}): Promise<string> {
  shared ??= process.env.DATABASE_URL ? Promise.resolve(process.env.DATABASE_URL) : start()
  const server = await shared
  const url = await createDatabase(server)
  const name = new URL(url).pathname.slice(1)
  if (!hasPath) leaveInSessions(url, NO_PATH)
  atFileEnd(() => runSql(server, `DROP DATABASE ${name} WITH (FORCE)`))
  return url
}

export const createDatabase = (server: string): Promise<string> =>
  createNamed(server, `hilo_test_${randomUUID().replaceAll('-', '')}`)

async function start(): Promise<string> {
  const answer = await fetch(inject('postgresStarter'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

/** Of the grant tokens of the ledger there. */
export async function secretAt(databaseUrl: string): Promise<string> {
  const { rows } = await runSql(databaseUrl, "SELECT value FROM hilo_meta WHERE key = 'secret'")
  return rows[0].value
}
