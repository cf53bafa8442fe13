/**
 * Looks whether the columns that `ids` names can say which ids are in use. Guarantees that a column
 * which leaves out ids, has no numbers, or cannot be read by an index, is refused: it would never
 * contradict a wrong binding.
 */
import type { Query } from '../../../ledger/counter-port.js'
import type { Counter, IdColumn, Relation } from './counter-options.js'
import { wrongText } from './sequence-checks.js'
import { quoted } from './sql-text.js'
import { nameOfColumn } from './used-ids.js'

/** The highest number that a column can store. A numeric can store any. */
export const TYPE_MAX: Readonly<Record<string, bigint>> = {
  smallint: 32_767n,
  integer: 2_147_483_647n,
  bigint: 2n ** 63n - 1n,
}
const WHOLE_NUMBERS = [...Object.keys(TYPE_MAX), 'numeric']
/** Tables, their partitioned parents, and tables elsewhere. */
const TABLES = ['r', 'p', 'f']

interface Facts {
  kind: string
  /** Of a domain: what it is based on. Null: there is no such column. */
  type: string | null
  isIndexed: boolean
}

/** What is wrong with the columns of a binding. */
export async function columnProblems(query: Query, { ids, maxId }: Counter): Promise<string[]> {
  const problems: string[] = []
  for (const column of ids) {
    const [facts] = await factsOf(query, column)
    const wrong = unreadable(column, facts)
    problems.push(...wrong)
    if (wrong.length > 0) continue
    const { table, column: id } = column
    const { type, kind, isIndexed } = facts!
    const end = TYPE_MAX[type!]
    if (end !== undefined && end < maxId)
      problems.push(
        `${nameOfColumn(column)} is ${type} and ends at ${end}, before maxId ${maxId}: no record ` +
          `could be stored with an id above. Set maxId to ${end}, or make the column a bigint.`,
      )
    if (!isIndexed && kind !== 'f')
      problems.push(
        `${nameOfColumn(column)} has no index, so each claim would read all rows of ${table}. ` +
          `Name the column of the primary key, or: CREATE INDEX ON ${table} (${quoted(id)}).`,
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
  const { kind, type } = facts
  // guard: H20 a view is not asked which ids are in use
  if (!TABLES.includes(kind))
    return [
      `${column.table} is no table. A view may leave out rows, and their ids are in use, too. ` +
        `Name the table that has the ids, in place of ${name}.`,
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
    `SELECT c.relkind AS kind,
       pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL)
         AS type,
       EXISTS (SELECT FROM pg_catalog.pg_index i
         JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid
         JOIN pg_catalog.pg_am m ON m.oid = ic.relam AND m.amname = 'btree'
         WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indisvalid
           AND i.indpred IS NULL) AS "isIndexed"
     FROM pg_catalog.pg_class c
       LEFT JOIN pg_catalog.pg_attribute a
       ON a.attrelid = c.oid AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped
       LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
     WHERE c.oid = pg_catalog.to_regclass($1)`,
    [table, column],
  )
