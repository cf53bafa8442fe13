/**
 * The schemas in which a ledger and its bound counters are looked for. Guarantees that there is one
 * ledger in a database, and that every role finds it. This is asked once, when a process starts;
 * from then on each statement names the schema that was found.
 */
import type { Query, Schemas } from '../../ledger/counter-port.js'
import { LEDGER_TABLES } from '../../sql/shape.js'
import type { Naming } from '../../sql/tables.js'
import type { PostgresPool } from './pool.js'

const SCHEMAS_OF_LEDGERS = `
  SELECT DISTINCT n.nspname AS "schema" FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' ORDER BY 1`

/**
 * The schema of the ledger; undefined: there is none.
 * @throws Error when there are two ledgers
 */
export async function findLedger(query: Query): Promise<string | undefined> {
  const found = await query<{ schema: string }>(SCHEMAS_OF_LEDGERS, [LEDGER_TABLES])
  const schemas = found.map(({ schema }) => schema)
  // guard: H31 a database has one ledger
  if (schemas.length > 1)
    throw new Error(
      'This database has tables of a ledger in several schemas: ' +
        `${schemas.map(inSql).join(', ')}. Two ` +
        'ledgers would grant the same numbers. Nothing was changed. Keep the one that servers ' +
        'have used, and rename the tables hilo_… of the others, or drop them.',
    )
  return schemas[0]
}

/** As a new session of this role has it: another client of a pooler may have left another one. */
// guard: H31 a path that others left in a session decides nothing
const SET_OWN_PATH = 'SET LOCAL search_path TO DEFAULT'
/** Without the schemas of temporary tables and of the system. */
const OWN_PATH = `
  SELECT schema AS "schema"
  FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS path (schema, place)
  WHERE NOT pg_catalog.starts_with(schema::text, 'pg_') ORDER BY place`

/** The schemas of the role's own `search_path` that are there, in a transaction for this alone. */
export const findOwnPath = (pool: PostgresPool): Promise<string[]> =>
  pool.transaction(async (query, write) => {
    write(SET_OWN_PATH)
    return (await query<{ schema: string }>(OWN_PATH)).map(({ schema }) => schema)
  })

/** A name without a schema is looked for in the role's path, then beside the ledger. */
export const schemasWith = (ledger: string, ownPath: readonly string[]) => ({
  ledger: inSql(ledger),
  path: [...new Set([...ownPath, ledger])],
})

/** @throws Error when there are two ledgers */
export async function findSchemas(pool: PostgresPool): Promise<Schemas> {
  const path = await findOwnPath(pool)
  const ledger = await pool.transaction(findLedger)
  return ledger === undefined ? { ledger, path } : schemasWith(ledger, path)
}

/**
 * The schema of a new ledger, as of any new table of this role.
 * @throws Error when the role has none
 */
export function schemaForNew([first]: readonly string[]): string {
  if (first === undefined)
    throw new Error(
      "No schema of this role's search_path is there, so there is no place for the ledger's " +
        'tables. Make one and let the role use it: CREATE SCHEMA hilo AUTHORIZATION <role>; ' +
        'ALTER ROLE <role> SET search_path = hilo.',
    )
  return first
}

/** @param schema as SQL has it */
export const namingIn = (schema: string): Naming => ({
  schema,
  index: (index, table) => `${index} ON ${schema}.${table}`,
})

const inSql = (name: string): string => `"${name.replaceAll('"', '""')}"`
