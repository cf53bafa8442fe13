/**
 * Brings a PostgreSQL database's ledger tables up to date, several processes starting at once
 * included; refuses a standby.
 */
import { newSecret } from '../ledger/grant-token.js'
import { LedgerUnavailable } from '../ledger/ledger.js'
import { META_TABLE, MIGRATIONS, migrationsFrom } from '../ledger/schema.js'
import type { PostgresPool, Query } from './pool.js'

/** Any number nobody else takes: 'hilo' in ASCII. */
const ADVISORY_LOCK = 0x68696c6f

/** @returns the secret of the lease tokens */
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

/**
 * Creates a table, in a transaction that keeps others from it until it ends: of two that find no
 * table, `IF NOT EXISTS` fails one. A role without the right to create tables may run on tables
 * that somebody else made.
 */
export async function createMissing(query: Query, table: string, statement: string): Promise<void> {
  await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
  const [found] = await query<{ isThere: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  )
  if (!found!.isThere) await query(statement)
}
