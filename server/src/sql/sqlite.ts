/**
 * SQLite as the ledger speaks it, wherever it runs: in a file, or in a Durable Object. Whoever
 * brings a driver brings its transactions.
 */
import type { Secrets } from '../ledger/grant-token.js'
import type { Work } from './connection.js'
import {
  HEALTH_KEY,
  META_TABLE,
  type Opening,
  refuseMissing,
  SCHEMA,
  secretsIn,
  stepsFrom,
  versionOf,
} from './schema.js'
import { type Dialect, type Statement, statement } from './statements.js'

export const SQLITE: Dialect = {
  rows: (name, columns) => {
    const values = columns.map(([column]) => `value->>'${column}' AS "${column}"`)
    return `(SELECT ${values} FROM json_each($1)) ${name}`
  },
  given: (rows) => [JSON.stringify(rows)],
  timeline: '0',
  // A transaction has the lock of the whole file.
  lock: () => '',
}

/** Runs a statement to its end, and returns its rows. */
export type Run = (statement: Statement) => unknown[]

const PUT = `INSERT INTO hilo_meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`
const READ = 'SELECT value FROM hilo_meta WHERE key = $1'

/**
 * Brings the ledger up to date, in the caller's transaction.
 * @param place for people
 * @returns what signs its grant tokens
 */
export function upgradeSqlite(run: Run, place: string, opening: Opening): Secrets {
  const { create, schema = SCHEMA } = opening
  run(statement(META_TABLE))
  const read = (key: string) => (run(statement(READ, key))[0] as { value: string })?.value
  const found = read('version')
  refuseMissing(found, place, create)
  const version = Number(found ?? 0)
  for (const step of stepsFrom(version, schema)) run(statement(step))
  run(statement(PUT, 'version', String(versionOf(schema))))
  const secrets = secretsIn(version, read('secret'), opening)
  run(statement(PUT, 'secret', secrets.kept))
  return secrets
}

/** The work in the caller's transaction. */
export function runWork<T>(run: Run, { begins, reads, step }: Work<T>): T {
  begins?.()
  const { answer, writes } = step(reads.map(run), new Map())
  for (const each of writes) run(each)
  return answer
}

export const writeHealth = (run: Run): unknown =>
  run(statement(PUT, HEALTH_KEY, new Date().toISOString()))
