/** Reads the shape of a ledger's tables in PostgreSQL. It writes nothing. */
import type { Query } from '../../ledger/counter-port.js'
import { type FoundTable, LEDGER_TABLES } from '../../sql/shape.js'

interface Row {
  name: string
  kind: string
  isUnlogged: boolean
  hidesRows: boolean
  isShared: boolean
  /** `rule name`, `trigger name`. */
  hooks: string[]
  parts: string[]
}

/** Where `quote_all_identifiers` is on, it stands in quotes. */
const unquoted = (name: string): string => `pg_catalog.btrim(${name}, '"')`

/** A trigger that is disabled fires in no session. Those of foreign keys change nothing here. */
const TABLES_IN = `
  SELECT c.relname AS "name", c.relkind AS "kind", c.relpersistence = 'u' AS "isUnlogged",
    pg_catalog.row_security_active(c.oid) AS "hidesRows",
    EXISTS (SELECT 1 FROM pg_catalog.pg_inherits
      WHERE c.oid IN (inhparent, inhrelid)) AS "isShared",
    ARRAY(
      SELECT pg_catalog.concat('rule ', rulename) FROM pg_catalog.pg_rewrite
      WHERE ev_class = c.oid AND ev_enabled <> 'D'
      UNION ALL SELECT pg_catalog.concat('trigger ', tgname) FROM pg_catalog.pg_trigger
      WHERE tgrelid = c.oid AND NOT tgisinternal AND tgenabled <> 'D') AS "hooks",
    ARRAY(
      SELECT pg_catalog.concat(attname, ' ',
        pg_catalog.upper(${unquoted('pg_catalog.format_type(atttypid, atttypmod)')}),
        CASE WHEN attnotnull THEN ' NOT NULL' END)
      FROM pg_catalog.pg_attribute
      WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      UNION ALL SELECT pg_catalog.concat('CHECK (', a.attname, ')')
      FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_attribute a
        ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
      WHERE k.conrelid = c.oid AND k.contype = 'c'
      UNION ALL SELECT pg_catalog.concat('UNIQUE (', pg_catalog.array_to_string(ARRAY(
          SELECT ${unquoted('pg_catalog.pg_get_indexdef(indexrelid, place, true)')} COLLATE "C"
          FROM pg_catalog.generate_series(1, indnkeyatts) place ORDER BY 1), ', '), ')')
      FROM pg_catalog.pg_index
      WHERE indrelid = c.oid AND indisunique AND indimmediate AND indisvalid
        AND indpred IS NULL AND indexprs IS NULL) AS "parts"
  FROM pg_catalog.pg_class c
  WHERE c.relnamespace = pg_catalog.to_regnamespace($1) AND c.relname = ANY ($2)`

/** @param ledger its schema, as SQL has it */
export async function tablesIn(query: Query, ledger: string): Promise<FoundTable[]> {
  const rows = await query<Row>(TABLES_IN, [ledger, LEDGER_TABLES])
  return rows.map((row) => ({ ...row, oddities: odditiesOf(row, `${ledger}.${row.name}`) }))
}

function odditiesOf(row: Row, table: string): string[] {
  const { kind, isUnlogged, hidesRows, isShared, hooks } = row
  if (kind !== 'r')
    return [`is ${KINDS[kind] ?? 'no table'}: put a plain table with its rows in its place`]
  const oddities = hooks.map(
    (hook) => `has the ${hook}, which may undo what the server does: DROP ${hook} ON ${table}`,
  )
  if (isUnlogged)
    oddities.push(
      'is UNLOGGED: PostgreSQL empties it after a crash. If it did so already, rows are lost; ' +
        `otherwise: ALTER TABLE ${table} SET LOGGED`,
    )
  if (hidesRows)
    oddities.push(
      'hides rows from this role by row-level security: let the role own the table or have ' +
        `BYPASSRLS, or: ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
    )
  if (isShared)
    oddities.push('shares rows with other tables: ALTER TABLE … NO INHERIT … parts them')
  return oddities
}

const KINDS: Readonly<Record<string, string>> = {
  v: 'a view',
  m: 'a materialized view',
  p: 'partitioned',
  f: 'a foreign table',
}
