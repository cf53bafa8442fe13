/**
 * Brings a PostgreSQL database's ledger tables up to date, several processes starting at once
 * included; refuses a standby.
 */

import { LedgerUnavailable } from '../ledger/errors.js'
import { newSecret } from '../ledger/grant-token.js'
import { META_TABLE, MIGRATIONS, migrationsFrom } from '../ledger/schema.js'
import { createMissing } from './create-missing.js'
import type { PostgresPool } from './pool.js'

/** @returns the secret of the grant tokens */
export function migratePostgres(pool: PostgresPool): Promise<string> {
  return pool.transaction(async (query) => {
    const [server] = await query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
    if (server!.standby)
      throw new LedgerUnavailable(
        'The database is a standby, which cannot grant numbers or move a counter. Point ' +
          '--database-url at the primary (or at an address that follows it).',
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
  })
}
