/**
 * Brings a PostgreSQL database's ledger tables up to date, several processes starting at once
 * included. Refuses a standby, and a database that cannot store every name.
 */
import { isThere, type Query } from '../ledger/counter-port.js'
import { LedgerUnavailable } from '../ledger/errors.js'
import {
  META_TABLE,
  MIGRATIONS,
  migrationsFrom,
  refuseOlder,
  secretFrom,
} from '../ledger/schema.js'
import { createMissing } from './create-missing.js'
import { PATIENT, type PostgresPool } from './pool.js'

/** @returns the secret of the grant tokens */
export function migratePostgres(pool: PostgresPool): Promise<string> {
  return pool.transaction(async (query) => {
    await refuseStandby(query)
    const [server] = await query<{ encoding: string }>(
      "SELECT current_setting('server_encoding') AS encoding",
    )
    if (server!.encoding !== 'UTF8')
      throw new Error(
        `The database has the encoding ${server!.encoding}, which cannot store every ` +
          "collection's name. Create one for the ledger: " +
          "CREATE DATABASE hilo ENCODING 'UTF8' TEMPLATE template0.",
      )
    await createMissing(query, 'hilo_meta', META_TABLE)
    const rows = await query<{ key: string; value: string }>('SELECT key, value FROM hilo_meta')
    const meta = new Map(rows.map(({ key, value }) => [key, value]))
    const version = Number(meta.get('version') ?? 0)
    const statements = migrationsFrom(version)
    if (version > 0 && statements.length > 0) await lockTables(query)
    for (const statement of statements) await query(statement)
    const secret = secretFrom(version, meta.get('secret'))
    if (version < MIGRATIONS.length)
      await query(
        'INSERT INTO hilo_meta (key, value) VALUES ($1, $2), ($3, $4) ON CONFLICT (key) DO ' +
          'UPDATE SET value = excluded.value',
        ['version', String(MIGRATIONS.length), 'secret', secret],
      )
    return secret
  }, PATIENT)
}

/** @throws LedgerUnavailable when the database cannot be written to */
export async function refuseStandby(query: Query): Promise<void> {
  const [server] = await query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  if (server!.standby)
    throw new LedgerUnavailable(
      'The database is a standby, which cannot grant numbers or move a counter. Point ' +
        '--database-url at the primary (or at an address that follows it).',
    )
}

/** In the order in which running servers lock them, so that they and an upgrade do not deadlock. */
async function lockTables(query: Query): Promise<void> {
  for (const table of ['hilo_counters', 'hilo_identities', 'hilo_grants', 'hilo_identity_claims']) {
    if (await isThere(query, table)) await query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  }
}

/**
 * Writes nothing.
 * @throws Error when the database has no ledger, or one that the server has yet to upgrade
 */
export async function requireLedger(pool: PostgresPool): Promise<void> {
  if (!(await isThere(pool.query, 'hilo_meta')))
    throw new Error(
      "There is no ledger in this database. Give the server's --database-url, or start it there " +
        'once.',
    )
  const [row] = await pool.query<{ value: string }>(
    "SELECT value FROM hilo_meta WHERE key = 'version'",
  )
  refuseOlder(Number(row?.value ?? 0))
}
