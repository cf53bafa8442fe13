/**
 * Looks whether the columns that `ids` names can say which ids are in use. Guarantees that a column
 * which leaves out ids, has no numbers, or cannot be read by an index, is refused: it would never
 * contradict a wrong binding.
 */
import type { Query } from '../../../ledger/counter-port.js'
import type { Counter, IdColumn, Relation } from './counter-binding.js'
import { wrongText } from './sequence-checks.js'
import { quoted } from './sql-text.js'
import { nameOfColumn } from './used-ids.js'

/** By its type, the highest number that a column can store. */
const TYPE_MAX: Readonly<Record<string, bigint>> = {
  smallint: 32_767n,
  integer: 2_147_483_647n,
  bigint: 2n ** 63n - 1n,
}
/** The types that count exactly. */
export const WHOLE_NUMBERS = [...Object.keys(TYPE_MAX), 'numeric']

/**
 * The highest number that a column can store. Undefined: any.
 * @param digits before the point, of a numeric with a width
 */
export const endOf = (type: string, digits: number | null): bigint | undefined =>
  digits === null ? TYPE_MAX[type] : 10n ** BigInt(digits) - 1n

/** As SQL over `pg_attribute`: its `digits`. */
export const DIGITS = `CASE WHEN a.atttypid = 'pg_catalog.numeric'::pg_catalog.regtype
  AND a.atttypmod > 0 THEN ((a.atttypmod - 4) >> 16) - ((a.atttypmod - 4) & 65535) END`

/** Tables, their partitioned parents, and tables elsewhere. */
const TABLES = ['r', 'p', 'f']

interface Facts {
  kind: string
  /** Of a domain: what it is based on. Null: there is no such column. */
  type: string | null
  digits: number | null
  /** Of a partition: the table that has all of them. */
  whole: Relation | null
  /** The table itself, or one that inherits from it: it has no index that finds an id. */
  unindexed: Relation | null
}

/** What is wrong with the columns of a binding. */
export async function columnProblems(query: Query, { ids, maxId }: Counter): Promise<string[]> {
  const problems: string[] = []
  for (const column of ids) {
    const [facts] = await factsOf(query, column)
    const wrong = unreadable(column, facts)
    problems.push(...wrong)
    if (wrong.length > 0) continue
    const { type, digits, unindexed } = facts!
    const end = endOf(type!, digits)
    if (end !== undefined && end < maxId)
      problems.push(
        `${nameOfColumn(column)} is ${type} and ends at ${end}, before maxId ${maxId}: no record ` +
          `could be stored with an id above. Set maxId to ${end}, or make the column a bigint.`,
      )
    if (unindexed !== null)
      problems.push(
        `${nameOfColumn(column)} has no index that begins with it and has all rows of ` +
          `${unindexed}, so each claim would read them all. Name the column of the primary key, ` +
          `or: CREATE INDEX ON ${unindexed} (${quoted(column.column)}).`,
      )
  }
  return problems
}

/** Why nobody can tell the highest id of this column. */
export const unreadableProblems = async (
  query: Query,
  column: IdColumn<Relation>,
): Promise<string[]> => unreadable(column, (await factsOf(query, column))[0])

function unreadable(column: IdColumn<Relation>, facts: Facts | undefined): string[] {
  const name = nameOfColumn(column)
  if (!facts) return [wrongText('table', column.table, false)]
  const { kind, type, whole } = facts
  // guard: H20 a view is not asked which ids are in use
  if (!TABLES.includes(kind))
    return [
      `${column.table} is no table. A view may leave out rows, and their ids are in use, too. ` +
        `Name the table that has the ids, in place of ${name}.`,
    ]
  // guard: H20 one partition is not asked which ids are in use
  if (whole !== null)
    return [
      `${column.table} is a partition, and the ids of the others are in use, too. Name ` +
        `${nameOfColumn({ table: whole, column: column.column })} in place of ${name}.`,
    ]
  if (type === null)
    return [
      `Table ${column.table} has no column ${column.column}. Correct ${name}: names are spelled ` +
        'as PostgreSQL has them.',
    ]
  if (WHOLE_NUMBERS.includes(type)) return []
  return [
    `${name} has values of type ${type}, not whole numbers, so nobody can tell the highest id. ` +
      'Name the column with the numbers of the ids. Nothing was changed.',
  ]
}

/** None: there is no such table. */
const factsOf = (query: Query, { table, column }: IdColumn<Relation>): Promise<Facts[]> =>
  query<Facts>(
    `WITH RECURSIVE tree (id) AS (
       SELECT pg_catalog.to_regclass($1)::oid
       UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN tree ON inhparent = id
     ), named AS (
       SELECT c.oid AS id, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name, c.relkind
       FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     )
     SELECT c.relkind AS kind,
       pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL)
         AS type, ${DIGITS} AS digits,
       CASE WHEN c.relispartition
         THEN (SELECT name FROM named WHERE id = pg_catalog.pg_partition_root(c.oid)) END AS whole,
       (SELECT name FROM tree JOIN named USING (id)
         WHERE relkind <> 'f' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
           JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid
           JOIN pg_catalog.pg_am m ON m.oid = ic.relam AND m.amname = 'btree'
           JOIN pg_catalog.pg_attribute ia ON ia.attrelid = id AND ia.attname = $2
           WHERE i.indrelid = id AND i.indkey[0] = ia.attnum AND i.indisvalid
             AND i.indpred IS NULL) ORDER BY id LIMIT 1) AS unindexed
     FROM pg_catalog.pg_class c
       LEFT JOIN pg_catalog.pg_attribute a
       ON a.attrelid = c.oid AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped
       LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
     WHERE c.oid = pg_catalog.to_regclass($1)`,
    [table, column],
  )
