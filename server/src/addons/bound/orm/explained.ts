/** Names the counter, and a remedy, where PostgreSQL refuses to read or move one. */
import { CounterUnusable, LedgerUnavailable } from '../../../ledger/ledger-errors.js'
import type { Binding } from './counter-binding.js'
import { nameOf } from './counter-statements.js'

/** SQLSTATEs whose cause is the counter or its table: all but those of the database's state. */
const OF_THE_COUNTER = /^(?!08|25|40|53|55P03|57|58|XX)[0-9A-Z]{5}$/

/** By SQLSTATE. */
const FIXES: Readonly<Record<string, (binding: Binding) => string>> = {
  // The end of a sequence, or of a column.
  '22003': () =>
    ' It is at the end of its type, so no id is left. If that is a mistake, correct it.',
  // A text that a column of another type does not take: a key's column.
  '22P02': ({ system }) => ` Give the key as ${system} has it.`,
  '42501': () =>
    " This server's role needs USAGE on the schema, SELECT on each table that ids names, and has " +
    'to see all its rows: where it has row level security, ALTER ROLE … BYPASSRLS.',
}

/** @throws CounterUnusable when PostgreSQL refuses the counter */
export async function explained<T>(binding: Binding, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    // The pool says of a missing right that the database is unavailable.
    const said = error instanceof LedgerUnavailable ? error.cause : error
    const { code, message, where } = (said ?? {}) as Record<string, string | undefined>
    if (code === undefined || !OF_THE_COUNTER.test(code)) throw error
    const fix = FIXES[code]?.(binding) ?? ''
    // A trigger raised it.
    const from = where === undefined ? '' : ` (${where.split('\n')[0]})`
    throw new CounterUnusable(
      `${nameOf(binding)} cannot be used. PostgreSQL says: ${message}${from}.${fix}`,
      { cause: error },
    )
  }
}
