/** Where the servers of a bench keep their ledgers: in new folders, and in a PostgreSQL of ours. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cluster, createDatabase, startCluster } from '../server/test/postgres-cluster.js'
import type { Setup } from './server-process.js'

export const SYSTEMS = ['SQLite', 'PostgreSQL'] as const
export type System = (typeof SYSTEMS)[number]

export interface Places {
  /** A new, empty one. */
  setup(system: System): Promise<Exclude<Setup, 'empty'>>
  cluster: Cluster
  remove(): Promise<void>
}

/** Enough connections for our servers, and for those who look at the database from outside. */
const OTHER_CONNECTIONS = 20

/** @param connections that a bench itself opens to PostgreSQL */
export async function openPlaces(connections: number): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-bench-server-'))
  const cluster = await startCluster({ maxConnections: connections + OTHER_CONNECTIONS })
  let folders = 0
  let databases = 0
  return {
    cluster,
    setup: async (system) =>
      system === 'SQLite'
        ? { dataDir: join(folder, String(folders++)) }
        : { databaseUrl: await createDatabase(cluster.url, `bench${databases++}`) },
    async remove() {
      await cluster.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
