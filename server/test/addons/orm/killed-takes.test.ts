/**
 * The server is killed, or its connection, or PostgreSQL itself, after it took a block from the
 * back end's counter and before it committed the grant; or after that, before it answered. A block
 * may be a gap then. No id comes twice.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newFolder } from '../../folders.js'
import { newId } from '../../ledger-bench.js'
import { createDatabase, newDatabase } from '../../postgres.js'
import { runSql, startCluster } from '../../postgres-cluster.js'
import { type ServerProcess, startProcess } from '../../processes.js'
import { type Block, ORMS, type Orm } from './orms.js'

const OURS = `FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'offline-hilo'`

async function meet({ settings, schema, newTaker }: Orm, databaseUrl: string) {
  const sql = async (text: string) => (await runSql(databaseUrl, text)).rows
  await sql(`CREATE TABLE orders (id bigint PRIMARY KEY); ${schema}`)
  const bound = { ...settings, ids: 'orders.id', proved: false }
  const config = join(newFolder(), 'hilo.json')
  writeFileSync(config, JSON.stringify({ collections: { Shop: { orders: bound } } }))
  const made = new Set<number>()
  const make = ([low, high]: Block, who: string) => {
    for (let id = low; id <= high; id++) {
      if (made.has(id)) throw new Error(`${who}: ${id} came twice`)
      made.add(id)
    }
  }
  const begin = () =>
    startProcess(['--port', '0', '--config', config, '--database-url', databaseUrl])
  const backEnd = async () => {
    const client = new pg.Client(databaseUrl)
    client.on('error', () => {})
    await client.connect()
    const taker = newTaker(client)
    return { take: async () => make(await taker(), 'the back end'), end: () => client.end() }
  }
  return {
    sql,
    begin,
    backEnd,
    make,
    /** @returns undefined when the server did not answer */
    async claim({ url }: ServerProcess, id: string): Promise<Block | undefined> {
      const query = new URLSearchParams({ tag: 'orders', lastBatchSize: '7', claim: id })
      const answer = await fetch(`${url}/databases/Shop/hilo/next?${query}`).catch(() => undefined)
      if (!answer?.ok) return undefined
      const { Low, High } = (await answer.json()) as { Low: number; High: number }
      return [Low, High]
    },
    /** Nobody stores a grant before this ends. */
    async hold() {
      const holder = new pg.Client(databaseUrl)
      holder.on('error', () => {})
      await holder.connect()
      await holder.query('BEGIN; LOCK TABLE hilo_grants IN SHARE MODE')
      return {
        isWaitedFor: () =>
          expect
            .poll(() => sql(`SELECT query ${OURS} AND wait_event_type = 'Lock'`))
            .toEqual([{ query: expect.stringMatching(/^INSERT INTO \S*hilo_grants/) }]),
        release: () => holder.end(),
      }
    },
  }
}

type Shop = Awaited<ReturnType<typeof meet>>
const cutOff = ({ sql }: Shop) => sql(`SELECT pg_terminate_backend(pid) ${OURS}`)

interface Kill {
  what: string
  /** Does the server go on? */
  isAlive: boolean
  /** After the block was taken. */
  kill(server: ServerProcess, shop: Shop): Promise<unknown>
}

/** The commit is on its way, too. PostgreSQL may run it for a server that is dead. */
const KILLS: Kill[] = [
  { what: 'the server', isAlive: false, kill: (server) => server.kill() },
  { what: 'its connection', isAlive: true, kill: (_, shop) => cutOff(shop) },
  {
    what: 'both',
    isAlive: false,
    kill: (server, shop) => server.kill().then(() => cutOff(shop)),
  },
]

/** A back end makes ids before, meanwhile and after; the claim comes again until it is answered. */
async function killed(shop: Shop, { isAlive, kill }: Kill): Promise<void> {
  const { begin, backEnd, claim, hold, make } = shop
  const theirs = await backEnd()
  await theirs.take()
  let server = await begin()
  const take = async (id: string) => {
    const range = await claim(server, id)
    if (!range) throw new Error(`Nothing was granted:\n${server.log()}`)
    make(range, id)
    return range
  }
  await take(newId())
  await theirs.take()

  const id = newId()
  const holder = await hold()
  const first = claim(server, id)
  await holder.isWaitedFor()
  const meanwhile = theirs.take().catch(ignoreLost)
  await kill(server, shop)
  await holder.release()
  expect(await first).toBeUndefined()
  await meanwhile
  if (!isAlive) server = await begin()
  const range = await take(id)
  expect(await claim(server, id)).toEqual(range)
  const again = await backEnd()
  for (let i = 0; i < 3; i++) {
    await again.take()
    await take(newId())
  }
  await Promise.all([theirs.end(), again.end()])
  expect(await server.stop()).toBe(0)
}

/** It took from a PostgreSQL that was killed. */
function ignoreLost(error: Error): void {
  if (error.message.includes('twice')) throw error
}

describe.each(KILLS)('killed after a block was taken: $what', (each) => {
  test.each(ORMS)('$title', async (orm) => killed(await meet(orm, await newDatabase()), each))
})

test('PostgreSQL is killed after a block was taken', { timeout: 180_000 }, async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster.remove())
  for (const orm of ORMS) {
    const shop = await meet(orm, await createDatabase(cluster.url))
    await killed(shop, {
      what: 'PostgreSQL',
      isAlive: true,
      kill: () => cluster.stop('immediate').then(() => cluster.start()),
    })
  }
})
