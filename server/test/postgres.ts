/**
 * Databases for tests, on a real PostgreSQL: one that a file's tests share, or the server at
 * `DATABASE_URL`. All is gone at the end.
 */
import { afterAll } from 'vitest'
import {
  type Cluster,
  createDatabase as createNamed,
  runSql,
  startCluster,
} from './postgres-cluster.js'

let shared: Promise<Cluster> | undefined
const cleanups: (() => Promise<unknown>)[] = []
let lastDatabase = 0

/** The URL of a new, empty database on a cluster that the tests of one file share. */
export async function newDatabase(): Promise<string> {
  if (!process.env.DATABASE_URL && !shared) {
    shared = startCluster({ isSynced: false })
    cleanups.push(async () => (await shared!).remove())
  }
  return createDatabase(process.env.DATABASE_URL ?? (await shared!).url)
}

export async function createDatabase(server: string): Promise<string> {
  const name = `hilo_test_${process.pid}_${++lastDatabase}`
  const url = await createNamed(server, name)
  if (process.env.DATABASE_URL)
    cleanups.unshift(() => runSql(server, `DROP DATABASE ${name} WITH (FORCE)`))
  return url
}

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup()
})
