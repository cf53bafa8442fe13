/**
 * The ledger's tables, in SQL that SQLite and PostgreSQL both read. Their names begin with `hilo_`,
 * so that they can live in an application's database. Guarantees that no stored number passes
 * 2^53−1, whoever writes it. Once a version was released, its upgrade is never edited.
 */
import { newSecret } from './grant-token.js'
import { MAX_NUMBER } from './number-line.js'

const NUMBER = (name: string) =>
  `${name} BIGINT NOT NULL CHECK (${name} BETWEEN 0 AND ${MAX_NUMBER})`

/** What a ledger's database has. */
export interface Schema {
  /** Makes the tables of a new ledger, as the newest version has them. */
  tables: readonly string[]
  /**
   * The first brings the tables from version 1 to 2, and so on. Servers of the version before go
   * on meanwhile, and after it: a statement names every column that it reads or writes.
   */
  upgrades: readonly (readonly string[])[]
}

export const SCHEMA: Schema = {
  tables: [
    // `free` and `fresh` are JSON, [[low, high], …]: they change only together with `max`.
    `CREATE TABLE hilo_counters (
      database TEXT NOT NULL, tag TEXT NOT NULL,
      ${NUMBER('max')}, ${NUMBER('peak')}, ${NUMBER('floor')},
      free TEXT NOT NULL, fresh TEXT NOT NULL, version BIGINT NOT NULL, ${NUMBER('serial')},
      ${NUMBER('forgotten')}, ${NUMBER('grants')}, ${NUMBER('outstanding')},
      last_claim BIGINT, dropped_at BIGINT, PRIMARY KEY (database, tag))`,
    `CREATE TABLE hilo_grants (
      id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL, claim TEXT,
      ${NUMBER('low')}, ${NUMBER('high')}, ${NUMBER('first_high')}, ${NUMBER('issued')},
      ${NUMBER('count')}, server_tag TEXT NOT NULL, granted_at BIGINT NOT NULL,
      rotation BIGINT NOT NULL, ${NUMBER('serial')}, check_in TEXT, heard_at BIGINT NOT NULL,
      UNIQUE (database, tag, claim), UNIQUE (database, tag, serial))`,
    'CREATE INDEX hilo_grants_held ON hilo_grants (database, tag, low) WHERE high >= low',
    'CREATE INDEX hilo_grants_done ON hilo_grants (heard_at) WHERE issued >= high',
    'CREATE INDEX hilo_grants_open ON hilo_grants (heard_at) WHERE issued < high',
    // What is left of a grant of which nothing was heard for so long that it counts as issued.
    `CREATE TABLE hilo_unheard (
      id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL, ${NUMBER('high')},
      ${NUMBER('serial')}, rotation BIGINT NOT NULL, check_in TEXT)`,
    // Returns without a token, each honoured once.
    `CREATE TABLE hilo_returns (
      database TEXT NOT NULL, tag TEXT NOT NULL, ${NUMBER('range_end')}, ${NUMBER('range_last')},
      returned_at BIGINT NOT NULL, PRIMARY KEY (database, tag, range_end, range_last))`,
    'CREATE INDEX hilo_returns_returned_at ON hilo_returns (returned_at)',
    `CREATE TABLE hilo_identities (
      database TEXT NOT NULL, name TEXT NOT NULL, ${NUMBER('value')}, ${NUMBER('peak')},
      dropped_at BIGINT, PRIMARY KEY (database, name))`,
    `CREATE TABLE hilo_identity_claims (
      database TEXT NOT NULL, name TEXT NOT NULL, claim TEXT NOT NULL, ${NUMBER('value')},
      claimed_at BIGINT NOT NULL, PRIMARY KEY (database, name, claim))`,
    'CREATE INDEX hilo_identity_claims_claimed_at ON hilo_identity_claims (claimed_at)',
    `CREATE TABLE hilo_series (
      grant_id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL,
      ${NUMBER('letter')}, device TEXT NOT NULL, ${NUMBER('last')},
      registered_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
      closed_at BIGINT, closed_by TEXT, reason TEXT, doubtful_from BIGINT, doubtful_to BIGINT,
      UNIQUE (database, tag, letter))`,
    // Of a region: what it holds of its root. `set_aside` is a record that could not be read.
    'CREATE TABLE hilo_devices (key TEXT PRIMARY KEY, state TEXT NOT NULL, set_aside TEXT)',
  ],
  upgrades: [],
}

/** What a SQLite ledger's file is called in its data folder. */
export const SQLITE_FILE = 'hilo.db'

/** Created before any other. It holds the schema's `version` and the tokens' `secret`. */
export const META_TABLE =
  'CREATE TABLE IF NOT EXISTS hilo_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)'

/** The row that `/healthz` writes, to find out whether the ledger can be written to. */
export const HEALTH_KEY = 'health'

/** @throws Error when the database has yet to be upgraded: only the server does that */
export function refuseOlder(version: number): void {
  if (stepsFrom(version).length > 0)
    throw new Error(
      'An older offline-hilo-server keeps this ledger, and this command upgrades nothing. Start ' +
        'a server of this version, or use the command of the older one.',
    )
}

/**
 * The secret of the grant tokens; of a new ledger a new one.
 * @throws Error when a ledger has lost its own: no token could prove that it is an older copy
 */
export function secretFrom(version: number, secret: string | undefined): string {
  // guard: H20 a ledger without its secret does not start
  if (version > 0 && secret === undefined)
    throw new Error(
      'The ledger has lost its secret, without which no device can show that the ledger was ' +
        "restored from a backup. Put the row 'secret' of hilo_meta back from a backup that has " +
        'it. If there is none: add the row with a random text, then raise all floors before the ' +
        'server starts: offline-hilo-server raise-floor <database> --all --by <numbers>.',
    )
  return secret ?? newSecret()
}

export const versionOf = ({ upgrades }: Schema): number => 1 + upgrades.length

/**
 * Statements that bring a database to the newest version.
 * @param version of the database; 0: it has no tables yet
 * @throws Error when this program is older than the database
 */
export function stepsFrom(version: number, schema = SCHEMA): readonly string[] {
  const newest = versionOf(schema)
  if (version > newest)
    throw new Error(
      `The ledger has schema version ${version}, this program knows up to ${newest}. ` +
        'A newer offline-hilo has upgraded it: start that version here too.',
    )
  return version === 0 ? schema.tables : schema.upgrades.slice(version - 1).flat()
}
