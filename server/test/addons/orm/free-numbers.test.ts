/**
 * Asked is whether the numbers are free, not how high the table goes: what the back end's tables
 * have already is granted to nobody, wherever it comes from.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { openLedger } from '../../../src/index.js'
import { grantOf, newId, span } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'

const WISH = { database: 'Shop', collection: 'orders', lastMax: 0, serverTag: 'A', at: 0 }
const EFCORE: CounterOptions = {
  strategy: 'efcore',
  sequence: 'seq',
  blockSize: 10,
  maxId: 'int8',
  ids: 'orders.id',
  proved: false,
}
const SCHEMA = 'CREATE SEQUENCE seq INCREMENT 10; CREATE TABLE orders (id bigint PRIMARY KEY);'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(settings: CounterOptions = EFCORE, more = '') {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, `${SCHEMA} ${more}`)
  const collections = { Shop: { orders: settings } }
  const ledger = await openLedger({ create: true, databaseUrl, collections })
  cleanups.push(() => ledger.close())
  const told: string[] = []
  ledger.onCaution?.((caution) => told.push(caution))
  told.length = 0
  return {
    told,
    ledger,
    take: async (count: number, change: object = {}) =>
      grantOf((await ledger.claim([{ ...WISH, id: newId(), count, ...change }]))[0]!),
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
  }
}

describe('numbers that the table has', () => {
  test('in the rest of a block in stock: the rest is dropped, and that is told', async () => {
    const { take, sql, told } = await open()
    expect(span(await take(3))).toEqual([1, 3])
    await sql('INSERT INTO orders VALUES (7)')
    expect(span(await take(5))).toEqual([11, 15])
    expect(told).toEqual([
      'shop/orders: public.orders.id has 7 already, so 4 to 10 are granted to nobody. They came ' +
        'from sequence public.seq as if they were free. Find out who made that row. If the back ' +
        'end did, strategy or size are wrong, or the counter was set back: stop this server, and ' +
        'correct that.',
    ])
  })

  test('a sequence was set back into a block that the back end has', async () => {
    const { take, sql } = await open(EFCORE, "SELECT nextval('seq');")
    await sql('INSERT INTO orders VALUES (1), (2), (3); ALTER SEQUENCE seq RESTART 4')
    expect(span(await take(3))).toEqual([4, 6])
    await sql('INSERT INTO orders SELECT generate_series(4, 10)')
    expect((await take(20)).low).toBeGreaterThan(10)
  })

  test('in a block that comes from the counter: it is passed over', async () => {
    const { take, sql, told } = await open()
    await sql('INSERT INTO orders VALUES (15), (31)')
    expect(span(await take(10))).toEqual([1, 10])
    expect(span(await take(20))).toEqual([21, 30])
    expect(span(await take(10))).toEqual([41, 50])
    expect(told.map((each) => each.slice(0, 60))).toHaveLength(2)
  })

  test('in many numbers of a plain sequence: each run of them is told once', async () => {
    const { take, sql, told } = await open(
      { strategy: 'sequence', sequence: 'one', maxId: 'int8', ids: 'orders.id', proved: false },
      'CREATE SEQUENCE one;',
    )
    await sql('INSERT INTO orders SELECT generate_series(1, 9); INSERT INTO orders VALUES (12)')
    expect(span(await take(20))).toEqual([13, 30])
    expect(told.map((caution) => caution.slice(0, 75))).toEqual([
      'shop/orders: public.orders.id has 1 already, so 1 to 9 were passed over. Th',
      'shop/orders: public.orders.id has 12 already, so 12 to 12 were passed over.',
    ])
  })

  test('that came back meanwhile', async () => {
    const { take, ledger, sql } = await open()
    const { token } = await take(10)
    await ledger.giveBack({ ...WISH, end: 10, last: 5, token })
    await sql('INSERT INTO orders VALUES (8)')
    expect(span(await take(5))).toEqual([11, 15])
    expect(span(await take(5, { id: undefined }))).toEqual([16, 20])
  })

  test('of any table that the sequence serves', async () => {
    const { take, sql } = await open(
      { ...EFCORE, ids: ['orders.id', 'Lines.number'] },
      'CREATE TABLE "Lines" (number bigint PRIMARY KEY);',
    )
    await sql('INSERT INTO "Lines" VALUES (4)')
    expect(span(await take(10))).toEqual([11, 20])
    await sql('INSERT INTO orders VALUES (24)')
    expect(span(await take(10))).toEqual([31, 40])
  })

  test('in very many blocks that follow each other: it stops, and says what to do', async () => {
    const { take, sql } = await open()
    await sql('INSERT INTO orders SELECT generate_series(1, 20000)')
    await expect(take(10)).rejects.toThrow('offline-hilo-server adopt Shop orders --apply')
  })

  test('each is looked for by the index', async () => {
    const { sql } = await open()
    await sql('INSERT INTO orders SELECT generate_series(1, 10000); ANALYZE orders')
    const { usedStatement } = await import('../../../src/addons/bound/orm/used-ids.js')
    const ids = [{ table: 'public.orders', column: 'id' }] as never
    const text = usedStatement(ids).replace('$1', "'{5,90}'").replace('$2', "'{9,95}'")
    const plan = (await sql(`EXPLAIN ${text}`)).map((row) => Object.values(row)[0]).join('\n')
    expect(plan).toMatch(/Index Only Scan using orders_pkey/)
    expect(plan).not.toMatch(/Seq Scan/)
  })
})

describe('a row far above all others', () => {
  const LAST = '9223372036854775807'

  test.each([LAST, '2147483647'])('while the server runs, %s stops nothing', async (id) => {
    const { take, sql } = await open()
    await sql(`INSERT INTO orders VALUES (${id})`)
    expect(span(await take(10))).toEqual([1, 10])
    await sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'offline-hilo'`,
    )
    await expect.poll(() => take(10).catch(() => undefined)).toMatchObject({ low: 11 })
  })

  test('is refused at the start, unless it is named as a sentinel', async () => {
    const row = `INSERT INTO orders VALUES (${LAST}), (0);`
    await expect(open(EFCORE, row)).rejects.toThrow(`sentinels: ["${LAST}"]`)
    const { take } = await open({ ...EFCORE, sentinels: [LAST] }, row)
    expect(span(await take(10))).toEqual([1, 10])
  })
})
