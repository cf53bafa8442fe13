/**
 * One PostgreSQL for all files of tests, in Vitest's own process. It starts when a first test asks
 * for it, and is gone at the end. With `DATABASE_URL` nobody asks.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type Cluster, startCluster } from './postgres-cluster.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers with the URL of the PostgreSQL, once it runs. */
    postgresStarter: string
  }
}

export default async function share(project: TestProject): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | undefined
  const starter = createServer((_, answer) => {
    // Files run beside each other, each with its own connections.
    cluster ??= startCluster({ isSynced: false, maxConnections: 400 })
    cluster.then(
      ({ url }) => answer.end(url),
      (error) => answer.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(starter, 'listening')
  const { port } = starter.address() as AddressInfo
  project.provide('postgresStarter', `http://127.0.0.1:${port}`)
  return async () => {
    starter.close()
    await (await cluster)?.remove()
  }
}
