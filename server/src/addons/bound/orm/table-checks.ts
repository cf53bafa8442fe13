/**
 * Compares a counter in a table, its columns and its row, with the configuration, and reports each
 * fault.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { lastValue } from './blocks.js'
import type { Counter, Relation, TableLocation } from './counter-binding.js'
import { adoptCommand, conditionOf, isWhole, nameOf } from './counter-statements.js'
import { DIGITS, endOf, WHOLE_NUMBERS } from './id-columns.js'
import { wrongText } from './sequence-checks.js'
import { literal, quoted } from './sql-text.js'

interface ColumnFacts {
  kind: string
  persistence: string
  /** Null: there is no such column. */
  type: string | null
  /** Before the point, of a numeric with a width. */
  digits: number | null
  generated: boolean
  reads: boolean
  writes: boolean
  inserts: boolean
  role: string
}

/** Of a table with other keys than the one that was asked for. */
const SHOWN_ROWS = 10

export async function tableProblems(
  query: Query,
  binding: Counter,
  location: TableLocation<Relation>,
  isFirst: boolean,
): Promise<string[]> {
  const { table, column, where, start, fixed } = location
  const names = [column, ...Object.keys(where), ...Object.keys(fixed)]
  const found = await columnFacts(query, table, names)
  const [counter] = found
  if (!counter || !['r', 'p'].includes(counter.kind))
    return [wrongText('table', table, counter !== undefined)]
  const absent = names.filter((_, i) => found[i]!.type === null)
  if (absent.length > 0)
    return [
      `Table ${table} has no column ${absent.join(', ')}. Correct the configuration: names ` +
        'are spelled as PostgreSQL has them.',
    ]
  const adds = isFirst && start !== undefined
  const rights = [...(adds ? ['INSERT'] : []), 'SELECT', 'UPDATE']
  if (!counter.writes || found.some(({ reads, inserts }) => !reads || (adds && !inserts)))
    return [
      `Role ${counter.role} may not move ${nameOf(binding)}. As the table's owner: GRANT ` +
        `${rights.join(', ')} ON ${table} TO ${quoted(counter.role)}.`,
    ]
  if (counter.generated)
    return [
      `${table}.${column} is generated from other columns, so nobody can move it. Name the ` +
        'column of the counter.',
    ]
  const problems: string[] = []
  if (!WHOLE_NUMBERS.includes(counter.type!))
    problems.push(
      `${table}.${column} is ${counter.type}, which does not count exactly. Name the column ` +
        'of the counter.',
    )
  const end = lastValue(binding.blocks, binding.maxId) - location.ahead
  const typeMax = endOf(counter.type!, counter.digits)
  if (typeMax !== undefined && typeMax < end - binding.blocks.step)
    problems.push(
      `${table}.${column} is ${counter.type} and ends at ${typeMax}, before the ids reach ` +
        `maxId ${binding.maxId}. Lower maxId, or make the column a bigint.`,
    )
  if (counter.persistence === 'u')
    problems.push(
      `Table ${table} is UNLOGGED: a crash empties it. ALTER TABLE ${table} SET LOGGED.`,
    )
  if (start !== undefined && !(await isUnique(query, location))) {
    const keys = Object.keys(where)
    problems.push(
      `Table ${table} may have several rows per ${keys.join(', ')}: it has no primary key or ` +
        'unique index on exactly that. Two processes that start at once would both begin at the ' +
        'first id. Stop the back end, then: ' +
        `ALTER TABLE ${table} ADD PRIMARY KEY (${keys.map(quoted).join(', ')}).`,
    )
  }
  return [...problems, ...(await rowProblems(query, binding, location, isFirst))]
}

/** In the order of the names. Empty: there is no such table. */
const columnFacts = (
  query: Query,
  table: Relation,
  names: readonly string[],
): Promise<ColumnFacts[]> =>
  query<ColumnFacts>(
    `SELECT c.relkind AS kind, c.relpersistence AS persistence,
       pg_catalog.format_type(a.atttypid, NULL) AS type, current_user AS role,
       ${DIGITS} AS digits,
       a.attgenerated <> '' AS generated,
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') AS reads,
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE') AS writes,
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'INSERT') AS inserts
     FROM pg_catalog.pg_class c
       CROSS JOIN pg_catalog.unnest($2::text[]) WITH ORDINALITY AS n(name, i)
       LEFT JOIN pg_catalog.pg_attribute a
       ON a.attrelid = c.oid AND a.attname = n.name AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.oid = pg_catalog.to_regclass($1) ORDER BY n.i`,
    [table, names],
  )

async function rowProblems(
  query: Query,
  binding: Counter,
  location: TableLocation<Relation>,
  isFirst: boolean,
): Promise<string[]> {
  const { text, parameters } = conditionOf(location, 1)
  const columns = [location.column, ...Object.keys(location.fixed)]
    .map((name) => `${quoted(name)}::text AS ${quoted(name)}`)
    .join(', ')
  const rows = await query<Record<string, string | null>>(
    `SELECT ${columns} FROM ${location.table} WHERE ${text} LIMIT 2`,
    parameters,
  )
  const name = nameOf(binding)
  const [row] = rows
  if (!row)
    return isFirst && location.start !== undefined
      ? firstRowProblems(query, binding, location)
      : [await missingRowText(query, binding, location)]
  if (rows.length > 1)
    return [
      `There are several rows for ${name}: nobody can tell which one counts. Give a \`where\` ` +
        'that matches one, or delete the others.',
    ]
  const stored = row[location.column]
  if (stored == null) return [`${name} is NULL. Set it above every id in use.`]
  if (!isWhole(stored))
    return [
      `${name} is ${stored}, and a counter is a whole number. Name the column of the counter, or ` +
        'make it a bigint.',
    ]
  return Object.entries(location.fixed)
    .filter(([column, wanted]) => row[column] !== String(wanted))
    .map(
      ([column, wanted]) =>
        `${name} has ${column} ${row[column]}, and ${binding.system} then makes the first id of ` +
        'each block twice. ' +
        `Set ${column} to ${wanted}, in the row and where the back end configures it.`,
    )
}

/** A first row has only the columns that the strategy knows. */
async function firstRowProblems(
  query: Query,
  binding: Counter,
  { table, column, where, fixed }: TableLocation<Relation>,
): Promise<string[]> {
  const known = [column, ...Object.keys(where), ...Object.keys(fixed)]
  const others = await query<{ name: string }>(
    `SELECT attname::text AS name FROM pg_catalog.pg_attribute
     WHERE attrelid = pg_catalog.to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attnotnull
       AND NOT atthasdef AND attidentity = '' AND attname <> ALL($2::text[]) ORDER BY attnum`,
    [table, known],
  )
  if (others.length === 0) return []
  return [
    `A row of table ${table} needs ${others.map(({ name }) => name).join(', ')}, too, which ` +
      `--first does not know. Let ${binding.system} make its row.`,
  ]
}

/** A row under another key is a second counter, and its ids are duplicates. */
async function missingRowText(
  query: Query,
  binding: Counter,
  { table, where, key }: TableLocation<Relation>,
): Promise<string> {
  const columns = Object.keys(where)
  const rows =
    columns.length === 0
      ? []
      : await query<Record<string, string | null>>(
          `SELECT DISTINCT ${columns.map((name) => `${quoted(name)}::text AS ${quoted(name)}`)}
           FROM ${table} ORDER BY ${columns.map((_, i) => i + 1)} LIMIT ${SHOWN_ROWS + 1}`,
        )
  const there = rows
    .slice(0, SHOWN_ROWS)
    .map((row) => columns.map((name) => `${name} = ${literal(row[name] ?? 'NULL')}`).join(' and '))
  if (rows.length > SHOWN_ROWS) there.push('and more')
  const others = there.length === 0 ? '' : ` The table has rows for ${there.join('; ')}.`
  const missing = `There is no row for ${nameOf(binding)}.${others}`
  const { system } = binding
  if (!key)
    return (
      `${missing} Correct \`where\`, or let ${system} create its row first (its schema tool ` +
      'does).'
    )
  return (
    `${missing} Set ${key.setting} to the key that ${system} uses: ${key.keyIs}. Another key ` +
    `would be a second counter, with the same ids. If ${system} has made no id yet, and its ` +
    'tables are empty, let it make one, or start once with --first. Else stop the back end, and ' +
    `run ${adoptCommand(binding)}. Both make the row under exactly this key, above the highest id.`
  )
}

/** Is there a unique index on exactly these columns, for all rows? */
async function isUnique(query: Query, { table, where }: TableLocation<Relation>): Promise<boolean> {
  const rows = await query<{ columns: string[] }>(
    `SELECT pg_catalog.array_agg(a.attname::text) AS columns FROM pg_catalog.pg_index i
       JOIN pg_catalog.pg_attribute a
       ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1])
     WHERE i.indrelid = $1::pg_catalog.regclass AND i.indisunique AND i.indisvalid
       AND i.indpred IS NULL AND i.indexprs IS NULL GROUP BY i.indexrelid`,
    [table],
  )
  return rows.some(
    ({ columns }) => columns.toSorted().join() === Object.keys(where).toSorted().join(),
  )
}
