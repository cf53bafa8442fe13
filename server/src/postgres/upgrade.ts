/**
 * Makes a PostgreSQL database's ledger tables, or brings them up to date, also if several processes
 * start at once. Refuses a standby, and a database that cannot store every name.
 */
import { isThere, type Query } from '../ledger/counter-port.js'
import { LedgerUnavailable, RowLocked } from '../ledger/errors.js'
import type { Secrets } from '../ledger/grant-token.js'
import {
  META_TABLE,
  type Opening,
  refuseMissing,
  SCHEMA,
  secretsIn,
  stepsFrom,
  versionOf,
} from '../sql/schema.js'
import { createMissing, findSearchPath, lockCreation, setSearchPath } from './place.js'
import type { PostgresPool, Waits } from './pool.js'

/**
 * While an upgrade waits for a table, claims wait behind it: it gives up before they do. So it does
 * not wait behind a dump, which keeps its locks for minutes.
 */
const UPGRADE: Waits = { lock: 250, statement: 600_000, answer: 610_000 }
const PAUSE_MS = 1_000

/**
 * Waits as long as others keep the tables locked, and says so once.
 * @returns what signs the grant tokens
 */
export async function upgradePostgres(
  pool: PostgresPool,
  place: string,
  opening: Opening,
): Promise<Secrets> {
  for (let isTold = false; ; isTold = true) {
    try {
      const secrets = await pool.transaction((query) => secretsOfNewest(query, opening))
      return secrets ?? (await pool.transaction((query) => upgrade(query, place, opening), UPGRADE))
    } catch (error) {
      if (!(error instanceof RowLocked)) throw error
      if (!isTold) process.emitWarning(LOCKED)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

const LOCKED =
  "The ledger's tables are made or upgraded once nobody else has locked them, as a dump or " +
  "another server's upgrade does. Claims go on meanwhile."

/** Undefined where there is something to do. A start waits for this no longer than a claim. */
async function secretsOfNewest(query: Query, opening: Opening): Promise<Secrets | undefined> {
  await refuseStandby(query)
  if (!(await isThere(query, 'hilo_meta'))) return undefined
  const meta = await readMeta(query)
  const version = Number(meta.get('version') ?? 0)
  return stepsFrom(version, opening.schema).length > 0
    ? undefined
    : secretsIn(version, meta.get('secret'), opening)
}

async function upgrade(query: Query, place: string, opening: Opening): Promise<Secrets> {
  const { create, schema = SCHEMA } = opening
  await refuseStandby(query)
  const [server] = await query<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding",
  )
  if (server!.encoding !== 'UTF8')
    throw new Error(
      `The database has the encoding ${server!.encoding}, which cannot store every ` +
        "collection's name. Create one for the ledger: " +
        "CREATE DATABASE hilo ENCODING 'UTF8' TEMPLATE template0.",
    )
  await requireOneLedger(query)
  // A role that may not make tables hears the same.
  if (!(await isThere(query, 'hilo_meta'))) refuseMissing(undefined, place, create)
  await createMissing(query, 'hilo_meta', META_TABLE)
  const meta = await readMeta(query)
  const found = meta.get('version')
  refuseMissing(found, place, create)
  const version = Number(found ?? 0)
  const steps = stepsFrom(version, schema)
  const secrets = secretsIn(version, meta.get('secret'), opening)
  if (steps.length === 0) return secrets
  if (version > 0) await lockTables(query)
  for (const statement of steps) await query(statement)
  await query(
    'INSERT INTO hilo_meta (key, value) VALUES ($1, $2), ($3, $4) ON CONFLICT (key) DO ' +
      'UPDATE SET value = excluded.value',
    ['version', String(versionOf(schema)), 'secret', secrets.kept],
  )
  return secrets
}

async function readMeta(query: Query): Promise<Map<string, string>> {
  const rows = await query<{ key: string; value: string }>(
    "SELECT key, value FROM hilo_meta WHERE key IN ('version', 'secret')",
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** Of two roles that start at once, the second finds what the first has made. */
async function requireOneLedger(query: Query): Promise<void> {
  await lockCreation(query)
  await query(setSearchPath(await findSearchPath(query)))
}

/** @throws LedgerUnavailable when the database cannot be written to */
export async function refuseStandby(query: Query): Promise<void> {
  const [server] = await query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  if (server!.standby)
    throw new LedgerUnavailable(
      'The database is a standby, which cannot grant numbers or move a counter. Point ' +
        '--database-url at the primary (or at an address that follows it).',
    )
}

/** In the order in which running servers lock them, so that they and an upgrade do not deadlock. */
async function lockTables(query: Query): Promise<void> {
  for (const table of ['hilo_counters', 'hilo_identities', 'hilo_grants', 'hilo_identity_claims'])
    await query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
}

/**
 * Writes nothing.
 * @returns the version of the ledger's tables; undefined where there is no ledger
 */
export async function readPostgresVersion(pool: PostgresPool): Promise<number | undefined> {
  if (!(await isThere(pool.query, 'hilo_meta'))) return undefined
  const [row] = await pool.query<{ value: string }>(
    "SELECT value FROM hilo_meta WHERE key = 'version'",
  )
  return Number(row?.value ?? 0)
}
