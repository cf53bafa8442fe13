/**
 * The statements that read and raise an ORM's counter, and how messages name it. Guarantees that
 * the counter only moves up.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/errors.js'
import { valueAbove } from './blocks.js'
import {
  type Binding,
  type Counter,
  isSequence,
  type Relation,
  type SequencePlace,
  type TablePlace,
} from './counter-options.js'
import { literal, quoted } from './sql-text.js'

/**
 * A sequence is moved value by value, which needs no lock. More values than this would take too
 * long: then it is locked and set.
 */
const MAX_STEPS = 1_000_000n

/** The command that raises the counter above every id in use. */
export function adoptCommand({ key, ids }: Binding): string {
  const from = ids.length > 0 ? '' : ' --from <table>.<column>'
  return `offline-hilo-server adopt ${key.database} ${key.collection}${from} --apply`
}

/** The value that the next take gets. Where a row is missing: the value of its first take. */
export async function nextValue(
  query: Query,
  { place, blocks: { step } }: Counter,
): Promise<bigint> {
  if (isSequence(place)) {
    const [row] = await query<{ next: string }>(
      `SELECT (${nextOf(step)})::text AS next FROM ${place.sequence}`,
    )
    return BigInt(row!.next)
  }
  const rows = await readRows(query, place, '')
  return (rows.length > 0 ? storedIn(place, rows) : place.start!) + place.ahead
}

/** Is there a row? A sequence has one always. */
export const hasRow = async (query: Query, { place }: Counter): Promise<boolean> =>
  isSequence(place) || (await readRows(query, place, '')).length > 0

/**
 * Moves the counter so that its next ids are above `floor`. Only up.
 * @throws CounterUnusable when this role may not
 */
export async function raiseCounter(query: Query, binding: Counter, floor: number): Promise<void> {
  const { place, blocks } = binding
  const target = valueAbove(blocks, BigInt(floor))
  if (!isSequence(place)) {
    const { text, parameters } = conditionOf(place, 2)
    await query(
      `UPDATE ${place.table} SET ${quoted(place.column)} = $1 WHERE ` +
        `${quoted(place.column)} < $1 AND ${text}`,
      [String(target - place.ahead), ...parameters],
    )
    return
  }
  const steps = (target - (await nextValue(query, binding)) + blocks.step - 1n) / blocks.step
  if (steps <= MAX_STEPS)
    await query(
      `SELECT pg_catalog.count(pg_catalog.nextval($1))
       FROM pg_catalog.generate_series(1, $2::bigint)`,
      [place.sequence, String(steps)],
    )
  else await setSequence(query, place, blocks.step, target)
}

/**
 * Adds the first row of a counter in a table with a row per key, if it is missing.
 * @param floor the ids of its first value are above it
 */
export async function addFirstRow(query: Query, counter: Counter, floor: bigint): Promise<void> {
  const { place } = counter
  if (isSequence(place) || place.start === undefined || (await hasRow(query, counter))) return
  // Others may make the row at the same time. Then the higher value counts.
  await query(raiseStatement(counter, firstValue(counter, floor)))
}

/** The value of the first take from a row that is made above `floor`. */
export function firstValue({ place, blocks }: Counter, floor: bigint): bigint {
  const { start = 0n, ahead } = place as TablePlace
  const above = valueAbove(blocks, floor)
  return floor > 0n && above > start + ahead ? above : start + ahead
}

/** One statement that raises the counter to `value` at least. It is printed for people. */
export function raiseStatement({ place, blocks: { step } }: Counter, value: bigint): string {
  if (isSequence(place))
    return (
      `SELECT pg_catalog.setval('${place.sequence.replaceAll("'", "''")}', greatest(${value}, ` +
      `${nextOf(step)}), false) FROM ${place.sequence}`
    )
  const { table } = place
  const column = quoted(place.column)
  const stored = value - place.ahead
  const conditions = Object.entries(place.where).map(
    ([name, wanted]) => `${quoted(name)} = ${literal(wanted)}`,
  )
  if (place.start === undefined)
    return (
      `UPDATE ${table} SET ${column} = greatest(${column}, ${stored})` +
      (conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '')
    )
  const columns = [...Object.keys(place.where), place.column, ...Object.keys(place.fixed)]
  const values = [...Object.values(place.where).map(literal), stored, ...Object.values(place.fixed)]
  return (
    `INSERT INTO ${table} AS t (${columns.map(quoted).join(', ')}) VALUES (${values.join(', ')}) ` +
    `ON CONFLICT (${Object.keys(place.where).map(quoted).join(', ')}) DO UPDATE SET ` +
    `${column} = greatest(t.${column}, excluded.${column})`
  )
}

/** Locks the sequence until the transaction ends. Only its owner may do that. */
export async function lockSequence(
  query: Query,
  { sequence }: SequencePlace<Relation>,
): Promise<void> {
  // The checks ask for NO CYCLE anyway. This statement also keeps nextval waiting, which no other
  // lock on a sequence does.
  await query(`ALTER SEQUENCE ${sequence} NO CYCLE`)
}

/** How messages name the counter. */
export function nameOf({ place }: Binding): string {
  if (isSequence(place)) return `sequence ${place.sequence}`
  const conditions = Object.entries(place.where).map(
    ([column, value]) => `${column} = ${literal(value)}`,
  )
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  return `${place.table}.${place.column}${where}`
}

/** A binding as the ledger remembers it. */
export const descriptionOf = (binding: Binding): string =>
  `${binding.strategy} on ${nameOf(binding)} with ${binding.size}`

export function conditionOf(
  { where }: TablePlace,
  firstParameter: number,
): { text: string; parameters: (string | number)[] } {
  const columns = Object.keys(where).map((name, i) => `${quoted(name)} = $${firstParameter + i}`)
  return {
    text: columns.length > 0 ? columns.join(' AND ') : 'true',
    parameters: Object.values(where),
  }
}

async function setSequence(
  query: Query,
  place: SequencePlace<Relation>,
  step: bigint,
  value: bigint,
): Promise<void> {
  const [role] = await query<{ owns: boolean; name: string }>(
    `SELECT pg_catalog.pg_has_role(relowner, 'USAGE') AS owns, current_user AS name
     FROM pg_catalog.pg_class WHERE oid = $1::pg_catalog.regclass`,
    [place.sequence],
  )
  if (!role!.owns)
    throw new CounterUnusable(
      `sequence ${place.sequence} is more than ${MAX_STEPS} takes below ${value}, and only its ` +
        `owner can set it safely; role ${role!.name} is not its owner. ` +
        'Run the command with a --database-url of the owner.',
    )
  await lockSequence(query, place)
  await query(
    `SELECT pg_catalog.setval($1, greatest($2::bigint, ${nextOf(step)}), false) FROM ` +
      `${place.sequence}`,
    [place.sequence, String(value)],
  )
}

/** The next value as SQL over the sequence's own row. */
export const nextOf = (step: bigint): string =>
  `CASE WHEN is_called THEN last_value + ${step} ELSE last_value END`

export const readRows = (
  query: Query,
  place: TablePlace<Relation>,
  lock: string,
): Promise<{ stored: string | null }[]> => {
  const { text, parameters } = conditionOf(place, 1)
  return query(
    `SELECT ${quoted(place.column)}::text AS stored FROM ${place.table} WHERE ` +
      `${text} LIMIT 2 ${lock}`,
    parameters,
  )
}

export function storedIn(place: TablePlace, rows: readonly { stored: string | null }[]): bigint {
  const [row] = rows
  if (rows.length !== 1 || !row?.stored || !isWhole(row.stored)) {
    const found =
      rows.length === 0 ? 'no row' : rows.length > 1 ? 'several rows' : (row?.stored ?? 'no value')
    throw new CounterUnusable(
      `${place.table} has ${found} where the counter ${place.column} should be.`,
    )
  }
  return BigInt(row.stored)
}

/** A numeric column may hold 5.5, or NaN. */
export const isWhole = (stored: string): boolean => /^-?\d+$/.test(stored)
