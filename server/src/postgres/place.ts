/**
 * Where a ledger is in PostgreSQL: its address, its schema, its tables. Guarantees that there is
 * one ledger in a database, and that every transaction finds it, whatever path a role has, and
 * whatever path a client of the same pooler has left in the session. An address leads to one
 * server: one that chose among several could take an old primary for the right one.
 */
import { isThere, type Query } from '../ledger/counter-port.js'
import { LEDGER_TABLES } from '../sql/schema.js'

const SCHEMAS_OF_LEDGERS = `
  SELECT DISTINCT n.nspname AS "schema" FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' ORDER BY 1`
/** As it is for a new session of this role. */
const OWN_PATH = `SELECT reset_val AS "path" FROM pg_catalog.pg_settings WHERE name = 'search_path'`

/**
 * Own tables are found as always; then the ledger's, in whichever schema they are. What another
 * client's session has for a while is found last.
 * @throws Error when there are two ledgers
 */
export async function findSearchPath(query: Query): Promise<string> {
  const [ledgers, [own]] = await Promise.all([
    query<{ schema: string }>(SCHEMAS_OF_LEDGERS, [LEDGER_TABLES]),
    query<{ path: string }>(OWN_PATH),
  ])
  const schemas = ledgers.map(({ schema }) => `"${schema.replaceAll('"', '""')}"`)
  // guard: H31 a database has one ledger
  if (schemas.length > 1)
    throw new Error(
      `This database has tables of a ledger in several schemas: ${schemas.join(', ')}. Two ` +
        'ledgers would grant the same numbers. Nothing was changed. Keep the one that servers ' +
        'have used, and rename the tables hilo_… of the others, or drop them.',
    )
  return [...(own!.path ? [own!.path] : []), ...schemas, 'pg_temp'].join(', ')
}

/** A statement for the beginning of a transaction. */
export const setSearchPath = (path: string): string =>
  // guard: H31 every transaction finds the same ledger
  `SELECT set_config('search_path', '${path.replaceAll("'", "''")}', true)`

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
  await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK])
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
