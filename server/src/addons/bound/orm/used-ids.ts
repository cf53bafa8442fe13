/**
 * Looks whether the back end's tables have ids of a range already. Guarantees that one row of each
 * column is read per range, by the column's index, however many rows there are.
 */
import type { Query } from '../../../ledger/counter-port.js'
import type { IdColumn, Relation } from './counter-binding.js'
import { literal, quoted } from './sql-text.js'

/** A range, and an id in it that is in use. */
export interface UsedRange<Number = bigint> {
  low: Number
  high: Number
  id: string
  /** As messages name it: `public.orders.id`. */
  column: string
}

/** @returns those of the ranges of which a column has an id */
export async function usedOf(
  query: Query,
  columns: readonly IdColumn<Relation>[],
  ranges: readonly { low: bigint; high: bigint }[],
): Promise<UsedRange[]> {
  if (columns.length === 0 || ranges.length === 0) return []
  const rows = await query<UsedRange<string>>(usedStatement(columns), [
    ranges.map(({ low }) => String(low)),
    ranges.map(({ high }) => String(high)),
  ])
  return rows.map((row) => ({ ...row, low: BigInt(row.low), high: BigInt(row.high) }))
}

/** Ranges that follow each other as one, with the first id. A plain sequence has one per number. */
export function joined(ranges: readonly UsedRange[]): UsedRange[] {
  const runs: UsedRange[] = []
  for (const range of ranges) {
    const last = runs.at(-1)
    if (last && last.high + 1n === range.low && last.column === range.column) last.high = range.high
    else runs.push({ ...range })
  }
  return runs
}

/** The first row by the order of the index: so it is read by the index, also in a small table. */
export function usedStatement(columns: readonly IdColumn<Relation>[]): string {
  const looks = columns.map(({ table, column }) => {
    // Unqualified, the order would be that of the text.
    const id = `t.${quoted(column)}`
    return (
      `(SELECT ${id}::text AS id, ${literal(nameOfColumn({ table, column }))} AS "column" ` +
      `FROM ${table} AS t WHERE ${id} BETWEEN range.low AND range.high ORDER BY ${id} LIMIT 1)`
    )
  })
  return (
    'SELECT range.low::text AS low, range.high::text AS high, used.* ' +
    'FROM ROWS FROM (pg_catalog.unnest($1::bigint[]), pg_catalog.unnest($2::bigint[])) ' +
    'AS range(low, high) CROSS JOIN LATERAL ' +
    `(SELECT * FROM (${looks.join(' UNION ALL ')}) AS look LIMIT 1) AS used`
  )
}

export const nameOfColumn = ({ table, column }: IdColumn): string => `${table}.${column}`
