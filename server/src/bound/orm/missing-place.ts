/** Says that a sequence or a table is not there, and what may be meant instead. */
import type { Query } from '../../ledger/counter-port.js'
import { quoted } from './counter-statements.js'

export async function missingText(
  query: Query,
  kind: 'sequence' | 'table',
  name: string,
  isThere: boolean,
): Promise<string> {
  if (isThere) return `${name} is no ${kind}. Correct the configuration.`
  const folded = name.toLowerCase()
  const [other] =
    folded === name
      ? []
      : await query<{ found: string | null }>('SELECT to_regclass($1)::text AS found', [
          quoted(folded),
        ])
  const hint = other?.found
    ? `There is ${folded}: PostgreSQL folds names that were created without quotes. Write it so.`
    : 'Correct the name (schema.name, where it is not in the search path), or let the back end ' +
      'create it first.'
  return `There is no ${kind} ${name} in this database. ${hint}`
}
