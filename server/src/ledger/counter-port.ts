/**
 * The port of the ORMs' counters that collections are bound to. They are in the ledger's own
 * PostgreSQL database, so they are asked inside the transaction that grants their numbers.
 */
import type { CollectionKey } from './ledger.js'
import type { Span } from './number-line.js'

/** A step's demand on a counter. */
export interface CounterAsk extends CollectionKey {
  /** The counter's next ids are above this. Undefined: it stays where it is. */
  raiseTo: number | undefined
  /** The counter is also raised by this many ids from where it stands. */
  raiseBy?: number
  /** The step can use only ids above this. */
  above: number
  /** The numbers in stock, some of which may be granted. */
  stock: readonly Span[]
  /**
   * How many ids are wanted, if `used` of the stock is granted to nobody. Blocks are whole, so more
   * may come; fewer where the column ends.
   */
  missing(used: readonly Span[]): number
}

export interface CounterAnswer {
  fresh: readonly Span[]
  /** Of the stock: the back end has ids of these, so they are granted to nobody. */
  used: readonly Span[]
  /** The id column ends before `raiseTo`, and the counter was not moved. */
  isAtEnd: boolean
  /** After `raiseBy`: up to here others may have ids of the counter. */
  reach?: number | undefined
}

/** By `keyText`. */
export type CounterAnswers = ReadonlyMap<string, CounterAnswer>

export interface OrmCounters {
  /** @throws CounterUnusable */
  answer(query: Query, ask: CounterAsk): Promise<CounterAnswer>
}

/** Runs a statement in a transaction. It is the same function for one connection. */
export type Query = <Row>(text: string, parameters?: unknown[]) => Promise<Row[]>

/** Where things are in the database. */
export interface Schemas {
  /** Of the ledger, as SQL has it. Undefined: there is no ledger yet. */
  ledger: string | undefined
  /** Where a table or sequence is looked for that is named without its schema. */
  path: readonly string[]
}

export interface SqlDatabase {
  /** A transaction of one statement. */
  query: Query
  /** Creates a table if it is missing. Of several processes that start at once, one creates it. */
  createMissing(table: string, statement: string): Promise<void>
}

/**
 * Writes nothing.
 * @param table with its schema, as SQL has it
 */
export async function isThere(query: Query, table: string): Promise<boolean> {
  const [found] = await query<{ isThere: boolean }>(
    'SELECT pg_catalog.to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  )
  return found!.isThere
}
