/** Creates tables where several processes may start at once. */
import { isThere, type Query } from '../ledger/counter-port.js'

/** A number that other programs hardly use: 'hilo' in ASCII. */
const ADVISORY_LOCK = 0x68696c6f

/**
 * Creates a table under a lock, because `IF NOT EXISTS` fails for one of two processes that create
 * the table at once. A role without the right to create tables can use tables that another made.
 */
export async function createMissing(query: Query, table: string, statement: string): Promise<void> {
  await lockCreation(query)
  if (!(await isThere(query, table))) await query(statement)
}

/** Until the end of the transaction nobody else creates a table of ours. */
export async function lockCreation(query: Query): Promise<void> {
  await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
}
