/**
 * The ledger's tables, in SQL that SQLite and PostgreSQL both read. Their names begin with `hilo_`,
 * so that they can live in an application's database. Guarantees that no stored number passes
 * 2^53−1, whoever writes it. Never edit a migration that was released: append one.
 */
import { newSecret } from './grant-token.js'
import { MAX_NUMBER } from './number-line.js'

const NUMBER = (name: string) =>
  `${name} BIGINT NOT NULL CHECK (${name} BETWEEN 0 AND ${MAX_NUMBER})`

/**
 * Migration n brings the schema from version n to n + 1; each is a list of statements run in one
 * transaction.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    // `free` is JSON, [[low, high], …]: it changes only together with `max`, in the same row.
    `CREATE TABLE hilo_counters (
      database TEXT NOT NULL, tag TEXT NOT NULL,
      ${NUMBER('max')}, ${NUMBER('peak')}, ${NUMBER('floor')},
      free TEXT NOT NULL, version BIGINT NOT NULL,
      PRIMARY KEY (database, tag))`,
    // Nothing reads or writes `holder` any more. It stays, with its index, because a server of an
    // earlier version on the same database writes it.
    `CREATE TABLE hilo_grants (
      id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL, claim TEXT,
      ${NUMBER('low')}, ${NUMBER('high')}, ${NUMBER('first_high')}, ${NUMBER('issued')},
      ${NUMBER('count')}, server_tag TEXT NOT NULL, granted_at BIGINT NOT NULL,
      rotation BIGINT NOT NULL, check_in TEXT, holder TEXT, UNIQUE (database, tag, claim))`,
    'CREATE INDEX hilo_grants_held ON hilo_grants (database, tag, low) WHERE high >= low',
    'CREATE INDEX hilo_grants_settled ON hilo_grants (granted_at) WHERE high < low',
    `CREATE INDEX hilo_grants_holder ON hilo_grants (holder, database, tag)
     WHERE holder IS NOT NULL`,
    // Returns without a token, each honoured once.
    `CREATE TABLE hilo_returns (
      database TEXT NOT NULL, tag TEXT NOT NULL, ${NUMBER('range_end')}, ${NUMBER('range_last')},
      returned_at BIGINT NOT NULL, PRIMARY KEY (database, tag, range_end, range_last))`,
    'CREATE INDEX hilo_returns_returned_at ON hilo_returns (returned_at)',
  ],
  [
    `CREATE TABLE hilo_identities (
      database TEXT NOT NULL, name TEXT NOT NULL, ${NUMBER('value')}, ${NUMBER('peak')},
      PRIMARY KEY (database, name))`,
    `CREATE TABLE hilo_identity_claims (
      database TEXT NOT NULL, name TEXT NOT NULL, claim TEXT NOT NULL, ${NUMBER('value')},
      PRIMARY KEY (database, name, claim))`,
  ],
  [
    // Those that are there already are as old as this step.
    `ALTER TABLE hilo_identity_claims ADD COLUMN claimed_at BIGINT NOT NULL DEFAULT ${Date.now()}`,
    'CREATE INDEX hilo_identity_claims_claimed_at ON hilo_identity_claims (claimed_at)',
  ],
  [
    // 0: granted by a version that did not count grants.
    'ALTER TABLE hilo_counters ADD COLUMN serial BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE hilo_grants ADD COLUMN serial BIGINT NOT NULL DEFAULT 0',
    `CREATE UNIQUE INDEX hilo_grants_serial ON hilo_grants (database, tag, serial)
     WHERE serial > 0`,
  ],
  [
    `CREATE TABLE hilo_series (
      grant_id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL,
      ${NUMBER('letter')}, device TEXT NOT NULL, ${NUMBER('last')},
      registered_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
      closed_at BIGINT, closed_by TEXT, reason TEXT, doubtful_from BIGINT, doubtful_to BIGINT,
      UNIQUE (database, tag, letter))`,
  ],
  [
    // Of the grants that are there, something is heard now; older servers say nothing of it.
    `ALTER TABLE hilo_grants ADD COLUMN heard_at BIGINT NOT NULL DEFAULT ${Date.now()}`,
    `UPDATE hilo_grants SET heard_at = ${MAX_NUMBER}
     WHERE id IN (SELECT grant_id FROM hilo_series)`,
    'CREATE INDEX hilo_grants_done ON hilo_grants (heard_at) WHERE issued >= high',
    'CREATE INDEX hilo_grants_open ON hilo_grants (heard_at) WHERE issued < high',
    'DROP INDEX hilo_grants_settled',
    // What is left of a grant of which nothing was heard for so long that it counts as issued.
    `CREATE TABLE hilo_unheard (
      id TEXT PRIMARY KEY, database TEXT NOT NULL, tag TEXT NOT NULL, ${NUMBER('high')},
      serial BIGINT NOT NULL, rotation BIGINT NOT NULL, check_in TEXT)`,
    // Without a check: a server of an earlier version on the same database does not count.
    'ALTER TABLE hilo_counters ADD COLUMN forgotten BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE hilo_counters ADD COLUMN grants BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE hilo_counters ADD COLUMN outstanding BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE hilo_counters ADD COLUMN last_claim BIGINT',
    `UPDATE hilo_counters SET (grants, outstanding, last_claim) = (
       SELECT count(*), CAST(coalesce(sum(g.high - g.low + 1), 0) AS BIGINT), max(g.granted_at)
       FROM hilo_grants g
       WHERE g.database = hilo_counters.database AND g.tag = hilo_counters.tag)`,
  ],
  [
    // Of a region: what it holds of its root. `set_aside` is a record that could not be read.
    `CREATE TABLE hilo_devices (
      key TEXT PRIMARY KEY, state TEXT NOT NULL, set_aside TEXT)`,
  ],
  [
    // A row that was dropped is a mark: no number of before is ever granted again.
    'ALTER TABLE hilo_counters ADD COLUMN dropped_at BIGINT',
    'ALTER TABLE hilo_identities ADD COLUMN dropped_at BIGINT',
  ],
  [
    // As `free`. A server of an earlier version leaves it alone, also when it raises the floor.
    `ALTER TABLE hilo_counters ADD COLUMN fresh TEXT NOT NULL DEFAULT '[]'`,
  ],
]

/** What a SQLite ledger's file is called in its data folder. */
export const SQLITE_FILE = 'hilo.db'

/** Created before any migration. It holds the schema's `version` and the tokens' `secret`. */
export const META_TABLE =
  'CREATE TABLE IF NOT EXISTS hilo_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)'

/** The row that `/healthz` writes, to find out whether the ledger can be written to. */
export const HEALTH_KEY = 'health'

/** @throws Error when the database has yet to be upgraded: only the server does that */
export function refuseOlder(version: number): void {
  if (migrationsFrom(version).length > 0)
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

/** @throws Error when this program is older than the database */
export function migrationsFrom(version: number): readonly string[] {
  if (version > MIGRATIONS.length)
    throw new Error(
      `The ledger has schema version ${version}, this program knows up to ${MIGRATIONS.length}. ` +
        'A newer offline-hilo has upgraded it: start that version here too.',
    )
  return MIGRATIONS.slice(version).flat()
}
