/**
 * Brings a PostgreSQL database's ledger tables up to date, several processes starting at once
 * included. Refuses a standby, and a database that cannot store every name.
 */

import { LedgerUnavailable } from '../ledger/errors.js'
import { newSecret } from '../ledger/grant-token.js'
import { META_TABLE, MIGRATIONS, migrationsFrom } from '../ledger/schema.js'
import { createMissing } from './create-missing.js'
import { PATIENT, type PostgresPool } from './pool.js'

/** @returns the secret of the grant tokens */
export function migratePostgres(pool: PostgresPool): Promise<string> {
  return pool.transaction(async (query) => {
    const [server] = await query<{ standby: boolean; encoding: string }>(
      "SELECT pg_is_in_recovery() AS standby, current_setting('server_encoding') AS encoding",
    )
    if (server!.standby)
      throw new LedgerUnavailable(
        'The database is a standby, which cannot grant numbers or move a counter. Point ' +
          '--database-url at the primary (or at an address that follows it).',
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
    for (const statement of migrationsFrom(version)) await query(statement)
    const secret = meta.get('secret') ?? newSecret()
    if (version < MIGRATIONS.length)
      await query(
        'INSERT INTO hilo_meta (key, value) VALUES ($1, $2), ($3, $4) ON CONFLICT (key) DO ' +
          'UPDATE SET value = excluded.value',
        ['version', String(MIGRATIONS.length), 'secret', secret],
      )
    return secret
  }, PATIENT)
}

/**
 * Writes nothing.
 * @throws Error when the database has no ledger, or one that the server has yet to upgrade
 */
export async function requireLedger(pool: PostgresPool): Promise<void> {
  const [found] = await pool.query<{ isThere: boolean }>(
    `SELECT to_regclass('hilo_meta') IS NOT NULL AS "isThere"`,
  )
  if (!found!.isThere)
    throw new Error(
      "There is no ledger in this database. Give the server's --database-url, or start it there " +
        'once.',
    )
  const [row] = await pool.query<{ value: string }>(
    "SELECT value FROM hilo_meta WHERE key = 'version'",
  )
  if (migrationsFrom(Number(row?.value ?? 0)).length > 0)
    throw new Error(
      'An older offline-hilo-server keeps this ledger, and this command upgrades nothing. Start ' +
        'a server of this version, or use the command of the older one.',
    )
}
