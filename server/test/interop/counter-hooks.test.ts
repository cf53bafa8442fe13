/**
 * The functions of examples/counter-hooks.ts on real databases, while a back end takes ids from the
 * same counter, and the database is killed and starts again.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  autoIncrement,
  hibernateTable,
  mariaSequence,
  redisCounter,
} from '../../../examples/counter-hooks.js'
import { isInstalled, type Peer, unlessInstalled } from '../../../test/support/peers.js'
import { mariadb, mariadbDefaults, redis, unless } from '../../../test/support/programs.js'
import { type CounterHook, type Ledger, LedgerUnavailable, openLedger } from '../../src/index.js'
import { newFolder } from '../folders.js'
import { grantOf, newId } from '../ledger-bench.js'
import { compileHibernate, hibernateCommand } from './hibernate-command.js'
import { type OtherDatabase, startMariaDb, startRedis } from './other-databases.js'
import { HIBERNATE, mariadbDriver, mysqlClient, redisClient } from './peers.js'
import { startTaker } from './taker.js'

const WISH = { database: 'Shop', collection: 'orders', lastMax: 0, serverTag: 'A', at: 0 }
const MARIA = [mariadb, mariadbDefaults]
const isMaria = MARIA.every(({ find }) => find()) && isInstalled(mysqlClient)
const unlessMaria = MARIA.map(unless).join('') + unlessInstalled(mysqlClient)

/** Loads a package from the folder of a peer. */
const load = (peer: Peer, name: string) => createRequire(join(peer.folder, 'x.js'))(name)

async function newLedgers(hook: CounterHook): Promise<Ledger[]> {
  const dataDir = newFolder()
  const ledgers: Ledger[] = []
  for (let i = 0; i < 2; i++) {
    const ledger = await openLedger({
      dataDir,
      create: true,
      counters: { Shop: { orders: hook } },
    })
    onTestFinished(() => ledger.close())
    ledgers.push(ledger)
  }
  return ledgers
}

/** @param store the back end stores so many rows. @returns their ids */
async function meet(
  hook: CounterHook,
  database: OtherDatabase,
  store: (count: number) => Promise<number[]>,
): Promise<void> {
  const ids = await store(3)
  const ledgers = await newLedgers(hook)
  const claim = async (i: number) => {
    const [outcome] = await ledgers[i % 2]!.claim([
      { ...WISH, id: newId(), count: 1 + ((i * 37) % 130) },
    ])
    const { low, high } = grantOf(outcome!)
    for (let id = low; id <= high; id++) ids.push(id)
  }
  for (let round = 0; round < 4; round++) {
    const claims = Promise.all([0, 1, 2, 3, 4, 5].map((i) => claim(6 * round + i)))
    const [stored] = await Promise.all([store(27), claims])
    ids.push(...stored, ...(await store(3)))
    await database.crash()
  }
  expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
  expect(ids.length).toBeGreaterThan(600)
  expect(ids.length - new Set(ids).size).toBe(0)
}

describe.runIf(redis.find() && isInstalled(redisClient))(
  `Redis${unless(redis)}${unlessInstalled(redisClient)}`,
  () => {
    test('INCRBY', async () => {
      const database = await startRedis()
      const { createClient } = load(redisClient, 'redis')
      const client = createClient({ url: `redis://127.0.0.1:${database.port}` })
      client.on('error', () => {})
      await client.connect()
      onTestFinished(() => client.destroy())
      await meet(redisCounter(client, false), database, (count) =>
        Promise.all(Array.from({ length: count }, () => client.incrBy('orders', 1))),
      )
    })

    test('a Redis that lost what it had grants nothing', async () => {
      const database = await startRedis()
      const { createClient } = load(redisClient, 'redis')
      const client = await createClient({ url: `redis://127.0.0.1:${database.port}` }).connect()
      onTestFinished(() => client.destroy())
      const [ledger] = await newLedgers(redisCounter(client, false))
      const claim = async (count: number) =>
        grantOf((await ledger!.claim([{ ...WISH, id: newId(), count }]))[0]!)
      expect(await claim(200)).toMatchObject({ low: 1, high: 200 })
      await client.del('orders')
      await expect(claim(1)).rejects.toThrow('If the counter went back')
      await client.set('orders', 200)
      expect(await claim(100)).toMatchObject({ low: 201, high: 300 })
    })
  },
)

describe.runIf(isMaria)(`MariaDB${unlessMaria}`, () => {
  async function newShop() {
    const database = await startMariaDb()
    const { createPool } = load(mysqlClient, 'mysql2/promise')
    const to = { host: '127.0.0.1', port: database.port, user: 'root' }
    const pool = createPool(to)
    await pool.query('CREATE DATABASE shop')
    await pool.end()
    const shop = createPool({ ...to, database: 'shop' })
    onTestFinished(() => shop.end())
    return { database, shop }
  }

  test('AUTO_INCREMENT', async () => {
    const { database, shop } = await newShop()
    await shop.query(
      'CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, who varchar(20) NOT NULL)',
    )
    await meet(autoIncrement(shop), database, async (count) => {
      const ids: number[] = []
      for (let i = 0; i < count; i++)
        ids.push((await shop.query("INSERT INTO orders (who) VALUES ('back end')"))[0].insertId)
      return ids
    })
  })

  test('AUTO_INCREMENT by another step than 1 grants nothing', async () => {
    const { shop } = await newShop()
    const connection = await shop.getConnection()
    await connection.query(
      'CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, who varchar(20))',
    )
    await connection.query('SET GLOBAL auto_increment_increment = 2')
    connection.destroy()
    const [ledger] = await newLedgers(autoIncrement(shop))
    const claim = ledger!.claim([{ ...WISH, id: newId(), count: 1 }])
    await expect(claim).rejects.toThrow(LedgerUnavailable)
    await expect(claim).rejects.toThrow('The ids of these rows do not follow each other')
    expect((await shop.query('SELECT * FROM orders'))[0]).toEqual([])
  })

  const hibernate = HIBERNATE['7.1']
  const isThere = isInstalled(hibernate) && isInstalled(mariadbDriver)
  test.skipIf(!isThere).each([
    ['TableGenerator', 'NamedTable', hibernateTable],
    ['a sequence', 'DefaultSequence', mariaSequence],
  ] as const)(
    `Hibernate 7.1 with %s${unlessInstalled(hibernate)}${unlessInstalled(mariadbDriver)}`,
    async (_, mapping, hook) => {
      const { database, shop } = await newShop()
      const classes = compileHibernate('7.1', hibernate)
      const taker = await startTaker(
        hibernateCommand(
          [`${hibernate.folder}/lib/*`, `${mariadbDriver.folder}/lib/*`, classes],
          `jdbc:mariadb://127.0.0.1:${database.port}/shop?user=root`,
          true,
          [mapping],
        ),
      )
      // Hibernate's pool keeps connections that a crash has ended.
      const living = { ...database, crash: async () => {} }
      await meet(hook(shop), living, async (count) => {
        const before = taker.ids.length
        await taker.take(count)
        return taker.ids.slice(before).map(Number)
      })
      await taker.end()
    },
  )
})
