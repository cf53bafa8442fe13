/**
 * Random lives of a counter under the hands of operators: by a seed, two collections and a back end
 * share it, while somebody alters, drops, empties and restores what is around it, and puts it right
 * as the documents say. No id is made twice. A device's id is never free again; an id of the back
 * end is, once its row is gone and the counter was set back.
 */
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { sizeOf } from '../../../../test/support/sizes.js'
import { isSequence } from '../../../src/addons/bound/orm/counter-binding.js'
import { adopt } from '../../../src/cli/counters.js'
import { CounterUnusable, type Ledger, LedgerUnavailable, openLedger } from '../../../src/index.js'
import type { Grant } from '../../../src/ledger/ledger.js'
import { seededRandom } from '../../devices.js'
import { newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { bindingOf } from './bound.js'
import { type Block, ORMS, type Orm } from './orms.js'

const LIVES = sizeOf('COUNTER_LIVES')
const STEPS = 100
/** The first of the steps. */
const EVERYDAY = 4
const PROCESSES = 2
const COLLECTIONS = ['orders', 'web'] as const
type Collection = (typeof COLLECTIONS)[number]
/** The back end's ids end here, in lives that begin near the end. */
const END = 2_147_483_647
/** More than a process of the back end holds, and than is granted between two copies. */
const RAISE = 1_000
/** No row of the ledger, but the textbook's counter. */
const COUNTERS = ['hilo_next_hi', 'hilo']

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Holding extends Pick<Grant, 'low' | 'high' | 'token'> {
  collection: Collection
}

async function live({ settings, schema, newTaker }: Orm, seed: number): Promise<number> {
  const random = seededRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)]!
  const databaseUrl = await newDatabase({ hasPath: true })
  const sql = (text: string) => runSql(databaseUrl, text)
  const isNearEnd = seed % 3 === 0
  const type = isNearEnd ? 'integer' : 'bigint'
  await sql(`CREATE SCHEMA copy; CREATE TABLE orders (id ${type} PRIMARY KEY, who text); ${schema}`)
  const bound = { ...settings, ids: 'orders.id', proved: false } as const
  const binding = bindingOf(bound)
  const { location } = binding
  const isOfSequence = isSequence(location)
  const place = isOfSequence ? `"${location.sequence}"` : location.table
  const collectionsOf = (one: typeof settings) => ({ Shop: { orders: one, web: one } })
  const maxId = isNearEnd ? 'int4' : bound.maxId
  const options = { databaseUrl, collections: collectionsOf({ ...bound, maxId }) }

  const told: string[] = []
  const makers = new Map<number, { who: string; isStored: boolean }>()
  const devices: Holding[] = []
  let clients: pg.Client[] = []
  let takers: (() => Promise<Block>)[] = []
  let processes: (Block | undefined)[] = []
  let ledgers: Ledger[] = []
  /** The highest id when the copy was made. */
  let copied: number | undefined

  function make(id: number, who: string, isStored: boolean): void {
    told.push(`${who} makes ${id}`)
    const before = makers.get(id)
    if (before) throw new Error(`${before.who} and ${who} made ${id}`)
    makers.set(id, { who, isStored })
  }
  const highest = () => Math.max(0, ...makers.keys(), ...devices.map(({ high }) => high))

  async function startBackEnd() {
    await Promise.all(clients.map((client) => client.end()))
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
  async function stopServers() {
    await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()))
  }
  async function startServers() {
    const open = () => openLedger({ ...options, create: true })
    for (let i = 0; i < 2; i++)
      ledgers.push(
        await open().catch(async (error) => {
          if (!(error instanceof CounterUnusable)) throw error
          await adoptOne()
          return open()
        }),
      )
  }
  async function claim(collection = pick(COLLECTIONS), count = 1 + below(25)) {
    const wish = { database: 'Shop', collection, id: newId(), count, lastMax: 0, at: 0 }
    const [outcome] = await pick(ledgers).claim([{ ...wish, serverTag: 'A' }])
    if (!outcome || !('grant' in outcome)) return
    const { low, high, token } = outcome.grant
    told.push(`${collection} was granted ${low} to ${high}`)
    devices.push({ collection, low, high, token })
  }
  /** What nobody may get, nobody gets; else the claim is refused. */
  async function claimOrRefused() {
    await claim().catch((error) => {
      if (!(error instanceof CounterUnusable)) throw error
      told.push(error.message)
    })
  }
  /** As the documents say: the back end is stopped then. */
  async function adoptOne() {
    const collection = pick(COLLECTIONS)
    told.push(`adopts ${collection}`)
    await adopt(options, { database: 'Shop', collection, isApplied: true })
    await startBackEnd()
    // Where the ORM takes two values at first, nobody else takes before that.
    await steps.backEndMakes()
  }
  async function putRight() {
    for (let i = 0; i < 4; i++) await claimOrRefused()
    await adoptOne()
  }
  /** Ids of rows that are gone, of the back end only, may come again. */
  async function forgetRows() {
    const { rows } = await sql('SELECT id FROM orders')
    const there = new Set(rows.map(({ id }) => Number(id)))
    for (const [id, { who, isStored }] of makers)
      if (isStored && who !== 'a device' && !there.has(id)) makers.delete(id)
  }
  async function tables(condition: string): Promise<string[]> {
    const { rows } = await sql(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
         AND relkind = 'r' AND ${condition} ORDER BY relname`,
    )
    return rows.map(({ relname }) => relname)
  }
  const counters = COUNTERS.map((name) => `'${name}'`).join()
  const ofLedger = () => tables(`relname LIKE 'hilo\\_%' AND relname NOT IN (${counters})`)
  const ofBackEnd = () => tables(`relname NOT LIKE 'hilo\\_%' OR relname IN (${counters})`)
  async function restore(names: readonly string[]) {
    const filled = names
      .map((name) => `INSERT INTO ${name} SELECT * FROM copy.of_${name}`)
      .join(';')
    await sql(`BEGIN; TRUNCATE ${names.join()}; ${filled}; COMMIT`)
  }
  const hiOf = (id: number) => Math.floor(id / Number(binding.blocks.size))
  const setBack = (to: number) =>
    sql(
      isOfSequence
        ? `SELECT setval('${place}', ${to}, false)`
        : `UPDATE ${place} SET ${location.column} = ${hiOf(to)}`,
    )

  const steps = {
    async backEndMakes() {
      const at = below(PROCESSES)
      let held = processes[at]
      if (!held || held[0] > held[1]) {
        held = await takers[at]!().catch((error: { code?: string }) => {
          // The counter is at its end.
          if (error.code !== '22003' && error.code !== '2200H') throw error
          return undefined
        })
        if (!held) return
        processes[at] = held
        told.push(`process ${at} took ${held.join(' to ')}`)
      }
      const id = held[0]++
      if (id > END && isNearEnd) return
      const { rowCount } = await sql(
        `INSERT INTO orders VALUES (${id}, 'the back end') ON CONFLICT DO NOTHING`,
      )
      const isForeign = makers.get(id)?.who === 'an import'
      // The back end gets an error where a row was imported with this id.
      if (rowCount === 1 || !isForeign) make(id, `process ${at}`, true)
    },
    deviceClaims: () => claim(),
    async deviceMakes() {
      const device = pick(devices)
      if (!device || device.low > device.high) return
      const id = device.low++
      make(id, 'a device', true)
      if (random() < 0.6) await sql(`INSERT INTO orders VALUES (${id}, 'a device')`)
    },
    async deviceGivesBack() {
      const device = pick(devices)
      if (!device || device.low > device.high) return
      const { collection, low, high, token } = device
      device.high = low - 1
      told.push(`${collection} gave back ${low} to ${high}`)
      const back = { database: 'Shop', collection, end: high, last: low - 1, token, at: 0 }
      await ledgers[0]!.giveBack(back)
    },
    backEndRestarts: startBackEnd,
    async serversRestart() {
      await stopServers()
      await startServers()
    },
    async counterIsAltered() {
      if (!isOfSequence) return
      const altered = pick(['INCREMENT 7', 'INCREMENT 20', 'INCREMENT -10', 'CYCLE', 'CACHE 50'])
      const right = `INCREMENT ${binding.blocks.step} NO CYCLE CACHE 1`
      told.push(altered)
      // Somebody asks just then, and thereafter.
      await Promise.all([
        sql(`ALTER SEQUENCE ${place} ${altered}`),
        claimOrRefused(),
        claimOrRefused(),
      ])
      const before = devices.length
      for (let i = 0; i < 2; i++) await claimOrRefused()
      expect(devices.length).toBe(before)
      if (random() < 0.5 && altered !== 'INCREMENT -10') await sql(`SELECT nextval('${place}')`)
      await Promise.all([sql(`ALTER SEQUENCE ${place} ${right}`), claimOrRefused()])
      // A value that somebody took meanwhile may have set it back.
      await putRight()
    },
    async counterIsSetBack() {
      const to = 1 + below(highest())
      told.push(`set to ${to}`)
      await setBack(to)
      await putRight()
    },
    async counterIsMadeAnew() {
      told.push('made anew')
      if (isOfSequence)
        await sql(
          `DROP SEQUENCE ${place}; CREATE SEQUENCE ${place} INCREMENT ${binding.blocks.step}`,
        )
      else await setBack(0)
      await putRight()
    },
    async tableIsEmptied() {
      told.push('TRUNCATE … RESTART IDENTITY')
      await sql('TRUNCATE orders')
      await setBack(1)
      await forgetRows()
      await putRight()
    },
    async rowIsImported() {
      const id = highest() + RAISE + below(200)
      if (isNearEnd && id > END) return
      await sql(`INSERT INTO orders VALUES (${id}, 'an import')`)
      make(id, 'an import', true)
    },
    async copyIsMade() {
      await stopServers()
      const names = [...(await ofLedger()), ...(await ofBackEnd())]
      const copies = names.map((name) => `CREATE TABLE copy.of_${name} AS SELECT * FROM ${name}`)
      if (isOfSequence) copies.push(`CREATE TABLE copy.state AS SELECT * FROM ${place}`)
      await sql(`DROP SCHEMA copy CASCADE; CREATE SCHEMA copy; ${copies.join(';')}`)
      copied = highest()
      await startServers()
    },
    async backEndIsRestored() {
      if (copied === undefined) return
      told.push("the back end's data is restored, without the ledger")
      await restore(await ofBackEnd())
      if (isOfSequence)
        await sql(`SELECT setval('${place}', last_value, is_called) FROM copy.state`)
      await forgetRows()
      await putRight()
    },
    async ledgerIsRestored() {
      if (copied === undefined) return
      told.push('the ledger is restored, without the back end')
      await stopServers()
      await restore(await ofLedger())
      await startServers()
      await ledgers[0]!.raiseFloors({ database: 'Shop', by: highest() - copied + RAISE })
    },
    async collectionIsUnbound() {
      const unbound = await openLedger({ databaseUrl, create: true })
      ledgers.push(unbound)
      const [first, second] = ledgers.splice(0, 2)
      for (let i = 0; i < 2; i++) await claimOrRefused()
      ledgers = [first!, second!]
      await unbound.close()
    },
  }

  cleanups.push(async () => {
    await stopServers()
    for (const client of clients) await client.end()
  })
  await startBackEnd()
  await steps.backEndMakes()
  if (isNearEnd) {
    await setBack(END - 6_000)
    await startBackEnd()
  }
  await startServers()
  let isOver = false
  for (let i = 0; i < STEPS && !isOver; i++) {
    const names = Object.keys(steps) as (keyof typeof steps)[]
    const step = names[below(random() < 0.7 ? EVERYDAY : names.length)]!
    await steps[step]().catch(async (error: Error) => {
      if (error instanceof LedgerUnavailable) return
      isOver = error instanceof CounterUnusable && /^No block .*left/.test(error.message)
      if (isOver) return
      // Of two sessions at once, the one that was first has moved the counter.
      if (error instanceof CounterUnusable) return putRight()
      error.message = `seed ${seed}, ${step}: ${error.message}\n${told.slice(-60).join('\n')}`
      throw error
    })
  }
  for (const device of devices)
    while (device.low <= device.high) make(device.low++, 'a device', true)
  return makers.size
}

test.each(ORMS)(
  '$title: no id twice in a life with operators',
  { timeout: LIVES * 60_000 },
  async (orm) => {
    for (let seed = 1; seed <= LIVES; seed++) {
      expect(await live(orm, seed)).toBeGreaterThan(10)
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    }
  },
)
