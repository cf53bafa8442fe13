/**
 * The statements that read and raise an ORM's counter, and how messages name it. Guarantees that
 * the counter only moves up.
 */
import type { Query } from '../../../ledger/counter-port.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import { valueAbove } from './blocks.js'
import {
  type Binding,
  type Counter,
  isSequence,
  type Relation,
  type SequenceLocation,
  type TableLocation,
} from './counter-binding.js'
import { literal, quoted } from './sql-text.js'

/**
 * A sequence is moved value by value, which needs no lock. More values than this would take too
 * long: then it is locked and set.
 */
const MAX_STEPS = 1_000_000n

/** The command that raises the counter above every id in use. */
export function adoptCommand({ key, ids }: Binding): string {
  const from = ids.length > 0 ? '' : ' --from <table>.<column>'
  return `npx offline-hilo-server adopt ${key.database} ${key.collection}${from} --apply`
}

/** The value that the next take gets. Where a row is missing: the value of its first take. */
export async function nextValue(
  query: Query,
  { location, blocks: { step } }: Counter,
): Promise<bigint> {
  if (isSequence(location)) {
    const [row] = await query<{ next: string }>(
      `SELECT (${nextOf(step)})::text AS next FROM ${location.sequence}`,
    )
    return BigInt(row!.next)
  }
  const rows = await readRows(query, location, '')
  return (rows.length > 0 ? storedIn(location, rows) : location.start!) + location.ahead
}

/** Is there a row? A sequence has one always. */
export const hasRow = async (query: Query, { location }: Counter): Promise<boolean> =>
  isSequence(location) || (await readRows(query, location, '')).length > 0

/**
 * Moves the counter so that its next ids are above `floor`. Only up.
 * @throws CounterUnusable when this role may not
 */
export async function raiseCounter(query: Query, binding: Counter, floor: number): Promise<void> {
  const { location, blocks } = binding
  const target = valueAbove(blocks, BigInt(floor))
  if (!isSequence(location)) return moveRow(query, location, target - location.ahead)
  const steps = (target - (await nextValue(query, binding)) + blocks.step - 1n) / blocks.step
  if (steps <= MAX_STEPS)
    await query(
      `SELECT pg_catalog.count(pg_catalog.nextval($1))
       FROM pg_catalog.generate_series(1, $2::bigint)`,
      [location.sequence, String(steps)],
    )
  else await setSequence(query, location, blocks.step, target)
}

/**
 * Stores a value, unless the counter is above it.
 * @throws CounterUnusable when the row does not move
 */
export async function moveRow(
  query: Query,
  location: TableLocation<Relation>,
  stored: bigint,
): Promise<void> {
  const { table } = location
  const column = quoted(location.column)
  const { text, parameters } = conditionOf(location, 2)
  const [, rows] = await Promise.all([
    query(`UPDATE ${table} SET ${column} = $1 WHERE ${column} < $1 AND ${text}`, [
      String(stored),
      ...parameters,
    ]),
    readRows(query, location, ''),
  ])
  const now = storedIn(location, rows)
  // guard: H20 a counter in a table gives nothing unless it moves
  if (now < stored)
    throw new CounterUnusable(
      `${table}.${location.column} was to become ${stored}, and is ${now} after the update: a ` +
        'trigger or a rule of the table is in the way. Nothing was granted. Drop it, or let it ' +
        'leave this row alone.',
    )
}

/**
 * Adds the first row of a counter in a table with a row per key, if it is missing.
 * @param floor the ids of its first value are above it
 */
export async function addFirstRow(query: Query, counter: Counter, floor: bigint): Promise<void> {
  const { location } = counter
  if (isSequence(location) || location.start === undefined || (await hasRow(query, counter))) return
  // Others may make the row at the same time. Then the higher value counts.
  await query(raiseStatement(counter, firstValue(counter, floor)))
}

/** The value of the first take from a row that is made above `floor`. */
export function firstValue({ location, blocks }: Counter, floor: bigint): bigint {
  const { start = 0n, ahead } = location as TableLocation
  const above = valueAbove(blocks, floor)
  return floor > 0n && above > start + ahead ? above : start + ahead
}

/** One statement that raises the counter to `value` at least. It is printed for people. */
export function raiseStatement({ location, blocks: { step } }: Counter, value: bigint): string {
  if (isSequence(location))
    return (
      `SELECT pg_catalog.setval('${location.sequence.replaceAll("'", "''")}', greatest(${value}, ` +
      `${nextOf(step)}), false) FROM ${location.sequence}`
    )
  const { table } = location
  const column = quoted(location.column)
  const stored = value - location.ahead
  const conditions = Object.entries(location.where).map(
    ([name, wanted]) => `${quoted(name)} = ${literal(wanted)}`,
  )
  if (location.start === undefined)
    return (
      `UPDATE ${table} SET ${column} = greatest(${column}, ${stored})` +
      (conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '')
    )
  const columns = [...Object.keys(location.where), location.column, ...Object.keys(location.fixed)]
  const values = [
    ...Object.values(location.where).map(literal),
    stored,
    ...Object.values(location.fixed),
  ]
  return (
    `INSERT INTO ${table} AS t (${columns.map(quoted).join(', ')}) VALUES (${values.join(', ')}) ` +
    `ON CONFLICT (${Object.keys(location.where).map(quoted).join(', ')}) DO UPDATE SET ` +
    `${column} = greatest(t.${column}, excluded.${column})`
  )
}

/**
 * Locks the sequence until the transaction ends.
 * @throws CounterUnusable when this role is not its owner
 */
export async function lockSequence(
  query: Query,
  { sequence }: SequenceLocation<Relation>,
): Promise<void> {
  const [role] = await query<{ owns: boolean; name: string }>(
    `SELECT pg_catalog.pg_has_role(relowner, 'USAGE') AS owns, current_user AS name
     FROM pg_catalog.pg_class WHERE oid = $1::pg_catalog.regclass`,
    [sequence],
  )
  if (!role!.owns)
    throw new CounterUnusable(
      `Sequence ${sequence} is to be set, and only its owner can set it safely; role ` +
        `${role!.name} is not its owner. Nothing was changed. Run the command with a ` +
        '--database-url of the owner. Or let the owner run the statement that ' +
        'npx offline-hilo-server adopt prints without --apply.',
    )
  // The checks ask for NO CYCLE anyway. This statement also keeps nextval waiting, which no other
  // lock on a sequence does.
  await query(`ALTER SEQUENCE ${sequence} NO CYCLE`)
}

/** How messages name the counter. */
export function nameOf({ location }: Binding): string {
  if (isSequence(location)) return `sequence ${location.sequence}`
  const conditions = Object.entries(location.where).map(
    ([column, value]) => `${column} = ${literal(value)}`,
  )
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  return `${location.table}.${location.column}${where}`
}

/** A binding as the ledger remembers it. */
export const descriptionOf = (binding: Binding): string =>
  binding.strategy + placeIn(binding) + binding.size

/** The part of a description that says which counter it is. */
export const placeIn = (binding: Binding): string => ` on ${nameOf(binding)} with `

export function conditionOf(
  { where }: TableLocation,
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
  location: SequenceLocation<Relation>,
  step: bigint,
  value: bigint,
): Promise<void> {
  await lockSequence(query, location)
  await query(
    `SELECT pg_catalog.setval($1, greatest($2::bigint, ${nextOf(step)}), false) FROM ` +
      `${location.sequence}`,
    [location.sequence, String(value)],
  )
}

/** The next value as SQL over the sequence's own row. */
export const nextOf = (step: bigint): string =>
  `CASE WHEN is_called THEN last_value + ${step} ELSE last_value END`

export const readRows = (
  query: Query,
  location: TableLocation<Relation>,
  lock: string,
): Promise<{ stored: string | null }[]> => {
  const { text, parameters } = conditionOf(location, 1)
  return query(
    `SELECT ${quoted(location.column)}::text AS stored FROM ${location.table} WHERE ` +
      `${text} LIMIT 2 ${lock}`,
    parameters,
  )
}

export function storedIn(
  location: TableLocation,
  rows: readonly { stored: string | null }[],
): bigint {
  const [row] = rows
  if (rows.length !== 1 || !row?.stored || !isWhole(row.stored)) {
    const found =
      rows.length === 0 ? 'no row' : rows.length > 1 ? 'several rows' : (row?.stored ?? 'no value')
    throw new CounterUnusable(
      `${location.table} has ${found} where the counter ${location.column} should be. Nothing ` +
        'was granted. npx offline-hilo-server check says what to correct.',
    )
  }
  return BigInt(row.stored)
}

/** A numeric column may hold 5.5, or NaN. */
export const isWhole = (stored: string): boolean => /^-?\d+$/.test(stored)
