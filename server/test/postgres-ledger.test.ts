/**
 * What only the PostgreSQL ledger has to stand: its settings, locks, roles, upgrades and failures.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { openPool } from '../src/addons/postgres/pool.js'
import { connectionTo, openPostgresStore } from '../src/addons/postgres/postgres-store.js'
import { openLedger, serve } from '../src/index.js'
import type { Selection } from '../src/ledger/row-store.js'
import { loader } from '../src/sql/load-and-save.js'
import type { Schema } from '../src/sql/schema.js'
import { makeTraps, TRAPPED_PATH } from './function-traps.js'
import { newHandler } from './handlers.js'
import { editing, expectClosed } from './ledger-bench.js'
import { describeLedger } from './ledger-contract.js'
import { describeUpgrades, ledgerOver, NEWER } from './ledger-upgrades.js'
import { newDatabase, secretAt } from './postgres.js'
import { runSql } from './postgres-cluster.js'
import { leaveInSessions } from './sessions.js'

describeLedger('PostgreSQL ledger', async () => {
  const databaseUrl = await newDatabase()
  await makeTraps(databaseUrl)
  leaveInSessions(databaseUrl, TRAPPED_PATH)
  return {
    open: (limits) => openLedger({ create: true, databaseUrl, limits }),
    secret: () => secretAt(databaseUrl),
    edit: async (...row) => void (await runSql(databaseUrl, editing(...row))),
  }
})

const NO_COUNTERS = { answer: async () => ({ fresh: [], used: [], isAtEnd: false }) }

const wish = {
  database: 'Shop',
  collection: 'orders',
  count: 32,
  lastMax: 0,
  serverTag: 'A',
  at: 0,
}

test('once closed it is unavailable', async () => {
  await expectClosed(await openLedger({ create: true, databaseUrl: await newDatabase() }))
})

test('in a new ledger a claim and a serial are found without a look at all grants', async () => {
  const databaseUrl = await newDatabase()
  const ledger = await openLedger({ create: true, databaseUrl })
  const claim = { ...wish, id: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10' }
  await ledger.claim([claim])
  // As busy devices do, faster than PostgreSQL gathers what it needs to know for its plans.
  await runSql(databaseUrl, 'ALTER TABLE hilo_grants SET (autovacuum_enabled = false)')
  await runSql(
    databaseUrl,
    `CREATE TEMP TABLE more AS
       SELECT g.*, i FROM hilo_grants g, generate_series(2, 20000) AS n(i);
     UPDATE more SET id = md5(i::text), claim = gen_random_uuid()::text, serial = i,
       low = low + 32 * i, high = high + 32 * i;
     ALTER TABLE more DROP i;
     INSERT INTO hilo_grants SELECT * FROM more`,
  )
  const pool = openPool(databaseUrl)
  const { dialect } = connectionTo(pool, 'public', NO_COUNTERS)
  const planOf = async (select: Selection) => {
    const [found] = loader(dialect).selected(select).reads
    return JSON.stringify(await pool.query(`EXPLAIN ${found!.text}`, [...found!.parameters]))
  }
  expect(await planOf({ claims: [claim] })).toMatch(/Index Cond: [^}]*claim/)
  expect(await planOf({ serials: [{ ...claim, serial: 40 }] })).toMatch(/Index Cond: [^}]*serial/)
  await pool.close()
  await ledger.close()
})

test('commits are synchronous whatever the default of the database is', async () => {
  const databaseUrl = await newDatabase()
  const name = new URL(databaseUrl).pathname.slice(1)
  await runSql(databaseUrl, `ALTER DATABASE ${name} SET synchronous_commit = off`)
  const ledger = await openLedger({ create: true, databaseUrl })
  await runSql(
    databaseUrl,
    `CREATE TABLE seen (setting text);
     CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN
         INSERT INTO public.seen VALUES (current_setting('synchronous_commit'));
         RETURN NULL;
       END $$;
     CREATE TRIGGER note AFTER INSERT OR UPDATE ON hilo_collections
       FOR EACH STATEMENT EXECUTE FUNCTION note()`,
  )
  await ledger.claim([wish])
  const { rows } = await runSql(databaseUrl, 'SELECT DISTINCT setting FROM seen')
  expect(rows).toEqual([{ setting: 'on' }])
  await ledger.close()
})

test('of a commit that PostgreSQL warns about, the repeated claim tells the outcome', async () => {
  const databaseUrl = await newDatabase()
  const ledger = await openLedger({ create: true, databaseUrl })
  await runSql(
    databaseUrl,
    `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE WARNING 'the stock is low'; RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON hilo_grants
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()`,
  )
  const claim = { ...wish, id: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10' }
  await expect(ledger.claim([claim])).rejects.toThrow('the stock is low')
  expect(await ledger.claim([claim])).toMatchObject([{ grant: { low: 1 }, isRepeat: true }])
  await ledger.close()
})

test('a lock that is not released in time: unavailable, and nothing was granted', async () => {
  const databaseUrl = await newDatabase()
  const ledger = await openLedger({ create: true, databaseUrl })
  await ledger.claim([wish])
  const other = new pg.Client({ connectionString: databaseUrl })
  await other.connect()
  await other.query('BEGIN; LOCK TABLE hilo_collections')
  const ping = ledger.ping()
  await expect(ledger.claim([wish])).rejects.toMatchObject({
    name: 'LedgerUnavailable',
    message: expect.stringContaining('canceling statement'),
  })
  await ping
  await other.query('ROLLBACK')
  await other.end()
  expect(await ledger.claim([wish])).toMatchObject([{ grant: { low: 33, high: 64 } }])
  await ledger.close()
})

test('a role without the right to create tables runs on tables that are there', async () => {
  const databaseUrl = await newDatabase()
  await (await openLedger({ create: true, databaseUrl })).close()
  await runSql(
    databaseUrl,
    `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
     DROP ROLE IF EXISTS hilo_test_role; CREATE ROLE hilo_test_role LOGIN;
     GRANT SELECT, INSERT, UPDATE ON hilo_meta, hilo_collections, hilo_names, hilo_grants,
       hilo_returns, hilo_devices TO hilo_test_role`,
  )
  const url = new URL(databaseUrl)
  url.username = 'hilo_test_role'
  const ledger = await openLedger({ create: true, databaseUrl: url.href })
  expect(await ledger.claim([wish])).toMatchObject([{ grant: { low: 1, high: 32 } }])
  await ledger.close()
  await runSql(databaseUrl, 'DROP OWNED BY hilo_test_role; DROP ROLE hilo_test_role')
})

test('a role that lost its rights: not healthy, claims wait, and the log says which', async () => {
  const databaseUrl = await newDatabase()
  await (await openLedger({ create: true, databaseUrl })).close()
  const role = `hilo_${randomUUID().replaceAll('-', '')}`
  await runSql(
    databaseUrl,
    `CREATE ROLE ${role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`,
  )
  const url = new URL(databaseUrl)
  url.username = role
  const log = { info: vi.fn(), error: vi.fn() }
  const { ask } = await newHandler({ log }, { databaseUrl: url.href })
  expect((await ask('/healthz')).status).toBe(503)
  expect((await ask('/databases/Shop/hilo/next?tag=orders')).status).toBe(503)
  const denied = (table: string) => [
    { reason: `PostgreSQL did not do it: permission denied for table ${table}.` },
    'The database does not answer.',
  ]
  expect(log.error.mock.calls).toEqual([denied('hilo_meta'), denied('hilo_collections')])
  await expect(serve({ port: 0, databaseUrl: url.href })).rejects.toThrow(
    'permission denied for table hilo_meta',
  )
  await runSql(databaseUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
})

/** The database as a role with another `search_path` has it. */
function withPath(databaseUrl: string, path: string): string {
  const url = new URL(databaseUrl)
  url.searchParams.set('options', `-c search_path=${path}`)
  return url.href
}

test('a role with another search_path finds the same ledger', async () => {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, `CREATE SCHEMA "It's"; CREATE SCHEMA app`)
  const made = withPath(databaseUrl, `"It's"`)
  for (const [at, low] of [
    [made, 1],
    [databaseUrl, 33],
    [withPath(databaseUrl, 'app'), 65],
    [withPath(databaseUrl, ''), 97],
  ] as const) {
    const ledger = await openLedger({ create: at === made, databaseUrl: at })
    expect(await ledger.claim([wish])).toMatchObject([{ grant: { low } }])
    await ledger.close()
  }
})

test('two ledgers in one database are refused', async () => {
  const databaseUrl = await newDatabase()
  await (await openLedger({ create: true, databaseUrl })).close()
  await runSql(
    databaseUrl,
    'CREATE SCHEMA old; CREATE TABLE old.hilo_collections (collection text)',
  )
  await expect(openLedger({ databaseUrl })).rejects.toThrow(
    'This database has tables of a ledger in several schemas: "old", "public".',
  )
  await runSql(databaseUrl, 'DROP TABLE old.hilo_collections')
  await (await openLedger({ databaseUrl })).close()
})

const openStore = (databaseUrl: string, schema?: Schema) =>
  openPostgresStore(databaseUrl, async () => NO_COUNTERS, {
    create: true,
    ...(schema && { schema }),
  })

describeUpgrades(async () => {
  const databaseUrl = await newDatabase()
  return {
    open: (schema) => openStore(databaseUrl, schema),
    run: (sql) => runSql(databaseUrl, sql),
  }
})

test('a database that cannot be reached is reported as unavailable', async () => {
  const error = await openLedger({
    create: true,
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
  }).catch((error) => error)
  expect(error).toMatchObject({
    name: 'LedgerUnavailable',
    message: expect.stringContaining('ECONNREFUSED'),
  })
})

test('a database that is only readable is not healthy; a hanging server does no harm', async () => {
  const databaseUrl = await newDatabase()
  const name = new URL(databaseUrl).pathname.slice(1)
  const ledger = await openLedger({ create: true, databaseUrl })
  await ledger.ping()
  const hanging = new pg.Client({ connectionString: databaseUrl })
  await hanging.connect()
  await hanging.query('BEGIN; SELECT 1 FROM hilo_meta FOR UPDATE')
  await ledger.ping()
  await hanging.end()
  await ledger.close()
  await runSql(databaseUrl, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  const { ask } = await newHandler({ log: { info() {}, error() {} } }, { databaseUrl })
  expect((await ask('/healthz')).status).toBe(503)
})

test('a database whose encoding cannot store every name is refused at the start', async () => {
  const databaseUrl = await newDatabase()
  const name = new URL(databaseUrl).pathname.slice(1)
  await runSql(
    databaseUrl,
    `CREATE DATABASE ${name}_latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'
     TEMPLATE template0`,
  )
  await expect(openLedger({ create: true, databaseUrl: `${databaseUrl}_latin` })).rejects.toThrow(
    'The database has the encoding LATIN1, which cannot store every collection',
  )
  await runSql(databaseUrl, `DROP DATABASE ${name}_latin`)
})

test('an upgrade takes its time, and waits for no lock as long as claims do', async () => {
  const databaseUrl = await newDatabase()
  await (await openStore(databaseUrl)).close()
  await runSql(
    databaseUrl,
    `CREATE TABLE seen (statement_timeout text, lock_timeout text);
     CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO public.seen
         VALUES (current_setting('statement_timeout'), current_setting('lock_timeout'));
     END $$;
     CREATE EVENT TRIGGER note ON ddl_command_start EXECUTE FUNCTION note()`,
  )
  await (await openStore(databaseUrl, NEWER)).close()
  const { rows } = await runSql(databaseUrl, 'SELECT DISTINCT * FROM seen')
  expect(rows).toEqual([{ statement_timeout: '10min', lock_timeout: '250ms' }])
})

test('an upgrade that waits behind a dump says so once, and claims go on meanwhile', async () => {
  const databaseUrl = await newDatabase()
  const older = ledgerOver(await openStore(databaseUrl))
  await older.claim([wish])
  const dump = new pg.Client({ connectionString: databaseUrl })
  await dump.connect()
  await dump.query('BEGIN; LOCK TABLE hilo_collections, hilo_grants IN ACCESS SHARE MODE')
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  const upgraded = openStore(databaseUrl, NEWER)
  await expect.poll(() => warn.mock.calls.length).toBe(1)
  for (let i = 2; i < 12; i++)
    expect(await older.claim([wish])).toMatchObject([{ grant: { high: 32 * i } }])
  await dump.query('COMMIT')
  await dump.end()
  await (await upgraded).close()
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining('made or upgraded once nobody else has locked')],
  ])
  warn.mockRestore()
  await older.close()
})

test('a collection that cannot be granted from, or is locked, fails no other', async () => {
  const databaseUrl = await newDatabase()
  const { ask, ledger } = await newHandler({ log: { info() {}, error() {} } }, { databaseUrl })
  const tags = ['free', 'unbound', 'locked', 'other']
  for (const tag of tags) await ledger.claim([{ ...wish, collection: tag }])
  await runSql(databaseUrl, "INSERT INTO hilo_meta VALUES ('binding:shop/unbound', 'a counter')")
  const hanging = new pg.Client({ connectionString: databaseUrl })
  await hanging.connect()
  await hanging.query(
    "BEGIN; SELECT 1 FROM hilo_collections WHERE collection = 'locked' FOR UPDATE",
  )
  const statuses = tags.map(
    async (tag) => (await ask(`/databases/Shop/hilo/next?tag=${tag}`)).status,
  )
  expect(await Promise.all(statuses)).toEqual([201, 503, 503, 201])
  await hanging.end()
  expect((await ask('/databases/Shop/hilo/next?tag=locked')).status).toBe(201)
})

test('a claim that waits for its row sees what was proved meanwhile', async () => {
  const databaseUrl = await newDatabase()
  const ledger = await openLedger({ create: true, databaseUrl })
  await ledger.claim([wish])
  const other = new pg.Client({ connectionString: databaseUrl })
  await other.connect()
  await other.query("BEGIN; INSERT INTO hilo_meta VALUES ('restored:shop', 'yes')")
  await other.query('SELECT 1 FROM hilo_collections FOR UPDATE')
  const claim = ledger.claim([wish])
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  while ((await runSql(databaseUrl, waiting)).rowCount === 0);
  await other.query('COMMIT')
  expect(await claim).toEqual([{ refused: 'restored', max: 32 }])
  await other.end()
  await ledger.close()
})
