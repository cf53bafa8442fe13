/**
 * The back end's ORM and this server take from one counter at the same time: for every strategy, eight connections with the ORM's own
 * statements and arithmetic, and two servers. `HILO_BLOCKS=50000` takes so many blocks, instead of 300.
 */
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { openLedger } from '../../../src/server/index.js'
import { grantOf, newId } from '../ledger-bench.js'
import { newDatabase } from '../postgres.js'
import { runSql } from '../postgres-cluster.js'
import { type Block, ORMS } from './orms.js'

const BLOCKS = Number(process.env.HILO_BLOCKS ?? 300)
const CONNECTIONS = 8
/** Numbers of the largest claim: larger in a long run, where most of the time goes into claims. */
const MOST = Math.min(600, Math.max(60, BLOCKS / 50))
const CLAIMERS = 4
const cleanups: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(cleanups.splice(0).map((cleanup) => cleanup())))

const KEY = { database: 'Shop', tag: 'orders' }

test.each(ORMS)(
  '$title: no id twice, and none left out',
  { timeout: 30_000 + BLOCKS * 20 },
  async ({ settings, schema, newTaker, startsAlone }) => {
    const databaseUrl = await newDatabase()
    await runSql(databaseUrl, schema)
    const clients = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const client = new pg.Client(databaseUrl)
        await client.connect()
        cleanups.push(() => client.end())
        return client
      }),
    )
    const takers = clients.map(newTaker)
    const byOrm: Block[] = []
    if (startsAlone) byOrm.push(await takers[0]!())

    const open = () => openLedger({ databaseUrl, collections: { Shop: { orders: settings } } })
    const ledgers = await Promise.all([open(), open()])
    cleanups.push(...ledgers.map((ledger) => () => ledger.close()))
    const byServer: Block[] = []
    /** Blocks that each side still takes; the faster one waits for the other, so that they meet all the time. */
    const left = { orm: BLOCKS / 2, server: BLOCKS / 2 }
    const turn = async (mine: keyof typeof left, theirs: keyof typeof left) => {
      while (left[mine] < left[theirs] - 2 * CONNECTIONS) await new Promise((resolve) => setImmediate(resolve))
      return left[mine] > 0
    }

    const takeAsOrm = async (take: () => Promise<Block>) => {
      while (await turn('orm', 'server')) {
        left.orm--
        byOrm.push(await take())
      }
    }
    const claim = async (ledger: (typeof ledgers)[number], count: number, id: string | undefined) => {
      const [outcome] = await ledger.claim([{ ...KEY, id, count, lastMax: 0, serverTag: 'A', at: 0 }])
      const { low, high, lease } = grantOf(outcome!)
      return { low, high, lease }
    }
    const takeAsServer = async (ledger: (typeof ledgers)[number], at: number) => {
      for (let i = at; await turn('server', 'orm'); i += 7) {
        const count = 1 + ((i * 13) % MOST)
        left.server -= count / 10
        const { low, high, lease } = await claim(ledger, count, i % 5 === 0 ? undefined : newId())
        // Some of it comes back, and is granted again.
        const last = i % 3 === 0 ? low + Math.floor((high - low) / 2) : high
        if (last < high) await ledger.giveBack({ ...KEY, end: high, last, lease, at: 0 })
        byServer.push([low, last])
      }
    }
    await Promise.all([
      ...takers.map(takeAsOrm),
      ...ledgers.flatMap((ledger) => Array.from({ length: CLAIMERS }, (_, i) => takeAsServer(ledger, i))),
    ])

    const [status] = await ledgers[0]!.status()
    for (let free = status!.free; free > 0; ) {
      const { low, high } = await claim(ledgers[0]!, Math.min(free, 1_000), newId())
      byServer.push([low, high])
      free -= high - low + 1
    }
    expect((await ledgers[0]!.status())[0]!.free).toBe(0)

    expect(Math.min(byOrm.length, byServer.length)).toBeGreaterThan(BLOCKS / 100)
    const all = [...byOrm, ...byServer].sort(([a], [b]) => a - b)
    const seams = all.slice(1).flatMap(([low], i) => (low === all[i]![1] + 1 ? [] : [[all[i], all[i + 1]]]))
    expect(seams).toEqual([])
  },
)
