/**
 * Transactions whose statements are sent ahead: what fails undoes all of it, and nothing is taken
 * for done that is not.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { MAX_CONNECTION_AGE_S, openPool, type PostgresPool } from '../src/addons/postgres/pool.js'
import { addressIn } from '../src/addons/postgres/postgres-address.js'
import { connectionFailure } from '../src/addons/postgres/postgres-failures.js'
import { openLedger } from '../src/index.js'
import { LedgerUnavailable } from '../src/ledger/ledger-errors.js'
import { newDatabase } from './postgres.js'
import { startRelay } from './relay.js'

/** In a way that the client does not know. */
const ASKS_FOR_PASSWORD = Buffer.from('R\0\0\0\x0b\0\0\0\x0aX\0\0')
/** In one packet: the client may send a query, and its session was terminated. */
const READY_AND_TERMINATED = Buffer.concat([
  Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I'),
  Buffer.from('E\0\0\0\x19SFATAL\0C57P01\0Mgone\0\0'),
])

let pool: PostgresPool

beforeAll(async () => {
  pool = openPool(await newDatabase({ hasPath: true }))
  await pool.query('CREATE TABLE notes (id INT PRIMARY KEY)')
})

afterAll(() => pool.close())

const notes = async () =>
  (await pool.query<{ id: number }>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id)

/** @param messages the least of those that the database sends */
async function newPool(messages: string): Promise<PostgresPool> {
  const url = new URL(await newDatabase({ hasPath: true }))
  url.searchParams.set('options', `-c client_min_messages=${messages}`)
  const opened = openPool(url.href)
  onTestFinished(() => opened.close())
  return opened
}

/** A table `told`: something happens when its new rows are committed. */
async function createAtCommit(of: PostgresPool, act: string): Promise<void> {
  await of.query('CREATE TABLE told (id INT)')
  await of.query(`CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN ${act}; RETURN NULL; END $$`)
  await of.query(`CREATE CONSTRAINT TRIGGER act_at_commit AFTER INSERT ON told
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION act()`)
}

const createWarned = (of: PostgresPool) => createAtCommit(of, "RAISE WARNING 'only here'")

async function pid(of: PostgresPool): Promise<number> {
  const [row] = await of.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return row!.pid
}

describe('a transaction', () => {
  test('keeps its writes, in the order they were sent', async () => {
    const result = await pool.transaction(async (query, write) => {
      const [row] = await query<{ one: number }>('SELECT 1 AS one')
      write('INSERT INTO notes VALUES ($1)', [1])
      write('UPDATE notes SET id = 2 WHERE id = 1')
      return row!.one
    })
    expect(result).toBe(1)
    expect(await notes()).toEqual([2])
  })

  test('is undone, and says why, when a write fails that nobody waited for', async () => {
    const before = await notes()
    const failing = pool.transaction(async (_, write) => {
      write('INSERT INTO notes VALUES (3)')
      write('INSERT INTO notes VALUES (3)')
      write('INSERT INTO notes VALUES (4)')
    })
    await expect(failing).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual(before)
  })

  test('is not reported as done when its step ignores that a statement failed', async () => {
    const before = await notes()
    const careless = pool.transaction(async (query, write) => {
      write('INSERT INTO notes VALUES (5)')
      await query('SELECT 1 / 0').catch(() => {})
      return 'done'
    })
    await expect(careless).rejects.toMatchObject({ code: '22012' })
    expect(await notes()).toEqual(before)
  })

  test('fails for the reason of its first failing statement', async () => {
    const failing = pool.transaction((query) =>
      Promise.all([query('SELECT 1 / 0').then(() => {}), query('SELECT 1')]),
    )
    await expect(failing).rejects.toMatchObject({ code: '22012' })
  })

  test('whose connection the database cuts is unavailable, and the next one works', async () => {
    const before = await notes()
    const broken = pool.transaction(async (query) => {
      await query('SELECT pg_terminate_backend(pg_backend_pid())')
    })
    await expect(broken).rejects.toThrow(LedgerUnavailable)
    expect(await notes()).toEqual(before)
  })

  test.each([
    ['is idle in a transaction for too long', '25P03'],
    ['is not open', '55000'],
  ])('of a database that says that it %s is unavailable', async (_, code) => {
    const raised = pool.query(`DO $$ BEGIN RAISE 'no' USING ERRCODE = '${code}'; END $$`)
    await expect(raised).rejects.toThrow(new LedgerUnavailable('PostgreSQL did not do it: no.'))
  })

  test('that fails by a mistake in this program is not called unavailable', async () => {
    const before = await notes()
    const inStep = pool.transaction(async () => {
      throw new TypeError('x is not a function')
    })
    await expect(inStep).rejects.toThrow(new TypeError('x is not a function'))
    const loop: unknown[] = []
    loop.push({ loop })
    await expect(pool.query('SELECT $1', [{ loop }])).rejects.toThrow(TypeError)
    expect(await notes()).toEqual(before)
  })

  test('that meets a read-only database leaves no connection to it behind', async () => {
    const before = await pid(pool)
    const refused = pool.transaction(async (query) => {
      await query('SET TRANSACTION READ ONLY')
      await query('INSERT INTO notes VALUES (7)')
    })
    await expect(refused).rejects.toThrow(/read-only transaction/)
    expect(await pid(pool)).not.toBe(before)
  })

  test('warned of at its commit has an unknown outcome, and its connection is closed', async () => {
    await createWarned(pool)
    await pool.query('CREATE TRIGGER before AFTER UPDATE ON told EXECUTE FUNCTION act()')
    const before = await pid(pool)
    const warned = pool.transaction(async (_, write) => write('INSERT INTO told VALUES (1)'))
    await expect(warned).rejects.toThrow(
      new LedgerUnavailable('PostgreSQL warned while it committed: only here.'),
    )
    const after = await pid(pool)
    expect(after).not.toBe(before)
    await pool.transaction(async (_, write) => write('UPDATE told SET id = 2'))
    expect(await pool.query('SELECT id FROM told')).toEqual([{ id: 2 }])
    expect(await pid(pool)).toBe(after)
  })

  test.each([
    ['is late', 'pg_sleep(0.4)', 1],
    ['never comes', 'pg_terminate_backend(pg_backend_pid())', 0],
  ])('whose answer to the commit %s says that it may have been done', async (_, act, done) => {
    const opened = await newPool('notice')
    await createAtCommit(opened, `PERFORM ${act}`)
    const waits = { lock: 5_000, statement: 5_000, answer: 200 }
    const cut = opened.transaction(async (_, write) => write('INSERT INTO told VALUES (1)'), waits)
    await expect(cut).rejects.toThrow(/may have been done or not: look, or do it once more\.$/)
    await expect.poll(() => opened.query('SELECT id FROM told')).toHaveLength(done)
  })

  test('whose role asks for no warnings has an unknown outcome all the same', async () => {
    const quiet = await newPool('error')
    await createWarned(quiet)
    await expect(quiet.query('INSERT INTO told VALUES (1)')).rejects.toThrow('only here')
  })

  test('whose role asks for every message is done, whatever it is told', async () => {
    const talkative = await newPool('debug5')
    await talkative.query('CREATE TABLE notes (id INT)')
    expect(await talkative.query('INSERT INTO notes VALUES (1) RETURNING id')).toEqual([{ id: 1 }])
  })

  test('whose step throws is undone, and the next one on the connection sees nothing', async () => {
    const failing = pool.transaction(async (query, write) => {
      write('INSERT INTO notes VALUES (6)')
      void query('SELECT pg_sleep(0.05)').catch(() => {})
      throw new Error('the step gives up')
    })
    await expect(failing).rejects.toThrow('the step gives up')
    expect(await pool.transaction((query) => query('SELECT id FROM notes'))).toEqual([{ id: 2 }])
  })
})

test('a connection in constant use is replaced when it is a minute old', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const young = openPool(await newDatabase())
  onTestFinished(async () => {
    vi.useRealTimers()
    await young.close()
  })
  const first = await pid(young)
  const STEP_S = 5
  for (let age = STEP_S; age < MAX_CONNECTION_AGE_S; age += STEP_S) {
    vi.advanceTimersByTime(STEP_S * 1000)
    expect(await pid(young)).toBe(first)
  }
  vi.advanceTimersByTime(STEP_S * 1000)
  expect(await pid(young)).not.toBe(first)
})

test('a database that answers nothing any more is given up on, also by a start', async () => {
  const relay = await startRelay(await newDatabase())
  const ledger = await openLedger({ create: true, databaseUrl: relay.url })
  relay.freeze()
  const wish = { database: 'Shop', collection: 'orders', count: 1, lastMax: 0, serverTag: 'A' }
  const failures = await Promise.all(
    [
      () => ledger.claim([{ ...wish, at: 0 }]),
      () => ledger.ping(),
      () => openLedger({ databaseUrl: relay.url }),
    ].map((ask) => ask().catch((error: unknown) => error)),
  )
  const given = { name: 'LedgerUnavailable', message: expect.stringContaining('timeout') }
  expect(failures).toMatchObject([given, given, given])
  await ledger.close()
})

test.each(['sslrootcert', 'sslcert', 'sslkey'])(
  'a file that the address names as %s, and that is not there, is named',
  async (setting) => {
    const databaseUrl = `postgres://hilo@127.0.0.1:1/hilo?${setting}=/no/such.pem`
    const opening = openLedger({ databaseUrl })
    await expect(opening).rejects.toThrow(LedgerUnavailable)
    await expect(opening).rejects.toThrow(
      "'/no/such.pem'. Correct sslrootcert, sslcert or sslkey in the database's address, or put",
    )
  },
)

test('a connection that could not be made leaves no socket open', async () => {
  const server = createServer((socket) =>
    socket.once('data', () => socket.write(ASKS_FOR_PASSWORD)),
  ).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connected = once(server, 'connection')
  const pool = openPool(`postgres://hilo@127.0.0.1:${port}/hilo`)
  await expect(pool.query('SELECT 1')).rejects.toThrow('SASL')
  const [socket] = await connected
  socket.resume()
  await once(socket, 'close')
  await pool.close()
})

test('a connection that ends as it begins does not end the process', async () => {
  const server = createServer((socket) =>
    socket.once('data', () => socket.end(READY_AND_TERMINATED)),
  ).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = openPool(`postgres://hilo@127.0.0.1:${port}/hilo`)
  await expect(pool.query('SELECT 1')).rejects.toThrow(LedgerUnavailable)
  await pool.close()
})

describe('what connecting failed with', () => {
  test.each<[string, Error & { code?: string }]>([
    ['EPIPE is no SQLSTATE', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })],
    ['it has no code', new Error('Connection terminated unexpectedly')],
  ])('is unavailable: %s', (_, error) => {
    expect(connectionFailure(error)).toMatchObject({ name: 'LedgerUnavailable', cause: error })
  })

  test('says what happened at each of several addresses', () => {
    const error = new AggregateError([
      new Error('connect ECONNREFUSED ::1:5432'),
      new Error('connect ECONNREFUSED 127.0.0.1:5432'),
    ])
    expect(connectionFailure(error)).toMatchObject({
      message:
        'The database cannot be reached, or does not answer: connect ECONNREFUSED ::1:5432; ' +
        'connect ECONNREFUSED 127.0.0.1:5432. Check that PostgreSQL runs, and its address ' +
        '(DATABASE_URL).',
    })
  })
})

describe('the address', () => {
  test.each([
    'postgres://user:password@host:5432/hilo',
    'postgresql://host/hilo?sslmode=require',
    'postgres:///x?host=/run/postgresql',
    'postgres://us,er@[::1]:1/x',
  ])('%s is one', (url) => {
    expect(addressIn(url).href).toBe(new URL(url).href)
  })

  test.each([
    ['postgres://a:port/x', 'has to be a URL like'],
    ['http://a/x', 'has to be a URL like'],
    ['postgres://u:p@a:1,b:2/hilo', 'names several servers. Give one address'],
    ['postgres://a,b/x?target_session_attrs=read-write', 'names several servers'],
  ])('%s is refused', (url, message) => {
    expect(() => addressIn(url)).toThrow(message)
  })
})
