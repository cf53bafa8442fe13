/** Starts a server in a process of its own, puts load on it, and measures it. */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Pool } from 'undici'
import { uuid } from '../src/core/uuid.js'
import { builtServer } from './server-build.js'
import type { Memory, Message, Setup } from './server-process.js'
import { percentile } from './text.js'

/** The goals are for this many connections. */
export const BUSY = 64
/** The number of collections, in benches of more than one. */
export const MANY = 1_000

export interface BenchServer {
  url: string
  /** Of all threads of the server's process since it began, in user and system: microseconds. */
  cpu(): Promise<number>
  /** After a garbage collection. */
  memory(): Promise<Memory>
  stop(): Promise<void>
}

export type Limit = { seconds: number } | { count: number }

export interface Load {
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** One unit of work, `number` of those that were ever begun. */
export type Work = (number: number) => Promise<void>

export async function startServer(setup: Setup): Promise<BenchServer> {
  const child = fork(await builtServer(), { execArgv: ['--expose-gc'] })
  const ask = async <T>(message: Message): Promise<T> => {
    child.send(message)
    return (await once(child, 'message'))[0]
  }
  return {
    url: await ask<string>({ serve: setup }),
    cpu: () => ask<number>('cpu'),
    memory: () => ask<Memory>('memory'),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/**
 * Runs many workers at once, each with one piece of work after another, until the time is over or
 * enough pieces are done.
 */
export async function load(workers: number, work: Work, limit: Limit): Promise<Load> {
  const latencies: number[] = []
  let begun = 0
  const start = performance.now()
  const isOver = () =>
    'count' in limit ? begun >= limit.count : performance.now() - start >= limit.seconds * 1_000
  const loop = async () => {
    while (!isOver()) {
      const before = performance.now()
      await work(begun++)
      latencies.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: workers }, loop))
  const seconds = (performance.now() - start) / 1_000
  return {
    perSecond: latencies.length / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  }
}

/** Claims by HTTP, on so many connections that stay open. */
export function claimer(
  url: string,
  connections: number,
  collections: number,
): { claim: Work; close(): Promise<void> } {
  const pool = new Pool(url, { connections, pipelining: 1 })
  return {
    async claim(number) {
      const tag = `orders${number % collections}`
      const id = uuid(randomBytes(16), Date.now())
      const path = `/databases/bench/hilo/next?tag=${tag}&claim=${id}`
      const { statusCode, body } = await pool.request({ method: 'GET', path })
      await body.dump()
      if (statusCode >= 300) throw new Error(`A claim was answered ${statusCode}.`)
    },
    close: () => pool.close(),
  }
}
