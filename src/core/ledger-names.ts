/**
 * How a device names a ledger (H34): by its public name and the database that counts, as in
 * `k3m9x2dq7rwt5hza/shop`. Each database of a ledger counts for itself, so a proxy that leads to
 * another one of them leads to another ledger.
 */

/** @param database of an answer. Undefined: it names none */
export const ledgerOf = (name: string, database: unknown): string =>
  // guard: H34 each database of a ledger is a ledger of its own
  database ? `${name}/${database}` : name

/** Does an answer name this ledger? One without a database does not say which one of it. */
export const isNamed = (ledger: string | undefined, name: unknown): boolean =>
  ledger === name || Boolean(ledger?.startsWith(`${name}/`))
