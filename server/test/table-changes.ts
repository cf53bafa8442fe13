/** What may be done to the tables of a ledger, each of which its next start refuses. */

/** A table of the same rows, and without the keys and checks. */
const copied = (table: string): string =>
  `ALTER TABLE ${table} RENAME TO before_it; CREATE TABLE ${table} AS SELECT * FROM before_it`
/** The rows are elsewhere, and are only seen here. */
const seen = (table: string): string =>
  `ALTER TABLE ${table} RENAME TO before_it; CREATE VIEW ${table} AS SELECT * FROM before_it`

/** What was done to the tables, and what the start says of it. */
export type Change = readonly [done: string, says: string]

export const OF_BOTH: readonly Change[] = [
  ['DROP TABLE hilo_grants', 'hilo_grants is not there'],
  ['DROP TABLE hilo_meta', 'hilo_meta is not there'],
  ['ALTER TABLE hilo_grants RENAME TO grants', 'hilo_grants is not there'],
  [
    'ALTER TABLE hilo_collections DROP COLUMN last_claim',
    'hilo_collections lacks last_claim BIGINT',
  ],
  [copied('hilo_names'), 'hilo_names lacks'],
  [copied('hilo_collections'), 'hilo_collections lacks'],
  [seen('hilo_collections'), 'hilo_collections is a view'],
  [seen('hilo_meta'), 'hilo_meta is a view'],
  ["DELETE FROM hilo_meta WHERE key = 'version'", "has no row 'version'"],
  ['DELETE FROM hilo_meta', "has no row 'version'"],
  ["UPDATE hilo_meta SET value = 'one' WHERE key = 'version'", "'one' in its row 'version'"],
  ["UPDATE hilo_meta SET value = '' WHERE key = 'version'", "'' in its row 'version'"],
  ["UPDATE hilo_meta SET value = '0' WHERE key = 'version'", "'0' in its row 'version'"],
]

/** Of a file, and of the SQLite in a Durable Object. */
export const OF_SQLITE: readonly Change[] = [
  ...OF_BOTH,
  [
    `CREATE TRIGGER audit BEFORE UPDATE ON hilo_collections
       BEGIN SELECT RAISE(IGNORE); END`,
    'hilo_collections has the trigger audit',
  ],
  [
    `CREATE TRIGGER audit AFTER INSERT ON hilo_meta BEGIN DELETE FROM hilo_meta; END`,
    'hilo_meta has the trigger audit',
  ],
  [
    `DROP TABLE hilo_devices; CREATE TABLE hilo_devices
       (key TEXT NOT NULL, state TEXT NOT NULL, set_aside TEXT)`,
    'hilo_devices lacks UNIQUE (key)',
  ],
  [
    `DROP TABLE hilo_devices; CREATE TABLE hilo_devices
       (key TEXT NOT NULL, state TEXT NOT NULL, set_aside TEXT);
     CREATE UNIQUE INDEX some ON hilo_devices (key) WHERE set_aside IS NULL`,
    'hilo_devices lacks UNIQUE (key)',
  ],
  [
    `DROP TABLE hilo_identities; CREATE TABLE hilo_identities
       (database TEXT NOT NULL, name TEXT NOT NULL, value BIGINT NOT NULL,
        high_water BIGINT NOT NULL, dropped_at BIGINT, PRIMARY KEY (database, name))`,
    'hilo_identities lacks CHECK (value), CHECK (high_water)',
  ],
  [
    `DROP TABLE hilo_devices;
     CREATE VIRTUAL TABLE hilo_devices USING fts5(key, state, set_aside)`,
    'hilo_devices is a virtual table',
  ],
]
