/**
 * Where a ledger is in PostgreSQL: its address, its schema, its tables. Guarantees that there is
 * one ledger in a database, and that every role finds it. The schema is looked for once, when the
 * process starts; from then on each statement names it. An address leads to one server: one that
 * chose among several could take an old primary for the right one.
 */
import { isThere, type Query, type Schemas } from '../ledger/counter-port.js'
import { LEDGER_TABLES } from '../sql/schema.js'
import type { Naming } from '../sql/tables.js'

const SCHEMAS_OF_LEDGERS = `
  SELECT DISTINCT n.nspname AS "schema" FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' ORDER BY 1`
/** Another client of the same pooler may have left a path in the session. */
// guard: H31 a path that others left in a session decides nothing
const SET_OWN_PATH = 'SET LOCAL search_path TO DEFAULT'
/** Without the schemas of temporary tables and of the system. */
const OWN_PATH = `
  SELECT schema AS "schema"
  FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS path (schema, place)
  WHERE NOT pg_catalog.starts_with(schema::text, 'pg_') ORDER BY place`

/**
 * For one transaction at the start. Statements do not depend on the path that it sets.
 * @throws Error when there are two ledgers
 */
export async function findSchemas(query: Query): Promise<Schemas> {
  const [ledgers, , own] = await Promise.all([
    query<{ schema: string }>(SCHEMAS_OF_LEDGERS, [LEDGER_TABLES]),
    query(SET_OWN_PATH),
    query<{ schema: string }>(OWN_PATH),
  ])
  // guard: H31 a database has one ledger
  if (ledgers.length > 1)
    throw new Error(
      'This database has tables of a ledger in several schemas: ' +
        `${ledgers.map(({ schema }) => identifier(schema)).join(', ')}. Two ` +
        'ledgers would grant the same numbers. Nothing was changed. Keep the one that servers ' +
        'have used, and rename the tables hilo_… of the others, or drop them.',
    )
  const [ledger] = ledgers
  return {
    ledger: ledger && identifier(ledger.schema),
    path: [...new Set([...own, ...ledgers].map(({ schema }) => schema))],
  }
}

/**
 * The schema of a new ledger, as of any new table of this role.
 * @throws Error when the role has none
 */
export function schemaForNew({ path: [own] }: Schemas): string {
  if (own === undefined)
    throw new Error(
      "No schema of this role's search_path is there, so there is no place for the ledger's " +
        'tables. Make one and let the role use it: CREATE SCHEMA hilo AUTHORIZATION <role>; ' +
        'ALTER ROLE <role> SET search_path = hilo.',
    )
  return identifier(own)
}

/** How PostgreSQL names the tables of the ledger in this schema. */
export const namingIn = (schema: string): Naming => ({
  schema,
  index: (index, table) => `${index} ON ${schema}.${table}`,
})

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

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
