/**
 * Tells PostgreSQL's failures apart. Guarantees that only failures of the database's state, or of
 * the connection to it, count as unavailable. A mistake in this program does not.
 */
import pg from 'pg'
import {
  LedgerTablesChanged,
  LedgerUnavailable,
  RowLocked,
  reasonOf,
} from '../../ledger/ledger-errors.js'

/**
 * Classes of SQLSTATE that speak of the database's state, not of our statements: connection,
 * rollback, resources, what is in use or closed, operator, system; read-only, a timeout of the
 * transaction, a right that the role has not.
 */
const UNAVAILABLE = /^(08|40|53|55|57|58|25006|25P0[34]|42501|XX)/

/** A table, a column, a schema or a unique key is not there. */
const LACKING = /^(42P01|42703|3F000|42P10)$/

const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'
const READ_ONLY = '25006'
const LOCK_NOT_AVAILABLE = '55P03'

/** PostgreSQL has ended the session, perhaps after the commit. */
const ENDED = /^(57P0|25P0[34])/

/** PostgreSQL confirmed a commit and warned about it, or did not answer it. */
export class OutcomeUnknown extends LedgerUnavailable {}

/** The transaction was undone as a whole, and may succeed when it is tried again at once. */
export const mayRetry = (error: unknown): boolean =>
  [SERIALIZATION_FAILURE, DEADLOCK_DETECTED, READ_ONLY].includes(codeOf(error) ?? '')

/** The connection is broken or silent, or leads to a server that cannot grant. */
export const isOfItsServer = (error: unknown): boolean =>
  error instanceof LedgerUnavailable || codeOf(error) === READ_ONLY

/**
 * The error of a failed connect or send. An answer of PostgreSQL, and a mistake of ours such as a
 * parameter that cannot be sent, stay as they are. Any other error is one of the connection.
 */
export function connectionFailure(error: unknown): unknown {
  const isMistake = error instanceof TypeError || error instanceof RangeError
  if (error instanceof pg.DatabaseError || error instanceof LedgerUnavailable || isMistake)
    return error
  const { syscall } = error as NodeJS.ErrnoException
  if (syscall === 'open')
    return new LedgerUnavailable(
      `${reasonOf(error)}. Correct sslrootcert, sslcert or sslkey in the database's address, or ` +
        'put the file there.',
      { cause: error },
    )
  const what = `The database cannot be reached, or does not answer: ${reasonOf(error)}.`
  const advice = 'Check that PostgreSQL runs, and its address (DATABASE_URL).'
  return new LedgerUnavailable(`${what} ${advice}`, { cause: error })
}

/** The error of a transaction whose commit was sent. Only an answer says that it was not done. */
export function commitFailure(error: unknown): unknown {
  const failure = connectionFailure(error)
  if (!(failure instanceof LedgerUnavailable) && !ENDED.test(codeOf(error) ?? '')) return failure
  return new OutcomeUnknown(
    `The database did not answer a commit: ${reasonOf(error)}. What was asked may have been done ` +
      'or not: look, or do it once more.',
    { cause: error },
  )
}

/** The error of a failed transaction, for the callers of the pool. */
export const transactionFailure = (error: unknown): unknown =>
  error instanceof pg.DatabaseError && UNAVAILABLE.test(error.code!) ? unavailable(error) : error

/** The error of a failed statement about the ledger's own tables. */
export const ledgerFailure = (error: unknown): unknown =>
  error instanceof pg.DatabaseError && LACKING.test(error.code!)
    ? new LedgerTablesChanged(reasonOf(error), { cause: error })
    : error

function unavailable(cause: unknown): LedgerUnavailable {
  const Failure = codeOf(cause) === LOCK_NOT_AVAILABLE ? RowLocked : LedgerUnavailable
  return new Failure(`PostgreSQL did not do it: ${reasonOf(cause)}.`, { cause })
}

const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code
