/**
 * Finds the tables and sequences that a configuration names. Guarantees that each is found once,
 * when the process starts, and has the same schema in every statement from then on: a table that
 * another schema of the path gets later is another counter.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import {
  type Binding,
  type Counter,
  type IdColumn,
  isSequence,
  type Relation,
} from './counter-binding.js'

/** Not among temporary tables, which are others in each session. */
// guard: H31 a counter is named with its schema
const FIND = `
  SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS path (schema, place)
  JOIN pg_catalog.pg_namespace n ON n.nspname = path.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
  WHERE c.relname = $2 AND c.relpersistence <> 't' ORDER BY path.place LIMIT 1`

/**
 * @param path schemas where a name without one is looked for
 * @param name `table` or `schema.table`
 */
export async function findRelation(
  query: Query,
  path: readonly string[],
  name: string,
): Promise<Relation | undefined> {
  const dot = name.lastIndexOf('.')
  const schemas = dot < 0 ? path : [name.slice(0, dot)]
  const [found] = await query<{ name: Relation }>(FIND, [schemas, name.slice(dot + 1)])
  return found?.name
}

/** @throws CounterUnusable when there is none */
async function mustFind(
  query: Query,
  path: readonly string[],
  kind: 'sequence' | 'table',
  name: string,
): Promise<Relation> {
  const found = await findRelation(query, path, name)
  if (found !== undefined) return found
  const folded = name.toLowerCase()
  const other = folded === name ? undefined : await findRelation(query, path, folded)
  throw new CounterUnusable(
    `There is no ${kind} ${name} in this database. ${
      other === undefined
        ? 'Correct the name (schema.name, where it is not in the search path), or let the back ' +
          'end create it first.'
        : `There is ${folded}: PostgreSQL folds names that were created without quotes. ` +
          'Write it so.'
    }`,
  )
}

/** @throws CounterUnusable when a table is not there */
export async function findColumns(
  query: Query,
  path: readonly string[],
  columns: readonly IdColumn[],
): Promise<IdColumn<Relation>[]> {
  const found: IdColumn<Relation>[] = []
  for (const { table, column } of columns)
    found.push({ table: await mustFind(query, path, 'table', table), column })
  return found
}

/** @throws CounterUnusable when a table or sequence of the binding is not there */
export async function findCounter(
  query: Query,
  path: readonly string[],
  binding: Binding,
): Promise<Counter> {
  const { location, ids } = binding
  return {
    ...binding,
    location: isSequence(location)
      ? { sequence: await mustFind(query, path, 'sequence', location.sequence) }
      : { ...location, table: await mustFind(query, path, 'table', location.table) },
    ids: await findColumns(query, path, ids),
  }
}

/**
 * Another text as soon as somebody has altered or replaced a relation of the counter. ALTER
 * SEQUENCE gives a sequence a new file, so its row of `pg_class` is another one, too.
 */
export async function shapeOf(query: Query, { location, ids }: Counter): Promise<string> {
  const counter = isSequence(location) ? location.sequence : location.table
  const [found] = await query<{ shape: string }>(
    `SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', c.oid, c.xmin,
       ARRAY(SELECT xmin FROM pg_catalog.pg_attribute WHERE attrelid = c.oid ORDER BY attnum),
       ARRAY(SELECT indexrelid FROM pg_catalog.pg_index WHERE indrelid = c.oid ORDER BY 1)),
       ',' ORDER BY relation.place) AS shape
     FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS relation (name, place)
       LEFT JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(relation.name)`,
    [[counter, ...ids.map(({ table }) => table)]],
  )
  return found!.shape
}
