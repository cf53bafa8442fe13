/**
 * Makes a PostgreSQL database's ledger tables, or brings them up to date, also if several processes
 * start at once. Refuses a standby, and a database that cannot store every name.
 */
import type { Query, Schemas } from '../../ledger/counter-port.js'
import { LedgerUnavailable, RowLocked } from '../../ledger/ledger-errors.js'
import { NAME, putSetting } from '../../sql/meta.js'
import {
  type Identity,
  isOlder,
  metaTable,
  nameIn,
  type Opening,
  refuseMissing,
  SCHEMA,
  secretsIn,
  stepsFrom,
  versionOf,
} from '../../sql/schema.js'
import { type FoundTable, refuseChanged, versionIn } from '../../sql/shape.js'
import { META } from '../../sql/tables.js'
import type { PostgresPool, Waits } from './pool.js'
import { lockCreation } from './postgres-address.js'
import { tablesIn } from './postgres-shape.js'
import {
  findLedger,
  findOwnPath,
  findSchemas,
  namingIn,
  schemaForNew,
  schemasWith,
} from './schemas.js'

/**
 * While an upgrade waits for a table, claims wait behind it: it gives up before they do. So it does
 * not wait behind a dump, which keeps its locks for minutes.
 */
const UPGRADE: Waits = { lock: 250, statement: 600_000, answer: 610_000 }
const PAUSE_MS = 1_000

export type LedgerSchemas = Schemas & { ledger: string }

/** A ledger of the newest version. */
interface Newest extends Identity {
  schemas: LedgerSchemas
}

/** Waits as long as others keep the tables locked, and says so once. */
export async function upgradePostgres(
  pool: PostgresPool,
  place: string,
  opening: Opening,
): Promise<Newest> {
  const path = await findOwnPath(pool)
  for (let isTold = false; ; isTold = true) {
    try {
      const newest = await pool.transaction((query) => findNewest(query, path, opening))
      if (newest) return newest
      return await pool.transaction((query) => upgrade(query, path, place, opening), UPGRADE)
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
async function findNewest(
  query: Query,
  path: readonly string[],
  opening: Opening,
): Promise<Newest | undefined> {
  await refuseStandby(query)
  const found = await findLedger(query)
  if (found === undefined) return undefined
  const schemas = schemasWith(found, path)
  const { version, tables, meta } = await readState(query, schemas.ledger)
  if (version === undefined || isOlder(version, opening.schema)) return undefined
  refuseChanged(tables)
  const identity = identityIn(version, meta, opening)
  // guard: H22 a ledger knows of a secret outside of it before a server signs with it
  if (identity.secrets.kept !== meta.get('secret')) return undefined
  return { ...identity, schemas }
}

const identityIn = (
  version: number,
  meta: ReadonlyMap<string, string>,
  opening: Opening,
): Identity => ({
  secrets: secretsIn(version, meta.get('secret'), opening),
  name: nameIn(version, meta.get(NAME)),
  version: versionOf(opening.schema ?? SCHEMA),
})

async function upgrade(
  query: Query,
  path: readonly string[],
  place: string,
  opening: Opening,
): Promise<Newest> {
  const { create, schema = SCHEMA } = opening
  await refuseStandby(query)
  const [server] = await query<{ encoding: string }>(
    "SELECT pg_catalog.current_setting('server_encoding') AS encoding",
  )
  if (server!.encoding !== 'UTF8')
    throw new Error(
      `The database has the encoding ${server!.encoding}, which cannot store every ` +
        "collection's name. Create one for the ledger: " +
        "CREATE DATABASE hilo ENCODING 'UTF8' TEMPLATE template0.",
    )
  // Of two roles that start at once, the second finds the tables of the first.
  await lockCreation(query)
  const found = await findLedger(query)
  if (found === undefined) refuseMissing(found, place, create)
  const schemas = schemasWith(found ?? schemaForNew(path), path)
  const { ledger } = schemas
  const { version: stored, meta } = await readState(query, ledger)
  // A role that may not make tables hears the same.
  refuseMissing(stored, place, create)
  const version = stored ?? 0
  const newest = { ...identityIn(version, meta, opening), schemas }
  if (isOlder(version, schema)) {
    if (version > 0) await lockTables(query, ledger)
    else await query(metaTable(ledger))
    for (const statement of stepsFrom(version, namingIn(ledger), schema)) await query(statement)
  }
  refuseChanged(await tablesIn(query, ledger))
  await query(putSetting(ledger), ['version', String(versionOf(schema))])
  await query(putSetting(ledger), ['secret', newest.secrets.kept])
  await query(putSetting(ledger), [NAME, newest.name])
  return newest
}

interface State {
  /** Undefined: there is no ledger. */
  version: number | undefined
  tables: readonly FoundTable[]
  /** Its settings. */
  meta: ReadonlyMap<string, string>
}

/** @throws LedgerTablesChanged where the version of tables is lost */
async function readState(query: Query, ledger: string): Promise<State> {
  const tables = await tablesIn(query, ledger)
  const rows = tables.some(({ name }) => name === META.name)
    ? await query<{ key: string; value: string }>(
        `SELECT key, value FROM ${ledger}.hilo_meta WHERE key IN ('version', 'secret', '${NAME}')`,
      )
    : []
  const meta = new Map(rows.map(({ key, value }) => [key, value]))
  const isEmpty = tables.every(({ name }) => name === META.name)
  return { version: versionIn(meta.get('version'), isEmpty), tables, meta }
}

/** @throws LedgerUnavailable when the database cannot be written to */
export async function refuseStandby(query: Query): Promise<void> {
  const [server] = await query<{ standby: boolean }>(
    'SELECT pg_catalog.pg_is_in_recovery() AS standby',
  )
  if (server!.standby)
    throw new LedgerUnavailable(
      'The database is a standby, which cannot grant numbers or move a counter. Point ' +
        '--database-url at the primary (or at an address that follows it).',
    )
}

/**
 * In the order in which running servers lock them, so that they and an upgrade do not deadlock. A
 * transaction that has read the version before an upgrade is over before it.
 */
async function lockTables(query: Query, ledger: string): Promise<void> {
  for (const table of [
    META.name,
    'hilo_collections',
    'hilo_identities',
    'hilo_grants',
    'hilo_identity_claims',
  ])
    await query(`LOCK TABLE ${ledger}.${table} IN ACCESS EXCLUSIVE MODE`)
}

/**
 * Writes nothing.
 * @returns the version of the ledger's tables; undefined where there is no ledger
 */
export async function readPostgresVersion(pool: PostgresPool): Promise<number | undefined> {
  const { ledger } = await findSchemas(pool)
  if (ledger === undefined) return undefined
  return (await pool.transaction((query) => readState(query, ledger))).version
}
