/**
 * A server in a process of its own: the HiLo server or, to measure the least that a request takes,
 * an empty route. Says its address and, when asked, its CPU time and memory.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { type ServeOptions, serve } from '../server/src/index.js'

/** `empty`, or where the HiLo server keeps its ledger. */
export type Setup = 'empty' | Pick<ServeOptions, 'dataDir' | 'databaseUrl' | 'upstream'>

export interface Memory {
  heapUsed: number
  rss: number
}

export type Message = { serve: Setup } | 'cpu' | 'memory'

process.on('message', async (message: Message) => {
  if (message === 'memory') process.send!(memory())
  else if (message === 'cpu') process.send!(cpu())
  else
    process.send!(
      message.serve === 'empty'
        ? await serveEmpty()
        : (await serve({ create: true, ...message.serve, port: 0 })).url,
    )
})

function serveEmpty(): Promise<string> {
  const app = new Hono().get('*', (c) => c.json({}))
  const http = createServer(getRequestListener(app.fetch))
  return new Promise((resolve) => {
    http.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(http.address() as AddressInfo).port}`),
    )
  })
}

function cpu(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function memory(): Memory {
  globalThis.gc!()
  const { heapUsed, rss } = process.memoryUsage()
  return { heapUsed, rss }
}
