/** What the ledger promises about a collection that is bound to an ORM's counter. */
import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { type ClaimOutcome, type Ledger, openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const KEY = { database: 'Shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'A', at: 0 }
const EFCORE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'seq',
  blockSize: 10,
  maxId: 'int8',
  ids: false,
}
const SEQUENCE = 'CREATE SEQUENCE seq INCREMENT 10'
const TABLE: CounterOptions = {
  strategy: 'nhibernate-hilo-table',
  table: 'hi',
  column: 'next',
  maxLo: 9,
  maxId: 'int8',
  ids: false,
}
const ROW = 'CREATE TABLE hi (next bigint); INSERT INTO hi VALUES (1)'

/** All that comes then comes at once, on however slow a machine. */
const stopTime = () => vi.spyOn(performance, 'now').mockReturnValue(performance.now())

const WAITING = `SELECT count(*)::int AS waiting FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'offline-hilo'
    AND wait_event_type = 'Lock'`

/** Resolves when one of the ledger's connections waits for another's lock. */
const oneWaits = (watcher: pg.Client) =>
  expect
    .poll(async () => (await watcher.query(WAITING)).rows, { interval: 10 })
    .toEqual([{ waiting: 1 }])

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(settings: CounterOptions = EFCORE, schema = SEQUENCE, limits = {}) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, schema)
  const reopen = async (collections: object = { Shop: { orders: settings } }): Promise<Ledger> => {
    const ledger = await openLedger({
      create: true,
      databaseUrl,
      limits,
      collections: collections as never,
      first: true,
    })
    cleanups.push(() => ledger.close())
    return ledger
  }
  const ledger = await reopen()
  const claim = async (change: object = {}): Promise<ClaimOutcome> =>
    (await ledger.claim([{ ...WISH, id: newId(), ...change }]))[0]!
  return {
    databaseUrl,
    ledger,
    reopen,
    claim,
    take: async (change?: object) => grantOf(await claim(change)),
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
    nextval: async () =>
      Number((await runSql(databaseUrl, "SELECT nextval('seq') AS v")).rows[0].v),
    free: async () => (await ledger.status())[0]!.free,
    /** The connection of another program that takes from the counter. */
    orm: async () => {
      const client = new pg.Client(databaseUrl)
      await client.connect()
      cleanups.push(() => client.end())
      return client
    },
  }
}

describe('claims without an id', () => {
  const BLOCK = { blockSize: 1_000, maxId: 'int8', ids: false } as const
  const HI = 'CREATE TABLE hi (next bigint); INSERT INTO hi VALUES (1)'
  const MARTEN =
    'CREATE TABLE mt_hilo (entity_name varchar PRIMARY KEY, hi_value bigint DEFAULT 0);' +
    "INSERT INTO mt_hilo VALUES ('orders', 0)"
  const SEQUENCE_OF_1000 = 'CREATE SEQUENCE seq INCREMENT 1000'

  test.each<[string, CounterOptions, string]>([
    ['efcore', { strategy: 'efcore', sequence: 'seq', ...BLOCK }, SEQUENCE_OF_1000],
    ['doctrine', { strategy: 'doctrine', sequence: 'seq', ...BLOCK }, SEQUENCE_OF_1000],
    [
      'hibernate-pooled-lo',
      { strategy: 'hibernate-pooled-lo', sequence: 'seq', ...BLOCK },
      SEQUENCE_OF_1000,
    ],
    [
      'hibernate-pooled',
      { strategy: 'hibernate-pooled', sequence: 'seq', ...BLOCK },
      SEQUENCE_OF_1000,
    ],
    [
      'nhibernate-hilo-table',
      {
        strategy: 'nhibernate-hilo-table',
        table: 'hi',
        column: 'next',
        maxLo: 999,
        maxId: 'int8',
        ids: false,
      },
      HI,
    ],
    [
      'marten',
      { strategy: 'marten', entity: 'orders', maxLo: 1_000, maxId: 'int8', ids: false },
      MARTEN,
    ],
    ['textbook', { strategy: 'textbook', segment: 'orders', ...BLOCK }, 'SELECT 1'],
  ])('twenty take one block of 1000 from the counter: %s', async (_, settings, schema) => {
    const { take, reopen } = await open(settings, schema)
    const numbers: number[] = []
    for (let i = 0; i < 10; i++) {
      const { low, high } = await take({ id: undefined })
      for (let number = low; number <= high; number++) numbers.push(number)
    }
    const again = await reopen()
    for (let i = 0; i < 10; i++) {
      const { low, high } = grantOf((await again.claim([WISH]))[0]!)
      for (let number = low; number <= high; number++) numbers.push(number)
    }
    expect(numbers.length).toBe(640)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Math.max(...numbers) - Math.min(...numbers)).toBe(numbers.length - 1)
  })

  test('never get what came back', async () => {
    const { take, ledger } = await open(
      { ...EFCORE, blockSize: 100 },
      'CREATE SEQUENCE seq INCREMENT 100',
    )
    const first = await take({ id: undefined })
    await ledger.giveBack({ ...KEY, end: first.high, last: first.low, at: 0 })
    expect((await take({ id: undefined })).low).toBe(first.high + 1)
    expect((await take({ count: 31 })).low).toBe(first.low + 1)
  })
})

describe('claims', () => {
  test('a larger one takes several blocks; the rest of the last one is granted next', async () => {
    const { take, free, nextval } = await open()
    expect(span(await take())).toEqual([1, 32])
    expect(await free()).toBe(8)
    expect(span(await take({ count: 8 }))).toEqual([33, 40])
    expect(await nextval()).toBe(41)
    expect(span(await take({ count: 5 }))).toEqual([51, 55])
  })

  test('another taker came between: a smaller range is granted now, the rest later', async () => {
    const { take, nextval, free } = await open()
    expect(span(await take({ count: 5 }))).toEqual([1, 5])
    expect(await nextval()).toBe(11)
    expect(span(await take({ count: 12 }))).toEqual([21, 30])
    expect(await free()).toBe(5)
    expect(span(await take({ count: 5 }))).toEqual([6, 10])
  })

  test('repeated with its id, it gets the same range, and the counter stays', async () => {
    const { claim, nextval } = await open()
    const id = newId()
    const first = await claim({ id })
    expect(await claim({ id })).toEqual({ ...first, isRepeat: true })
    expect(await nextval()).toBe(41)
  })

  test('pass over a value that stands for no id', async () => {
    const { take } = await open(
      { strategy: 'textbook', segment: 'orders', blockSize: 1, maxId: 'int8', ids: false },
      '',
    )
    expect(span(await take({ count: 1 }))).toEqual([1, 1])
  })

  test('of one step are all granted where the first value stands for one id', async () => {
    const { ledger } = await open(
      { strategy: 'hibernate-table', segment: 'orders', blockSize: 50, maxId: 'int8', ids: false },
      'CREATE TABLE hibernate_sequences (sequence_name text PRIMARY KEY, next_val bigint)',
    )
    const granted = await ledger.claim([32, 36].map((count) => ({ ...WISH, id: newId(), count })))
    expect(granted.map((outcome) => span(grantOf(outcome)))).toEqual([
      [1, 32],
      [33, 68],
    ])
  })

  test('of a where move its row only', async () => {
    const { take, sql } = await open(
      { ...TABLE, where: { entity: 'Order' } },
      `CREATE TABLE hi (entity text, next bigint);
       INSERT INTO hi VALUES ('Line', 7), ('Order', 1), ('Part', 9)`,
    )
    expect(span(await take({ count: 20 }))).toEqual([10, 29])
    expect(await sql('SELECT entity, next FROM hi ORDER BY entity')).toEqual([
      { entity: 'Line', next: '7' },
      { entity: 'Order', next: '3' },
      { entity: 'Part', next: '9' },
    ])
  })

  test('of one step share one take', async () => {
    const { ledger, sql } = await open(
      TABLE,
      `${ROW}; CREATE TABLE moves (n int);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.moves VALUES (1); RETURN NULL; END $$;
      CREATE TRIGGER note AFTER UPDATE ON hi FOR EACH ROW EXECUTE FUNCTION note()`,
    )
    const id = newId()
    const outcomes = await ledger.claim([
      { ...WISH, id },
      { ...WISH, id: newId() },
      { ...WISH, id },
      { ...WISH, collection: 'own' },
      { ...WISH, count: 40 },
    ])
    const [first, second, repeated, own, plain] = outcomes.map((outcome) => span(grantOf(outcome)))
    expect([repeated, own]).toEqual([first, [1, 32]])
    const numbers = [first!, second!, plain!].flatMap(([low, high]) =>
      Array.from({ length: high - low + 1 }, (_, i) => low + i),
    )
    expect(new Set(numbers).size).toBe(104)
    expect(await sql('SELECT count(*)::int AS moves FROM moves')).toEqual([{ moves: 1 }])
  })

  test('without an id, new numbers only, never what somebody else had', async () => {
    const { ledger, take } = await open()
    const grant = await take({ count: 10 })
    await ledger.giveBack({ ...KEY, end: 10, last: 0, token: grant.token, at: 0 })
    expect(span(await take({ id: undefined, count: 10 }))).toEqual([11, 20])
    expect(span(await take({ count: 10 }))).toEqual([1, 10])
  })

  test('a claim that failed leaves the table where it was, and of a sequence a gap', async () => {
    const { ledger, take, sql } = await open(TABLE, ROW)
    await take({ count: 10 })
    await sql('ALTER TABLE hilo_grants ADD CONSTRAINT none CHECK (low < 15)')
    await expect(ledger.claim([{ ...WISH, id: newId() }])).rejects.toThrow('none')
    expect(await sql('SELECT next FROM hi')).toEqual([{ next: '2' }])
  })

  test("the server's node tag ends the ids, as for its own collections", async () => {
    const { take } = await open()
    expect(await take({ serverTag: 'B' })).toMatchObject({ serverTag: 'B' })
  })
})

describe("a ledger's name", () => {
  const other = { ledgers: { A: 'otherotherother2' } }

  test('stands beside its counters, and each grant of one has it', async () => {
    const { ledger, take } = await open()
    const name = await ledger.readName()
    expect(await take()).toMatchObject({ ledger: name })
    expect(await take({ ledgers: { A: name } })).toMatchObject({ ledger: name })
  })

  test.each([
    ['a sequence', EFCORE, SEQUENCE],
    ['a table', TABLE, ROW],
  ] as const)('a device that heard another database takes nothing of %s', async (...given) => {
    const [, settings, schema] = given
    const { ledger, claim, take } = await open(settings, schema)
    const { high } = await take()
    expect(await claim(other)).toMatchObject({ refused: 'other-ledger' })
    expect((await take()).low).toBe(high + 1)
    const follows = { database: 'Shop', name: other.ledgers.A, above: 10_000 }
    await ledger.follow(follows)
    expect(await claim(other)).toMatchObject({ refused: 'other-ledger', other: { above: 10_000 } })
    expect((await take({ lastMax: high })).low).toBeGreaterThan(10_000)
  })
})

describe('what comes back', () => {
  test('is granted again, and never moves the counter back', async () => {
    const { ledger, take, free, nextval } = await open()
    const grant = await take({ count: 40 })
    expect(await ledger.giveBack({ ...KEY, end: 40, last: 12, token: grant.token, at: 0 })).toBe(28)
    expect(await ledger.giveBack({ ...KEY, end: 40, last: 12, token: grant.token, at: 0 })).toBe(0)
    expect(await free()).toBe(28)
    expect(await nextval()).toBe(41)
    expect(span(await take({ count: 28 }))).toEqual([13, 40])
  })

  test('from a client without tokens is taken back once, wherever its range ends', async () => {
    const { ledger, take } = await open()
    const plain = { id: undefined, count: 15 }
    expect(span(await take(plain))).toEqual([1, 15])
    expect(span(await take(plain))).toEqual([16, 30])
    const giveBack = (last: number) => ledger.giveBack({ ...KEY, end: 15, last, at: 0 })
    expect(await giveBack(3)).toBe(12)
    expect(await giveBack(3)).toBe(0)
    expect(await giveBack(2)).toBe(0)
    expect(span(await take({ count: 12 }))).toEqual([4, 15])
  })
})

describe('numbers that must not be granted', () => {
  test('at or below what a client saw: the counter moves there, for the ORM too', async () => {
    const { take, nextval } = await open()
    await take({ count: 5 })
    expect(span(await take({ count: 5, lastMax: 95 }))).toEqual([101, 105])
    expect(await nextval()).toBe(111)
    expect(span(await take({ count: 5 }))).toEqual([106, 110])
  })

  test('an absurd jump is refused, and moves nothing', async () => {
    const { claim, nextval } = await open(EFCORE, SEQUENCE, { maxJump: 1_000 })
    expect(await claim({ lastMax: 1_001 })).toEqual({ refused: 'jump', max: 0 })
    expect(await nextval()).toBe(1)
  })

  test.each([
    ['a sequence', EFCORE, SEQUENCE, [5_001, 5_010]],
    ['a table', TABLE, ROW, [5_010, 5_019]],
    [
      'a row that was made at the start',
      { strategy: 'marten', entity: 'order', maxLo: 10, maxId: 'int8', ids: false },
      'CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value bigint)',
      [5_001, 5_010],
    ],
  ] as const)('raise-floor raises the counter: %s', async (_, settings, schema, next) => {
    const { ledger, take, free } = await open(settings, schema)
    await take({ count: 15 })
    expect(await ledger.raiseFloor({ ...KEY, floor: 5_000 })).toBe(5_000)
    expect(await ledger.raiseFloor({ ...KEY, floor: 4_000 })).toBe(5_000)
    expect(await free()).toBe(0)
    expect(span(await take({ count: 10 }))).toEqual(next)
  })

  test.each([
    ['a sequence', EFCORE, SEQUENCE, "SELECT setval('seq', 50001)"],
    ['a table', TABLE, ROW, 'UPDATE hi SET next = 5001'],
  ] as const)('after a restore, %s is raised from where the back end has it', async (...given) => {
    const [, settings, schema, moved] = given
    const { ledger, take, sql } = await open(settings, schema)
    await take({ count: 15 })
    await sql(moved)
    await ledger.raiseFloors({ database: 'Shop', by: 10_000 })
    expect((await take({ count: 10 })).low).toBeGreaterThan(60_000)
  })

  test('after a restore, also a counter that the copy had granted nothing from', async () => {
    const { ledger, take } = await open()
    await ledger.raiseFloors({ database: 'Shop', by: 10_000 })
    expect((await take({ count: 10 })).low).toBeGreaterThan(10_000)
  })

  describe('after a restore by less than the counter had moved', () => {
    const KEPT = ['hilo_collections', 'hilo_grants']
    const lose = async (moved: string, restored: string) => {
      const { sql, take, claim, ledger, nextval } = await open()
      await take({ count: 10 })
      for (const name of KEPT) await sql(`CREATE TABLE kept_${name} AS SELECT * FROM ${name}`)
      await sql(moved)
      const { low, token } = await take({ count: 10 })
      for (const name of KEPT)
        await sql(`DELETE FROM ${name}; INSERT INTO ${name} SELECT * FROM kept_${name}`)
      await sql(restored)
      await ledger.raiseFloors({ database: 'Shop', by: 100 })
      return { low, shown: [{ token: token!, next: low }], sql, take, claim, ledger, nextval }
    }

    test('a token of above the floor stops the database again', async () => {
      const { low, shown, claim, take, ledger } = await lose(
        "SELECT setval('seq', 50001)",
        "SELECT setval('seq', 1)",
      )
      expect(low).toBe(50_011)
      expect(await claim({ shown })).toMatchObject({ refused: 'restored' })
      await ledger.raiseFloors({ database: 'Shop', by: 60_000 })
      expect(await claim({ shown })).toMatchObject({ results: ['superseded'] })
      expect((await take()).low).toBeGreaterThan(60_000)
    })

    test('a token of below a counter that was not restored proves nothing', async () => {
      const { shown, claim } = await lose("SELECT setval('seq', 50001)", 'SELECT 1')
      expect(await claim({ shown })).toMatchObject({ results: ['superseded'] })
    })

    test('a counter that is set back then grants nothing that was granted before', async () => {
      const { low, take, sql } = await lose("SELECT setval('seq', 50001)", 'SELECT 1')
      await sql(`SELECT setval('seq', ${low}, false)`)
      await expect(take()).rejects.toThrow('it went backwards')
    })
  })

  test('a follow that is refused moves no counter', async () => {
    const { ledger, take, nextval } = await open()
    await take({ count: 10 })
    const following = { database: KEY.database, name: 'n48vsc7eav4j6vey', above: 100 }
    await ledger.follow(following)
    expect(await nextval()).toBe(111)
    await expect(ledger.follow(following)).rejects.toThrow('Nothing was changed')
    expect(await nextval()).toBe(121)
  })

  test('a floor far above a sequence is one step for its owner, an error for others', async () => {
    const { ledger, take, nextval, databaseUrl, sql } = await open()
    await ledger.raiseFloor({ ...KEY, floor: 10 ** 12 })
    expect(span(await take({ count: 10 }))).toEqual([10 ** 12 + 1, 10 ** 12 + 10])
    expect(await nextval()).toBe(10 ** 12 + 11)
    await sql(`DROP ROLE IF EXISTS hilo_bound_role; CREATE ROLE hilo_bound_role LOGIN;
      GRANT ALL ON ALL TABLES IN SCHEMA public TO hilo_bound_role;
      GRANT USAGE, SELECT ON SEQUENCE seq TO hilo_bound_role`)
    const url = new URL(databaseUrl)
    url.username = 'hilo_bound_role'
    const other = await openLedger({
      create: true,
      databaseUrl: url.href,
      collections: { Shop: { orders: EFCORE } },
    })
    cleanups.push(async () => {
      await other.close()
      await sql('DROP OWNED BY hilo_bound_role; DROP ROLE hilo_bound_role')
    })
    await expect(other.raiseFloor({ ...KEY, floor: 2 * 10 ** 12 })).rejects.toThrow(
      'only its owner can set it safely; role hilo_bound_role is not',
    )
    expect(span(grantOf((await other.claim([{ ...WISH, id: newId(), count: 10 }]))[0]!))).toEqual([
      10 ** 12 + 21,
      10 ** 12 + 30,
    ])
  })

  describe("the textbook's table", () => {
    const start = async (databaseUrl: string) => {
      const textbook: CounterOptions = {
        strategy: 'textbook',
        segment: 'orders',
        blockSize: 10,
        maxId: 'int8',
        ids: false,
      }
      const ledger = await openLedger({
        create: true,
        databaseUrl,
        collections: { Shop: { orders: textbook } },
        first: true,
      })
      cleanups.push(() => ledger.close())
      return ledger
    }

    test('is made by one of the servers that start at once', async () => {
      const databaseUrl = await newDatabase()
      await (await openLedger({ create: true, databaseUrl })).close()
      await Promise.all(Array.from({ length: 8 }, () => start(databaseUrl)))
    })

    test('serves a role that may not make it; where it is missing, that is said', async () => {
      const databaseUrl = await newDatabase()
      await (await openLedger({ create: true, databaseUrl })).close()
      await runSql(
        databaseUrl,
        `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
         DROP ROLE IF EXISTS hilo_textbook_role; CREATE ROLE hilo_textbook_role LOGIN;
         GRANT ALL ON ALL TABLES IN SCHEMA public TO hilo_textbook_role`,
      )
      cleanups.push(() =>
        runSql(databaseUrl, 'DROP OWNED BY hilo_textbook_role; DROP ROLE hilo_textbook_role'),
      )
      const { href: asRole } = Object.assign(new URL(databaseUrl), {
        username: 'hilo_textbook_role',
      })
      await expect(start(asRole)).rejects.toThrow(
        /shop\/orders: hilo_next_hi\.next_hi .* cannot be used. PostgreSQL says: permission denied/,
      )
      await start(databaseUrl)
      await runSql(databaseUrl, 'GRANT ALL ON hilo_next_hi TO hilo_textbook_role')
      expect(await (await start(asRole)).claim([WISH])).toMatchObject([{ grant: { low: 1 } }])
    })
  })

  test('a sequence that is set far up never goes below another taker', async () => {
    const { ledger, nextval, orm } = await open()
    const [other, watcher] = [await orm(), await orm()]
    await other.query("BEGIN; SELECT nextval('seq')")
    const raising = ledger.raiseFloor({ ...KEY, floor: 10 ** 12 })
    await oneWaits(watcher)
    await other.query(`SELECT setval('seq', ${5 * 10 ** 12})`)
    await other.query('COMMIT')
    await raising
    expect(await nextval()).toBe(5 * 10 ** 12 + 10)
  })

  test('beyond what the id column holds: refused before the counter moves', async () => {
    const { ledger, claim, take, nextval } = await open({ ...EFCORE, maxId: 45 })
    expect(span(await take({ count: 30 }))).toEqual([1, 30])
    expect(span(await take({ count: 30 }))).toEqual([31, 40])
    expect(await claim()).toEqual({ refused: 'overflow', max: 40 })
    expect(await claim({ lastMax: 44 })).toMatchObject({ refused: 'overflow' })
    await expect(ledger.raiseFloor({ ...KEY, floor: 44 })).rejects.toThrow('No block of')
    expect(await nextval()).toBe(41)
  })

  test('a client has seen the end of the id column: the sequence stays where it is', async () => {
    const { claim, nextval } = await open({ ...EFCORE, maxId: 45 })
    expect(await claim({ lastMax: 44 })).toMatchObject({ refused: 'overflow' })
    expect(await nextval()).toBe(1)
  })

  test('others have used the id column up: the sequence stays where it is', async () => {
    const { claim, nextval, sql } = await open({ ...EFCORE, maxId: 45 })
    await sql("SELECT setval('seq', 41, false)")
    expect(await claim()).toMatchObject({ refused: 'overflow' })
    expect(await nextval()).toBe(41)
  })

  test('of a table beyond what the id column holds', async () => {
    const { claim, take, sql } = await open({ ...TABLE, maxId: 45 }, ROW)
    expect(span(await take({ count: 40 }))).toEqual([10, 39])
    expect(await claim()).toMatchObject({ refused: 'overflow' })
    expect(await sql('SELECT next FROM hi')).toEqual([{ next: '4' }])
  })

  test('somebody else takes the last block of the id column at the same time', async () => {
    const { claim, sql, orm } = await open({ ...EFCORE, maxId: 45 })
    await sql("SELECT setval('seq', 31, false)")
    const [other, watcher] = [await orm(), await orm()]
    await other.query('BEGIN; ALTER SEQUENCE seq NO CYCLE')
    const claimed = claim()
    await oneWaits(watcher)
    expect((await other.query("SELECT nextval('seq') AS v")).rows).toEqual([{ v: '31' }])
    await other.query('COMMIT')
    expect(await claimed).toMatchObject({ refused: 'overflow' })
  })

  test('beyond 2^53−1', async () => {
    const { claim, take, sql } = await open()
    await sql(`SELECT setval('seq', ${2n ** 53n - 25n}, false)`)
    expect(span(await take())).toEqual([2 ** 53 - 25, 2 ** 53 - 6])
    expect(await claim()).toMatchObject({ refused: 'overflow' })
  })

  test('a table that has another row by now, or none', async () => {
    const { claim, take, sql } = await open(TABLE, ROW)
    await take({ count: 10 })
    await sql('INSERT INTO hi VALUES (50)')
    await expect(claim()).rejects.toThrow('hi has several rows where the counter next should be')
    await sql('DELETE FROM hi')
    await expect(claim()).rejects.toThrow('hi has no row where the counter next should be')
    await sql('INSERT INTO hi VALUES (NULL)')
    await expect(claim()).rejects.toThrow('hi has no value where the counter next should be')
  })
})

test('a locked counter delays nobody but those who want its numbers', async () => {
  const { ledger, orm } = await open(TABLE, ROW)
  const { createHiloHandler } = await import('../../../src/index.js')
  const handler = createHiloHandler({ ledger, open: true, log: { info() {}, error() {} } })
  const next = async (tag: string) =>
    (await handler(new Request(`http://ids.test/databases/Shop/hilo/next?tag=${tag}`))).status
  const other = await orm()
  await other.query('BEGIN')
  await other.query('SELECT next FROM hi FOR UPDATE')
  let isAnswered = false
  const waiting = next('orders').then((status) => {
    isAnswered = true
    return status
  })
  for (let i = 0; i < 20; i++) expect(await next('lines')).toBe(201)
  expect(isAnswered).toBe(false)
  await other.query('COMMIT')
  expect(await waiting).toBe(201)
})

test('several collections in one request, bound or not, are answered in their order', async () => {
  const { ledger } = await open()
  const { createHiloHandler } = await import('../../../src/index.js')
  const handler = createHiloHandler({ ledger, open: true })
  const collections = ['lines', 'Orders', 'parts'].map((tag) => ({
    tag,
    count: 32 + tag.length,
  }))
  const response = await handler(
    new Request('http://ids.test/databases/Shop/hilo/next', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ claim: newId(), collections }),
    }),
  )
  const answer = (await response.json()) as {
    collections: { Prefix: string; Low: number; High: number }[]
  }
  expect(answer.collections.map(({ Prefix }) => Prefix)).toEqual(['lines/', 'Orders/', 'parts/'])
  expect(answer.collections.map(({ Low, High }) => [Low, High])).toEqual([
    [1, 37],
    [1, 38],
    [1, 37],
  ])
})

test('a counter on which nobody starves gives no more blocks than are asked for', async () => {
  const { take, sql } = await open(TABLE, ROW)
  stopTime()
  for (let i = 0; i < 20; i++) await take({ count: 10 })
  expect(await sql('SELECT next FROM hi')).toEqual([{ next: '21' }])
})

test('where other takers would starve, many claims take ever more blocks at once', async () => {
  const { take, sql } = await open(
    { strategy: 'marten', entity: 'order', maxLo: 10, maxId: 'int8', ids: false },
    `CREATE TABLE mt_hilo (entity_name text PRIMARY KEY, hi_value bigint);
     CREATE TABLE moves (n int);
     CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN INSERT INTO public.moves VALUES (1); RETURN NULL; END $$;
     CREATE TRIGGER note AFTER UPDATE ON mt_hilo FOR EACH ROW EXECUTE FUNCTION note()`,
  )
  stopTime()
  for (let i = 0; i < 100; i++) await take({ count: 10 })
  const [{ moves }] = await sql('SELECT count(*)::int AS moves FROM moves')
  expect(moves).toBeLessThan(50)
})
