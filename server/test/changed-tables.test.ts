/**
 * The ledger's tables are whole, and nothing stands between them and the server: a start on others
 * is refused before a number leaves, and a server under which they change says so.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createHiloHandler, openLedger } from '../src/index.js'
import { newFolder, runIn } from './folders.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'
import { type Change, OF_BOTH, OF_SQLITE } from './table-changes.js'

const WISH = { database: 'Shop', collection: 'orders', count: 32, lastMax: 0, serverTag: 'A' }

describe('a start on changed tables of PostgreSQL is refused', () => {
  const trigger = `CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER audit BEFORE UPDATE ON hilo_collections
      FOR EACH ROW EXECUTE FUNCTION nothing();`

  test.each<Change>([
    ...OF_BOTH,
    ['ALTER TABLE hilo_grants SET UNLOGGED', 'hilo_grants is UNLOGGED'],
    ['ALTER TABLE hilo_meta SET UNLOGGED', 'hilo_meta is UNLOGGED'],
    [trigger, 'hilo_collections has the trigger audit'],
    [`${trigger} ALTER TABLE hilo_collections ENABLE REPLICA TRIGGER audit`, 'the trigger audit'],
    [
      'CREATE RULE quiet AS ON UPDATE TO hilo_meta DO INSTEAD NOTHING',
      'hilo_meta has the rule quiet',
    ],
    [
      `DROP TABLE hilo_returns; CREATE TABLE hilo_returns (database TEXT NOT NULL,
         collection TEXT NOT NULL, range_end BIGINT NOT NULL, range_last BIGINT NOT NULL,
         returned_at BIGINT NOT NULL, PRIMARY KEY (database, collection, range_end, range_last))
       PARTITION BY HASH (database)`,
      'hilo_returns is partitioned',
    ],
    ['CREATE TABLE more () INHERITS (hilo_grants)', 'hilo_grants shares rows with other tables'],
    [
      'ALTER TABLE hilo_collections DROP CONSTRAINT hilo_collections_pkey',
      'hilo_collections lacks UNIQUE (collection, database)',
    ],
    ['ALTER TABLE hilo_meta DROP CONSTRAINT hilo_meta_pkey', 'hilo_meta lacks UNIQUE (key)'],
    [
      `ALTER TABLE hilo_grants DROP CONSTRAINT hilo_grants_claim_database_collection_key;
       CREATE UNIQUE INDEX ON hilo_grants (claim, database, collection) WHERE low > 0`,
      'hilo_grants lacks UNIQUE (claim, collection, database)',
    ],
    [
      `ALTER TABLE hilo_names DROP CONSTRAINT hilo_names_pkey;
       ALTER TABLE hilo_names ADD PRIMARY KEY (database) DEFERRABLE`,
      'hilo_names lacks UNIQUE (database)',
    ],
    [
      'ALTER TABLE hilo_collections DROP CONSTRAINT hilo_collections_max_check',
      'hilo_collections lacks CHECK (max)',
    ],
    ['ALTER TABLE hilo_grants ALTER low TYPE numeric', 'hilo_grants lacks low BIGINT NOT NULL'],
    [
      'ALTER TABLE hilo_collections ALTER max DROP NOT NULL',
      'hilo_collections lacks max BIGINT NOT NULL',
    ],
  ])('%s', async (done, says) => {
    const databaseUrl = await newDatabase()
    await (await openLedger({ databaseUrl, create: true })).close()
    await runSql(databaseUrl, done)
    for (const create of [false, true])
      await expect(openLedger({ databaseUrl, create })).rejects.toThrow(says)
  })

  test('where row-level security hides rows from its role, and not from the owner', async () => {
    const databaseUrl = await newDatabase()
    await (await openLedger({ databaseUrl, create: true })).close()
    const role = `hilo_role_${randomUUID().replaceAll('-', '')}`
    await runSql(
      databaseUrl,
      `ALTER TABLE hilo_grants ENABLE ROW LEVEL SECURITY;
       CREATE ROLE ${role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
    )
    onTestFinished(async () => {
      await runSql(databaseUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
    })
    const url = new URL(databaseUrl)
    url.username = role
    await expect(openLedger({ databaseUrl: url.href })).rejects.toThrow(
      'hilo_grants hides rows from this role',
    )
    await (await openLedger({ databaseUrl })).close()
  })

  test('not where the database quotes every name that it shows', async () => {
    const url = new URL(await newDatabase())
    url.searchParams.set('options', '-c quote_all_identifiers=on')
    await (await openLedger({ databaseUrl: url.href, create: true })).close()
    const ledger = await openLedger({ databaseUrl: url.href })
    onTestFinished(() => ledger.close())
    expect(await ledger.claim([{ ...WISH, id: randomUUID(), at: 0 }])).toHaveLength(1)
  })

  test('not for what the tables of others have, nor for what does nothing', async () => {
    const databaseUrl = await newDatabase()
    await (await openLedger({ databaseUrl, create: true })).close()
    await runSql(
      databaseUrl,
      `${trigger} ALTER TABLE hilo_collections DISABLE TRIGGER audit;
       CREATE UNLOGGED TABLE hilo_mine (id int); ALTER TABLE hilo_grants ADD COLUMN note text;
       CREATE INDEX ON hilo_grants (note); CREATE TABLE mine (id text REFERENCES hilo_grants)`,
    )
    await (await openLedger({ databaseUrl })).close()
  })
})

describe('a start on a changed file of SQLite is refused', () => {
  test.each(OF_SQLITE)('%s', async (done, says) => {
    const dataDir = newFolder()
    await (await openLedger({ dataDir, create: true })).close()
    runIn(dataDir, done)
    for (const create of [false, true])
      await expect(openLedger({ dataDir, create })).rejects.toThrow(says)
  })

  test('not for what the tables of others have', async () => {
    const dataDir = newFolder()
    await (await openLedger({ dataDir, create: true })).close()
    runIn(
      dataDir,
      `CREATE TABLE mine (id TEXT); CREATE TRIGGER audit AFTER INSERT ON mine
         BEGIN DELETE FROM mine; END; ALTER TABLE hilo_grants ADD COLUMN note TEXT;
       CREATE VIEW grants AS SELECT * FROM hilo_grants`,
    )
    await (await openLedger({ dataDir })).close()
  })
})

describe('under a running server, tables that change are told once, and answered 503', () => {
  const changes = [
    'DROP TABLE hilo_grants',
    'ALTER TABLE hilo_collections RENAME high_water TO height',
  ]

  const places = [
    ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
    ['SQLite', async () => ({ dataDir: newFolder() })],
  ] as const

  describe.each(places)('%s', (_, newPlace) => {
    test.each(changes)('%s', async (change) => {
      const place: { databaseUrl?: string; dataDir?: string } = await newPlace()
      const ledger = await openLedger({ ...place, create: true })
      onTestFinished(() => ledger.close())
      const log = { info: vi.fn(), error: vi.fn() }
      const handler = createHiloHandler({ ledger, log, open: true })
      await ledger.claim([{ ...WISH, at: 0 }])
      if (place.dataDir) runIn(place.dataDir, change)
      else await runSql(place.databaseUrl!, change)
      const claim = () =>
        handler(new Request('http://ids.test/databases/Shop/hilo/next?tag=orders'))
      for (let i = 0; i < 3; i++) {
        const answer = await claim()
        expect(answer.status).toBe(503)
        expect(await answer.text()).toContain("The tables of this server's ledger")
      }
      expect(log.error.mock.calls.map(([, message]) => message)).toEqual([
        "THE LEDGER'S TABLES: NOTHING IS GRANTED.",
      ])
    })
  })
})
