/**
 * The port of a database that speaks SQL. Whoever brings another one writes this and its dialect.
 */
import type { CounterAnswers, CounterAsk } from '../ledger/counter-port.js'
import type { Connections } from '../ledger/ledger.js'
import type { Dialect, Statement } from './statements.js'

/**
 * Reads, then a step on what they found, then writes: all in one transaction. A database whose
 * driver is synchronous awaits nothing in it.
 */
export interface Work<T> {
  /** Called at each attempt, once it has its connection. */
  begins?: (() => void) | undefined
  /** Run one after another. */
  reads: readonly Statement[]
  /** What the step needs from the ORMs' counters, which only PostgreSQL has. */
  ask?: ((found: readonly unknown[][]) => readonly CounterAsk[]) | undefined
  /** Pure: it may run more than once. */
  step(found: readonly unknown[][], answers: CounterAnswers): Outcome<T>
  /** If a row is locked, the transaction fails soon, with `RowLocked`. */
  hasShortLockTimeout?: boolean | undefined
}

interface Outcome<T> {
  answer: T
  writes: readonly Statement[]
}

export interface SqlConnection {
  dialect: Dialect
  /** On disk before it resolves. Rejected with `LedgerUnavailable`, nobody knows if it happened. */
  transaction<T>(work: Work<T>): Promise<T>
  /** One statement that writes nothing. */
  read(statement: Statement): Promise<unknown[]>
  connections?(): Connections
  /** Runs the work, writes something, and waits for nobody else who writes. */
  ping(work: Work<void>): Promise<void>
  close(): Promise<void>
}
