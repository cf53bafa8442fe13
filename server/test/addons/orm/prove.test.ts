/**
 * A binding is proved, not believed: `check --prove` watches a back end that stores records, and
 * until then a server does not begin where there are rows.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'
import { adopt, check } from '../../../src/cli/counters.js'
import { prove } from '../../../src/cli/prove.js'
import { openLedger } from '../../../src/index.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { proveBeside } from './proving.js'

const KEY = { database: 'Shop', collection: 'orders' }
const ids = 'orders.id'
const LO: CounterOptions = {
  strategy: 'hibernate-pooled-lo',
  sequence: 'order_seq',
  blockSize: 5,
  maxId: 'int8',
  ids,
}
const POOLED: CounterOptions = { ...LO, strategy: 'hibernate-pooled' }
const HILO: CounterOptions = {
  strategy: 'hibernate-hilo-table',
  table: 'hibernate_unique_key',
  column: 'next_hi',
  maxLo: 5,
  maxId: 'int8',
  ids,
}
const KEYED: CounterOptions = {
  strategy: 'hibernate-table',
  segment: 'Order',
  blockSize: 5,
  maxId: 'int8',
  ids,
}
const ORDERS = 'CREATE TABLE orders (id bigint PRIMARY KEY);'
const SEQUENCE = `${ORDERS} CREATE SEQUENCE order_seq INCREMENT 5;`
const TABLE = `${ORDERS} CREATE TABLE hibernate_unique_key (next_hi bigint);
  INSERT INTO hibernate_unique_key VALUES (0);`
const KEYS = `${ORDERS} CREATE TABLE hibernate_sequences (sequence_name text PRIMARY KEY,
  next_val bigint); INSERT INTO hibernate_sequences VALUES ('Order', 100);`

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** A shop whose back end has begun, and an empty ledger beside it. */
async function shop(settings: CounterOptions, schema: string) {
  const databaseUrl = await newDatabase()
  await runSql(databaseUrl, schema)
  await (await openLedger({ databaseUrl, create: true })).close()
  const optionsWith = (settings: CounterOptions) => ({
    databaseUrl,
    collections: { Shop: { orders: settings } },
  })
  return {
    databaseUrl,
    optionsWith,
    options: optionsWith(settings),
    sql: async (text: string) => (await runSql(databaseUrl, text)).rows,
    open: async (now = settings) => {
      const ledger = await openLedger(optionsWith(now))
      cleanups.push(() => ledger.close())
      return ledger
    },
  }
}

/** @param firstOf which id a value begins with */
function backEnd(
  databaseUrl: string,
  take: string,
  size: number,
  firstOf: (value: number) => number,
) {
  let [next, end] = [0, 0]
  return async () => {
    if (next === end) {
      const { rows } = await runSql(databaseUrl, take)
      next = firstOf(Number(rows[0].v))
      end = next + size
    }
    const id = next++
    await runSql(databaseUrl, `INSERT INTO orders VALUES (${id})`)
    return id
  }
}
const NEXTVAL = "SELECT nextval('order_seq') AS v"
const NEXT_HI = 'UPDATE hibernate_unique_key SET next_hi = next_hi + 1 RETURNING next_hi - 1 AS v'
/** Of a value that is not the first one. */
const pooled = (databaseUrl: string) => backEnd(databaseUrl, NEXTVAL, 5, (value) => value - 4)
const lo = (databaseUrl: string) => backEnd(databaseUrl, NEXTVAL, 5, (value) => value)
const hilo = (databaseUrl: string, maxLo: number) =>
  backEnd(databaseUrl, NEXT_HI, maxLo + 1, (value) => value * (maxLo + 1))

const NEXT_VAL =
  'UPDATE hibernate_sequences SET next_val = next_val + 5 RETURNING next_val - 4 AS v'
/** Hibernate's table with the optimizer pooled. */
const keyed = (databaseUrl: string) => backEnd(databaseUrl, NEXT_VAL, 5, (value) => value - 4)

const begun = (schema: string) => `${schema} SELECT nextval('order_seq');`

describe('a right binding', () => {
  test('is proved by two blocks, is remembered, and then a server begins', async () => {
    const { databaseUrl, options, open } = await shop(POOLED, begun(SEQUENCE))
    const store = pooled(databaseUrl)
    await store()
    await expect(open()).rejects.toThrow(
      'public.orders.id has ids, and nobody has seen that Hibernate 5.6.8 and later makes ' +
        'them as configured: hibernate-pooled on sequence public.order_seq with blockSize 5. ' +
        'With a wrong strategy or size, ids would come twice. Prove it, while the back end ' +
        'stores a few records: npx offline-hilo-server check --prove Shop/orders. To go on ' +
        'without a proof, write "proved": false into the configuration.',
    )
    expect(await check(options)).toContain(
      'not contradicted by the ids in public.orders.id, and not proved: npx offline-hilo-server ' +
        'check --prove Shop/orders',
    )
    const lines = await proveBeside(options, store)
    expect(lines[0]).toMatch(/^Watching sequence public.order_seq and public.orders.id. Let Hib/)
    expect(lines.filter((line) => line.includes('a block begins as configured'))).toHaveLength(2)
    expect(lines.at(-1)).toBe(
      'Proved: hibernate-pooled on sequence public.order_seq with blockSize 5 makes the ids in ' +
        'public.orders.id.',
    )
    expect(await check(options)).toContain('; proved by the ids in public.orders.id\n')
    const ledger = await open()
    const told: string[] = []
    ledger.onCaution!((caution) => told.push(caution))
    expect(told).toEqual([])
  })

  test('in a table with one row', async () => {
    const { databaseUrl, options, open } = await shop(HILO, TABLE)
    const store = hilo(databaseUrl, 5)
    await store()
    await proveBeside(options, store)
    await open()
  })
})

describe('a wrong binding is not proved, and nothing is remembered', () => {
  test('pooled-lo beside pooled: the one that fits is named', async () => {
    const { databaseUrl, options, open } = await shop(LO, begun(SEQUENCE))
    await runSql(databaseUrl, 'INSERT INTO orders VALUES (1)')
    await expect(proveBeside(options, pooled(databaseUrl))).rejects.toThrow(
      /^Not proved: .*-pooled-lo with blockSize 5 .* hibernate-pooled makes what was made\./,
    )
    await expect(open()).rejects.toThrow(/nobody has seen|no id of it is there/)
  })

  test('an optimizer beside another one: the one that fits is named', async () => {
    const wrong = { ...KEYED, optimizer: 'pooled-lo' } as const
    const { databaseUrl, open, options } = await shop(wrong, KEYS)
    const store = keyed(databaseUrl)
    await store()
    await expect(open()).rejects.toThrow('is there. the optimizer pooled fits. Correct that here.')
    await runSql(databaseUrl, 'DELETE FROM orders')
    await expect(proveBeside(options, store)).rejects.toThrow(
      /^Not proved: .*pooled-lo and blockSize 5 .* the optimizer pooled makes what was made\./,
    )
  })

  test.each([4, 6])('maxLo %i beside maxLo 5', async (maxLo) => {
    const { databaseUrl, options, open } = await shop({ ...HILO, maxLo }, TABLE)
    const store = hilo(databaseUrl, 5)
    for (let i = 0; i < 20; i++) await store()
    await expect(proveBeside(options, store)).rejects.toThrow(/twice|Not proved/)
    await expect(open({ ...HILO, maxLo })).rejects.toThrow(
      /nobody has seen|no id of it is there|ids would come twice|fits/,
    )
  })
})

describe('without a proof', () => {
  test('an empty table begins; rows that come before the first block stop it', async () => {
    const { open, sql } = await shop(LO, SEQUENCE)
    const ledger = await open()
    const claim = () =>
      ledger.claim([{ ...KEY, id: newId(), count: 5, lastMax: 0, serverTag: 'A', at: 0 }])
    await sql("SELECT nextval('order_seq'); INSERT INTO orders VALUES (1)")
    await expect(claim()).rejects.toThrow('check --prove Shop/orders')
    await sql('DELETE FROM orders')
    expect(grantOf((await claim())[0]!)).toMatchObject({ low: 6, high: 10 })
    await sql('INSERT INTO orders VALUES (1)')
    expect(grantOf((await claim())[0]!)).toMatchObject({ low: 11, high: 15 })
  })

  describe('a collection that counted by itself before', () => {
    const own = async (settings: CounterOptions) => {
      const { databaseUrl, ...rest } = await shop(settings, begun(SEQUENCE))
      const ledger = await openLedger({ databaseUrl })
      await ledger.claim([{ ...KEY, id: newId(), count: 5, lastMax: 0, serverTag: 'A', at: 0 }])
      await ledger.close()
      await runSql(databaseUrl, "SELECT nextval('order_seq'); INSERT INTO orders VALUES (2)")
      return { databaseUrl, ...rest }
    }

    test('does not begin on a wrong strategy', async () => {
      const { open, options } = await own(LO)
      await expect(check(options)).rejects.toThrow('hibernate-pooled fits')
      await expect(open()).rejects.toThrow('hibernate-pooled fits')
    })

    test('begins on a proof', async () => {
      const { databaseUrl, options, open } = await own(POOLED)
      await expect(open()).rejects.toThrow('nobody has seen')
      await proveBeside(options, pooled(databaseUrl))
      await open()
    })

    test('needs a proof after adopt, too', async () => {
      const { databaseUrl, options, open } = await own(LO)
      await adopt(options, { ...KEY, isApplied: true })
      await expect(open()).rejects.toThrow('nobody has seen')
      await expect(proveBeside(options, pooled(databaseUrl))).rejects.toThrow('Not proved')
      await expect(open()).rejects.toThrow(/nobody has seen|ids would come twice/)
    })

    test('keeps a proof that came before adopt', async () => {
      const { databaseUrl, options, open } = await own(POOLED)
      await proveBeside(options, pooled(databaseUrl))
      await adopt(options, { ...KEY, isApplied: true })
      await open()
    })
  })

  test('`proved: false` begins, and the log says so at each start', async () => {
    const { open, options, optionsWith, sql } = await shop(LO, begun(SEQUENCE))
    await sql('INSERT INTO orders VALUES (1)')
    await expect(open()).rejects.toThrow('"proved": false')
    const unproven: CounterOptions = { ...LO, proved: false }
    expect(await check(optionsWith(unproven))).toContain('not proved: as `proved: false` says')
    const told: string[] = []
    ;(await open(unproven)).onCaution!((caution) => told.push(caution))
    expect(told).toEqual([
      'shop/orders: nobody has seen that Hibernate makes its ids as configured. Nothing in its ' +
        'tables contradicts that, and that is no proof. npx offline-hilo-server check --prove ' +
        'Shop/orders proves it, while the back end stores a few records.',
    ])
    expect(options).toBeDefined()
  })
})

describe('a proof is of one binding', () => {
  test('another strategy, taken over by adopt, needs another proof', async () => {
    const { databaseUrl, options, optionsWith, open } = await shop(POOLED, begun(SEQUENCE))
    await proveBeside(options, pooled(databaseUrl))
    await open()
    await adopt(optionsWith(LO), { ...KEY, isApplied: true })
    const store = lo(databaseUrl)
    await store()
    await expect(open(LO)).rejects.toThrow('hibernate-pooled-lo on sequence public.order_seq')
    await proveBeside(optionsWith(LO), store)
    await open(LO)
  })

  test('another optimizer is another binding, and needs another proof', async () => {
    const { databaseUrl, options, optionsWith, open } = await shop(KEYED, KEYS)
    const store = keyed(databaseUrl)
    await store()
    await proveBeside(options, store)
    const ledger = await open()
    const wish = { ...KEY, count: 5, lastMax: 0, serverTag: 'A', at: 0 }
    await ledger.claim([wish])
    const other = { ...KEYED, optimizer: 'pooled-lo' } as const
    await expect(open(other)).rejects.toThrow(
      'the ledger knows it as hibernate-table on public.hibernate_sequences.next_val where ' +
        "sequence_name = 'Order' with pooled and blockSize 5, the configuration says " +
        "hibernate-table on public.hibernate_sequences.next_val where sequence_name = 'Order' " +
        'with pooled-lo and blockSize 5.',
    )
    await adopt(optionsWith(other), { ...KEY, isApplied: true })
    await expect(open(other)).rejects.toThrow('nobody has seen')
  })

  test('another column needs another proof', async () => {
    const { databaseUrl, options, open, sql } = await shop(POOLED, begun(SEQUENCE))
    await proveBeside(options, pooled(databaseUrl))
    await open()
    await sql('CREATE TABLE lines (id bigint PRIMARY KEY)')
    await expect(open({ ...POOLED, ids: [ids, 'lines.id'] })).rejects.toThrow('nobody has seen')
  })
})

describe('the command', () => {
  test('needs a ledger, a column, one collection, and a back end', async () => {
    const { options, optionsWith } = await shop(LO, SEQUENCE)
    const run = (changed: object, name?: string) =>
      prove({ ...options, ...changed }, { name, seconds: 0.01, say() {} })
    await expect(run({})).rejects.toThrow(
      'Not proved: in 0.01 seconds, the back end began 0 of 2 blocks',
    )
    await expect(run({}, 'Shop/lines')).rejects.toThrow(
      'one collection that is bound to a counter: Shop/lines. There are: Shop/orders.',
    )
    await expect(run(optionsWith({ ...LO, ids: false }))).rejects.toThrow('so nobody can look')
    await expect(run({ databaseUrl: await newDatabase() })).rejects.toThrow('There is no ledger')
  })
})
