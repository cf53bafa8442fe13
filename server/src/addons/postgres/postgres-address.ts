/**
 * Where a ledger is in PostgreSQL: its address, and the making of its tables. An address leads to
 * one server: one that chose among several could take an old primary for the right one.
 */
import { isThere, type Query } from '../../ledger/counter-port.js'

/** A number that other programs hardly use: 'hilo' in ASCII. */
const ADVISORY_LOCK = 0x68696c6f

/**
 * Creates a table under a lock, because `IF NOT EXISTS` fails for one of two processes that create
 * the table at once. A role without the right to create tables can use tables that another made.
 */
export async function createMissing(query: Query, table: string, statement: string): Promise<void> {
  await lockCreation(query)
  if (!(await isThere(query, table))) await query(statement)
}

/** Until the end of the transaction nobody else creates a table of ours. */
export async function lockCreation(query: Query): Promise<void> {
  await query('SELECT pg_catalog.pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
}

const POSTGRES = /^postgres(?:ql)?:\/\//
const HOSTS = /^[a-z]+:\/\/(?:[^/?]*@)?([^@/?]*)/
/** In `postgres://hilo:12/34@db/hilo` the host would be `hilo`, and `34` would be shown. */
const PASSWORD_IN_PATH = /^[a-z]+:\/\/[^/?#]*[/?#].*@/

/**
 * Without a host, the socket of this machine is asked: `postgres:///hilo?host=/run/postgresql`.
 * @throws Error when the URL cannot be read, or names several servers
 */
export function addressIn(databaseUrl: string): URL {
  const [, hosts = ''] = HOSTS.exec(databaseUrl) ?? []
  // guard: H31 a server does not choose among databases
  if (hosts.includes(','))
    throw new Error(
      'names several servers. Give one address that leads to the primary, as HAProxy, PgBouncer ' +
        'or a provider of databases has one',
    )
  if (!POSTGRES.test(databaseUrl) || !URL.canParse(databaseUrl))
    throw new Error('has to be a URL like postgres://user:password@host/name')
  if (PASSWORD_IN_PATH.test(databaseUrl))
    throw new Error(
      'has an @ behind the host: in a password write / ? # as %2F %3F %23, and @ as %40',
    )
  return new URL(databaseUrl)
}

/** Host and database, without user and password. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = addressIn(databaseUrl)
  return host + pathname
}
