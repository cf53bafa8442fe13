/**
 * A real hot standby, which follows a primary: it is refused, and when it has become the primary it
 * goes on without a duplicate.
 */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { adopt, check } from '../src/cli/counters.js'
import { type LedgerOptions, openLedger } from '../src/index.js'
import { grantOf, newId, span } from './ledger-bench.js'
import { type Cluster, runSql, startCluster } from './postgres-cluster.js'
import { startRelay } from './relay.js'

const TIMEOUT = 120_000
const KEY = { database: 'Shop', collection: 'orders' }
const COLLECTIONS = {
  Shop: {
    orders: { strategy: 'efcore', sequence: 'order_seq', blockSize: 10, maxId: 'int8', ids: false },
  },
} as const

let primary: Cluster
let standby: Cluster

beforeAll(async () => {
  primary = await startCluster()
  await runSql(
    primary.url,
    'CREATE SEQUENCE order_seq INCREMENT 10; CREATE TABLE orders (id bigint PRIMARY KEY)',
  )
  await (
    await openLedger({ create: true, databaseUrl: primary.url, collections: COLLECTIONS })
  ).close()
  standby = await startCluster({ primary })
  return async () => {
    await primary.remove()
    await standby.remove()
  }
})

test.each<[string, (options: LedgerOptions) => Promise<unknown>]>([
  ['a server does not start on it', openLedger],
  ['nor is it checked', check],
  ['nor raised', (options) => adopt(options, { ...KEY, from: 'orders.id', isApplied: true })],
])('%s', async (_, run) => {
  await expect(run({ databaseUrl: standby.url, collections: COLLECTIONS })).rejects.toThrow(
    /^The database is a standby, which cannot grant numbers or move a counter. Point --data/,
  )
})

test('after a switch the standby grants on, and the old primary grants nothing', async () => {
  await runSql(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await runSql(primary.url, 'SELECT pg_reload_conf()')
  const states = async () =>
    (await runSql(primary.url, 'SELECT sync_state FROM pg_stat_replication')).rows
  await expect.poll(states, { timeout: TIMEOUT }).toEqual([{ sync_state: 'sync' }])
  const address = await startRelay(primary.url)
  const ledger = await openLedger({
    create: true,
    databaseUrl: address.url,
    collections: COLLECTIONS,
  })
  onTestFinished(() => ledger.close())
  const granted: [number, number][] = []
  const claim = async (tag: string) => {
    const [outcome] = await ledger.claim([
      { ...KEY, collection: tag, id: newId(), count: 32, lastMax: 0, serverTag: 'A', at: 0 },
    ])
    granted.push(span(grantOf(outcome!)))
  }
  const refusal = (tag: string) => claim(tag).catch(({ name, message }) => `${name}: ${message}`)
  for (let i = 0; i < 20; i++) await claim('orders')

  address.leadTo(standby.url)
  await primary.stop('immediate')
  for (const tag of ['orders', 'lines'])
    await expect
      .poll(() => refusal(tag), { timeout: TIMEOUT })
      .toMatch(/^LedgerUnavailable: .*read-only transaction/)

  await runSql(standby.url, 'SELECT pg_promote()')
  const before = granted.length
  await expect.poll(() => refusal('orders'), { timeout: TIMEOUT }).toBeUndefined()
  for (let i = 0; i < 20; i++) await claim('orders')
  expect(granted.length).toBeGreaterThan(before + 20)

  // It boots again, and knows nothing of the other.
  await primary.start()
  await runSql(primary.url, 'ALTER SYSTEM RESET synchronous_standby_names')
  await runSql(primary.url, 'SELECT pg_reload_conf()')
  // It runs ahead of the other in what it counts, too.
  await runSql(primary.url, "UPDATE hilo_meta SET value = '1000' WHERE key = 'mark'")
  address.leadTo(primary.url)
  for (const tag of ['orders', 'lines'])
    await expect
      .poll(() => refusal(tag), { timeout: TIMEOUT })
      .toMatch(/^LedgerUnavailable: .*is on an older timeline/)
  expect(await refusal('orders')).toMatch('is on an older timeline')
  address.leadTo(standby.url)
  await expect.poll(() => refusal('orders'), { timeout: TIMEOUT }).toBeUndefined()
  const sorted = granted.toSorted(([a], [b]) => a - b)
  expect(sorted.filter(([low], i) => i > 0 && low <= sorted[i - 1]![1])).toEqual([])
})

test('after a switch that lost commits, who saw them grants nothing, also later', async () => {
  const first = await startCluster()
  onTestFinished(() => first.remove())
  const replication = await startRelay(first.url)
  const second = await startCluster({ primary: { ...first, url: replication.url } })
  onTestFinished(() => second.remove())
  const address = await startRelay(first.url)
  const open = async () => {
    const ledger = await openLedger({ create: true, databaseUrl: address.url })
    onTestFinished(() => ledger.close())
    return async () => {
      const wish = { ...KEY, id: newId(), count: 32, lastMax: 0, serverTag: 'A', at: 0 }
      const [outcome] = await ledger.claim([wish])
      return span(grantOf(outcome!))[0]
    }
  }
  const busy = await open()
  const idle = await open()
  const lowsOf = async (claim: () => Promise<number>, count: number) => {
    for (let i = 1; i < count; i++) await claim()
    return claim()
  }
  expect([await busy(), await idle()]).toEqual([1, 33])
  const marks = "SELECT value FROM hilo_meta WHERE key = 'mark'"
  const { rows } = await runSql(first.url, marks)
  await expect
    .poll(async () => (await runSql(second.url, marks)).rows, { timeout: TIMEOUT })
    .toEqual(rows)
  replication.leadTo('postgres://127.0.0.1:1')
  expect(await lowsOf(busy, 5)).toBe(193)

  await first.stop('immediate')
  address.leadTo(second.url)
  await runSql(second.url, 'SELECT pg_promote()')
  const refused = () => expect(busy()).rejects.toThrow('it lacks commits that this server has seen')
  await expect.poll(() => idle().catch(() => 0), { timeout: TIMEOUT }).toBe(65)
  await refused()
  // The idle one has never seen what is missing: somebody has to raise the floors.
  expect(await lowsOf(idle, 9)).toBe(353)
  await refused()
  // What it has used before is there again.
  await first.start()
  address.leadTo(first.url)
  await expect.poll(() => busy().catch(() => 0), { timeout: TIMEOUT }).toBe(225)
})

test('a commit that gives up waiting for a lost standby is no grant, nor a second', async () => {
  const server = await startCluster()
  onTestFinished(() => server.remove())
  await runSql(server.url, 'ALTER ROLE postgres SET client_min_messages = error')
  const ledger = await openLedger({ create: true, databaseUrl: server.url })
  onTestFinished(() => ledger.close())
  const wish = { ...KEY, count: 32, lastMax: 0, serverTag: 'A', at: 0 }
  await ledger.claim([{ ...wish, id: newId() }])
  await runSql(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'gone'")
  await runSql(server.url, 'SELECT pg_reload_conf()')
  const id = newId()
  const claim = ledger.claim([{ ...wish, id }]).catch((error: unknown) => error)
  const cancelled = async () =>
    (
      await runSql(
        server.url,
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
      )
    ).rowCount
  await expect.poll(cancelled, { timeout: TIMEOUT }).toBe(1)
  expect(await claim).toMatchObject({
    name: 'LedgerUnavailable',
    message: expect.stringContaining('canceling wait for synchronous replication'),
  })
  await runSql(server.url, "ALTER SYSTEM SET synchronous_standby_names = ''")
  await runSql(server.url, 'SELECT pg_reload_conf()')
  const [again] = await ledger.claim([{ ...wish, id }])
  expect(again).toMatchObject({ isRepeat: true, grant: { low: 33, high: 64 } })
})
