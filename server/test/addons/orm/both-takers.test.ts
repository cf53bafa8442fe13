/**
 * The back end's ORM and this server take from one counter at the same time: for every strategy,
 * eight connections with the ORM's own statements and arithmetic, and two servers.
 */
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { sizeOf } from '../../../../test/support/sizes.js'
import { type Ledger, LedgerUnavailable, openLedger } from '../../../src/index.js'
import { grantOf, newId } from '../../ledger-bench.js'
import { newDatabase } from '../../postgres.js'
import { runSql } from '../../postgres-cluster.js'
import { type Block, ORMS } from './orms.js'

const BLOCKS = sizeOf('BLOCKS')
const CONNECTIONS = 8
/** The share of the blocks that the server takes. */
const SERVER_PART = 0.2
const CLAIMERS = 4
const cleanups: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(cleanups.splice(0).map((cleanup) => cleanup())))

const KEY = { database: 'Shop', collection: 'orders' }

/** On a very busy machine a statement may time out. Repeats what may be repeated. */
async function again<T>(mayRepeat: boolean, step: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await step()
    } catch (error) {
      if (attempts === 10 || !mayRepeat || !(error instanceof LedgerUnavailable)) throw error
    }
  }
}

test.each(ORMS)(
  '$title: no id twice, and none left out',
  { timeout: 120_000 + BLOCKS * 20 },
  async ({ settings, schema, newTaker }) => {
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
    // The back end makes its first id, and with it the row of its counter.
    byOrm.push(await takers[0]!())

    const open = () =>
      openLedger({ create: true, databaseUrl, collections: { Shop: { orders: settings } } })
    const ledgers = await Promise.all([open(), open()])
    cleanups.push(...ledgers.map((ledger) => () => ledger.close()))
    const byServer: Block[] = []
    /**
     * Of what each side takes; the faster one waits for the other, so that they meet all the time.
     */
    const done = { orm: 0, server: 0 }
    const turn = async (mine: keyof typeof done, theirs: keyof typeof done) => {
      while (done[theirs] < 1 && done[mine] > done[theirs] + 0.02)
        await new Promise((resolve) => setImmediate(resolve))
      return done[mine] < 1
    }

    const takeAsOrm = async (take: () => Promise<Block>) => {
      while (await turn('orm', 'server')) {
        done.orm += 1 / BLOCKS / (1 - SERVER_PART)
        byOrm.push(await take())
      }
    }
    const claim = async (ledger: Ledger, count: number, id: string | undefined) => {
      const [outcome] = await again(id !== undefined, () =>
        ledger.claim([{ ...KEY, id, count, lastMax: 0, serverTag: 'A', at: 0 }]),
      )
      return grantOf(outcome!)
    }
    const takeAsServer = async (ledger: (typeof ledgers)[number], at: number) => {
      for (let i = at; await turn('server', 'orm'); i += 7) {
        const count = 1 + ((i * 13) % 60)
        done.server += count / 10 / BLOCKS / SERVER_PART
        const { low, high, token } = await claim(ledger, count, i % 5 === 0 ? undefined : newId())
        // Some of it comes back, and is granted again.
        const last = i % 3 === 0 ? low + Math.floor((high - low) / 2) : high
        if (last < high)
          await again(true, () => ledger.giveBack({ ...KEY, end: high, last, token, at: 0 }))
        byServer.push([low, last])
      }
    }
    await Promise.all([
      ...takers.map(takeAsOrm),
      ...ledgers.flatMap((ledger) =>
        Array.from({ length: CLAIMERS }, (_, i) => takeAsServer(ledger, i)),
      ),
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
    const seams = all
      .slice(1)
      .flatMap(([low], i) => (low === all[i]![1] + 1 ? [] : [[all[i], all[i + 1]]]))
    expect(seams).toEqual([])
  },
)
