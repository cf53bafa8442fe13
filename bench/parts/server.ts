/**
 * What a claim costs on the server, beside an empty route and beside one UPDATE per claim; whether
 * memory and a growing ledger change it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  type Cluster,
  createDatabase,
  runSql,
  startCluster,
} from '../../server/test/postgres-cluster.js'
import { fillLedger } from '../fill-ledger.js'
import type { Context, Part } from '../part.js'
import { claimer, type Limit, type Load, load, startServer } from '../server.js'
import type { Setup } from '../server-process.js'
import { count, figure, inEach, table, times } from '../text.js'

const CONNECTIONS = [1, 16, 64, 256]
const MANY = 1_000
/** As many as the goals are for. */
const BUSY = 64
/** Enough for a figure, few beside the ledger. */
const GROWTH_CLAIMS = 10_000

const SYSTEMS = ['SQLite', 'PostgreSQL'] as const
type System = (typeof SYSTEMS)[number]

interface Limits {
  warmUp: Limit
  limit: Limit
}

interface Places {
  /** A new, empty one. */
  setup(system: System): Promise<Exclude<Setup, 'empty'>>
  cluster: Cluster
}

export const server: Part = {
  name: 'server',
  title: 'Server: what a claim costs',
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), 'hilo-bench-server-'))
    const cluster = await startCluster({ maxConnections: Math.max(...CONNECTIONS) + 20 })
    let folders = 0
    let databases = 0
    const places: Places = {
      cluster,
      setup: async (system) =>
        system === 'SQLite'
          ? { dataDir: join(folder, String(folders++)) }
          : { databaseUrl: await createDatabase(cluster.url, `bench${databases++}`) },
    }
    try {
      await speed(context, places)
      await growth(context, places)
      await memory(context, places)
    } finally {
      await cluster.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function speed({ isQuick, print, goal }: Context, places: Places): Promise<void> {
  const limit = isQuick ? { count: 20 } : { seconds: 4 }
  const warmUp = { count: isQuick ? 20 : 2 * MANY }
  const connections = isQuick ? [4] : CONNECTIONS
  const rows: string[][] = []
  for (const collections of [1, MANY]) {
    const title = collections === 1 ? 'one hot collection' : `${count(MANY)} collections`
    const empty = await served('empty', connections, collections, { warmUp, limit })
    const bare = await bareUpdates(places.cluster, connections, collections, { warmUp, limit })
    for (const system of SYSTEMS) {
      const ours = await served(await places.setup(system), connections, collections, {
        warmUp,
        limit,
      })
      ours.forEach((load, i) => {
        const [ofEmpty, ofBare] = [
          load.perSecond / empty[i]!.perSecond,
          load.perSecond / bare[i]!.perSecond,
        ]
        if (system === 'PostgreSQL' && collections === 1 && connections[i] === BUSY) {
          const what = `a hot collection on PostgreSQL at ${BUSY} connections`
          goal(`claims of ${what}, beside bare UPDATEs`, '≥ 3 ×', times(ofBare))
          goal('the same, beside an empty route', '≥ 0.5 ×', times(ofEmpty))
          goal('the same: 99 of 100 claims answered within', '< 50 ms', `${figure(load.p99)} ms`)
        }
        rows.push([
          `${system}, ${title}`,
          String(connections[i]),
          times(ofEmpty),
          times(ofBare),
          count(load.perSecond),
          `${figure(load.p50)} ms`,
          `${figure(load.p99)} ms`,
          count(empty[i]!.perSecond),
          count(bare[i]!.perSecond),
        ])
      })
    }
  }
  print(
    table(
      [
        '',
        'connections',
        'of an empty route',
        'of bare UPDATEs',
        'claims/s',
        'p50',
        'p99',
        'empty route/s',
        'bare UPDATEs/s',
      ],
      rows,
    ),
  )
}

async function served(
  setup: Setup,
  connections: number[],
  collections: number,
  { warmUp, limit }: Limits,
): Promise<Load[]> {
  const server = await startServer(setup)
  const loads: Load[] = []
  for (const each of connections) {
    const { claim, close } = claimer(server.url, each, collections)
    // Every collection is there, and the code is compiled.
    await load(Math.min(each, BUSY), claim, warmUp)
    loads.push(await load(each, claim, limit))
    await close()
  }
  await server.stop()
  return loads
}

/**
 * One `UPDATE … RETURNING` per claim, prepared, in a transaction of its own, on as many
 * connections: what a counter table does without a server.
 */
async function bareUpdates(
  { url }: Cluster,
  connections: number[],
  collections: number,
  { warmUp, limit }: Limits,
): Promise<Load[]> {
  await runSql(
    url,
    'CREATE TABLE IF NOT EXISTS counters (tag TEXT PRIMARY KEY, max BIGINT NOT NULL)',
  )
  await runSql(
    url,
    `INSERT INTO counters SELECT 'orders' || i, 0 FROM generate_series(0, ${MANY - 1}) i ON ` +
      'CONFLICT DO NOTHING',
  )
  const loads: Load[] = []
  for (const each of connections) {
    const clients = Array.from({ length: each }, () => new pg.Client({ connectionString: url }))
    await Promise.all(clients.map((client) => client.connect()))
    const free = [...clients]
    const update = async (number: number) => {
      const client = free.pop()!
      await client.query({
        name: 'next',
        text: 'UPDATE counters SET max = max + 32 WHERE tag = $1 RETURNING max',
        values: [`orders${number % collections}`],
      })
      free.push(client)
    }
    await load(each, update, warmUp)
    loads.push(await load(each, update, limit))
    await Promise.all(clients.map((client) => client.end()))
  }
  return loads
}

/** The cost of a claim against the number of grants that the ledger holds already. */
async function growth(
  { isQuick, isFull, print, goal, draw }: Context,
  places: Places,
): Promise<void> {
  const sizes = isQuick ? [1e3, 1e4] : [1e3, 1e4, 1e5, 1e6, ...(isFull ? [1e7] : [])]
  const series: { name: System; points: [number, number][] }[] = []
  for (const system of SYSTEMS) {
    const points: [number, number][] = []
    for (const size of sizes) {
      const setup = await places.setup(system)
      await begin(setup)
      await fillLedger(setup, size)
      const server = await startServer(setup)
      const { claim, close } = claimer(server.url, BUSY, 1)
      await load(BUSY, claim, { count: 500 })
      const { perSecond } = await load(BUSY, claim, { count: isQuick ? 100 : GROWTH_CLAIMS })
      points.push([size, 1e6 / perSecond])
      await close()
      await server.stop()
    }
    series.push({ name: system, points })
  }
  print(
    table(
      [
        'grants in the ledger',
        ...SYSTEMS.map((system) => `${system}, beside the smallest`),
        ...SYSTEMS.map((system) => `${system}, µs per claim`),
      ],
      sizes.map((size, i) => [
        count(size),
        ...series.map(({ points }) => times(points[i]![1] / points[0]![1])),
        ...series.map(({ points }) => count(points[i]![1])),
      ]),
    ),
  )
  const ratio = ({ name, points }: (typeof series)[number]): [string, string] => [
    name,
    times(points.at(-1)![1] / points[0]![1]),
  ]
  goal(
    `a claim in a ledger of ${count(sizes.at(-1)!)} grants, beside one of ${count(sizes[0]!)}`,
    'flat',
    inEach(series.map(ratio)),
  )
  draw('bench-ledger', {
    title: `A claim, ${BUSY} connections, one hot collection`,
    x: { label: 'grants in the ledger', isLogarithmic: true },
    y: { label: 'µs' },
    series,
  })
}

/** The tables, and one grant in them. */
async function begin(setup: Setup): Promise<void> {
  const server = await startServer(setup)
  const { claim, close } = claimer(server.url, 1, 1)
  await claim(0)
  await close()
  await server.stop()
}

/** What the server's process holds while it grants. */
async function memory({ isQuick, print, goal }: Context, places: Places): Promise<void> {
  const claims = isQuick ? 1_000 : 1_000_000
  const steps = 5
  const server = await startServer(await places.setup('PostgreSQL'))
  const { claim, close } = claimer(server.url, BUSY, MANY)
  await load(BUSY, claim, { count: claims / 50 })
  const rows: string[][] = []
  const resident: number[] = []
  for (let step = 0; step <= steps; step++) {
    if (step > 0) await load(BUSY, claim, { count: claims / steps })
    const { heapUsed, rss } = await server.memory()
    resident.push(rss)
    rows.push([
      count(claims / 50 + (claims / steps) * step),
      `${figure(heapUsed / 1e6)} MB`,
      `${figure(rss / 1e6)} MB`,
    ])
  }
  await close()
  await server.stop()
  print(table(['claims so far', 'heap', 'resident'], rows))
  goal(
    `the server's memory after ${count(claims)} claims more`,
    'flat',
    times(resident.at(-1)! / resident[0]!),
  )
}
