/** Creates tables where several processes may start at once. */
import { isThere, type Query } from '../ledger/counter-port.js'

/** Any number nobody else takes: 'hilo' in ASCII. */
const ADVISORY_LOCK = 0x68696c6f

/**
 * Creates a table, in a transaction that keeps others from it until it ends: of two that find no
 * table, `IF NOT EXISTS` fails one. A role without the right to create tables may run on tables
 * that somebody else made.
 */
export async function createMissing(query: Query, table: string, statement: string): Promise<void> {
  await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
  if (!(await isThere(query, table))) await query(statement)
}
