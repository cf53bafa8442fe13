/**
 * Random lives of a collection on the counter of a back end: by a seed, processes of the back end
 * and devices make ids, servers restart and lose their connections in mid-claim, backups are
 * restored, and somebody sets the counter back. No id is made twice.
 */
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { sizeOf } from '../../../../test/support/sizes.js'
import { isSequence } from '../../../src/addons/bound/orm/counter-binding.js'
import { adopt } from '../../../src/cli/counters.js'
import { CounterUnusable, type Ledger, LedgerUnavailable, openLedger } from '../../../src/index.js'
import type { Grant } from '../../../src/ledger/ledger.js'
import { seededRandom } from '../../devices.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { bindingOf } from './bound.js'
import { type Block, ORMS, type Orm } from './orms.js'

const LIVES = sizeOf('COUNTER_LIVES')
const STEPS = 120
/** The first of the steps. */
const EVERYDAY = 4
const PROCESSES = 3
const KEY = { database: 'Shop', collection: 'orders' }
const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'offline-hilo'`
const ORDERS = 'CREATE TABLE orders (id bigint PRIMARY KEY, who text);'
/** More than a process of the back end holds. */
const RAISE = 1_000

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** What a process of the back end, or a device, has left. */
interface Holding extends Pick<Grant, 'low' | 'high'> {
  token?: string | undefined
}

async function live({ settings, schema, newTaker }: Orm, seed: number): Promise<number> {
  const random = seededRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const databaseUrl = await newDatabase({ hasPath: true })
  const server = new URL(databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = 'postgres'
  const sql = (text: string) => runSql(databaseUrl, text)
  await sql(ORDERS + schema)
  const bound = { ...settings, ids: 'orders.id', proved: false } as const
  const options = { databaseUrl, collections: { Shop: { orders: bound } } }
  const { location } = bindingOf(bound)

  const told: string[] = []
  const makers = new Map<number, string>()
  let hasBackup = false
  let clients: pg.Client[] = []
  let takers: (() => Promise<Block>)[] = []
  let processes: (Holding | undefined)[] = []
  const devices: Holding[] = []
  let ledgers: Ledger[] = []

  async function make(id: number, who: string, isStored: boolean) {
    const before = makers.get(id)
    told.push(`${who} makes ${id}`)
    if (before !== undefined) throw new Error(`${before} and ${who} made ${id}`)
    makers.set(id, who)
    if (isStored) await sql(`INSERT INTO orders VALUES (${id}, '${who}')`)
  }

  async function startBackEnd() {
    for (const client of clients) await client.end()
    clients = await Promise.all(
      Array.from({ length: PROCESSES }, async () => {
        const client = new pg.Client(databaseUrl)
        await client.connect()
        return client
      }),
    )
    takers = clients.map((client) => newTaker(client))
    processes = []
  }
  async function stop() {
    await Promise.all(
      [...ledgers, ...clients].map((each) => ('end' in each ? each.end() : each.close())),
    )
    ledgers = []
    clients = []
  }
  const highest = () => Math.max(...makers.keys(), ...devices.map(({ high }) => high))
  const openServers = async () => {
    ledgers = [
      await openLedger({ ...options, create: true }),
      await openLedger({ ...options, create: true }),
    ]
  }

  const steps = {
    async backEndMakes() {
      const at = below(PROCESSES)
      let held = processes[at]
      if (!held || held.low > held.high) {
        const [low, high] = await takers[at]!()
        held = { low, high }
        processes[at] = held
        told.push(`process ${at} took ${low} to ${high}`)
      }
      await make(held.low++, `process ${at}`, true)
    },
    async deviceClaims() {
      const wish = { ...KEY, id: newId(), count: 1 + below(25), lastMax: 0, serverTag: 'A', at: 0 }
      const claim = () => ledgers[below(2)]!.claim([wish]).catch((error: Error) => error)
      const claiming = claim()
      let outcome: Awaited<typeof claiming>
      if (random() < 0.2) [outcome] = await Promise.all([claiming, sql(CUT)])
      else outcome = await claiming
      for (let tries = 0; outcome instanceof LedgerUnavailable && tries < 10; tries++)
        outcome = await claim()
      if (outcome instanceof Error) throw outcome
      const { low, high, token } = grantOf(outcome[0]!)
      told.push(`granted ${low} to ${high}`)
      devices.push({ low, high, token })
    },
    async deviceMakes() {
      const device = devices[below(devices.length)]
      if (device && device.low <= device.high) await make(device.low++, 'a device', random() < 0.6)
    },
    async deviceGivesBack() {
      const device = devices[below(devices.length)]
      if (!device || device.low > device.high) return
      const { low, high, token } = device
      device.high = low - 1
      told.push(`gave back ${low} to ${high}`)
      await ledgers[0]!.giveBack({ ...KEY, end: high, last: low - 1, token, at: 0 })
    },
    backEndRestarts: startBackEnd,
    async serversRestart() {
      await Promise.all(ledgers.map((ledger) => ledger.close()))
      await openServers()
    },
    /** Also what the back end holds in memory is gone then, as adopt asks for. */
    async counterIsAdopted() {
      await adopt(options, { ...KEY, isApplied: true })
      await startBackEnd()
    },
    floorIsRaised: () => ledgers[0]!.raiseFloor({ ...KEY, floor: highest() + below(40) }),
    async counterIsSetBack() {
      told.push('set back')
      await sql(
        isSequence(location)
          ? `SELECT setval('"${location.sequence}"', greatest(1, last_value - ${10 * below(9)}))
             FROM "${location.sequence}"`
          : `UPDATE ${location.table}
             SET ${location.column} = greatest(${location.column} - ${below(9)}, 0)`,
      )
      for (let i = 0; i < 4; i++)
        await steps.deviceClaims().catch((error) => {
          if (!(error instanceof CounterUnusable)) throw error
        })
      await steps.counterIsAdopted()
    },
    async backupIsMade() {
      await stop()
      if (hasBackup) await runSql(server.href, `DROP DATABASE ${name}_backup`)
      await runSql(server.href, `CREATE DATABASE ${name}_backup TEMPLATE ${name}`)
      hasBackup = true
      await Promise.all([startBackEnd(), openServers()])
    },
    async backupIsRestored() {
      if (!hasBackup) return
      told.push('restored')
      await stop()
      await runSql(server.href, `DROP DATABASE ${name} WITH (FORCE)`)
      await runSql(server.href, `CREATE DATABASE ${name} TEMPLATE ${name}_backup`)
      await openServers()
      await ledgers[0]!.raiseFloors({ database: KEY.database, by: highest() + RAISE })
      await startBackEnd()
    },
  }

  cleanups.push(async () => {
    await stop()
    if (hasBackup) await runSql(server.href, `DROP DATABASE ${name}_backup`)
  })
  await startBackEnd()
  await steps.backEndMakes()
  await openServers()
  for (let i = 0; i < STEPS; i++) {
    const names = Object.keys(steps) as (keyof typeof steps)[]
    // What happens every day happens most.
    const step = names[below(random() < 0.75 ? EVERYDAY : names.length)]!
    await steps[step]().catch((error: Error) => {
      // A connection was lost: what that step was to do is done or not.
      if (error instanceof LedgerUnavailable) return
      error.message = `seed ${seed}, ${step}: ${error.message}\n${told.slice(-60).join('\n')}`
      throw error
    })
  }
  for (const device of devices)
    while (device.low <= device.high) await make(device.low++, 'a device', false)
  return makers.size
}

test.each(ORMS)(
  '$title: no id twice in a random life',
  { timeout: LIVES * 60_000 },
  async (orm) => {
    for (let seed = 1; seed <= LIVES; seed++) {
      expect(await live(orm, seed)).toBeGreaterThan(STEPS / 4)
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    }
  },
)
