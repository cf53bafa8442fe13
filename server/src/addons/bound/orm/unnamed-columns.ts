/**
 * Finds the columns that a sequence fills and `ids` does not name. Guarantees that a sequence of
 * several tables, or of another one than the configured, is not taken for that of one table only.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { type Counter, isSequence } from './counter-binding.js'
import { nameOf } from './counter-statements.js'
import { nameOfColumn } from './used-ids.js'

/**
 * By their defaults, identities and `OWNED BY`. Not of temporary tables, which come and go. Empty:
 * every one is named, or nobody can look.
 */
async function unnamedColumns(query: Query, { ids, location }: Counter): Promise<string[]> {
  if (ids.length === 0 || !isSequence(location)) return []
  const rows = await query<{ name: string }>(
    `WITH RECURSIVE named (id, "column") AS (
       SELECT pg_catalog.to_regclass(t)::oid, c
       FROM ROWS FROM (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) AS ids (t, c)
       UNION SELECT inhrelid, "column" FROM pg_catalog.pg_inherits JOIN named ON inhparent = id
     ), filled (id, number) AS (
       SELECT coalesce(adrelid, refobjid), coalesce(adnum, refobjsubid) FROM pg_catalog.pg_depend
         LEFT JOIN pg_catalog.pg_attrdef d
         ON classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.oid = objid
       WHERE refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
         AND (adrelid IS NOT NULL AND refobjid = $1::pg_catalog.regclass
           OR classid = refclassid AND objid = $1::pg_catalog.regclass AND deptype IN ('a', 'i'))
     )
     SELECT DISTINCT pg_catalog.format('%I.%I.%s', n.nspname, c.relname, attname) AS name
     FROM filled
       JOIN pg_catalog.pg_class t ON t.oid = filled.id
       JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = number
       JOIN pg_catalog.pg_class c ON c.oid = coalesce(pg_catalog.pg_partition_root(t.oid), t.oid)
       JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE t.relkind IN ('r', 'p', 'f') AND t.relpersistence <> 't'
       AND NOT EXISTS (SELECT FROM named WHERE named.id = t.oid AND "column" = attname)
     ORDER BY 1`,
    [location.sequence, ids.map(({ table }) => table), ids.map(({ column }) => column)],
  )
  return rows.map(({ name }) => name)
}

/** One sentence for people per column. */
export async function unnamedProblems(query: Query, counter: Counter): Promise<string[]> {
  const columns = await unnamedColumns(query, counter)
  const named = counter.ids.map(nameOfColumn).join(', ')
  return columns.map(
    (column) =>
      `${column} takes its ids from ${nameOf(counter)}, too, and ids has only ${named}. So ` +
      'nobody looks which ids it has. Name it there, too, or in place of a wrong one. If that ' +
      'table is a copy that makes no ids, DROP DEFAULT of the column.',
  )
}
