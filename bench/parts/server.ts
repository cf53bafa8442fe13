/**
 * What a claim costs on the server, beside an empty route and beside one UPDATE per claim; whether
 * memory and a growing ledger change it.
 */
import pg from 'pg'
import { type Cluster, runSql } from '../../server/test/postgres-cluster.js'
import type { Context, Part } from '../part.js'
import { openPlaces, type Places, SYSTEMS } from '../places.js'
import { BUSY, claimer, type Limit, type Load, load, MANY, startServer } from '../server.js'
import { cpuPerRequest } from '../server-cpu.js'
import { growth, memory } from '../server-growth.js'
import type { Setup } from '../server-process.js'
import { count, figure, table, times } from '../text.js'

const CONNECTIONS = [1, 16, 64, 256]

interface Limits {
  warmUp: Limit
  limit: Limit
}

export const server: Part = {
  name: 'server',
  title: 'Server: what a claim costs',
  measures: ['server/src'],
  async run(context) {
    const places = await openPlaces(Math.max(...CONNECTIONS))
    try {
      await cpuPerRequest(context, places)
      await speed(context, places)
      await growth(context, places)
      await memory(context, places)
    } finally {
      await places.remove()
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
          goal('the same, beside an empty route', '≥ 0.35 ×', times(ofEmpty))
          goal('the same: 99 of 100 claims answered within', '< 20 ms', `${figure(load.p99)} ms`)
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
