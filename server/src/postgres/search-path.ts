/**
 * In which schemas of the database a name is looked for. Guarantees that there is one ledger in a
 * database, and that every transaction finds it: whatever path a role has, and whatever path a
 * client of the same pooler has left in the session.
 */
import type { Query } from '../ledger/counter-port.js'
import { LEDGER_TABLES } from '../sql/schema.js'

const SCHEMAS_OF_LEDGERS = `
  SELECT DISTINCT n.nspname AS "schema" FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' ORDER BY 1`
/** As it is for a new session of this role. */
const OWN_PATH = `SELECT reset_val AS "path" FROM pg_catalog.pg_settings WHERE name = 'search_path'`

/**
 * Own tables are found as always; then the ledger's, in whichever schema they are. What another
 * client's session has for a while is found last.
 * @throws Error when there are two ledgers
 */
export async function findSearchPath(query: Query): Promise<string> {
  const [ledgers, [own]] = await Promise.all([
    query<{ schema: string }>(SCHEMAS_OF_LEDGERS, [LEDGER_TABLES]),
    query<{ path: string }>(OWN_PATH),
  ])
  const schemas = ledgers.map(({ schema }) => `"${schema.replaceAll('"', '""')}"`)
  // guard: H31 a database has one ledger
  if (schemas.length > 1)
    throw new Error(
      `This database has tables of a ledger in several schemas: ${schemas.join(', ')}. Two ` +
        'ledgers would grant the same numbers. Nothing was changed. Keep the one that servers ' +
        'have used, and rename the tables hilo_… of the others, or drop them.',
    )
  return [...(own!.path ? [own!.path] : []), ...schemas, 'pg_temp'].join(', ')
}

/** A statement for the beginning of a transaction. */
export const setSearchPath = (path: string): string =>
  // guard: H31 every transaction finds the same ledger
  `SELECT set_config('search_path', '${path.replaceAll("'", "''")}', true)`
