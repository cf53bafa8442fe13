/**
 * The port of the ORMs' counters that collections are bound to. They are in the ledger's own
 * PostgreSQL database, so they are asked inside the transaction that grants what they give.
 */
import type { CollectionKey } from './ledger.js'
import type { Span } from './number-line.js'

/** What a counter has to do for a step. */
export interface CounterAsk extends CollectionKey {
  /** Whoever takes from it next gets ids above. Undefined: it stays where it is. */
  raiseTo: number | undefined
  /** It is raised by so many ids from where it stands, too. */
  raiseBy?: number
  /** Only ids above may come. */
  above: number
  /** How many ids are wanted. Blocks are whole, so more may come; fewer where the column ends. */
  missing: number
}

export interface CounterAnswer {
  fresh: readonly Span[]
  /** The id column ends before `raiseTo`, and the counter was not moved. */
  isAtEnd: boolean
}

/** By `keyText`. */
export type CounterAnswers = ReadonlyMap<string, CounterAnswer>

export interface OrmCounters {
  /** @throws CounterUnusable */
  answer(query: Query, ask: CounterAsk): Promise<CounterAnswer>
}

/** Runs a statement in a transaction. It is the same function for one connection. */
export type Query = <Row>(text: string, parameters?: unknown[]) => Promise<Row[]>

export interface SqlDatabase {
  /** A transaction of one statement. */
  query: Query
  /** Creates a table where it is missing; of several processes that find none, one does. */
  createMissing(table: string, statement: string): Promise<void>
}

/** Is there a table of this name? Writes nothing. */
export async function isThere(query: Query, table: string): Promise<boolean> {
  const [found] = await query<{ isThere: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  )
  return found!.isThere
}
