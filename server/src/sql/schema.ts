/**
 * The versions of the ledger's tables. Their names begin with `hilo_`, so that they can live in an
 * application's database. Guarantees that an older program does not touch a newer database. Once a
 * version was released, its upgrade is never edited.
 */

import { type Secrets, secretsOf } from '../ledger/grant-token.js'
import { LedgerMissing } from '../ledger/ledger-errors.js'
import { newLedgerName } from '../ledger/name.js'
import { NAME, putSetting } from './meta.js'
import { LEDGER_TABLES, refuseChanged, versionIn } from './shape.js'
import { tablesIn } from './sqlite-shape.js'
import { type Run, SQLITE, statement } from './statements.js'
import { creationOf, META, type Naming, TABLES } from './tables.js'

/** The state of a ledger's database. */
export interface Schema {
  /** Makes the tables of a new ledger, as the newest version has them. */
  tables(naming: Naming): readonly string[]
  /**
   * The first brings the tables from version 1 to 2, and so on. Servers of the version before go
   * on meanwhile, and after it: a statement names every column that it reads or writes. A change
   * that they would misread takes two versions: beyond the next one they grant nothing.
   */
  upgrades: readonly ((naming: Naming) => readonly string[])[]
}

export const SCHEMA: Schema = {
  tables: (naming) => TABLES.flatMap((table) => creationOf(naming, table)),
  upgrades: [],
}

/** The name of a SQLite ledger's file in its data folder. */
export const SQLITE_FILE = 'hilo.db'

/** Created before any other. It holds the schema's `version`, the `name`, and the `secret`. */
export const metaTable = (schema: string): string =>
  `CREATE TABLE IF NOT EXISTS ${schema}.hilo_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)`

/** The row that `/healthz` writes, to find out whether the ledger can be written to. */
export const HEALTH_KEY = 'health'

/** Others know a ledger by these. */
export interface Identity {
  /** The secrets that sign its grant tokens. */
  secrets: Secrets
  /** Its public name. */
  name: string
  /** Of its tables, as this program knows them. */
  version: number
}

/** How a ledger is opened. */
export interface Opening {
  /** Makes the ledger where there is none. Default false. */
  create?: boolean
  /** Secrets that an operator keeps outside, to sign its grant tokens; the newest first. */
  secrets?: readonly string[] | undefined
  schema?: Schema
}

/**
 * @param version of the ledger's tables; undefined: there is no ledger
 * @throws LedgerMissing unless somebody says that one is to be made
 */
export function refuseMissing(version: number | undefined, place: string, create = false): void {
  // guard: H31 a ledger is made only when somebody says so
  if (version === undefined && !create)
    throw new LedgerMissing(
      `There is no ledger in ${place}, and none was made: a new one begins at 1, and would grant ` +
        'what another one has granted. If a ledger should be there, correct the place, mount its ' +
        'volume, or restore its backup. If a new one is to begin there, run npx ' +
        'offline-hilo-server init once, with the same settings (in your own server: ' +
        'create: true).',
    )
}

/** @throws Error when the database has yet to be upgraded: only the server does that */
export function refuseOlder(version = 0): void {
  if (isOlder(version))
    throw new Error(
      'An older offline-hilo-server keeps this ledger, and this command upgrades nothing. Start ' +
        'a server of this version, or use the command of the older one.',
    )
}

/**
 * The secrets that sign the grant tokens; of a new ledger a new one.
 * @param kept as the ledger has them
 * @throws Error when a ledger has lost its own: no token could prove that it is an older copy
 */
export function secretsIn(
  version: number,
  kept: string | undefined,
  { secrets }: Opening,
): Secrets {
  // guard: H20 a ledger without its secret does not start
  if (version > 0 && kept === undefined)
    throw new Error(
      'The ledger has lost its secret, without which no device can show that the ledger was ' +
        "restored from a backup. Put the row 'secret' of hilo_meta back from a backup that has " +
        'it. If there is none: add the row with a random text, then raise all floors before the ' +
        'server starts: npx offline-hilo-server raise-floor <database> --all --by <numbers>.',
    )
  return secretsOf(kept, secrets)
}

/**
 * The ledger's public name; of a new ledger a new one.
 * @throws Error when a ledger has lost it: under a new one, all devices would stop
 */
export function nameIn(version: number, kept: string | undefined): string {
  // guard: H34 a ledger without its name does not start
  if (version > 0 && kept === undefined)
    throw new Error(
      'The ledger has lost its name, by which devices know it again. Put the row ' +
        `'${NAME}' of hilo_meta back from a backup that has it. A device's message says the ` +
        'name, too, when another ledger answers.',
    )
  return kept ?? newLedgerName()
}

export const versionOf = ({ upgrades }: Schema): number => 1 + upgrades.length

/**
 * Is the database older than this program? 0: it has no tables yet.
 * @throws Error when it is newer
 */
export function isOlder(version: number, schema = SCHEMA): boolean {
  const newest = versionOf(schema)
  if (version > newest)
    throw new Error(
      `The ledger has schema version ${version}, this program knows up to ${newest}. ` +
        'A newer offline-hilo has upgraded it: start that version here too.',
    )
  return version < newest
}

/** Statements that bring an older database to the newest version. */
export const stepsFrom = (
  version: number,
  naming: Naming,
  { tables, upgrades }: Schema,
): readonly string[] =>
  version === 0 ? tables(naming) : upgrades.slice(version - 1).flatMap((upgrade) => upgrade(naming))

const PUT_SETTING = putSetting(SQLITE.schema)
const READ_SETTING = `SELECT value FROM ${SQLITE.schema}.hilo_meta WHERE key = $1`
const FIND_TABLES = `SELECT name FROM ${SQLITE.schema}.sqlite_master
  WHERE name IN (${LEDGER_TABLES.map((name) => `'${name}'`)})`

/** @throws LedgerTablesChanged where the version of tables is lost */
export function readVersion(run: Run): number | undefined {
  const names = run<{ name: string }>(statement(FIND_TABLES)).map(({ name }) => name)
  const stored = names.includes(META.name) ? readSetting(run, 'version') : undefined
  return versionIn(
    stored,
    names.every((name) => name === META.name),
  )
}

export const readSetting = (run: Run, key: string): string | undefined =>
  run<{ value: string }>(statement(READ_SETTING, key))[0]?.value

/**
 * Brings a ledger in SQLite up to date, in the caller's transaction.
 * @param place for people
 * @returns the secrets that sign its grant tokens, and its name
 */
export function upgradeSqlite(run: Run, place: string, opening: Opening): Identity {
  const { create, schema = SCHEMA } = opening
  const found = readVersion(run)
  refuseMissing(found, place, create)
  const version = found ?? 0
  run(statement(metaTable(SQLITE.schema)))
  if (isOlder(version, schema))
    for (const step of stepsFrom(version, SQLITE, schema)) run(statement(step))
  refuseChanged(tablesIn(run))
  run(statement(PUT_SETTING, 'version', String(versionOf(schema))))
  const secrets = secretsIn(version, readSetting(run, 'secret'), opening)
  run(statement(PUT_SETTING, 'secret', secrets.kept))
  const name = nameIn(version, readSetting(run, NAME))
  run(statement(PUT_SETTING, NAME, name))
  return { secrets, name, version: versionOf(schema) }
}

export const writeHealth = (run: Run): unknown =>
  run(statement(PUT_SETTING, HEALTH_KEY, new Date().toISOString()))
