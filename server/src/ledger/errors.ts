/** The two ways in which a ledger fails: its database does, or another authority's counter does. */

/** The database did not answer, or gave up. The same request may be sent again later. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable'
}

/** Somebody else holds a row that was to be locked. Nothing happened. */
export class RowLocked extends LedgerUnavailable {}

/**
 * What a collection is bound to is not as configured, went backwards, or does not answer. Nothing
 * was granted.
 */
export class CounterUnusable extends Error {
  override name = 'CounterUnusable'
}

/**
 * The message of a failure without its dot. Where several addresses were tried, each has an error
 * of its own, and all their messages are given.
 */
export function reasonOf(error: unknown): string {
  const errors: Error[] = error instanceof AggregateError ? error.errors : [error]
  return errors.map(({ message }) => message.replace(/\.$/, '')).join('; ')
}
